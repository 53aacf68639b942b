// An experiment that is looked at while it goes on: its state, kept up to date from the record, and
// which trials have changed since when. Locks and changes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/exact_number.h"
#include "tuner/disk/file_system.h"
#include "tuner/journal/event_stream.h"
#include "tuner/model/experiment.h"
#include "tuner/model/metrics.h"
#include "tuner/model/objective.h"

namespace tune {

class FollowedExperiment {
 public:
  /// Reads it as it is now. Error if there is no experiment, or it cannot be read.
  explicit FollowedExperiment(std::filesystem::path directory);

  /// Takes in what was recorded since. Error if the record cannot be followed any more: it is gone,
  /// damaged, or lacks events. Then it is to be read anew.
  void read_more();

  /// The trials that have changed after that event, ascending; nothing if that is not known: it was
  /// before the experiment was read.
  std::optional<std::vector<TrialId>> changed_since(std::uint64_t event) const;

  const Experiment& experiment() const { return experiment_; }

  /// Names of what `row` answers with, as `tune ls` has them. They grow with the first trial.
  std::vector<std::string> columns() const;
  /// One trial as it is now. Texts are cut at 400 bytes; whole numbers of 64 bits have all digits.
  Json row(TrialId id) const;
  /// What changes by events alone: `trials`, `states`, `ends`, `results`, `session_end`, and
  /// whether somebody drives it (`is_driven`).
  Json status() const;

 private:
  void name_config();
  void look_up_digits();
  void keep_digits(TrialId id, const Metrics& metrics);
  Json best_of(const Trial& trial) const;

  std::filesystem::path directory_;
  std::string identity_;  ///< of the directory: another experiment may take its place
  std::unique_ptr<FileSystem> files_;
  Experiment experiment_;
  std::vector<Objective> objectives_;
  std::optional<EventStream> events_;
  std::uint64_t begin_ = 0;             ///< the event up to which it was read
  std::vector<std::uint64_t> changed_;  ///< by trial the event that has changed it; 0: none since
  std::vector<std::string> config_;     ///< names of the config's values, of the first trial
  std::map<TrialId, ExactNumber> digits_;  ///< of the best, where a double may not have them
};

}  // namespace tune
