// OutputPump: a thread with a bounded buffer writes to stdout, so that a stopped terminal or a full
// pipe never blocks the loop.
#include "callbacks/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "tuner/process/quiet_thread.h"

namespace tune {

namespace {

constexpr std::size_t max_waiting_bytes = 1 << 20;

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto wrote = ::write(descriptor, text.data(), text.size());
    if (wrote >= 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      // Somebody else made the terminal non-blocking.
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

bool stdout_is_terminal() {
  const char* const kind = std::getenv("TERM");
  return kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb" &&
         ::isatty(STDOUT_FILENO) == 1;
}

TerminalSize stdout_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

bool locale_is_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    for (const std::string_view word : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(word) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

struct OutputPump::Shared {
  explicit Shared(int the_descriptor) : descriptor(the_descriptor) {}

  bool is_idle() const { return !writing && waiting.empty(); }
  void run();

  const int descriptor;
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable idle;
  std::string waiting;
  bool writing = false;
  std::uint64_t left_out = 0;
  bool ending = false;
};

OutputPump::OutputPump(int descriptor) : shared_(std::make_shared<Shared>(descriptor)) {
  thread_ = start_quiet_thread([shared = shared_] { shared->run(); });
}

OutputPump::~OutputPump() {
  const bool is_written = flush();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
    shared_->waiting.clear();
  }
  shared_->work.notify_one();
  is_written ? thread_.join() : thread_.detach();
}

void OutputPump::write(std::string_view text) {
  {
    const std::lock_guard lock(shared_->mutex);
    std::string& waiting = shared_->waiting;
    if (waiting.size() + text.size() > max_waiting_bytes) {
      ++shared_->left_out;
      return;
    }
    if (shared_->left_out > 0) {
      waiting +=
          "[" + std::to_string(std::exchange(shared_->left_out, 0)) + " messages left out]\n";
    }
    waiting += text;
  }
  shared_->work.notify_one();
}

bool OutputPump::busy() const {
  const std::lock_guard lock(shared_->mutex);
  return !shared_->is_idle();
}

bool OutputPump::flush() {
  std::unique_lock lock(shared_->mutex);
  const std::chrono::duration<double> patience(is_stuck_ ? 0 : patience_s);
  const bool is_written =
      shared_->idle.wait_for(lock, patience, [this] { return shared_->is_idle(); });
  is_stuck_ = !is_written;
  return is_written;
}

void OutputPump::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [this] { return ending || !waiting.empty(); });
    if (waiting.empty()) return;
    const std::string text = std::exchange(waiting, {});
    writing = true;
    lock.unlock();
    write_all(descriptor, text);
    lock.lock();
    writing = false;
    idle.notify_all();
  }
}

}  // namespace tune
