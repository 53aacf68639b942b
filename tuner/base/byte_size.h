// Numbers of bytes as people write and read them: "10GB", "1.5 GiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

/// A number, then nothing, B, or K, M, G, T with B (powers of 1000) or iB (powers of 1024), with or
/// without a space between; nothing for other text and for what 64 bits cannot hold.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

/// "512 B", "1.5 GiB".
std::string show_byte_size(std::uint64_t bytes);

}  // namespace tune
