// From a spec to its policies. Knows names of policies only through the Catalogue.
#pragma once

#include <vector>

#include "tuner/run/commit/policies.h"
#include "tuner/space/search_space.h"
#include "tuner/spec/spec.h"

namespace tune {

/// The context that the policies of this spec are made with. `space` must outlive it.
PolicyContext context_of(const ExperimentSpec& spec, const SearchSpace& space);

/// Searcher, scheduler and stopper, freshly made; `space`, `catalogue` and `programs` must outlive
/// them. What is wrong with their options is appended to `problems`; then the answer is
/// meaningless.
Policies make_policies(const ExperimentSpec& spec, const SearchSpace& space,
                       const Catalogue& catalogue, std::vector<Problem>& problems,
                       const PolicyPrograms* programs = nullptr);

/// The same with a searcher that has no answers and remembers nothing: for who replays a record to
/// ask what the scheduler has made of it.
Policies make_judges(const ExperimentSpec& spec, const SearchSpace& space,
                     const Catalogue& catalogue, std::vector<Problem>& problems);

/// Error (user) with all of them, one a line, if there are any.
void throw_if_any(const std::vector<Problem>& problems);

}  // namespace tune
