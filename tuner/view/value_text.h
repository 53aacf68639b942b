// Numbers, times, tables and lists as JSON and as people read them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "callbacks/console_table.h"
#include "trainable/values.h"
#include "tuner/base/exact_number.h"
#include "tuner/model/state_cost.h"

namespace tune {

/// Null where there is no finite number.
Json number_or_null(double value);
/// As `encode_number` does, with all digits of a whole number of 64 bits that no double has.
Json number_json(const ExactNumber& number);

std::string format_bytes(double bytes);      ///< "1.5 MiB"
std::string format_seconds(double seconds);  ///< "0.012 s"
std::string format_time(double unix_time);   ///< local time, "2025-01-31 12:00:00"
std::string iso_time(double unix_time);      ///< with the zone, "2025-01-31T12:00:00+01:00"
/// As a table shows it: "-" for null, a list with commas between its items.
std::string cell_text(const Json& value);
/// Which part of `running_s` keeping the state has cost, from 0 to 1.
double share_of(const StateCost& cost, double running_s);
/// "0.15 % of the time (12 syncs, 3 snapshots)"
std::string state_cost_text(const StateCost& cost, double running_s);

/// A table as text, without a newline at its end, as wide as it has to be: for a value of
/// `pairs_text`.
std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows);

/// "key  value" lines with the values below each other, never cut. Nothing in a key or a value can
/// look like another key.
std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace tune
