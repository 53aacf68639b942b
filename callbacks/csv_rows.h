// Makes progress.csv's rows out of results, each with the header it needs.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "callbacks/result_text.h"

namespace tune {

class CsvRows {
 public:
  struct Row {
    std::string_view header;  ///< without the line's end
    std::string_view row;     ///< with it
  };
  /// Valid until the next call.
  ///
  /// The driver's fields come first, then the metrics as they appear, nested ones flattened with
  /// "/", but for those that have the name of a driver field.
  /// NaN and the infinities are NaN, inf and -inf; strings stand as they are, or as JSON text if
  /// they contain control characters; lists stand as JSON text, null as an empty cell.
  Row make(TrialId trial, const Result& result);

 private:
  /// Which cells results of one shape have, and in which column they stand.
  struct Layout {
    FieldSet fields;                 ///< that the results have
    std::vector<std::string> names;  ///< of their metrics
    std::vector<bool> shown;         ///< of `names`
    std::string header;
  };

  template <class Values, class Append>
  void append_row(const Values& values, Append append_value);
  template <class Values>
  const Layout& layout_of(FieldSet fields, const Values& values);
  static Layout make_layout(FieldSet fields, std::vector<std::string> names);

  DriverFields fields_;
  std::deque<Layout> layouts_;  ///< the one used last comes first
  const Layout* layout_ = nullptr;
  std::string row_;
};

}  // namespace tune
