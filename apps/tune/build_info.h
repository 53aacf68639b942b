// What this program was built from and with.
#pragma once

#include "trainable/values.h"

namespace tune {

/// name, version, commit (null: not known; "-dirty" at its end: with changes), compiler,
/// build_type, and libraries with their versions.
Json build_info();

}  // namespace tune
