// From the options in a spec to schedulers.
#include "schedulers/schedulers.h"
#include "tuner/core/options.h"

namespace tune {

namespace {

std::unique_ptr<Scheduler> fifo_from(const Json& json, const PolicyContext&) {
  OptionReader(json).finish();
  return make_fifo();
}

}  // namespace

void add_schedulers(Catalogue& catalogue) { add_factory(catalogue.schedulers, "fifo", fifo_from); }

}  // namespace tune
