// What differs between two configs, for people.
#pragma once

#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// The value at one place of a config, as tables show it: numbers with four significant digits.
std::string short_value(const Json& value);

struct ConfigChange {
  std::string name;  ///< the shortest end of the path that names one place only: "lr", "adam/lr"
  Json before;       ///< null: it was not there
  Json after;        ///< null: it is not there any more
};

/// Places whose values differ, in the order of their paths. Lists are values.
std::vector<ConfigChange> changes_between(const Json& before, const Json& after);

/// "lr 0.01 -> 0.012, layers 2 -> 3"; "the same config" if nothing differs.
std::string changes_text(const Json& before, const Json& after);

}  // namespace tune
