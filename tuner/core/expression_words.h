// Expressions as people write them who know Python, in the signs that the parser knows.
#pragma once

#include <string>

namespace tune {

/// `text` with "a if c else b" as "(c) ? (a) : (b)", and with signs for "and", "or", "not" and
/// "**". All else stands as it was, and at its place where there is no "if".
///
/// Throws std::invalid_argument: an "if" without its "else", or two comparisons in a row, which in
/// Python mean that both hold, and elsewhere compare a truth with a number. The sentence does not
/// have the text.
std::string in_signs(const std::string& text);

}  // namespace tune
