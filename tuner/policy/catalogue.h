// From names in a spec to policies: the one place where names are looked up. apps and plugins fill
// it; the built-in entries are added by add_schedulers, add_searchers, add_callbacks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/base/problem.h"
#include "tuner/model/constraint.h"
#include "tuner/model/objective.h"
#include "tuner/policy/callback.h"
#include "tuner/policy/scheduler.h"
#include "tuner/policy/searcher.h"
#include "tuner/policy/stopper.h"

namespace tune {

class SearchSpace;
struct PolicyPrograms;

/// What a policy is made with, in addition to its own options.
struct PolicyContext {
  const SearchSpace& space;
  std::vector<Objective> objectives;
  std::int64_t num_samples = 1;  ///< -1: endless
  std::uint64_t seed = 0;        ///< for this policy alone
  /// For callbacks: a sentence for the user, from any thread. Empty: there is nobody to tell.
  std::function<void(std::string)> notice = {};
  // Of the spec, as it is written.
  Resources resources = {};
  Resources resources_per_trial = {};
  std::optional<std::int64_t> max_concurrent_trials = {};
  Json scheduler = Json::object();  ///< for searchers that go with one
  Json searcher = Json::object();   ///< for schedulers that go with one; empty: any
  std::vector<Constraint> constraints = {};
  /// Nothing but these can be tried, each once, as in a simulation of known curves; empty: whatever
  /// the space has. Who does not look at it gets the nearest ones.
  std::vector<Json> only_configs = {};
  /// For the choice of a searcher: there are known trials (warm start).
  bool knows_trials = false;
  /// Some of the above is missing because it was wrong: do not complain about what depends on it.
  /// The policy is made only for its own complaints.
  bool is_partial = false;
  /// Of a search that has not begun: what its user must say, and a begun one may lack, is asked
  /// for.
  bool is_new = false;
  /// For policies that are programs (tuner/host): where these run. Outlives them.
  const PolicyPrograms* programs = nullptr;
};

/// Makes a policy from the spec's object without its "type". Throws OptionError for an option that
/// is unknown or out of range.
template <class Policy>
using Factory = std::function<std::unique_ptr<Policy>(const Json& options, const PolicyContext&)>;

/// What the searcher "auto" stands for in a search, and why: what comes after "because", or empty
/// if nothing is to be said.
struct SearcherChoice {
  std::string type;
  std::string reason;
};

/// Names by kind. Fill it with `add_factory`.
struct Catalogue {
  std::map<std::string, Factory<Searcher>> searchers;
  std::map<std::string, Factory<Scheduler>> schedulers;
  std::map<std::string, Factory<Stopper>> stoppers;
  std::map<std::string, Factory<Callback>> callbacks;
  /// Asked once, before a search begins: the spec that is kept has the answer in the place of
  /// "auto". Empty: that is "random".
  std::function<SearcherChoice(const PolicyContext&)> choose_searcher;
};

/// Adds a name. Error (user) if it is taken: plugins choose theirs.
template <class Policy>
void add_factory(std::map<std::string, Factory<Policy>>& factories, const std::string& name,
                 std::type_identity_t<Factory<Policy>> factory) {
  const bool is_new = factories.emplace(name, std::move(factory)).second;
  if (!is_new) throw user_error("there are two policies with the name '" + name + "'");
}

/// Bad options: where (JSON pointer below the policy's object) and what, as a sentence. The first
/// is the error's own.
struct OptionError : std::runtime_error {
  OptionError(std::string pointer_below, const std::string& sentence)
      : OptionError({{std::move(pointer_below), sentence}}) {}
  /// At least one.
  explicit OptionError(std::vector<Problem> all)
      : std::runtime_error(all.at(0).sentence),
        pointer(all.at(0).pointer),
        problems(std::move(all)) {}
  std::string pointer;
  std::vector<Problem> problems;
  bool is_of_options = false;  ///< of these alone, whatever the context is
};

}  // namespace tune
