// Converts a whole search in another tool's file into a spec.
// A sweep of W&B or an experiment of Katib is given as JSON.
#pragma once

#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

struct SweepSpec {
  std::string text;                 ///< a spec with comments, right as it stands
  std::vector<std::string> losses;  ///< sentences: what the other tool does that differs here
};

/// `file` is how users know it. Domains are those of `foreign_form`. Error (user) if it is of
/// neither tool, names no program or no hyperparameters.
SweepSpec spec_of_sweep(const OrderedJson& sweep, const std::string& file);

}  // namespace tune
