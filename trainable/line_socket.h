// Lines of text over one stream socket, blocking.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

class LineSocket {
 public:
  /// Takes over `fd`, and keeps it from the programs that this one may start.
  /// Throws std::invalid_argument if it is no open stream socket.
  explicit LineSocket(int fd);
  ~LineSocket();
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;

  /// Blocks for the next line and returns it without its newline, valid until the next call; or
  /// nothing, when the other side is gone (a line that it left unfinished is dropped).
  /// Throws std::length_error for a line of more than `protocol::max_line_bytes`.
  std::optional<std::string_view> read_line();

  /// Writes all of `text`. False when the other side is gone.
  bool write(std::string_view text);

  int fd() const { return fd_; }

 private:
  bool fill();

  int fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< of what has not been returned yet
  std::size_t end_ = 0;    ///< of what has been read
};

}  // namespace tune
