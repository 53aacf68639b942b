// What is wrong with something that the user wrote.
#pragma once

#include <string>

namespace tune {

/// Something wrong with a JSON document: where, as a JSON pointer, and what, as a sentence.
struct Problem {
  std::string pointer;
  std::string sentence;
  bool operator==(const Problem&) const = default;
};

}  // namespace tune
