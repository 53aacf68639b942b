// Reads a result.json. Knows no trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/core/metrics.h"

namespace tune {

/// Calls `use` with each row of `file`; with none if it is no regular file. Rows that cannot be
/// read, as one that is being written, are left out.
void read_result_rows(const std::filesystem::path& file,
                      const std::function<void(const Metrics&)>& use);

/// The training_iteration of the first row, of those after iteration `after`, in which `metric` has
/// this value; nothing if there is none.
std::optional<std::int64_t> iteration_of(const std::filesystem::path& file,
                                         const std::string& metric, double value,
                                         std::int64_t after);

}  // namespace tune
