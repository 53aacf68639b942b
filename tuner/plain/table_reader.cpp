// Finds the columns of metrics in a header row, then reads numbers below it.
#include "tuner/plain/table_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace tune {

namespace {

constexpr std::size_t most_cells = 1'000;
constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::vector<std::string_view> split(std::string_view line, std::string_view separator) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; cells.size() <= most_cells;) {
    const std::size_t end = line.find(separator, begin);
    cells.push_back(trimmed(line.substr(begin, end == line.npos ? end : end - begin)));
    if (end == line.npos) break;
    begin = end + separator.size();
  }
  return cells;
}

/// A time such as 00:12, a share such as 12%, and what was not measured, too.
bool begins_as_number(std::string_view cell) {
  if (cell.empty() || cell == "-" || cell == "#na#") return true;
  if (cell.front() == '-' || cell.front() == '+' || cell.front() == '.') cell.remove_prefix(1);
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell.front())) != 0 ||
                           number_of_cell(cell).value.has_value());  // NaN
}

std::optional<std::int64_t> whole_number(std::string_view cell) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const bool is_whole = error == std::errc() && end == cell.data() + cell.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// The whole numbers that a row begins with, at most `most`: an epoch, or an epoch and a step.
std::vector<std::int64_t> count_of_row(const std::vector<std::string_view>& cells,
                                       std::size_t most) {
  std::vector<std::int64_t> count;
  for (const std::string_view cell : cells) {
    const auto number = count.size() < most ? whole_number(cell) : std::nullopt;
    if (!number) break;
    count.push_back(*number);
  }
  return count;
}

bool has_fraction(const std::vector<std::string_view>& cells) {
  return std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
    return number_of_cell(cell).value && !whole_number(cell);
  });
}

/// A line that parts rows, such as "|-----|-----|".
bool is_rule(std::string_view line) {
  return line.find_first_not_of("-=+|: \t_─━═┼╪│┃├┤╞╡┡╇┩┏┳┓└┴┘┌┬┐╭╮╰╯") == line.npos;
}

}  // namespace

/// Where each row has had a fraction, one of whole numbers alone is another table's. Some programs
/// print 0.0 and 1.0 as whole ones.
bool TableReader::Rows::is_like(const std::vector<std::string_view>& cells) const {
  if (!has_fractions || has_fraction(cells)) return true;
  return std::all_of(cells.begin() + static_cast<std::ptrdiff_t>(count.size()), cells.end(),
                     [](std::string_view cell) { return whole_number(cell).value_or(0) / 2 == 0; });
}

bool TableReader::Rows::is_before(const std::vector<std::string_view>& cells) const {
  return rows == 0 ||
         (is_like(cells) && (count.empty() || count < count_of_row(cells, count.size())));
}

bool TableReader::Rows::is_one_step_before(const std::vector<std::string_view>& cells) const {
  if (rows == 0) return true;
  if (count.empty() || !is_before(cells)) return false;
  const bool is_known = step && count.size() == 1;
  return !is_known || count_of_row(cells, 1).front() == count.front() + *step;
}

/// Rows are counted 1, 2, or 10, 20, or on from 0, and then by the step of those before. Those that
/// count by nothing may be of any table once another line stands in between.
bool TableReader::Rows::is_usual_before(const std::vector<std::string_view>& cells,
                                        bool is_interrupted) const {
  if (rows == 0) return true;
  if (count.empty()) return !is_interrupted;
  const auto next = count_of_row(cells, count.size());
  if (!(count < next)) return false;
  const std::int64_t by = next.front() - count.front();
  const bool is_usual = step ? by == *step : by == 1 || by == count.front() || count.front() == 0;
  return !is_interrupted || count.size() > 1 || is_usual;
}

void TableReader::Rows::add(const std::vector<std::string_view>& cells) {
  std::vector<std::int64_t> next = count_of_row(cells, rows == 0 ? cells.size() : count.size());
  // A table whose rows do not count, or no longer, tells nothing by its numbers.
  if (rows > 0 && !(count < next)) next.clear();
  step = rows == 0 || next.empty() ? std::nullopt : std::optional(next.front() - count.front());
  has_fractions = has_fraction(cells) && (rows == 0 || has_fractions);
  count = std::move(next);
  ++rows;
}

/// Behind another line: with the count of the table, and not with that of the rows which have come
/// there and were none of it. It must be the very next where that line may be the title of another
/// table, and where the rows have stood together before: those of a histogram count, too.
bool TableReader::goes_on(const std::vector<std::string_view>& cells) {
  if (!is_interrupted_ && !is_below_title_) return rows_.is_like(cells);
  const bool is_next = is_below_title_ || (rows_.step && !has_gone_on_);
  const bool is_mine = is_next ? rows_.is_one_step_before(cells) : rows_.is_before(cells);
  const bool is_exact = is_next && rows_.step && rows_.count.size() == 1;
  const bool is_foreign = !foreign_.count.empty() && (is_exact ? foreign_.is_one_step_before(cells)
                                                               : foreign_.is_before(cells));
  may_be_row_ = is_mine && is_foreign;
  return is_mine && !is_foreign;
}

/// A title, or as many words as the table has columns, or one less where the first column has none.
bool TableReader::is_title(std::string_view line,
                           const std::vector<std::string_view>& cells) const {
  const bool has_as_many = cells.size() == names_.size() || cells.size() + 1 == names_.size();
  const bool may_be_names =
      cells.size() > 1 && has_as_many && std::none_of(cells.begin(), cells.end(), begins_as_number);
  return may_be_names || trimmed(line).ends_with(':');
}

std::vector<std::string_view> TableReader::cells_of(std::string_view line) {
  line = trimmed(line);
  for (const std::string_view bar : {"|", "│", "┃", ",", "\t"}) {
    if (line.find(bar) == line.npos) continue;
    auto cells = split(line, bar);
    if (cells.size() > 1 && cells.front().empty()) cells.erase(cells.begin());
    if (cells.size() > 1 && cells.back().empty() && bar != "," && bar != "\t") cells.pop_back();
    return cells;
  }
  std::vector<std::string_view> cells;
  for (std::string_view cell : split(line, " ")) {
    if (!cell.empty()) cells.push_back(cell);
  }
  return cells;
}

void TableReader::read(std::string_view line, const std::vector<PlainMetric>& metrics) {
  values_.clear();
  is_foreign_ = may_be_row_ = is_doubtful_ = false;
  const bool has_name = std::any_of(metrics.begin(), metrics.end(), [&](const PlainMetric& metric) {
    return metric.expression.empty() && line.find(metric.name) != line.npos;
  });
  if (names_.empty() && !has_name) return;  // most lines
  const auto cells = cells_of(line);
  if (cells.size() > most_cells) return;
  if (cells.size() < 2 && !trimmed(line).ends_with(':')) return read_column(cells, metrics);
  const bool is_header =
      has_name &&
      std::none_of(cells.begin(), cells.end(),
                   [](std::string_view cell) { return !cell.empty() && begins_as_number(cell); }) &&
      std::any_of(metrics.begin(), metrics.end(), [&](const PlainMetric& metric) {
        return std::find(cells.begin(), cells.end(), metric.name) != cells.end();
      });
  if (is_header) {
    const bool is_same = std::equal(names_.begin(), names_.end(), cells.begin(), cells.end());
    is_second_table_ = rows_.rows > 0 && !is_same;
    names_.assign(cells.begin(), cells.end());
    rows_ = foreign_ = {};
    is_interrupted_ = is_below_title_ = has_gone_on_ = false;
    return;
  }
  if (names_.size() == 1) names_.clear();
  const bool is_row =
      cells.size() == names_.size() && std::all_of(cells.begin(), cells.end(), begins_as_number);
  if (!is_row) {
    if (!is_rule(line)) interrupt(is_title(line, cells));
    return;
  }
  is_foreign_ = !goes_on(cells);
  if (is_foreign_) {
    is_interrupted_ = true;
    return foreign_.add(cells);
  }
  is_doubtful_ =
      is_below_title_ || is_second_table_ || !rows_.is_usual_before(cells, is_interrupted_);
  has_gone_on_ = has_gone_on_ || is_interrupted_;
  is_interrupted_ = false;
  rows_.add(cells);
  for (const std::string_view cell : cells) values_.push_back(number_of_cell(cell));
}

void TableReader::interrupt(bool is_title) {
  is_interrupted_ = true;
  is_below_title_ = is_title;
  foreign_ = {};
}

/// Any word may stand alone in a line, and any number: a column ends at the first line that is none
/// of its numbers.
void TableReader::read_column(const std::vector<std::string_view>& cells,
                              const std::vector<PlainMetric>& metrics) {
  const std::string_view cell = cells.empty() ? "" : cells.front();
  const bool is_header = std::any_of(metrics.begin(), metrics.end(), [cell](const auto& metric) {
    return metric.expression.empty() && metric.name == cell;
  });
  if (is_header) {
    names_.assign(1, std::string(cell));
  } else if (names_.size() == 1 && number_of_cell(cell).value) {
    values_.push_back(number_of_cell(cell));
  } else if (cell.find_first_not_of("-=+") == cell.npos) {
    is_interrupted_ = is_interrupted_ || cell.empty();
  } else if (names_.size() == 1) {
    names_.clear();
  } else if (!is_rule(cell)) {
    interrupt(false);
  }
}

bool TableReader::is_foreign_of(std::string_view name) const {
  return is_foreign_ && std::find(names_.begin(), names_.end(), name) != names_.end();
}

PrintedNumber TableReader::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const auto at = static_cast<std::size_t>(found - names_.begin());
  return at < values_.size() ? values_[at] : PrintedNumber();
}

}  // namespace tune
