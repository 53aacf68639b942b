// Rows of numbers below a row of names: CSV on standard output, tables of fastai and rich.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/plain/plain_program.h"
#include "tuner/plain/printed_number.h"

namespace tune {

class TableReader {
 public:
  /// Takes in the next line. A row of names has that of a metric as one of its cells, and no
  /// number; a row of numbers has as many cells as that, and they begin as numbers do, or are
  /// empty. Of a single column it follows at once, below a rule perhaps.
  void read(std::string_view line, const std::vector<PlainMetric>& metrics);

  /// What the line that was read last has below `name`.
  PrintedNumber find(std::string_view name) const;

 private:
  /// Cells end at lines, else at commas or tabs, else at blanks.
  static std::vector<std::string_view> cells_of(std::string_view line);
  void read_column(const std::vector<std::string_view>& cells,
                   const std::vector<PlainMetric>& metrics);

  std::vector<std::string> names_;     ///< of the row of names that was seen last
  std::vector<PrintedNumber> values_;  ///< of the line, below each; empty: no row
};

}  // namespace tune
