// Rows of comma-separated values (RFC 4180), one line each unless a cell has line breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tune::csv {

/// Appends `cell` to a line, after a comma unless `first`, in quotes if it needs them. A
/// line break stays one, in quotes: files that are read line by line must have none in a cell.
void append_cell(std::string& line, std::string_view cell, bool first);

/// The same for untrusted text, so that a spreadsheet shows it and runs no formula in it: text that
/// is no number and begins with `=`, `+`, `-`, `@`, a tab or a line break gets an apostrophe in
/// front. So does text that begins so behind apostrophes of its own, so that `text_of` can undo it.
void append_text(std::string& line, std::string_view text, bool first);

/// The inverse of append_text: the text of a cell.
std::string_view text_of(std::string_view cell);

/// The cells of a line without its line break.
std::vector<std::string> split(std::string_view line);

/// The columns of `header`, then those of `more` that are not among them, as one line. Columns are
/// the same if they have the same `text_of`: older files have no apostrophes.
std::string widened(std::string_view header, std::string_view more);

/// `rows` (whole lines, made for the header `from`) as they stand under the header `to`: cells
/// moved, empty where `from` lacks a column, left out where `to` does.
std::string moved(std::string_view rows, std::string_view from, std::string_view to);

}  // namespace tune::csv
