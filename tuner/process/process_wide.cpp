// One count and one copy of what was before, for the whole process: so are the things themselves.
#include "tuner/process/process_wide.h"

#include <signal.h>
#include <sys/prctl.h>

#include <array>
#include <mutex>

namespace tune {
namespace {

struct Taken {
  int signal;
  void (*action)(int);
  struct sigaction before;
};

std::mutex mutex;
int users = 0;
int was_subreaper = 0;
rlimit descriptors{};
std::array<Taken, 3> taken_signals = {
    {{SIGPIPE, SIG_IGN, {}}, {SIGXFSZ, SIG_IGN, {}}, {SIGCHLD, SIG_DFL, {}}}};

void take() {
  for (auto& [signal, action, before] : taken_signals) {
    struct sigaction wanted {};
    wanted.sa_handler = action;
    ::sigaction(signal, &wanted, &before);
  }
  (void)::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) descriptors = {};
  const rlimit raised{descriptors.rlim_max, descriptors.rlim_max};
  if (descriptors.rlim_max > 0) (void)::setrlimit(RLIMIT_NOFILE, &raised);
}

void give_back() {
  if (descriptors.rlim_max > 0) (void)::setrlimit(RLIMIT_NOFILE, &descriptors);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(was_subreaper));
  for (const auto& taken : taken_signals) ::sigaction(taken.signal, &taken.before, nullptr);
}

}  // namespace

ProcessWide::ProcessWide() {
  const std::lock_guard lock(mutex);
  if (users++ == 0) take();
  descriptors_before_ = descriptors;
}

ProcessWide::~ProcessWide() {
  const std::lock_guard lock(mutex);
  if (--users == 0) give_back();
}

}  // namespace tune
