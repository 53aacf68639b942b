// Writes to stdout and stderr; on a terminal, control characters in text are replaced.
#include "apps/tune/output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>

#include "callbacks/terminal.h"
#include "callbacks/text_width.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

TextArea area() {
  if (stdout_is_terminal()) return {stdout_size().width, locale_is_utf8()};
  return {std::numeric_limits<int>::max(), true};
}

void write_out(std::string_view text) {
  while (!text.empty()) {
    const auto wrote = ::write(STDOUT_FILENO, text.data(), text.size());
    if (wrote >= 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EPIPE || errno == EIO) {
      return;  // whoever read it has gone, with the terminal perhaps
    } else if (errno != EINTR) {
      throw file_error("cannot write to", "standard output", errno);
    }
  }
}

/// On standard error.
void say(const std::string& beginning, const std::string& sentence) {
  const std::string line = "tune: " + beginning + sentence + "\n";
  try {
    print_in_passing(STDERR_FILENO, line);
  } catch (const std::exception&) {  // no thread
    std::fputs(clean_text(line, Lines::keep).c_str(), stderr);
  }
}

}  // namespace

void print(std::string_view text) { write_out(clean_text(text, Lines::keep)); }

void print_data(std::string_view text) {
  ::isatty(STDOUT_FILENO) == 1 ? print(text) : write_out(text);
}

void print_drawn(std::string_view text) { write_out(text); }

bool has_reader() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) <= 0 || (output.revents & (POLLERR | POLLHUP)) == 0;
}

void print_json(const Json& json) {
  print_data(encode_numbers(json).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void print_table(const std::vector<TableColumn>& columns,
                 const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& line : render_table(columns, rows, area())) text += line + '\n';
  print(text);
}

void complain(const std::string& sentence) noexcept {
  try {
    say("", sentence);
  } catch (const std::exception&) {  // no memory
  }
}

void print_notice(const std::string& sentence) noexcept {
  try {
    say("notice: ", sentence);
  } catch (const std::exception&) {
  }
}

void print_each_notice(const std::vector<std::string>& sentences) noexcept {
  for (const std::string& sentence : sentences) print_notice(sentence);
}

void print_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  print(pairs_text(pairs));
}

void print_in_passing(int descriptor, std::string_view text) {
  OutputPump(descriptor).write(clean_text(text, Lines::keep));
}

}  // namespace tune
