// Lines out of what a program prints, piece by piece: ended by a newline or, as progress bars do
// it, by a carriage return; without the escape sequences that a terminal would obey.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tune {

class LineSplitter {
 public:
  /// Of a longer line only so much is read.
  static constexpr std::size_t most_line_bytes = 64 * 1024;

  /// `overwritten`: a carriage return ended it, so that on a terminal the next one takes its place.
  using Take = std::function<void(std::string_view line, bool overwritten)>;

  void add(std::string_view bytes, const Take& take);
  /// What has come since the last line's end is one, too.
  void finish(const Take& take);
  /// What has come since the last line's end, as it is: with its escape sequences.
  std::string_view open_line() const { return line_; }
  /// The same as the line that it would be if it ended here.
  std::string text_so_far() const;

 private:
  void end_line(bool overwritten, const Take& take);

  std::string line_;
  bool has_return_ = false;  ///< the last byte was a carriage return; a newline may follow
};

}  // namespace tune
