// `tune ls` of a folder: its experiments.
#pragma once

#include <filesystem>
#include <vector>

namespace tune {

/// Prints a line for each: how many trials it has in which state, its best value, its driver. What
/// cannot be read is said in that line.
void list_experiments(const std::vector<std::filesystem::path>& all, bool as_json);
void list_experiments_as_csv(const std::vector<std::filesystem::path>& all);

}  // namespace tune
