// Blocks all signals around the start of a thread, which inherits the mask.
#include "tuner/process/quiet_thread.h"

#include <utility>

#include "tuner/disk/signals_blocked.h"

namespace tune {

std::thread start_quiet_thread(std::function<void()> work) {
  const SignalsBlocked blocked;
  return std::thread(std::move(work));
}

}  // namespace tune
