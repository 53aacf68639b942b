// Splits bytes at newlines and carriage returns across blocks, and strips ANSI escape sequences.
#include "tuner/plain/line_splitter.h"

#include <algorithm>

namespace tune {

namespace {

constexpr char escape = '\x1b';

/// Takes an escape sequence from the front of `text`, and gives what stands for it: mostly nothing.
std::string_view take_escape(std::string_view& text) {
  const auto skip_to = [&text](auto is_end) {
    const auto end = std::find_if(text.begin(), text.end(), is_end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  };
  const auto take = [&text]() -> char {
    if (text.empty()) return 0;
    const char c = text.front();
    text.remove_prefix(1);
    return c;
  };
  text.remove_prefix(1);
  if (text.empty() || text.front() < ' ') return "";
  const char kind = take();
  constexpr std::string_view strings = "]PX^_";  // titles, links, pictures
  if (kind == '[') {
    skip_to([](char c) { return (c >= '@' && c <= '~') || c == escape; });
    const char command = text.starts_with(escape) ? '\0' : take();
    return command == 'C' ? " " : command == 'D' ? "\b" : "";  // the cursor, ahead and back
  }
  if (strings.find(kind) != strings.npos) {
    skip_to([](char c) { return c == '\a' || c == escape; });
    if (text.starts_with("\x1b\\")) take();
    if (!text.starts_with(escape)) take();
  } else if (kind < '0') {  // of several characters, such as ESC ( B
    skip_to([](char c) { return c < ' ' || c >= '0'; });
    if (!text.starts_with(escape)) take();
  }
  return "";
}

/// Control sequences (ESC [ ... letter), strings for the terminal (ESC ] ... BEL or ESC \) and
/// sequences of two and three characters.
std::string without_escapes(std::string_view line) {
  std::string clean;
  clean.reserve(line.size());
  while (!line.empty()) {
    if (line.starts_with(escape)) {
      clean += take_escape(line);
    } else {
      const std::size_t end = std::min(line.find(escape), line.size());
      clean += line.substr(0, end);
      line.remove_prefix(end);
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

std::string LineSplitter::text_so_far() const {
  return line_.find(escape) == line_.npos ? line_ : without_escapes(line_);
}

void LineSplitter::end_line(bool overwritten, const Take& take) {
  line_ = text_so_far();
  if (!line_.empty()) take(line_, overwritten);
  line_.clear();
}

}  // namespace tune
