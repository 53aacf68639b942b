// One turn of the event loop, and the signals and the control socket that wake it.
#include "tuner/execution/reactor/asio_reactor.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <iterator>
#include <string>

#include "tuner/base/error.h"

namespace tune {

namespace {

constexpr Seconds endless_s = 1e9;  ///< a steady time that no machine reaches

}  // namespace

AsioReactor::AsioReactor(Interrupts interrupts, Watchdog* watchdog) try
    : watchdog_(watchdog), stay_(context_.get_executor()), signals_(context_) {
  if (interrupts == Interrupts::leave_alone) return;
  for (const int signal : heeded_signals()) signals_.add(signal);
  wait_for_signals();
  // What came before; if it is heard twice, that is an echo.
  const int signal = watchdog_ != nullptr ? watchdog_->first_signal() : 0;
  if (signal != 0) happened_.emplace_back(Interrupted{signal});
} catch (const std::exception& error) {
  throw machine_error(std::string("cannot set up the event loop: ") + error.what());
}

void AsioReactor::listen(const std::filesystem::path& directory) try {
  control_.emplace(context_, directory, [this](ControlId id, const ControlRequest& asked) {
    happened_.emplace_back(ControlAsked{id, asked});
  });
} catch (const boost::system::system_error& error) {
  throw machine_error(std::string("cannot listen on the control socket: ") + error.what());
}

void AsioReactor::answer(ControlId id, const ControlAnswer& answer) {
  if (control_) control_->answer(id, answer);
}

void AsioReactor::wait(Seconds deadline, std::vector<Wakeup>& wakeups) {
  busy_.reset();
  if (client_ != nullptr) client_->flush();
  // A system call: after what others wait for.
  if (watchdog_ != nullptr) watchdog_->pass_on();
  begin_batch();
  context_.poll();
  while (happened_.empty() && !woken_.load()) {
    begin_batch();  // for one that has filled its share with half a line
    const bool in_time = run_one(deadline);
    // Also after the deadline: what was said while this process was stopped was said in time.
    context_.poll();
    if (!in_time) break;
  }
  woken_.store(false);
  wakeups.insert(wakeups.end(), std::make_move_iterator(happened_.begin()),
                 std::make_move_iterator(happened_.end()));
  happened_.clear();
  busy_.emplace(watchdog_ != nullptr ? &watchdog_->activities() : nullptr,
                "the driver's own thread is busy in a policy, in a callback, or on a disk");
}

ActivityTracker::Activity AsioReactor::be_busy_with(const char* what) {
  busy_.reset();
  return {watchdog_ != nullptr ? &watchdog_->activities() : nullptr, what};
}

void AsioReactor::wake() noexcept {
  if (woken_.exchange(true)) return;
  try {
    boost::asio::post(context_, [] {});
  } catch (const std::exception&) {
    // No memory: whatever ends the wait next will find it.
  }
}

void AsioReactor::begin_batch() {
  if (client_ != nullptr) client_->begin_batch();
}

void AsioReactor::wait_for_signals() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    happened_.emplace_back(Interrupted{signal});
    wait_for_signals();
  });
}

/// False if the deadline passed first.
bool AsioReactor::run_one(Seconds deadline) {
  if (!(deadline < endless_s)) return context_.run_one() > 0;
  const auto since_epoch = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::max(deadline, 0.0)));
  return context_.run_one_until(std::chrono::steady_clock::time_point(since_epoch)) > 0;
}

}  // namespace tune
