// Everything in a result's metrics, flat and in its order, as text for tables: numbers, texts,
// lists and nulls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tune {

struct MetricCell {
  enum class Kind {
    number,  ///< as JSON writes it; "NaN", "Infinity" and "-Infinity" are numbers
    text,    ///< the string itself
    json,    ///< a list
    none,    ///< null
  };
  std::string name;  ///< nested ones with "/"
  Kind kind = Kind::none;
  std::string text;
  bool is_truth = false;  ///< the number is 1 for true, 0 for false
};

/// `metrics`: any JSON object; a name may stand in it twice. Empty if it is no object.
std::vector<MetricCell> cells_of(std::string_view metrics);

}  // namespace tune
