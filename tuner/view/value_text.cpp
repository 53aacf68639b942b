// Formatting of bytes, times, costs, shell words and tables.
#include "tuner/view/value_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <string_view>

#include "callbacks/text_width.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"

namespace tune {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

}  // namespace

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json number_json(const ExactNumber& number) {
  const double value = number.value();
  return number.whole() && !(std::abs(value) < 0x1p53) ? to_json(number) : encode_number(value);
}

std::string format_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string format_seconds(double seconds) { return formatted("%.3f s", seconds); }

std::string format_time(double unix_time) {
  const auto whole = static_cast<std::time_t>(unix_time);
  std::tm local{};
  localtime_r(&whole, &local);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%F %T", &local);
  return buffer;
}

std::string iso_time(double unix_time) {
  const auto whole = static_cast<std::time_t>(unix_time);
  std::tm local{};
  localtime_r(&whole, &local);
  char buffer[40];
  std::strftime(buffer, sizeof buffer, "%FT%T%z", &local);
  std::string text = buffer;
  return text.insert(text.size() - 2, ":");  // as RFC 3339 has the zone
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return format_metric(value.get<double>());
  if (!value.is_array()) return value.dump();
  const bool has_texts =
      std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
  if (!has_texts) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + item.get<std::string>();
  return text.empty() ? "-" : text;
}

double share_of(const StateCost& cost, double running_s) {
  return running_s > 0 ? cost.total_s() / running_s : 0;
}

std::string state_cost_text(const StateCost& cost, double running_s) {
  if (cost.writes == 0) return "not known before the first snapshot";
  char share[32];
  std::snprintf(share, sizeof share, "%.2f %%", 100 * share_of(cost, running_s));
  return std::string(share) + " of the time (" + count_of(cost.writes, "write") + ", " +
         count_of(cost.syncs, "sync") + ", " + count_of(cost.snapshots, "snapshot") + ")";
}

std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& line : render_table(columns, rows, {std::numeric_limits<int>::max(), true})) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  std::vector<std::string> keys;
  for (const auto& [key, value] : pairs) {
    width = std::max(width, width_of(keys.emplace_back(clean_text(key))));
  }
  std::string text;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    text += keys[i] + std::string(width - width_of(keys[i]) + 2, ' ');
    for (const char c : clean_text(pairs[i].second, Lines::keep)) {
      text += c;
      if (c == '\n') text.append(width + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace tune
