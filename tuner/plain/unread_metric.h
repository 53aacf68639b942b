// What is said of a program whose metric has not come: what it prints instead, and how that would
// be read.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// The first of `lacking` that is probably called otherwise in `seen`, as a sentence without its
/// subject.
std::optional<std::string> other_name_of(const std::vector<std::string>& lacking,
                                         const std::string& seen);

/// Of one launch.
class UnreadMetric {
 public:
  /// `closing`: the metrics that close a result; none: any line may.
  explicit UnreadMetric(std::vector<std::string> closing) : closing_(std::move(closing)) {}

  /// It has printed something.
  void note_output() { has_output_ = true; }
  /// It has printed a line with a number that has closed no result.
  void note_line() { ++lines_; }

  struct Remark {
    enum class What {
      silent,      ///< it has printed nothing
      other_name,  ///< a name that is probably meant
      unread,      ///< numbers, and never the metric
    };
    What what{};
    std::string sentence;  ///< without its subject
  };
  /// Whether it is to be looked now for something to say, as it has run for `age_s`.
  bool is_due(Seconds age_s);
  /// What its user should know, if no result has come. `lacking`: those of the metrics that have
  /// not; `seen`: what its logs have last.
  std::optional<Remark> remark(Seconds age_s, const std::vector<std::string>& lacking,
                               const std::function<std::string()>& seen) const;

  /// It has ended well, without a result. `left_running`: a sentence without its subject; empty: it
  /// has left no process.
  std::string sentence_at_end(const std::vector<std::string>& lacking, const std::string& seen,
                              const std::string& left_running) const;

 private:
  std::vector<std::string> closing_;
  bool has_output_ = false;
  std::size_t lines_ = 0;
  std::size_t looks_ = 0;       ///< at the ages at which one looks
  bool was_unread_ = false;     ///< there were too many lines
  bool was_early_ = false;      ///< there were a few of them
  bool is_unread_now_ = false;  ///< they are too many since the last look
};

}  // namespace tune
