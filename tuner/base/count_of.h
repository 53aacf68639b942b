// Numbers with their nouns, for people.
#pragma once

#include <cstdint>
#include <string>

namespace tune {

/// "1 trial", "2 trials"; `plural` if that is not the noun with an s.
inline std::string count_of(std::uint64_t count, const std::string& noun,
                            const std::string& plural = "") {
  return std::to_string(count) + " " + (count == 1 ? noun : plural.empty() ? noun + "s" : plural);
}

}  // namespace tune
