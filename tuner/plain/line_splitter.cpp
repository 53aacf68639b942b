#include "tuner/plain/line_splitter.h"

#include <algorithm>

namespace tune {

namespace {

constexpr char escape = '\x1b';

bool is_final(char c) { return c >= '@' && c <= '~'; }

/// Control sequences (ESC [ ... letter), commands to the terminal (ESC ] ... BEL or ESC \) and
/// sequences of two characters.
std::string without_escapes(std::string_view line) {
  std::string clean;
  clean.reserve(line.size());
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != escape) {
      clean += line[at];
      continue;
    }
    if (++at >= line.size()) break;
    if (line[at] == '[') {
      do {
        ++at;
      } while (at < line.size() && !is_final(line[at]));
    } else if (line[at] == ']') {
      while (at < line.size() && line[at] != '\a' && line[at] != escape) ++at;
      if (at < line.size() && line[at] == escape) ++at;
    }
  }
  return clean;
}

}  // namespace

void LineSplitter::add(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    if (has_return_) {
      const bool is_newline = bytes.front() == '\n';
      has_return_ = false;
      end_line(!is_newline, take);
      if (is_newline) bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line_.append(bytes.substr(0, std::min(end, most_line_bytes - line_.size())));
    if (end == bytes.size()) return;
    if (bytes[end] == '\r') {
      has_return_ = true;
    } else {
      end_line(false, take);
    }
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::finish(const Take& take) {
  has_return_ = false;
  end_line(false, take);
}

void LineSplitter::end_line(bool overwritten, const Take& take) {
  if (line_.find(escape) != line_.npos) line_ = without_escapes(line_);
  if (!line_.empty()) take(line_, overwritten);
  line_.clear();
}

}  // namespace tune
