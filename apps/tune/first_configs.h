// The configs that a run would try first. Starts nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/spec/spec.h"

namespace tune {

struct FirstConfigs {
  std::optional<std::uint64_t> trials;  ///< of the whole search; nothing: it does not know yet
  std::vector<Json> configs;            ///< at most so many as were asked for
};

/// As the engine would draw them, before anything is known. The spec has been checked.
FirstConfigs first_configs(const ExperimentSpec& spec, const Catalogue& catalogue,
                           std::uint32_t count);

}  // namespace tune
