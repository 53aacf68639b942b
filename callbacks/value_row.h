// Finds a value of a metric in a result.json. Knows no trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tune {

/// The training_iteration of the last row in which `metric` has this value; nothing if there is
/// none, or if `file` is no regular file. Rows that cannot be read are left out.
std::optional<std::int64_t> iteration_of(const std::filesystem::path& file,
                                         const std::string& metric, double value);

}  // namespace tune
