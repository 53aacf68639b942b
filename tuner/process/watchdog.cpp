// A thread with an io_context of its own: signals, one timer, and the end of the process.
#include "tuner/process/watchdog.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <semaphore>
#include <string_view>
#include <thread>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/process/interrupts.h"
#include "tuner/process/process_stat.h"

namespace tune {
namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;

/// What lasts shorter holds nobody up.
constexpr Seconds worth_telling_s = 1;

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

/// On a thread that may be left behind in it: nobody may read, or the file be on a dead disk.
void try_to_say(std::string text) {
  static std::binary_semaphore said(0);  // outlives whoever waits, and whoever does not
  try {
    std::thread([text = std::move(text)] {
      std::string_view rest = text;
      while (!rest.empty()) {
        const ssize_t count = ::write(STDERR_FILENO, rest.data(), rest.size());
        if (count < 0 && errno != EINTR) break;
        if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
      }
      said.release();
    }).detach();
  } catch (const std::exception&) {
    return;
  }
  (void)said.try_acquire_for(std::chrono::seconds(1));
}

}  // namespace

std::vector<int> heeded_signals() {
  std::vector<int> heeded;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    struct sigaction now {};
    const bool is_ignored = ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!is_ignored) heeded.push_back(signal);
  }
  return heeded;
}

void ProcessGroups::add(pid_t leader, std::uint64_t start_ticks) {
  const std::lock_guard lock(mutex_);
  leaders_[leader] = start_ticks;
}

void ProcessGroups::remove(pid_t leader, std::uint64_t start_ticks) {
  const std::lock_guard lock(mutex_);
  const auto found = leaders_.find(leader);
  if (found != leaders_.end() && found->second == start_ticks) leaders_.erase(found);
}

void ProcessGroups::kill_all() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [leader, start_ticks] : leaders_) {
    const auto stat = read_process_stat(leader);
    if (stat && stat->start_ticks == start_ticks) ::kill(-leader, SIGKILL);
  }
}

class Watchdog::Watch {
 public:
  Watch(std::string advice, Seconds patience_s)
      : advice_(std::move(advice)),
        patience_s_(patience_s),
        stay_(context_.get_executor()),
        signals_(context_),
        timer_(context_) {
    const auto heeded = heeded_signals();
    for (const int signal : heeded) signals_.add(signal);
    wait_for_signals();
    // The thread takes over the mask: it gets what its maker is spared from then on.
    heeded_ = set_of(heeded);
    ::pthread_sigmask(SIG_UNBLOCK, &heeded_, &mask_before_);
    try {
      thread_ = std::thread([this] { context_.run(); });
    } catch (...) {
      ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
      throw;
    }
    ::pthread_sigmask(SIG_BLOCK, &heeded_, nullptr);
  }

  ~Watch() {
    context_.stop();
    thread_.join();
    while (take_pending() > 0) {
    }
    signals_.clear();  // defaults, before they can come through again
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  void pass_on() {
    // First all, then on: what goes to the process could be taken here again.
    std::vector<int> taken;
    for (int signal = take_pending(); signal > 0; signal = take_pending()) taken.push_back(signal);
    for (const int signal : taken) ::kill(::getpid(), signal);
  }

  void only_lingers(std::string error) {
    asio::post(context_, [this, error = std::move(error)] {
      error_ = error;
      only_lingers_ = true;
      if (was_interrupted_) arm();
    });
  }

  ActivityTracker activities;
  ProcessGroups groups;
  std::atomic<int> first_signal = 0;
  std::atomic<int> interrupts = 0;

 private:
  /// One that waits for the calling thread; -1 if there is none.
  int take_pending() const {
    const timespec at_once{};
    return ::sigtimedwait(&heeded_, nullptr, &at_once);
  }

  void wait_for_signals() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      const Seconds now = std::chrono::duration<double>(Steady::now().time_since_epoch()).count();
      const Interrupt meant = rule_.feed(signal, now);
      const bool is_second = meant == Interrupt::second;
      if (meant != Interrupt::ignored) ++interrupts;
      int none = 0;
      first_signal.compare_exchange_strong(none, signal);
      was_interrupted_ = true;
      if (is_second || only_lingers_) arm();
      wait_for_signals();
    });
  }

  void arm() {
    if (std::exchange(is_armed_, true)) return;
    timer_.expires_after(
        std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(patience_s_)));
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error) leave();
    });
  }

  [[noreturn]] void leave() {
    groups.kill_all();
    try {
      std::string text = error_.empty() ? "" : "tune: " + error_ + "\n";
      text += "tune: left by force, since the driver had not ended " +
              std::to_string(static_cast<long>(patience_s_)) + " s after it was to leave at once";
      const char* separator = ": ";
      for (const std::string& doing : activities.list(worth_telling_s)) {
        text += std::exchange(separator, "; ") + doing;
      }
      try_to_say(text + "\n" + advice_ + "\n");
    } catch (const std::exception&) {
      // Out of memory: without a word, then.
    }
    ::_exit(exit_code);
  }

  const std::string advice_;
  const Seconds patience_s_;
  sigset_t mask_before_{};
  sigset_t heeded_{};
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> stay_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  // Of the thread.
  InterruptRule rule_;
  bool was_interrupted_ = false;
  bool only_lingers_ = false;
  bool is_armed_ = false;
  std::string error_;
  std::thread thread_;  ///< last: it uses the others
};

Watchdog::Watchdog(std::string advice, Seconds patience_s) try
    : watch_(std::make_unique<Watch>(std::move(advice), patience_s)) {
} catch (const std::exception& error) {
  throw machine_error(std::string("cannot listen to signals: ") + error.what());
}
Watchdog::~Watchdog() = default;

void Watchdog::pass_on() { watch_->pass_on(); }

void Watchdog::only_lingers(std::string error) { watch_->only_lingers(std::move(error)); }
int Watchdog::first_signal() const { return watch_->first_signal; }
int Watchdog::interrupts() const { return watch_->interrupts; }
ActivityTracker& Watchdog::activities() { return watch_->activities; }
ProcessGroups& Watchdog::groups() { return watch_->groups; }

}  // namespace tune
