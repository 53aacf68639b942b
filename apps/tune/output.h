// Standard output of the commands: text, aligned tables, JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "callbacks/console_table.h"
#include "trainable/values.h"
#include "tuner/view/value_text.h"

namespace tune {

/// Writes all of `text`, lines for people, to standard output, without what a terminal would obey:
/// it may hold words of trials. Whoever closed the other end (`tune ls | head`) has seen enough:
/// that is no error. Error (machine) if it cannot be written for another reason.
void print(std::string_view text);

/// The same for programs, as it is; cleaned only where a terminal gets it.
void print_data(std::string_view text);

/// The same as it is, also to a terminal: for what has its own colors, and no word of a trial that
/// was not cleaned before.
void print_drawn(std::string_view text);

/// Whether anybody can still read standard output: not once the other end of a pipe is closed.
bool has_reader();

/// `json` indented, with a newline.
void print_json(const Json& json);

/// Aligned, as wide as the terminal; in a pipe as wide as it has to be.
void print_table(const std::vector<TableColumn>& columns,
                 const std::vector<std::vector<std::string>>& rows);

/// Says it on standard error, cleaned, in one line that begins with the program's name.
void complain(const std::string& sentence) noexcept;
/// The same with "notice: " before it.
void print_notice(const std::string& sentence) noexcept;
void print_each_notice(const std::vector<std::string>& sentences) noexcept;

/// Writes lines for people to a descriptor, cleaned, and waits for no reader: for a driver that is
/// done.
void print_in_passing(int descriptor, std::string_view text);

/// As `pairs_text` has them.
void print_pairs(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace tune
