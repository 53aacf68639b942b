// Keeps numbers as the user typed them: JSON makes 3.1 of 3.10 and 1000.0 of 1e3, but a program's
// argument must be what was typed.
#pragma once

#include <string>
#include <string_view>

#include "tuner/plain/command_words.h"

namespace tune {

/// Adds those in the param space of a spec's text that JSON would write otherwise. Nothing, if the
/// text is no JSON.
void add_typed_numbers(std::string_view spec_text, TypedNumbers& typed);

/// The same of a param space alone, and of one value.
void add_typed_numbers_of_space(std::string_view text, TypedNumbers& typed);
void add_typed_numbers_of_value(const std::string& name, std::string_view text,
                                TypedNumbers& typed);

}  // namespace tune
