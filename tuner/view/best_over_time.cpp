// Replays results in order and notes each new best; a rewound trial loses what it had after its
// checkpoint.
#include "tuner/view/best_over_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/kept_results.h"
#include "tuner/model/paths.h"
#include "tuner/view/event_replay.h"

namespace tune {

namespace {

/// Knows of each trial when its own best became better.
class Ascents {
 public:
  Ascents(const Experiment& experiment, Objective objective)
      : experiment_(experiment), objective_(std::move(objective)) {}

  /// The experiment has just taken it in.
  void take(const Event& event) {
    if (const auto* const started = std::get_if<AttemptStarted>(&event.body)) {
      if (started->attempt == 1) ++started_;
    } else if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
      take_result(event, *reported);
    }
  }

  std::vector<Improvement> improvements(const ResultGrid& grid) const {
    std::vector<Improvement> all;
    for (const auto& [id, own] : trials_) {
      const Trial& trial = experiment_.trial(id);
      const bool counts = own.stretch == present_stretch(trial).number && grid.is_feasible(trial);
      if (!counts) continue;
      for (const Improvement& each : own.better) {
        if (each.iteration <= trial.iteration) all.push_back(each);
      }
    }
    std::sort(all.begin(), all.end(),
              [](const Improvement& a, const Improvement& b) { return a.event < b.event; });
    std::vector<Improvement> best;
    for (const Improvement& each : all) {
      // As ResultGrid::best_trials has it of equal ones.
      const bool is_new = best.empty() || is_better(each.value, best.back().value) ||
                          (each.value == best.back().value && each.trial < best.back().trial);
      if (is_new) best.push_back(each);
    }
    return best;
  }

 private:
  struct OfTrial {
    std::size_t stretch = 0;
    std::vector<Improvement> better;  ///< than all before of this stretch, by iteration
  };

  bool is_better(const ExactNumber& a, const ExactNumber& b) const {
    return objective_.mode == Mode::max ? b < a : a < b;
  }

  void take_result(const Event& event, const ResultReported& reported) {
    const Result& result = reported.result;
    OfTrial& own = trials_[reported.trial];
    const std::size_t stretch = present_stretch(experiment_.trial(reported.trial)).number;
    if (std::exchange(own.stretch, stretch) != stretch) own.better.clear();
    const std::int64_t kept = kept_.last_before(reported);
    while (!own.better.empty() && own.better.back().iteration > kept) own.better.pop_back();
    const auto value = result.find(objective_.metric);
    if (!value || !std::isfinite(*value)) return;
    const ExactNumber exact = result.metrics.find_exact(objective_.metric).value_or(*value);
    if (!own.better.empty() && !is_better(exact, own.better.back().value)) return;
    own.better.push_back({event.number, event.time, experiment_.running_s(event.time), started_,
                          experiment_.results(), reported.trial, result.training_iteration, exact});
  }

  const Experiment& experiment_;
  const Objective objective_;
  std::size_t started_ = 0;
  std::map<TrialId, OfTrial> trials_;
  KeptResults kept_;
};

}  // namespace

std::vector<Improvement> improvements_of(const ResultGrid& grid, const Objective& objective) {
  Experiment experiment;
  Ascents ascents(experiment, objective);
  const auto missing =
      replay_events(grid.directory(), experiment, [&](const Event& event) { ascents.take(event); });
  if (missing == 0) return ascents.improvements(grid);
  throw user_error("it is not known when there was a better result: " + count_of(missing, "event") +
                   " cannot be read any more, neither from " +
                   paths::history(grid.directory()).string() + " nor from the journals");
}

}  // namespace tune
