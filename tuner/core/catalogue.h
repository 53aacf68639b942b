// From names in a spec to policies: the one place where names are looked up. apps and plugins fill
// it; the built-in entries are added by add_schedulers, add_searchers, add_callbacks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tuner/core/callback.h"
#include "tuner/core/objective.h"
#include "tuner/core/scheduler.h"
#include "tuner/core/search_space.h"
#include "tuner/core/searcher.h"
#include "tuner/core/stopper.h"

namespace tune {

/// What a policy is made from besides its own options.
struct PolicyContext {
  const SearchSpace& space;
  std::optional<Objective> objective;
  std::int64_t num_samples = 1;  ///< -1: endless
  std::uint64_t seed = 0;        ///< for this policy alone
};

/// Makes a policy from the spec's object without its "type". Throws OptionError for an option that
/// is unknown or out of range.
template <class Policy>
using Factory = std::function<std::unique_ptr<Policy>(const Json& options, const PolicyContext&)>;

/// Names by kind. Filling a name twice is refused.
struct Catalogue {
  std::map<std::string, Factory<Searcher>> searchers;
  std::map<std::string, Factory<Scheduler>> schedulers;
  std::map<std::string, Factory<Stopper>> stoppers;
  std::map<std::string, Factory<Callback>> callbacks;
};

/// A bad option: where (JSON pointer below the policy's object) and what, as a sentence.
struct OptionError : std::runtime_error {
  OptionError(std::string pointer_below, const std::string& sentence)
      : std::runtime_error(sentence), pointer(std::move(pointer_below)) {}
  std::string pointer;
};

}  // namespace tune
