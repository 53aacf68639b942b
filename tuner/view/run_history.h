// What has become of attempts, devices, judgements and checkpoints: what the state of an experiment
// forgets, read from its events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/model/experiment.h"

namespace tune {

/// One launch of a trial.
struct AttemptSpan {
  TrialId trial{};
  int attempt = 0;
  std::string node;     ///< where it ran
  std::string gpus;     ///< that it held, "0,1"; empty: none
  Seconds start = 0;    ///< Unix time
  Seconds end = 0;      ///< Unix time; 0: it runs, or nobody has recorded its end
  int restored = 0;     ///< index of the checkpoint that it began with; 0: none
  std::string outcome;  ///< "completed", "paused", "exploiting", "failed", "interrupted"; or empty
  std::string reason;   ///< a sentence; empty: all was well
};

/// A result that a scheduler has judged by its rungs.
struct Judgement {
  TrialId trial{};
  std::int64_t iteration = 0;
  double rung = 0;    ///< its milestone
  double score = 0;   ///< of the metric
  double cutoff = 0;  ///< of the metric; NaN: there was none
  bool went_on = false;
};

/// A GPU that was free while a driver ran.
struct IdleStretch {
  std::string node;
  std::string gpu;
  Seconds from = 0, to = 0;  ///< Unix times
  std::string why;           ///< a clause
};

/// Of one trial's checkpoints.
struct CheckpointTally {
  int made = 0;
  int failed = 0;
  int dropped = 0;
  int damaged = 0;
};

struct RunHistory {
  std::vector<AttemptSpan> attempts;               ///< in the order of their starts
  std::vector<Judgement> judgements;               ///< in their order
  std::vector<IdleStretch> idle;                   ///< in the order of their ends
  std::map<TrialId, CheckpointTally> checkpoints;  ///< of those that have tried to save one
  std::uint64_t missing = 0;  ///< events that are not there any more: then all ends before them
};

/// Makes it of events.
class HistoryReader {
 public:
  /// `experiment`: the one that takes in the same events, each before `take` does.
  explicit HistoryReader(const Experiment& experiment);
  ~HistoryReader();
  void take(const Event& event);
  RunHistory history() &&;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Reads the history and the journal once.
RunHistory read_run_history(const std::filesystem::path& directory);

}  // namespace tune
