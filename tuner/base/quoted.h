// Quotes the user's words in messages.
#pragma once

#include <string>
#include <string_view>

namespace tune {

/// `text` if it is short, else its beginning and its end, cut at characters.
std::string shortened(std::string_view text);

/// The same between quotes: 'lr=0.1'.
std::string as_quoted(std::string_view text);

/// As a word that a shell takes as it is.
std::string shell_word(const std::string& text);

}  // namespace tune
