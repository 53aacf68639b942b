// Reads a result.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/disk/lines.h"
#include "tuner/model/metrics.h"

namespace tune {

/// So many bytes a row may have: a result's own text and what the driver puts beside it.
constexpr std::size_t most_row_bytes = most_metric_bytes + (64 << 10);

/// Calls `use` with each row of `file`, and of what takes its place where it cannot be written (see
/// stand_in_of), whose rows count from its first iteration on. Rows that cannot be read are left
/// out, as one that is being written, and those longer than `most_row_bytes`, which are counted.
/// What is no regular file is not there.
LinesRead read_result_rows(const std::filesystem::path& file,
                           const std::function<void(const Metrics&)>& use);

/// The training_iteration of the first row, of those after iteration `after`, in which `metric` has
/// this value; nothing if there is none.
std::optional<std::int64_t> iteration_of(const std::filesystem::path& file,
                                         const std::string& metric, double value,
                                         std::int64_t after);

}  // namespace tune
