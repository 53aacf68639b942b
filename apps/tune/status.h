// What there is to say of a whole experiment, for programs.
#pragma once

#include "apps/tune/rung_replay.h"

namespace tune {

/// What `tune status --json` prints, and `tune run --json` at its end as `status`.
Json status_json(const RungLook& seen);

}  // namespace tune
