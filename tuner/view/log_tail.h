// The end of a file that a trial's program has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace tune {

struct LogTail {
  std::string text;            ///< from the beginning of a line on, unless that line is too long
  std::uint64_t left_out = 0;  ///< bytes before it
};

/// At most `most_bytes`. Empty if there is no such file, or something else in its place.
LogTail read_log_tail(const std::filesystem::path& file, std::size_t most_bytes);

}  // namespace tune
