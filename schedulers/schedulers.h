// The schedulers that ship: their options and how to make them. Knows no searcher, store or loop.
#pragma once

#include <memory>

#include "tuner/core/catalogue.h"

namespace tune {

/// First in, first out: every trial runs to its own end.
std::unique_ptr<Scheduler> make_fifo();

/// Adds "fifo".
void add_schedulers(Catalogue& catalogue);

}  // namespace tune
