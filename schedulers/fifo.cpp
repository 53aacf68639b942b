// Lets every trial run. Keeps no state.
#include "schedulers/schedulers.h"

namespace tune {

namespace {

class Fifo : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {}; }
  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<Fifo>(); }
};

}  // namespace

std::unique_ptr<Scheduler> make_fifo() { return std::make_unique<Fifo>(); }

}  // namespace tune
