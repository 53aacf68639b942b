// What a driver that has died leaves behind of its launches: what each was told last, and what it
// has said since. The next driver goes on from there.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/execution/executor.h"

namespace tune {

/// A launch whose driver is gone. A driver says the next thing to a process once what followed from
/// its answer to the last one is recorded; so what was not told more than that has been recorded up
/// to that answer, and the answer itself may not have been.
struct KeptLaunch {
  enum class Told : std::uint8_t {
    nothing,  ///< not even which trial it is to be
    start,
    step,
    save,
    stop,  ///< or it was signalled
  };
  LaunchId launch{};
  /// As it was launched; its logs are those of the trial that it was told to be.
  LaunchSpec spec;
  Launched started;
  std::optional<protocol::Hello> hello;
  std::string trial;  ///< "trial_00003"; that it was told to be
  int attempt = 0;    ///< of that
  Told told = Told::nothing;
  std::int64_t iteration = 0;  ///< of a step or save
  std::string directory;       ///< of a save
  Seconds told_for_s = 0;      ///< so long ago
  bool is_done = false;        ///< by its last result
  bool has_ended = false;
  /// What it has said since, in order.
  std::vector<LaunchEvent> since;
  /// What it has saved by itself, of each name the newest: a copy of it takes its time, so it may
  /// be known or not.
  std::vector<CheckpointFound> found;
};

/// One more thing has happened to it.
void note(KeptLaunch& kept, const LaunchEvent& event);

/// Keeps that, as an executor's commands and events go by.
class KeptLaunches {
 public:
  void launch(LaunchId launch, const LaunchSpec& spec);
  void send(LaunchId launch, const protocol::Command& command, Seconds now);
  void signal(LaunchId launch);
  void note(const LaunchEvent& event);
  /// All that live, and the last ones that have ended: that a process has ended may not have been
  /// recorded either.
  std::vector<KeptLaunch> all(Seconds now) const;

 private:
  struct Entry {
    KeptLaunch kept;
    Seconds told_at = 0;
  };

  std::map<LaunchId, Entry> entries_;
  std::deque<LaunchId> ended_;  ///< in the order of their ends
};

}  // namespace tune
