// Standard output: what it is, and writing to it without ever waiting for it.
// Knows nothing of what is written.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace tune {

struct TerminalSize {
  int width = 80;
  int height = 24;
};

bool stdout_is_terminal();  ///< one that understands cursor movements: not TERM=dumb
TerminalSize stdout_size();
bool locale_is_utf8();

/// Writes to a descriptor on a thread of its own. If nobody reads what is written, text beyond
/// 1 MiB is left out. Errors are ignored: there is nobody to tell.
class OutputPump {
 public:
  explicit OutputPump(int descriptor);
  ~OutputPump();  ///< writes what is left; a stopped terminal holds it up
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  void write(std::string_view text);
  /// Whether text still waits: then a new frame of a table is better not drawn.
  bool busy() const;
  void flush();

 private:
  void run();

  const int descriptor_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  std::string waiting_;
  bool writing_ = false;
  std::uint64_t left_out_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tune
