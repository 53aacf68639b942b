// Blocks all signals around the start of a thread, which inherits the mask.
#include "tuner/process/quiet_thread.h"

#include <signal.h>

#include <utility>

namespace tune {

std::thread start_quiet_thread(std::function<void()> work) {
  // A thread inherits the mask of its maker, so there is no moment at which it could be picked.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace tune
