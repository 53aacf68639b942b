// Reading files that anybody may have written: of any size, with lines of any length.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

struct FileLine {
  std::string_view text;     ///< without its end; valid during the call
  std::uint64_t number = 1;  ///< in the file, from 1
  bool is_ended = true;      ///< false of a last one that lacks its end: somebody may be writing it
};

struct LinesRead {
  bool is_there = false;       ///< the file
  std::uint64_t too_long = 0;  ///< how many lines were left out for their length
};

/// Calls `use` with each line of at most `most_bytes`. Takes memory for one line, however large the
/// file is. Errors are those of open_regular, and Error (machine) if reading fails.
LinesRead read_lines(const std::string& path, std::size_t most_bytes,
                     const std::function<void(const FileLine&)>& use);

/// The first `count` lines of at most `most_bytes` together, without their ends, however large the
/// file is; fewer if it has no more, none if it cannot be read.
std::vector<std::string> first_lines(const std::string& path, std::size_t count,
                                     std::size_t most_bytes);

/// All of a small file; nothing if there is none, if it is larger than `most_bytes`, or cannot be
/// read, or if something else has its name.
std::optional<std::string> read_small(const std::string& path, std::size_t most_bytes);

}  // namespace tune
