// What is worth knowing of a search and easily overlooked, as sentences. Each rests on numbers that
// it states; none is a certainty.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuner/view/experiment_view.h"
#include "tuner/view/run_history.h"

namespace tune {

enum class FindingKind { failures, saves, not_finite, config, edge, early_stopping, idle, stalled };
const char* to_string(FindingKind kind);  ///< "failures", "not_finite", ...

struct Finding {
  FindingKind kind{};
  std::string sentence;
  std::vector<TrialId> trials = {};          ///< that it is about; empty: no certain ones
  std::vector<std::string> parameters = {};  ///< hyperparameters that it is about
};

/// How well the order of trials at one rung tells their order at a later one.
struct RungAgreement {
  double from = 0, to = 0;  ///< milestones
  std::size_t trials = 0;   ///< that were judged at both
  double correlation = 0;   ///< Spearman's, from -1 to 1
  std::size_t ended = 0;    ///< trials that were judged at `from` and never at a later rung
  std::size_t judged = 0;   ///< at `from`
};
/// For each rung the next one, where enough trials were judged at both.
std::vector<RungAgreement> rung_agreements(const std::vector<Judgement>& judgements);

/// `started_by_best`: how many trials had started when the best result came; nothing: not known.
std::vector<Finding> findings_of(const ResultGrid& grid, const RunHistory& history,
                                 std::optional<std::size_t> started_by_best);

}  // namespace tune
