// LeaseWatch judges a lease by its file's changes and this host's clock alone; Repetition is the
// thread that renews one.
#include "tuner/disk/lease.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/signals_blocked.h"

namespace tune {

LeaseWatch::LeaseWatch(std::function<Seconds()> clock) : clock_(std::move(clock)) {}

LeaseWatch::Sign LeaseWatch::look(const std::filesystem::path& file, const std::string& content,
                                  std::int64_t modified_ns, Seconds lease_s) {
  const Seconds now = clock_();
  const auto found = seen_.find(file);
  if (found == seen_.end() || found->second.content != content) {
    seen_[file] = {content, modified_ns, now, now};
    return Sign::none;
  }
  Seen& seen = found->second;
  if (seen.modified_ns != modified_ns) {
    seen.modified_ns = modified_ns;
    seen.since = now;
    seen.is_alive = true;
  } else if (now - seen.last > longest_gap_s) {
    seen.since = now;
  }
  seen.last = now;
  if (now - seen.since >= lease_s) return Sign::over;
  return seen.is_alive ? Sign::alive : Sign::none;
}

Seconds LeaseWatch::silent_s(const std::filesystem::path& file) const {
  const auto found = seen_.find(file);
  return found == seen_.end() ? 0 : found->second.last - found->second.since;
}

Repetition::Repetition(Seconds period_s, std::function<void()> work) try {
  // Who handles signals may block them later, when this thread is there already.
  const SignalsBlocked blocked;
  thread_ = std::thread([this, period_s, work = std::move(work)] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::duration<double>(period_s),
                              [this] { return is_over_; })) {
      lock.unlock();
      work();
      lock.lock();
    }
  });
} catch (const std::system_error& error) {
  throw machine_error(std::string("cannot start a thread: ") + error.what());
}

Repetition::~Repetition() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace tune
