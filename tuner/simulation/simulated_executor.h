// An executor without processes, in virtual time: programs are functions, and what happens comes
// off a queue of events. Ties are first in, first out, so equal runs are equal event by event.
// What trainables save goes through SimulatedStorage, not to a disk.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/execution/reactor.h"
#include "tuner/simulation/simulated_program.h"
#include "tuner/simulation/virtual_clock.h"

namespace tune {

/// Where simulated programs keep what they save. Errors are Error.
class SimulatedStorage {
 public:
  virtual ~SimulatedStorage() = default;
  virtual void write(const std::string& directory, std::string content) = 0;
  virtual std::string read(const std::string& directory) = 0;
};

class SimulatedExecutor : public Executor, public Reactor {
 public:
  /// All parts outlive it. It alone moves the clock.
  SimulatedExecutor(VirtualClock& clock, SimulatedStorage& storage, SimulatedProgram program)
      : clock_(clock), storage_(storage), program_(std::move(program)) {}

  void launch(LaunchId launch, LaunchSpec spec) override;
  void send(LaunchId launch, const protocol::Command& command) override;
  void signal(LaunchId launch, int signal) override;
  void answer(ControlId, const ControlAnswer&) override {}
  /// Goes on to the next event, or to `deadline`. Error (machine) if there is neither.
  void wait(Seconds deadline, std::vector<Wakeup>& wakeups) override;
  void wake() noexcept override { woken_ = true; }

  /// Schedules an event at `time` (steady), such as a signal to the driver or a control request.
  void at(Seconds time, Wakeup wakeup);

  std::size_t live() const { return children_.size(); }
  bool is_live(LaunchId launch) const { return children_.contains(launch); }

 protected:
  /// Delays all pending events.
  void delay_all(Seconds by_s);
  /// When the next event is due; infinity if there is none.
  Seconds next_event();
  /// The next `wait` returns at once.
  bool is_woken() const { return woken_; }

 private:
  /// One event of the queue; the wake-up itself stays where it is while the heap is sorted.
  struct Due {
    Seconds time;
    std::uint64_t order;
    std::uint32_t slot;
    bool operator<(const Due& other) const {
      return time > other.time || (time == other.time && order > other.order);
    }
  };
  void start(LaunchId launch, const protocol::Start& start);
  void step(LaunchId launch);
  void save(LaunchId launch, const std::string& directory);
  void exit(LaunchId launch, int code, int signal, Seconds after_s);
  void after(Seconds delay_s, Wakeup wakeup) { at(clock_.time + delay_s, std::move(wakeup)); }
  bool is_heard(const Wakeup& wakeup) const;
  Wakeup take_next();

  VirtualClock& clock_;
  SimulatedStorage& storage_;
  SimulatedProgram program_;
  std::unordered_map<LaunchId, SimulatedRun> children_;
  std::vector<Due> queue_;  ///< a heap, the next event first
  std::vector<Wakeup> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t order_ = 0;
  bool woken_ = false;
};

}  // namespace tune
