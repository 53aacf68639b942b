// The driver's event loop (the reactor pattern, on Boost.Asio): one io_context for signals, for the
// control socket, and for whatever executors watch.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <optional>
#include <vector>

#include "tuner/control/control_server.h"
#include "tuner/execution/reactor.h"
#include "tuner/process/process_wide.h"
#include "tuner/process/watchdog.h"

namespace tune {

/// What to do with SIGINT, SIGTERM, SIGUSR1 and SIGHUP while the reactor lives.
enum class Interrupts {
  report,      ///< as Interrupted, but for those ignored at the start (nohup); defaults afterwards
  leave_alone  ///< for whoever has handlers of their own
};

/// All calls but `wake` from one thread. While it lives, it changes some things of the whole
/// process: see ProcessWide.
class AsioReactor final : public Reactor {
 public:
  /// What an executor does within `wait`.
  class Client {
   public:
    /// Before each wait: what is queued goes out.
    virtual void flush() = 0;
    /// Each sender has a new share of what may be read at once (backpressure).
    virtual void begin_batch() = 0;

   protected:
    ~Client() = default;
  };

  /// Throws Error if the machine has no descriptors left. `watchdog`, which outlives it, is told of
  /// what takes long; a signal that it has heard before counts.
  explicit AsioReactor(Interrupts interrupts = Interrupts::report, Watchdog* watchdog = nullptr);

  /// Makes the control socket in this directory, whose lock the caller holds. Throws Error if there
  /// can be none.
  void listen(const std::filesystem::path& directory);

  /// For executors, which must not outlive it. Once one is gone, nothing waits any more: what it
  /// has left on the io_context is dropped with that.
  boost::asio::io_context& context() { return context_; }
  std::vector<Wakeup>& happened() { return happened_; }  ///< since the last wait returned
  Watchdog* watchdog() const { return watchdog_; }       ///< null: none
  void serve(Client& client) { client_ = &client; }
  /// What the driver's thread does once it waits here no more, as the watchdog is to name it.
  /// `what` outlives the answer.
  ActivityTracker::Activity be_busy_with(const char* what);

  void wait(Seconds deadline, std::vector<Wakeup>& wakeups) override;
  void wake() noexcept override;
  void answer(ControlId id, const ControlAnswer& answer) override;

 private:
  void begin_batch();
  void wait_for_signals();
  bool run_one(Seconds deadline);

  Watchdog* const watchdog_;
  std::optional<ActivityTracker::Activity> busy_;  ///< from one wait to the next
  ProcessWide process_wide_;  ///< before the others: they find signals as they are to be
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stay_;
  boost::asio::signal_set signals_;
  std::optional<ControlServer> control_;
  std::vector<Wakeup> happened_;
  Client* client_ = nullptr;
  std::atomic<bool> woken_ = false;
};

}  // namespace tune
