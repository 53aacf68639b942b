#include "callbacks/result_rows.h"

#include <fstream>
#include <stdexcept>
#include <system_error>

namespace tune {

void read_result_rows(const std::filesystem::path& file,
                      const std::function<void(const Metrics&)>& use) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return;
  std::ifstream rows(file);
  for (std::string row; std::getline(rows, row);) {
    std::optional<Metrics> metrics;
    try {
      metrics = read_metrics(row);
    } catch (const std::invalid_argument&) {
      continue;
    }
    use(*metrics);
  }
}

std::optional<std::int64_t> iteration_of(const std::filesystem::path& file,
                                         const std::string& metric, double value,
                                         std::int64_t after) {
  std::optional<std::int64_t> iteration;
  read_result_rows(file, [&](const Metrics& row) {
    if (iteration || row.find(metric) != value) return;
    const auto at = row.find("training_iteration");
    if (at && *at > static_cast<double>(after)) iteration = static_cast<std::int64_t>(*at);
  });
  return iteration;
}

}  // namespace tune
