// How many columns of a terminal a text takes.
// Does not depend on the user's locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tune {

/// Of UTF-8 without anything that a terminal obeys (see clean_text), as the C library's wcwidth has
/// it: Chinese, Japanese and Korean characters and emoji take two columns, marks that combine with
/// the letter before take none. Where the C library has no locale with UTF-8, each character takes
/// one.
std::size_t width_of(std::string_view text);

/// The longest beginning of `text` that takes at most `width` columns, with the marks that combine
/// with its last letter.
std::string_view first_columns(std::string_view text, std::size_t width);

}  // namespace tune
