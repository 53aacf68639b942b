// Reads result.json and the stand-in that took over from it as one list of rows.
#include "callbacks/result_rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "callbacks/file_writer.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

/// Those of one file. A trial may have put anything in its place.
LinesRead read_rows(const std::string& file, const std::function<void(const Metrics&)>& use) {
  try {
    return read_lines(file, most_row_bytes, [&](const FileLine& line) {
      std::optional<Metrics> metrics;
      try {
        metrics = read_metrics(line.text);
      } catch (const std::invalid_argument&) {
        return;
      }
      use(*metrics);
    });
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

LinesRead read_result_rows(const std::filesystem::path& file,
                           const std::function<void(const Metrics&)>& use) {
  const std::string stand_in = stand_in_of(file.native());
  double taken_over =
      std::numeric_limits<double>::infinity();  // the iteration from which it counts
  read_rows(stand_in, [&](const Metrics& row) {
    taken_over = std::min(taken_over, row.find("training_iteration").value_or(taken_over));
  });
  LinesRead read = read_rows(file.native(), [&](const Metrics& row) {
    if (!(row.find("training_iteration").value_or(0) >= taken_over)) use(row);
  });
  const LinesRead later = read_rows(stand_in, use);
  read.is_there |= later.is_there;
  read.too_long += later.too_long;
  return read;
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
