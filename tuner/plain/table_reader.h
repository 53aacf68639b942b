// Rows of numbers below a row of names: CSV on standard output, tables of fastai and rich.
#pragma once

#include <cstdint>
#include <optional>
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
  /// empty. Of a single column it follows at once, below a rule perhaps. Behind any other line it
  /// must go on with the table: a confusion matrix may have as many columns.
  void read(std::string_view line, const std::vector<PlainMetric>& metrics);

  /// What the line that was read last has below `name`.
  PrintedNumber find(std::string_view name) const;

  /// Whether the line that was read last has a number below `name`, and is no row of that table, as
  /// it does not go on with it.
  bool is_foreign_of(std::string_view name) const;
  /// That number may go on with the table as well as with the rows that are none of it.
  bool may_be_row() const { return may_be_row_; }
  /// The line that was read last is a row, and may be one of another table: it stands below what
  /// may be a title, does not count as the rows before, or there have been rows below other names.
  bool is_doubtful() const { return is_doubtful_; }

 private:
  /// The last row of some that stand together.
  struct Rows {
    std::vector<std::int64_t> count;   ///< the whole numbers that it begins with
    std::optional<std::int64_t> step;  ///< by which the first number of the count has grown last
    bool has_fractions = false;        ///< each has one
    std::size_t rows = 0;

    bool is_like(const std::vector<std::string_view>& cells) const;
    bool is_before(const std::vector<std::string_view>& cells) const;
    bool is_one_step_before(const std::vector<std::string_view>& cells) const;
    bool is_usual_before(const std::vector<std::string_view>& cells, bool is_interrupted) const;
    void add(const std::vector<std::string_view>& cells);
  };
  /// Cells end at lines, else at commas or tabs, else at blanks.
  static std::vector<std::string_view> cells_of(std::string_view line);
  void read_column(const std::vector<std::string_view>& cells,
                   const std::vector<PlainMetric>& metrics);
  void interrupt(bool is_title);
  bool is_title(std::string_view line, const std::vector<std::string_view>& cells) const;
  bool goes_on(const std::vector<std::string_view>& cells);

  std::vector<std::string> names_;     ///< of the row of names that was seen last
  std::vector<PrintedNumber> values_;  ///< of the line, below each; empty: no row
  Rows rows_;                          ///< of the table
  Rows foreign_;  ///< behind the last line that is no row, and none of the table
  bool is_second_table_ = false;
  bool is_interrupted_ = false;  ///< the line before was no row of the table
  bool is_below_title_ = false;  ///< the last line that is no row may be that of another table
  bool has_gone_on_ = false;     ///< a row behind another line has counted
  bool is_foreign_ = false;
  bool may_be_row_ = false;
  bool is_doubtful_ = false;
};

}  // namespace tune
