// All that `tune status` says of an experiment, read at one moment.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/model/end_estimate.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/rung_replay.h"

namespace tune {

struct StatusView {
  ExperimentView view;
  std::optional<RungsReport> rungs;  ///< see RungLook
  Awaited awaited;
  Seconds now = 0;  ///< Unix time
  /// How many trials there will be; nothing if that is not known, as for a plugin's searcher.
  std::optional<std::uint64_t> total;
  std::optional<EndEstimate> end;  ///< when it will be over; nothing if nobody drives it

  const ResultGrid& grid() const { return view.grid; }
  const Experiment& experiment() const { return view.grid.experiment(); }
  /// Running time of all sessions: up to now if somebody drives it, else up to its last event.
  Seconds running_s() const;
  /// What is to be known of the record and of files, a sentence each.
  std::vector<std::string> notices() const;
};

/// Reads the journal once, and asks the driver once. Error (user) if there is no experiment.
StatusView look_at_status(const std::filesystem::path& directory);

/// The trial with the best of all results; null if there is none, or with several metrics.
Json best_json(const ResultGrid& grid);

/// What the experiment's state takes on disk now.
std::uint64_t state_bytes(const std::filesystem::path& directory);

/// How many trials were ended by whom.
std::map<std::string, std::size_t> ends_of(const Experiment& experiment);

/// What its last driver has said of its remote; null if it has none.
Json remote_json(const ExperimentView& view);

/// Of workers' saves, the rank that answered last most often, and how often.
std::optional<std::pair<int, std::uint64_t>> slowest_rank(const SaveStatistics& saves);

/// 0 of none.
double mean_of(double sum, std::uint64_t count);

}  // namespace tune
