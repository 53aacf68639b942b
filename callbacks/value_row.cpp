#include "callbacks/value_row.h"

#include <fstream>
#include <stdexcept>
#include <system_error>

#include "tuner/core/metrics.h"

namespace tune {

std::optional<std::int64_t> iteration_of(const std::filesystem::path& file,
                                         const std::string& metric, double value) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
  std::optional<std::int64_t> iteration;
  std::ifstream rows(file);
  for (std::string row; std::getline(rows, row);) {
    try {
      const Metrics metrics = read_metrics(row);
      if (metrics.find(metric) != value) continue;
      if (const auto at = metrics.find("training_iteration")) {
        iteration = static_cast<std::int64_t>(*at);
      }
    } catch (const std::invalid_argument&) {
      // A row that is being written.
    }
  }
  return iteration;
}

}  // namespace tune
