#include "tuner/lost_rows.h"

#include <cstddef>

#include "callbacks/file_writer.h"
#include "callbacks/row_files.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/model/paths.h"

namespace tune {

std::vector<std::string> lost_rows(const std::filesystem::path& directory,
                                   const std::map<TrialId, std::int64_t>& written) {
  constexpr std::size_t most_named = 5;
  const RowFiles rows(RowFormat::json);
  std::vector<std::string> sentences;
  std::size_t others = 0;
  for (const auto& [trial, iteration] : written) {
    const std::filesystem::path file = paths::trial(directory, trial) / "result.json";
    std::int64_t last = 0;
    try {
      if (std::filesystem::exists(stand_in_of(file.native()))) continue;
      last = rows.last_iteration(file.native());
    } catch (const std::exception&) {
      continue;  // who writes to it next says why that cannot be
    }
    if (last >= iteration) continue;
    if (sentences.size() == most_named) {
      ++others;
      continue;
    }
    // Of a clone, some of the iterations between are its donor's.
    const std::string after = last > 0 ? "after iteration " + std::to_string(last) + " and " : "";
    sentences.push_back("result.json of " + to_string(trial) + " lacks its rows " + after +
                        "up to iteration " + std::to_string(iteration) +
                        ", which it had at the last snapshot: somebody has emptied it, cut it down "
                        "or removed it. What the trial has come to is in the record all the same; "
                        "the rows do not come back");
  }
  if (others > 0) {
    sentences.push_back("so it is with result.json of " +
                        count_of(others, "more trial", "more trials"));
  }
  return sentences;
}

}  // namespace tune
