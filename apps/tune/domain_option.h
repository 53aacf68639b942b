// The text of -p as a domain.
#pragma once

#include <string>

#include "trainable/values.h"
#include "tuner/plain/command_words.h"

namespace tune {

/// "loguniform:1e-5,1e-3" as {"loguniform": [1e-5, 0.001]}, JSON as a spec has it; what names no
/// domain is a value. Numbers of the hyperparameter `name` go into `typed` as they were typed.
/// Error (user) for what is almost a domain, or is one in another language.
Json domain_of_option(const std::string& name, const std::string& text, TypedNumbers& typed);

}  // namespace tune
