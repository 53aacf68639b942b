// Reads YAML, as far as other tools keep their searches in it.
#pragma once

#include <string>

#include "trainable/values.h"

namespace tune {

/// What `file` has, as JSON; maps in their order. Plain scalars are what YAML 1.2's core schema
/// makes of them, and numbers such as 1e-4. Merge keys (<<) are resolved. Error (user) with its
/// line if it is no YAML, has several documents, is larger than 1 MiB, deeper than 64 levels, or
/// has more than 100,000 values once its aliases are written out.
OrderedJson read_sweep_file(const std::string& file);

}  // namespace tune
