// The state of each rung of an experiment's scheduler: a fresh scheduler replays the record, as at
// a resume, and is asked. Changes nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tuner/policy/rungs_report.h"
#include "tuner/view/experiment_view.h"

namespace tune {

struct RungLook {
  ExperimentView view;
  /// Nothing: its scheduler has no rungs, or is not known here (a plugin's, a program).
  std::optional<RungsReport> rungs;
};

/// Reads the journal once, as look_at does.
RungLook look_at_rungs(const std::filesystem::path& directory);

/// {"time_attr", "metric", "rungs": [...]}; null for nothing.
Json to_json(const std::optional<RungsReport>& report);

/// A table as text without a newline at its end.
std::string text_of(const RungsReport& report);

}  // namespace tune
