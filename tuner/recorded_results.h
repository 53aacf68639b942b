// The results of an experiment's trials read from its journal, in the form of result.json: for
// experiments without those files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tuner/model/metrics.h"
#include "tuner/model/trial.h"

namespace tune {

class RecordedResults {
 public:
  enum class Since {
    beginning,  ///< history and journals
    snapshot,   ///< the journals since the newest one: before it, the files were written to the end
  };

  /// Reads to the end. Error if that cannot be.
  explicit RecordedResults(const std::filesystem::path& directory, Since since = Since::beginning);

  /// Calls `use` with each result of the trial that counts, of iterations from `begin` up to, and
  /// without, `end`, oldest first.
  void each_row(TrialId trial, double begin, double end,
                const std::function<void(const Metrics&)>& use) const;
  /// The iteration of the oldest of them; nothing if there is none.
  std::optional<std::int64_t> first_iteration(TrialId trial) const;

 private:
  using Rows = std::map<std::int64_t, std::string, std::less<>>;  ///< by iteration, as JSON text
  std::map<TrialId, Rows> rows_;
};

}  // namespace tune
