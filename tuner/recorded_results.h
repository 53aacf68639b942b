// The results of an experiment's trials out of its record, as their files result.json would have
// them: for who left those files out. Knows no driver.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "tuner/core/metrics.h"
#include "tuner/core/trial.h"

namespace tune {

class RecordedResults {
 public:
  /// Reads history and journals to their ends. Error if they cannot be read.
  explicit RecordedResults(const std::filesystem::path& directory);

  /// Calls `use` with each result of the trial that counts, oldest first.
  void each_row(TrialId trial, const std::function<void(const Metrics&)>& use) const;

 private:
  std::map<TrialId, std::map<std::int64_t, std::string>> rows_;  ///< by iteration, as JSON text
};

}  // namespace tune
