#include "callbacks/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "callbacks/quiet_thread.h"

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

OutputPump::OutputPump(int descriptor) : descriptor_(descriptor) {
  thread_ = start_quiet_thread([this] { run(); });
}

OutputPump::~OutputPump() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void OutputPump::write(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + text.size() > max_waiting_bytes) {
      ++left_out_;
      return;
    }
    if (left_out_ > 0) {
      waiting_ += "[" + std::to_string(std::exchange(left_out_, 0)) + " messages left out]\n";
    }
    waiting_ += text;
  }
  work_.notify_one();
}

bool OutputPump::busy() const {
  const std::lock_guard lock(mutex_);
  return writing_ || !waiting_.empty();
}

void OutputPump::flush() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !writing_ && waiting_.empty(); });
}

void OutputPump::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string text = std::exchange(waiting_, {});
    writing_ = true;
    lock.unlock();
    write_all(descriptor_, text);
    lock.lock();
    writing_ = false;
    idle_.notify_all();
  }
}

}  // namespace tune
