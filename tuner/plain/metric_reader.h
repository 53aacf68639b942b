// Metrics out of the lines that a program prints for people.
// Knows no file and no process.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/core/metrics.h"
#include "tuner/plain/plain_program.h"

namespace tune {

/// What is wrong with an expression for a number: no RE2, or not one group. Empty if nothing is.
std::string complaint_about_expression(const std::string& expression);

/// Reads metrics by name ("loss: 0.3", "'loss'=3e-1"), by expression, and out of lines that end
/// with a JSON object. A result is there once all of `closing` have come since the last one; it has
/// what else has come since.
class MetricReader {
 public:
  /// The expressions are right ones.
  explicit MetricReader(PlainReading reading);
  ~MetricReader();
  MetricReader(MetricReader&&) noexcept;

  /// The result that `line` closes, if it closes one. `overwritten`: see LineSplitter; a bar is
  /// drawn again and again, so what it says counts only if it has changed.
  std::optional<Metrics> read(std::string_view line, bool overwritten);

 private:
  struct Expressions;
  void set(std::string_view name, double value);
  bool read_json(std::string_view line);
  const double* pending(std::string_view name) const;

  PlainReading reading_;
  std::unique_ptr<Expressions> expressions_;
  std::vector<std::pair<std::string, double>> pending_;  ///< since the last result
  std::vector<double> last_;                             ///< of `closing`, in the last result
};

/// The number that stands behind `name` in `line`, the last one if there are several. The name is
/// not preceded by a letter, a digit or one of "_./-"; a quote, ':' or '=', and a quote may stand
/// between; the number is not followed by '/' (as in "step: 3/100") or by a letter.
std::optional<double> number_behind(std::string_view line, std::string_view name);

/// Where `name` begins, of the number that number_behind would find.
std::optional<std::size_t> place_of_number(std::string_view line, std::string_view name);

/// The names with a number behind them in `text`, each once, at most `most`: what somebody who
/// spelt a metric wrong may have meant.
std::vector<std::string> names_in(std::string_view text, std::size_t most);

}  // namespace tune
