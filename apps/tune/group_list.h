// `tune ls --over`: a row for each config that was tried several times.
#pragma once

#include <utility>
#include <vector>

#include "apps/tune/commands.h"
#include "tuner/view/trial_fields.h"

namespace tune {

/// Prints how the groups of these trials stand, the best mean first unless told otherwise. Error
/// (user) if the experiment has not one metric.
void list_groups(const ListRequest& request, const std::vector<TrialSource>& sources,
                 const TrialFields& fields,
                 const std::vector<std::pair<const TrialSource*, const Trial*>>& trials);

}  // namespace tune
