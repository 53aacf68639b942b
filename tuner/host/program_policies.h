// Searcher, scheduler and stopper "program": policies in any language. docs/policies.md.
#pragma once

#include "tuner/policy/catalogue.h"

namespace tune {

/// Adds "program" to searchers, schedulers and stoppers.
void add_program_policies(Catalogue& catalogue);

}  // namespace tune
