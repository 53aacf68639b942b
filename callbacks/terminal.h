// Standard output: what it is, and writing to it without ever waiting for it.
#pragma once

#include <memory>
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

/// Writes to a descriptor on a thread of its own, so that nobody ever waits for whoever reads it.
/// If nobody does, text beyond 1 MiB is left out. Errors are ignored: there is nobody to tell.
class OutputPump {
 public:
  /// How long in all it is waited for a reader when everything is to be written.
  static constexpr double patience_s = 3;

  explicit OutputPump(int descriptor);
  /// Flushes. What a reader has not taken then is lost; the thread may stay behind, stuck in its
  /// write.
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  void write(std::string_view text);
  /// Whether text still waits: then a new frame of a table is better not drawn.
  bool busy() const;
  /// Waits until all is written, with patience: false if that is not so.
  bool flush();

 private:
  struct Shared;
  /// The thread's, too.
  std::shared_ptr<Shared> shared_;
  bool is_stuck_ = false;  ///< patience is used up
  std::thread thread_;
};

}  // namespace tune
