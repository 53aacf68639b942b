// The status of a whole experiment as JSON.
#pragma once

#include "tuner/view/status_view.h"

namespace tune {

/// What `tune status --json` prints, and `tune run --json` at its end as `status`.
Json status_json(const StatusView& seen);

}  // namespace tune
