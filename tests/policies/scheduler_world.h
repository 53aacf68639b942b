// A world of trials that drives a scheduler as the loop does, event by event, without a clock,
// processes or files, and in which things go wrong at random.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/math/random.h"
#include "tuner/model/experiment.h"
#include "tuner/run/commit/policies.h"

namespace tune {

/// What happens in a world, in parts of 1 at each step.
struct Troubles {
  double failure = 0;      ///< of an attempt; half of them are retried
  double failed_save = 0;  ///< of a save that a pause waits for: the trial trains on
  double stop = 0;         ///< of any trial that has not ended, by hand
  double interrupt = 0;    ///< of everything that runs
  double early_end = 0;    ///< the program is done by itself
};

class World {
 public:
  using Make = std::function<std::unique_ptr<Scheduler>()>;
  /// The loss of a trial at an iteration.
  using Loss = std::function<double(TrialId, std::int64_t)>;

  World(Make make, std::uint32_t trials, std::size_t slots, std::uint64_t seed = 1);

  Loss loss;
  Troubles troubles;
  /// After every so many events the scheduler is replaced by a fresh one that loads its state, and
  /// whether asking leaves a trace is checked; 0: never.
  std::uint64_t reload_every = 0;
  /// After every so many events the scheduler is copied; a copy must save, after the next so many,
  /// what the scheduler was when it was made, or it is in `traces`. 0: never.
  std::uint64_t copy_every = 0;
  std::int64_t longest = 1000;  ///< a program ends by itself after so many iterations

  std::optional<TrialId> stuck;  ///< reports nothing

  /// An attempt fails for good.
  void fail(TrialId id) { end(id, Outcome::failed); }
  /// Runs until nothing can happen any more.
  void run();
  /// One step; false if nothing can happen any more.
  bool step();

  const Experiment& experiment() const { return experiment_; }
  const Trial& trial(std::uint32_t id) const { return experiment_.trial(TrialId(id)); }
  Scheduler& scheduler() { return *policies_.scheduler; }
  /// Everything that happened, a line each.
  const std::vector<std::string>& events() const { return events_; }
  /// In the order in which they were started, for the first or a later time.
  const std::vector<TrialId>& starts() const { return starts_; }
  /// What was wrong with asking: an answer that changed by asking, or left a trace.
  const std::vector<std::string>& traces() const { return traces_; }

 private:
  class Configs;
  /// What remains to be done with a trial after its last result.
  struct Attempt {
    Action next = Action::proceed;
    bool stop_asked = false;
    bool has_saved = false;
  };

  void apply(EventBody body);
  void carry_out_orders();
  bool fill_slots();
  void start(TrialId id);
  void report(TrialId id, Attempt& attempt);
  void save(TrialId id);
  void carry_out(TrialId id, Attempt& attempt);
  void end(TrialId id, Outcome outcome, bool retry = false);
  bool happens(double chance) { return chance > 0 && random_.uniform() < chance; }
  void look_for_traces();
  void check_copy();

  const Make make_;
  const std::uint32_t trials_;
  const std::size_t slots_;
  Random random_;
  Policies policies_;
  std::unique_ptr<Scheduler> copy_;
  Json saved_when_copied_;
  Experiment experiment_;
  std::map<TrialId, Attempt> attempts_;
  double now_ = 1000;
  std::vector<std::string> events_;
  std::vector<TrialId> starts_;
  std::vector<std::string> traces_;
};

}  // namespace tune
