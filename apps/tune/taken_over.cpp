// RAII guards for taking an experiment over from its remote: gives the lease back if the command
// ends early, and notes interrupts meanwhile.
#include "apps/tune/taken_over.h"

#include <utility>

#include "tuner/disk/file_system.h"
#include "tuner/remote/pull.h"

namespace tune {

namespace {

/// Also what a signal's handler may set.
std::atomic<bool> interrupt_came = false;

}  // namespace

InterruptsNoted::InterruptsNoted() {
  struct sigaction noting {};
  noting.sa_handler = [](int) { interrupt_came = true; };
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noting, nullptr);
  }
}

InterruptsNoted::~InterruptsNoted() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
}

const std::atomic<bool>& InterruptsNoted::came() { return interrupt_came; }

TakenOver::TakenOver(std::string remote, std::filesystem::path directory,
                     std::unique_ptr<InterruptsNoted> interrupts)
    : remote_(std::move(remote)),
      directory_(std::move(directory)),
      interrupts_(std::move(interrupts)) {}

TakenOver::TakenOver(TakenOver&& other) noexcept { *this = std::move(other); }

TakenOver& TakenOver::operator=(TakenOver&& other) noexcept {
  std::swap(remote_, other.remote_);
  std::swap(directory_, other.directory_);
  std::swap(interrupts_, other.interrupts_);
  return *this;
}

TakenOver::~TakenOver() {
  if (!remote_.empty()) give_back(*make_posix_file_system(Access::owner), remote_, directory_);
}

}  // namespace tune
