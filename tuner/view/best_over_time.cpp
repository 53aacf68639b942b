// Replays results in order and notes each that was better than all before. A trial that goes back
// to a checkpoint loses what it had after that: what is lost is known only at the end, so that a
// second replay leaves it out where it was among the best.
#include "tuner/view/best_over_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

constexpr std::int64_t none_kept = std::numeric_limits<std::int64_t>::min();

/// The results that trials have lost: of what was before an event, all beyond an iteration.
class LostResults {
 public:
  /// The experiment has just taken it in.
  void take(const Experiment& experiment, const Event& event) {
    last_event_ = event.number;
    const auto* const reported = std::get_if<ResultReported>(&event.body);
    if (reported == nullptr) return;
    OfTrial& own = trials_[reported->trial];
    const std::size_t stretch = present_stretch(experiment.trial(reported->trial)).number;
    const std::int64_t kept = kept_.last_before(*reported);
    if (std::exchange(own.stretch, stretch) != stretch) {
      own.cuts.push_back({event.number, none_kept});
    } else if (kept < own.iteration) {
      own.cuts.push_back({event.number, kept});
    }
    own.iteration = reported->result.training_iteration;
  }

  /// All events were taken: what trials have lost since their last result.
  void end(const Experiment& experiment) {
    for (auto& [id, own] : trials_) {
      const Trial& trial = experiment.trial(id);
      const bool is_same = own.stretch == present_stretch(trial).number;
      own.cuts.push_back({last_event_ + 1, is_same ? trial.iteration : none_kept});
    }
  }

  bool has(TrialId trial, std::uint64_t event, std::int64_t iteration) const {
    const auto own = trials_.find(trial);
    if (own == trials_.end()) return true;  // it came after the last event that was taken
    const auto& cuts = own->second.cuts;
    return std::any_of(cuts.rbegin(), cuts.rend(),
                       [&](const Cut& cut) { return event < cut.event && iteration > cut.kept; });
  }

 private:
  struct Cut {
    std::uint64_t event = 0;
    std::int64_t kept = 0;
  };
  struct OfTrial {
    std::size_t stretch = 0;
    std::int64_t iteration = 0;  ///< of its last result
    std::vector<Cut> cuts;
  };
  std::uint64_t last_event_ = 0;
  std::map<TrialId, OfTrial> trials_;
  KeptResults kept_;
};

/// Knows when the best value became better.
class Ascents {
 public:
  Ascents(const ResultGrid& grid, Objective objective)
      : grid_(grid), objective_(std::move(objective)) {}

  void note_start(const AttemptStarted& started) {
    if (started.attempt == 1) ++started_;
  }

  /// The experiment has just taken it in.
  void take(const Experiment& experiment, const Event& event, const ResultReported& reported) {
    const Result& result = reported.result;
    const auto value = result.find(objective_.metric);
    if (!value || !std::isfinite(*value)) return;
    const ExactNumber exact = result.metrics.find_exact(objective_.metric).value_or(*value);
    // As ResultGrid::best_trials has it of equal ones.
    const bool is_new = best_.empty() || is_better(exact, best_.back().value) ||
                        (exact == best_.back().value && reported.trial < best_.back().trial);
    if (!is_new || !is_feasible(reported.trial)) return;
    best_.push_back({event.number, event.time, experiment.running_s(event.time), started_,
                     experiment.results(), reported.trial, result.training_iteration,
                     result.iteration_is_guess, exact});
  }

  const std::vector<Improvement>& improvements() const { return best_; }

 private:
  bool is_better(const ExactNumber& a, const ExactNumber& b) const {
    return objective_.mode == Mode::max ? b < a : a < b;
  }

  /// At the end.
  bool is_feasible(TrialId id) const {
    const auto& trials = grid_.experiment().trials();
    return index_of(id) < trials.size() && grid_.is_feasible(trials[index_of(id)]);
  }

  const ResultGrid& grid_;
  const Objective objective_;
  std::size_t started_ = 0;
  std::vector<Improvement> best_;
};

}  // namespace

std::vector<Improvement> improvements_of(const ResultGrid& grid, const Objective& objective) {
  LostResults lost;
  // Of all results; with `known`, of those that are not lost.
  const auto replay = [&](const LostResults* known) {
    Experiment experiment;
    Ascents ascents(grid, objective);
    const auto missing = replay_events(grid.directory(), experiment, [&](const Event& event) {
      if (known == nullptr) lost.take(experiment, event);
      if (const auto* const started = std::get_if<AttemptStarted>(&event.body)) {
        ascents.note_start(*started);
      } else if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
        const bool counts = known == nullptr || !known->has(reported->trial, event.number,
                                                            reported->result.training_iteration);
        if (counts) ascents.take(experiment, event, *reported);
      }
    });
    if (missing > 0) {
      throw user_error("it is not known when there was a better result: " +
                       count_of(missing, "event") + " cannot be read any more, neither from " +
                       paths::history(grid.directory()).string() + " nor from the journals");
    }
    if (known == nullptr) lost.end(experiment);
    return ascents.improvements();
  };
  // Where none of the best is lost, they are also the best of those that are not: nothing else was
  // better than these.
  const std::vector<Improvement> best = replay(nullptr);
  const bool is_any_lost = std::any_of(best.begin(), best.end(), [&](const Improvement& each) {
    return lost.has(each.trial, each.event, each.iteration);
  });
  return is_any_lost ? replay(&lost) : best;
}

}  // namespace tune
