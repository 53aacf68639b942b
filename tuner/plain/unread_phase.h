// Finds words for a phase where they choose no lines: in the line above a metric's, or behind its
// number.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tuner/plain/closing_line.h"

namespace tune {

/// "Training" and "Validation" above lines with "loss: 0.5", or "loss: 0.5 (val)" among others:
/// each counts, so an epoch has several results.
class UnreadPhase {
 public:
  /// A line that has closed no result; those that follow stand below it.
  void see(std::string_view line);

  struct Two {
    std::string usual;  ///< how a result is told: "'loss: 0.5' below 'Validation'"
    std::string other;
  };
  /// The next line that counts as a result. Once: two of different phases, if each has come twice.
  std::optional<Two> take(const ClosingLine& line, std::string_view text);

 private:
  struct Kind {
    std::size_t lines = 0;
    std::string shown;  ///< the first of them
  };
  static constexpr std::size_t phases = 4;

  Phase above_ = Phase::unnamed;
  std::string title_;  ///< the line above
  std::array<Kind, phases> kinds_;
  bool has_told_ = false;
};

}  // namespace tune
