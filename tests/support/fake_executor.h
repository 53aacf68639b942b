// An executor without processes, in virtual time: trainables are C++ functions on an event queue.
// Ties are first in, first out. Knows nothing of trials' meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "tuner/core/clock.h"
#include "tuner/exec/executor.h"
#include "tuner/store/file_system.h"

namespace tune {

/// A clock that the test, or a FakeExecutor, moves by hand.
class ManualClock : public Clock {
 public:
  Seconds now() const override { return epoch_s + time; }
  Seconds steady() const override { return time; }
  static constexpr Seconds epoch_s = 1.7e9;
  Seconds time = 0;
};

/// What a fake trainable does at one step.
struct FakeStep {
  std::string metrics = "{}";  ///< JSON text; empty: no new iteration
  Seconds takes_s = 1;
  bool done = false;
  bool should_checkpoint = false;
  std::optional<std::string> hands_over;  ///< a checkpoint directory it has written
  std::optional<int> exits;               ///< instead of reporting, with this code
  std::optional<int> dies_of;             ///< instead of reporting, of this signal
  std::optional<std::string> faults;      ///< instead of reporting, says that it failed
  bool hangs = false;                     ///< instead of reporting, nothing
};

struct FakeProgram {
  /// `iteration` counts from 1, over restores: a checkpoint holds it.
  std::function<FakeStep(const Json& config, std::int64_t iteration)> step;
  bool is_function = false;
  bool can_reset = false;
  bool refuses_reset = false;
  bool cannot_launch = false;
  bool hangs_in_save = false;
  std::function<std::optional<std::string>()> save_error;  ///< why a save fails now
};

class FakeExecutor : public Executor {
 public:
  FakeExecutor(ManualClock& clock, FileSystem& files, FakeProgram program)
      : clock_(clock), files_(files), program_(std::move(program)) {}

  void launch(LaunchId launch, LaunchSpec spec) override;
  void send(LaunchId launch, const protocol::Command& command) override;
  void signal(LaunchId launch, int signal) override;
  void wait(Seconds deadline, std::vector<Wakeup>& wakeups) override;
  void answer(ControlId id, const ControlAnswer& answer) override {
    answers.emplace_back(id, answer);
  }
  void wake() noexcept override { woken_ = true; }

  /// Something that happens at `time` (steady) by itself: a signal to the driver, a wish.
  void at(Seconds time, Wakeup wakeup);

  /// The machine stands still at `time` for so long, trainables and all; only the clock goes on.
  void freeze(Seconds time, Seconds length_s) { freeze_ = {time, length_s}; }

  int launches = 0;
  std::size_t live() const { return children_.size(); }
  std::size_t most_live = 0;  ///< at once
  std::vector<LaunchSpec> specs;
  std::vector<std::pair<ControlId, ControlAnswer>> answers;

 private:
  struct Child {
    Json config;
    std::int64_t iteration = 0;
    bool started = false;
  };
  struct Pending {
    Seconds time;
    std::uint64_t order;
    Wakeup wakeup;
    bool operator>(const Pending& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };
  void start(LaunchId launch, const protocol::Start& start);
  void step(LaunchId launch);
  void save(LaunchId launch, const std::string& directory);
  void exit(LaunchId launch, int code, int signal, Seconds after);
  bool is_live(const Wakeup& wakeup) const;

  ManualClock& clock_;
  FileSystem& files_;
  FakeProgram program_;
  std::map<LaunchId, Child> children_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  std::uint64_t order_ = 0;
  bool woken_ = false;
  std::optional<std::pair<Seconds, Seconds>> freeze_;
  void stand_still();
};

}  // namespace tune
