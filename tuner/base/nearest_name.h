// Finds the name that was probably meant by one that does not exist ("did you mean ...?").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tune {

/// The candidate with the fewest edits to `name`: letters put in, left out, replaced, or two
/// neighbours swapped (Damerau-Levenshtein distance, no letter edited twice). At most two edits, or
/// a third of the name's length if that is more, and always fewer than the name has letters. The
/// first candidate wins ties; nothing if none is near enough.
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

/// Number of edits between `a` and `b`, as above.
int edit_distance(std::string_view a, std::string_view b);

/// "unknown option 'iteratons', did you mean 'iterations'?", or, if nothing is near, "unknown
/// option 'x', expected one of 'a', 'b', 'c'". `kind` is the word before the name.
std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> candidates);

}  // namespace tune
