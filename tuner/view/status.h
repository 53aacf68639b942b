// What there is to say of a whole experiment, for programs.
#pragma once

#include "tuner/view/status_look.h"

namespace tune {

/// What `tune status --json` prints, and `tune run --json` at its end as `status`.
Json status_json(const StatusLook& seen);

}  // namespace tune
