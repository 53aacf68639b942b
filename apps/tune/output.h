// Standard output of the commands: text, aligned tables, JSON.
// Knows no experiment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "callbacks/console_table.h"
#include "trainable/values.h"
#include "tuner/core/count_of.h"
#include "tuner/core/exact_number.h"
#include "tuner/core/state_cost.h"

namespace tune {

/// Writes all of `text`, lines for people, to standard output, without what a terminal would obey:
/// it may hold words of trials. Whoever closed the other end (`tune ls | head`) has seen enough:
/// that is no error. Error (machine) if it cannot be written for another reason.
void print(std::string_view text);

/// The same for programs, as it is; cleaned only where a terminal gets it.
void print_data(std::string_view text);

/// Whether anybody can still read standard output: not once the other end of a pipe is closed.
bool has_reader();

/// `json` indented, with a newline.
void print_json(const Json& json);

/// Null where there is no finite number.
Json number_or_null(double value);
/// As `encode_number` does, with all digits of a whole number of 64 bits that no double has.
Json number_json(const ExactNumber& number);

/// Aligned, as wide as the terminal; in a pipe as wide as it has to be.
void print_table(const std::vector<TableColumn>& columns,
                 const std::vector<std::vector<std::string>>& rows);
/// The same as text, without a newline at its end, as wide as it has to be: for a value of
/// `pairs_text`.
std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows);

/// Says it on standard error, cleaned, in one line that begins with the program's name.
void complain(const std::string& sentence) noexcept;
/// The same with "notice: " before it.
void print_notice(const std::string& sentence) noexcept;
void print_each_notice(const std::vector<std::string>& sentences) noexcept;

/// Writes lines for people to a descriptor, cleaned, and waits for no reader: for a driver that is
/// done.
void print_in_passing(int descriptor, std::string_view text);

/// "key  value" lines with the values below each other, never cut. Nothing in a key or a value can
/// look like another key.
std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs);
void print_pairs(const std::vector<std::pair<std::string, std::string>>& pairs);

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
/// As a word that a shell takes as it is.
std::string shell_word(const std::filesystem::path& path);

}  // namespace tune
