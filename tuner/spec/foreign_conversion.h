// Converts another tool's form of a hyperparameter into a domain.
#pragma once

#include <optional>

#include "tuner/spec/foreign_forms.h"
#include "tuner/spec/foreign_table.h"

namespace tune::foreign {

/// Nothing if `row` is null, or the arguments are not those of such a form.
std::optional<ForeignForm> converted(const Row* row, Arguments arguments);

}  // namespace tune::foreign
