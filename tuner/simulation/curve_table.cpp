// Parses CSV files of curves, in any order of lines, with the line number in each complaint.
#include "tuner/simulation/curve_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/base/csv_text.h"
#include "tuner/base/decimal.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/disk/file_system.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

namespace {

using std::filesystem::path;

/// Longer curves are a slip of whoever wrote the file, and would take all memory.
constexpr std::int64_t most_iterations = 100'000'000;

/// Where the parser is, for messages.
struct SourceLine {
  const path& file;
  std::size_t line = 1;

  Error error(const std::string& sentence) const {
    return user_error(file.native() + ":" + std::to_string(line) + ": " + sentence);
  }
};

std::optional<double> to_number(std::string_view text) {
  if (text == "NaN" || text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity" || text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity" || text == "-inf") return -std::numeric_limits<double>::infinity();
  const Decimal decimal = read_decimal(text);
  const bool is_whole_text = decimal.length > 0 && decimal.length == text.size();
  return is_whole_text && std::isfinite(decimal.value) ? std::optional(decimal.value)
                                                       : std::nullopt;
}

/// What the cells of a line are.
struct Header {
  std::size_t cells = 0;
  std::optional<std::size_t> id;
  std::size_t iteration = 0;
  std::size_t time = 0;
  bool time_is_total = false;
  std::vector<std::pair<std::string, std::size_t>> config;  ///< by name without the prefix
  std::map<std::string, std::size_t> metrics;
};

Header parse_header(std::string_view line, const SourceLine& source) {
  Header header;
  const auto columns = csv::split(line);
  header.cells = columns.size();
  std::map<std::string, std::size_t> others;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string name(csv::text_of(columns[i]));
    if (name.empty()) throw source.error("column " + std::to_string(i + 1) + " has no name");
    if (!seen.insert(name).second) throw source.error("there are two columns " + quote(name));
    if (name.starts_with(curve_config_prefix)) {
      header.config.emplace_back(name.substr(std::string_view(curve_config_prefix).size()), i);
    } else {
      others.emplace(name, i);
    }
  }
  const auto take = [&others](const char* name) -> std::optional<std::size_t> {
    const auto found = others.find(name);
    if (found == others.end()) return std::nullopt;
    const std::size_t column = found->second;
    others.erase(found);
    return column;
  };
  header.id = take(curve_id_column);
  const auto iteration = take(curve_iteration_column);
  const auto total = take(curve_total_column);
  const auto step = take(curve_step_column);
  (void)take(curve_guess_column);
  const auto lacks = [&](const std::string& what) { return source.error("there is no " + what); };
  if (!iteration) throw lacks("column 'training_iteration'");
  if (!total && !step) {
    throw lacks("column 'time_total_s' or 'time_this_iter_s', the seconds that training took");
  }
  if (header.config.empty()) throw lacks("column of a hyperparameter: 'config/NAME'");
  if (others.empty()) throw lacks("column of a metric");
  header.iteration = *iteration;
  header.time = total ? *total : *step;
  header.time_is_total = total.has_value();
  header.metrics = std::move(others);
  return header;
}

/// A curve while its lines come in, in any order.
struct Growing {
  Json config = Json::object();
  std::string tag;
  std::string config_text;
  std::size_t line = 0;            ///< where it begins
  std::vector<std::size_t> lines;  ///< by iteration; 0: not there yet
  std::vector<double> times;       ///< as the file has them
  std::vector<double> values;
};

/// A cell of a config: JSON where it is JSON, else text. Empty: the config has no such value.
void add_to_config(Growing& curve, const std::string& name, const std::string& cell,
                   const SourceLine& source) {
  if (cell.empty()) return;
  Json value = parse_shallow(cell);
  if (value.is_discarded()) value = cell;
  Json* at = &curve.config;
  std::string_view rest = name;
  for (bool more = true; more;) {
    const std::size_t slash = rest.find('/');
    more = slash != std::string_view::npos;
    if (!at->is_object() && !at->is_null()) {
      throw source.error("'config/" + name + "' lies in another hyperparameter, which is a value");
    }
    at = &(*at)[std::string(rest.substr(0, slash))];
    if (more) rest.remove_prefix(slash + 1);
  }
  if (!at->is_null()) throw source.error("'config/" + name + "' is a value and has others in it");
  *at = std::move(value);
  curve.tag += (curve.tag.empty() ? "" : ",") + std::string(rest) + "=" + cell;
}

class FileParser {
 public:
  FileParser(const path& file, std::vector<std::string>& metrics)
      : source_{file}, metrics_(metrics) {}

  void parse(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    bool has_header = false;
    for (source_.line = 0; !text.empty();) {
      ++source_.line;
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!std::exchange(has_header, true)) {
        take_header(line);
      } else if (!line.empty()) {
        take_row(line);
      }
    }
    if (!has_header) {
      throw user_error(source_.file.native() +
                       " is empty: expected a line with the names of the columns, then one line "
                       "for each config and iteration");
    }
    if (curves_.empty()) throw user_error(source_.file.native() + " has no lines after the header");
  }

  void finish(std::vector<Curve>& out) {
    for (Growing& growing : curves_) out.push_back(finished(growing));
  }
  /// The line in which the i-th curve of the file begins.
  std::size_t line_of(std::size_t i) const { return curves_[i].line; }

 private:
  void take_header(std::string_view line) {
    header_ = parse_header(line, source_);
    if (metrics_.empty()) {
      for (const auto& [name, column] : header_.metrics) metrics_.push_back(name);
    }
    for (const auto& name : metrics_) {
      const auto found = header_.metrics.find(name);
      if (found == header_.metrics.end()) {
        throw source_.error("there is no column " + quote(name) + ", which the first file has");
      }
      columns_.push_back(found->second);
    }
    if (header_.metrics.size() != metrics_.size()) {
      for (const auto& [name, column] : header_.metrics) {
        if (std::find(metrics_.begin(), metrics_.end(), name) != metrics_.end()) continue;
        throw source_.error("the column " + quote(name) + " is not in the first file");
      }
    }
  }

  void take_row(std::string_view line) {
    const auto cells = csv::split(line);
    if (cells.size() != header_.cells) {
      throw source_.error("there are " + std::to_string(cells.size()) + " cells, but " +
                          std::to_string(header_.cells) + " columns in the header");
    }
    Growing& curve = curve_of(cells);
    const std::size_t at = iteration_in(cells[header_.iteration]) - 1;
    if (at >= curve.lines.size()) {
      curve.lines.resize(at + 1);
      curve.times.resize(at + 1);
      curve.values.resize((at + 1) * columns_.size());
    }
    if (curve.lines[at] != 0) {
      throw source_.error("iteration " + std::to_string(at + 1) + " of this config is in line " +
                          std::to_string(curve.lines[at]) +
                          " already; repeated runs of one config need a column 'trial_id'");
    }
    curve.lines[at] = source_.line;
    const auto time = to_number(cells[header_.time]);
    if (!time || !std::isfinite(*time) || *time < 0) {
      throw source_.error("the time must be a number of seconds, at least 0, got " +
                          quote(cells[header_.time]));
    }
    curve.times[at] = *time;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto value = to_number(cells[columns_[i]]);
      if (!value) {
        throw source_.error(quote(metrics_[i]) + " must be a number, got " +
                            quote(cells[columns_[i]]));
      }
      curve.values[at * columns_.size() + i] = *value;
    }
  }

  std::size_t iteration_in(const std::string& cell) const {
    const auto number = to_number(cell);
    if (!number || !(*number >= 1) || std::floor(*number) != *number || *number > most_iterations) {
      throw source_.error("training_iteration must be a whole number from 1, got " + quote(cell));
    }
    return static_cast<std::size_t>(*number);
  }

  Growing& curve_of(const std::vector<std::string>& cells) {
    std::string config_text;
    for (const auto& [name, column] : header_.config) {
      csv::append_cell(config_text, cells[column], config_text.empty());
      config_text += '\n';
    }
    const std::string key = header_.id ? cells[*header_.id] : config_text;
    if (key.empty()) throw source_.error("trial_id is empty");
    const auto [found, is_new] = by_key_.emplace(key, curves_.size());
    if (!is_new) {
      Growing& curve = curves_[found->second];
      if (curve.config_text != config_text) {
        throw source_.error("trial_id " + quote(key) + " has another config than in line " +
                            std::to_string(curve.line));
      }
      return curve;
    }
    Growing& curve = curves_.emplace_back();
    curve.line = source_.line;
    curve.config_text = std::move(config_text);
    for (const auto& [name, column] : header_.config) {
      add_to_config(curve, name, std::string(csv::text_of(cells[column])), source_);
    }
    return curve;
  }

  Curve finished(Growing& growing) const {
    Curve curve{std::move(growing.config), std::move(growing.tag), {}, std::move(growing.values)};
    const auto hole = std::find(growing.lines.begin(), growing.lines.end(), 0u);
    if (hole != growing.lines.end()) {
      throw SourceLine{source_.file, growing.line}.error(
          "the curve that begins here has no line of iteration " +
          std::to_string(hole - growing.lines.begin() + 1) + ", but one of iteration " +
          std::to_string(growing.lines.size()));
    }
    for (std::size_t i = 0; i < growing.times.size(); ++i) {
      const double before = header_.time_is_total && i > 0 ? growing.times[i - 1] : 0;
      if (growing.times[i] < before) {
        throw SourceLine{source_.file, growing.lines[i]}.error(
            "time_total_s is less than in the iteration before, in line " +
            std::to_string(growing.lines[i - 1]));
      }
      curve.seconds.push_back(growing.times[i] - before);
    }
    return curve;
  }

  SourceLine source_;
  std::vector<std::string>& metrics_;
  Header header_;
  std::vector<std::size_t> columns_;  ///< of `metrics_`
  std::vector<Growing> curves_;
  std::map<std::string, std::size_t> by_key_;
};

}  // namespace

std::size_t CurveTable::longest() const {
  std::size_t longest = 0;
  for (const Curve& curve : curves) longest = std::max(longest, curve.iterations());
  return longest;
}

CurveTable read_curves(std::span<const path> files, bool allow_short) {
  CurveTable table;
  const auto disk = make_posix_file_system();
  struct Begin {
    const path* file;
    std::size_t line;
  };
  std::vector<Begin> begins;
  for (const path& file : files) {
    std::string text;
    try {
      text = disk->read(file);
    } catch (const Error& error) {
      throw user_error(error.what());
    }
    FileParser parser(file, table.metrics);
    parser.parse(text);
    const std::size_t before = table.curves.size();
    parser.finish(table.curves);
    for (std::size_t i = 0; i + before < table.curves.size(); ++i) {
      begins.push_back({&file, parser.line_of(i)});
    }
  }
  if (allow_short) return table;
  const std::size_t longest = table.longest();
  for (std::size_t i = 0; i < table.curves.size(); ++i) {
    const std::size_t iterations = table.curves[i].iterations();
    if (iterations == longest) continue;
    throw SourceLine{*begins[i].file, begins[i].line}.error(
        "the curve that begins here ends after iteration " + std::to_string(iterations) +
        ", others after iteration " + std::to_string(longest) +
        ": what it would have become is not known (--allow-short: its training is over there)");
  }
  return table;
}

}  // namespace tune
