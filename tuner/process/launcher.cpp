// One queue, one thread.
#include "tuner/process/launcher.h"

#include <sys/eventfd.h>

#include <exception>
#include <optional>

#include "tuner/disk/signals_blocked.h"

namespace tune {

Launcher::Launcher(const rlimit& descriptors, LivingServers& servers, OnLaunched on_launched)
    : on_launched_(std::move(on_launched)),
      spawner_(descriptors),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      fork_servers_(spawner_, servers, stop_.get()),
      thread_([this] { run(); }) {}

Launcher::~Launcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (stop_) (void)::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Launcher::launch(LaunchId launch, ProcessSpec spec) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(launch, std::move(spec));
  }
  changed_.notify_one();
}

Spawned Launcher::spawn(const ProcessSpec& spec) {
  if (!spec.preload || spec.preload->modules.empty()) return spawner_.spawn(spec);
  std::string remark;
  if (auto forked = fork_servers_.spawn(spec, remark)) return std::move(*forked);
  Spawned spawned = spawner_.spawn(spec);
  spawned.remark = std::move(remark);
  return spawned;
}

void Launcher::run() {
  // A handler must not run in the child while that shares our memory.
  const SignalsBlocked blocked;

  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto [launch, spec] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();

    std::optional<LaunchOutcome> outcome;
    try {
      outcome.emplace(spawn(spec));
    } catch (const DirectoryFault& error) {
      outcome.emplace(NotLaunched{error.what(), true});
    } catch (const std::exception& error) {
      outcome.emplace(NotLaunched{error.what()});
    }
    on_launched_(launch, std::move(*outcome));
  }
}

}  // namespace tune
