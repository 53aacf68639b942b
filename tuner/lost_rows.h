// What files of results have lost while no driver ran: somebody has emptied them, or cut them down.
// Knows no driver.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tuner/model/trial.h"

namespace tune {

/// A sentence for each result.json in `directory` whose last row is of an earlier iteration than
/// the one in `written`, up to which it had all; of many, the last sentence says how many more. It
/// reads the end of each file only.
std::vector<std::string> lost_rows(const std::filesystem::path& directory,
                                   const std::map<TrialId, std::int64_t>& written);

}  // namespace tune
