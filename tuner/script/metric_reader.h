// Reads metrics out of lines that a program prints for people.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainable/values.h"
#include "tuner/model/metrics.h"
#include "tuner/script/plain_program.h"
#include "tuner/script/reading_remark.h"

namespace tune {

/// What is wrong with an expression for a number: no RE2, or not one group. Empty if nothing is.
std::string complaint_about_expression(const std::string& expression);

/// Reads metrics by name ("loss: 0.3", "'loss'=3e-1", "loss 0.3"), out of tables, by expression,
/// and out of lines that end with a JSON object. Once a name has stood before a colon, only what
/// stands there so counts, and nothing that is no result by what is around it (see no_result.h),
/// unless an expression says so. A result is there once all of `closing` have come since the last
/// one; it has what else has come since.
class MetricReader {
 public:
  /// The expressions are right ones.
  explicit MetricReader(PlainReading reading);
  ~MetricReader();
  MetricReader(MetricReader&&) noexcept;

  /// The result that `line` closes, if it closes one. `overwritten`: see LineSplitter; a bar is
  /// drawn again and again, so what it says counts only if it has changed. `stream`: 0 or 1.
  std::optional<Metrics> read(std::string_view line, bool overwritten, std::size_t stream = 0);

  /// What was left out, or may be another number than is meant; of each kind the first line.
  std::vector<ReadingRemark> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  struct Expressions;
  struct Forms;
  /// `text`: where it stands, with what else there is.
  void set(std::string_view name, double value, std::string_view text);
  bool read_json(std::string_view line);
  void read_by_name(std::string_view line, std::size_t metric, bool is_quoted);
  void note(ReadingRemark::What what, std::string_view line, std::string_view name);
  const double* pending(std::string_view name) const;
  bool is_drawn_again(std::string_view line, bool overwritten, std::size_t stream);

  PlainReading reading_;
  std::unique_ptr<Expressions> expressions_;
  std::unique_ptr<Forms> forms_;
  struct Pending {
    std::string name;
    double value = 0;
    Json whole;  ///< if it is a whole number that a double would round; else null
  };
  std::vector<Pending> pending_;  ///< since the last result
  std::vector<double> last_;      ///< of `closing`, in the last result
  /// The last line of a stream that has closed a result, or has drawn one again.
  struct Drawn {
    std::string title;
    bool is_overwritten = false;
  };
  std::array<Drawn, 2> drawn_;
  std::vector<ReadingRemark> remarks_;
  std::bitset<ReadingRemark::whats> noted_;
};

}  // namespace tune
