#include "apps/tune/output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>

#include "callbacks/terminal.h"
#include "callbacks/text_width.h"
#include "tuner/core/clean_text.h"
#include "tuner/core/error.h"

namespace tune {

namespace {

TextArea area() {
  if (stdout_is_terminal()) return {stdout_size().width, locale_is_utf8()};
  return {std::numeric_limits<int>::max(), true};
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
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

bool has_reader() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) <= 0 || (output.revents & (POLLERR | POLLHUP)) == 0;
}

void print_json(const Json& json) {
  print_data(encode_numbers(json).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json number_json(const ExactNumber& number) {
  const double value = number.value();
  return number.whole() && !(std::abs(value) < 0x1p53) ? to_json(number) : encode_number(value);
}

void print_table(const std::vector<TableColumn>& columns,
                 const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& line : render_table(columns, rows, area())) text += line + '\n';
  print(text);
}

std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& line : render_table(columns, rows, {std::numeric_limits<int>::max(), true})) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
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

std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  std::vector<std::string> keys;
  for (const auto& [key, value] : pairs) {
    width = std::max(width, width_of(keys.emplace_back(clean_text(key))));
  }
  std::string text;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    text += keys[i] + std::string(width - width_of(keys[i]) + 2, ' ');
    for (const char c : clean_text(pairs[i].second, Lines::keep)) {
      text += c;
      if (c == '\n') text.append(width + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

void print_in_passing(int descriptor, std::string_view text) {
  OutputPump(descriptor).write(clean_text(text, Lines::keep));
}

std::string format_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string format_seconds(double seconds) { return formatted("%.3f s", seconds); }

std::string format_time(double unix_time) {
  const auto whole = static_cast<std::time_t>(unix_time);
  std::tm local{};
  localtime_r(&whole, &local);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%F %T", &local);
  return buffer;
}

std::string iso_time(double unix_time) {
  const auto whole = static_cast<std::time_t>(unix_time);
  std::tm local{};
  localtime_r(&whole, &local);
  char buffer[40];
  std::strftime(buffer, sizeof buffer, "%FT%T%z", &local);
  std::string text = buffer;
  return text.insert(text.size() - 2, ":");  // as RFC 3339 has the zone
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return format_metric(value.get<double>());
  if (!value.is_array()) return value.dump();
  const bool has_texts =
      std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
  if (!has_texts) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + item.get<std::string>();
  return text.empty() ? "-" : text;
}

double share_of(const StateCost& cost, double running_s) {
  return running_s > 0 ? cost.total_s() / running_s : 0;
}

std::string state_cost_text(const StateCost& cost, double running_s) {
  if (cost.writes == 0) return "not known before the first snapshot";
  char share[32];
  std::snprintf(share, sizeof share, "%.2f %%", 100 * share_of(cost, running_s));
  return std::string(share) + " of the time (" + count_of(cost.writes, "write") + ", " +
         count_of(cost.syncs, "sync") + ", " + count_of(cost.snapshots, "snapshot") + ")";
}

std::string shell_word(const std::filesystem::path& path) {
  const std::string text = path.string();
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("/._-+=:,@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace tune
