// The end of a trial's log, for messages and rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tune {

/// How much of a log counts as its end.
inline constexpr std::size_t tail_lines = 100;
inline constexpr std::size_t tail_bytes = 64 << 10;

/// What `file` has after its first `begin` bytes, of that the last `tail_lines` lines, of these the
/// last `tail_bytes` bytes; empty if it cannot be read, or is no regular file (a link, a
/// FIFO): nothing is waited for.
std::string log_tail(const std::filesystem::path& file, std::uint64_t begin);

}  // namespace tune
