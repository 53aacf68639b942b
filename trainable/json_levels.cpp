// Counts nesting in one pass over the text, outside of strings.
#include "trainable/json_levels.h"

#include <algorithm>

namespace tune {

std::size_t levels_of(std::string_view json) {
  std::size_t levels = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++levels);
    } else if (!in_string && (c == '}' || c == ']') && levels > 0) {
      --levels;
    }
  }
  return deepest;
}

}  // namespace tune
