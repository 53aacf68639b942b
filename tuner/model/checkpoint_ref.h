// Which checkpoint, wherever its files are.
#pragma once

#include <compare>

#include "tuner/model/trial.h"

namespace tune {

struct CheckpointRef {
  TrialId trial{};
  int index = 0;  ///< 0: none
  auto operator<=>(const CheckpointRef&) const = default;
};

}  // namespace tune
