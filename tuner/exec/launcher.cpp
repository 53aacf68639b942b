// One queue, one thread.
// Knows no protocol and nothing of a process after its start.
#include "tuner/exec/launcher.h"

#include <signal.h>

#include <exception>
#include <optional>

namespace tune {

Launcher::Launcher(const rlimit& descriptors, OnLaunched on_launched)
    : on_launched_(std::move(on_launched)), spawner_(descriptors), thread_([this] { run(); }) {}

Launcher::~Launcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Launcher::launch(LaunchId launch, LaunchSpec spec) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(launch, std::move(spec));
  }
  changed_.notify_one();
}

void Launcher::run() {
  // A handler must not run in the child while that shares our memory.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);

  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto [launch, spec] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();

    std::optional<LaunchOutcome> outcome;
    try {
      outcome.emplace(spawner_.spawn(spec));
    } catch (const DirectoryFault& error) {
      outcome.emplace(NotLaunched{error.what(), true});
    } catch (const std::exception& error) {
      outcome.emplace(NotLaunched{error.what()});
    }
    on_launched_(launch, std::move(*outcome));
  }
}

}  // namespace tune
