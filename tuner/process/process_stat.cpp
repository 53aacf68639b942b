// Parses /proc/PID/stat, environ, children and maps.
#include "tuner/process/process_stat.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "tuner/disk/file_descriptor.h"

namespace tune {
namespace {

/// Larger than any that the kernel lets a program be started with, in practice.
constexpr std::size_t most_environment_bytes = 8 * 1024 * 1024;
constexpr unsigned long exiting_flag = 0x4;  // PF_EXITING of the kernel
constexpr std::size_t most_stat_bytes = 4096;
constexpr std::size_t most_children_bytes = 64 * 1024 * 1024;

std::string read_all(const std::string& path, std::size_t most_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> block;
  while (file && text.size() < most_bytes) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string read_all(pid_t pid, const char* name, std::size_t most_bytes) {
  return read_all("/proc/" + std::to_string(pid) + "/" + name, most_bytes);
}

/// The next field of a line of numbers and words.
std::string_view take_field(std::string_view& rest) {
  const auto field = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  return field;
}

template <class Number>
Number to_number(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double ticks_per_s() {
  static const auto ticks = static_cast<double>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return ticks;
}

std::optional<ProcessStat> parse_stat(const std::string& text) {
  // The name in field 2 may hold spaces and parentheses, so fields are counted from its end.
  const auto end_of_name = text.rfind(')');
  if (end_of_name == text.npos || end_of_name + 2 > text.size()) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(end_of_name + 2);
  ProcessStat stat;
  const auto state = take_field(rest);
  if (!state.empty()) stat.state = state.front();
  take_field(rest);  // the parent
  stat.group = to_number<pid_t>(take_field(rest));
  for (int field = 6; field < 9; ++field) take_field(rest);
  stat.is_exiting = (to_number<unsigned long>(take_field(rest)) & exiting_flag) != 0;
  for (int field = 10; field < 14; ++field) take_field(rest);
  const auto user_ticks = to_number<std::uint64_t>(take_field(rest));
  const auto system_ticks = to_number<std::uint64_t>(take_field(rest));
  stat.cpu_s = static_cast<double>(user_ticks + system_ticks) / ticks_per_s();
  for (int field = 16; field < 22; ++field) take_field(rest);
  stat.start_ticks = to_number<std::uint64_t>(take_field(rest));
  for (int field = 23; field < 34; ++field) take_field(rest);
  stat.handled = to_number<std::uint64_t>(take_field(rest));
  return stat;
}

/// The names in a directory of /proc that are numbers, in its order.
std::vector<pid_t> numbers_in(const char* directory) {
  std::vector<pid_t> numbers;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(directory, ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      numbers.push_back(to_number<pid_t>(name));
    }
  }
  return numbers;
}

}  // namespace

std::optional<ProcessStat> read_process_stat(pid_t pid) {
  return parse_stat(read_all(pid, "stat", most_stat_bytes));
}

std::vector<std::string> read_environment(pid_t pid) {
  const std::string text = read_all(pid, "environ", most_environment_bytes);
  std::vector<std::string> variables;
  for (std::string_view rest = text; !rest.empty();) {
    const auto variable = rest.substr(0, rest.find('\0'));
    if (!variable.empty()) variables.emplace_back(variable);
    rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
  }
  return variables;
}

std::optional<std::string_view> find_variable(const std::vector<std::string>& variables,
                                              std::string_view name) {
  for (const std::string_view variable : variables) {
    if (variable.size() > name.size() && variable.starts_with(name) &&
        variable[name.size()] == '=') {
      return variable.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<pid_t>> adopted_children() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self", error);
  if (error || self != std::to_string(::getpid())) return std::nullopt;
  std::vector<pid_t> pids;
  // The kernel gives orphans to the first thread that lives.
  for (const pid_t thread : numbers_in("/proc/self/task")) {
    const std::string directory = "/proc/self/task/" + std::to_string(thread);
    const auto stat = parse_stat(read_all(directory + "/stat", most_stat_bytes));
    if (!stat || stat->is_dead()) continue;
    const std::string text = read_all(directory + "/children", most_children_bytes);
    for (std::string_view rest = text; !rest.empty();) {
      const auto field = take_field(rest);
      if (!field.empty()) pids.push_back(to_number<pid_t>(field));
    }
    break;
  }
  return pids;
}

std::vector<std::string> python_packages(pid_t pid) {
  constexpr std::size_t most_maps_bytes = 8 * 1024 * 1024;
  constexpr std::uint64_t least_share = 20;
  constexpr std::size_t most_named = 4;
  const std::string maps = read_all(pid, "maps", most_maps_bytes);
  std::map<std::string, std::uint64_t> bytes_of;  // of packages, by their directories
  for (std::string_view rest = maps; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    constexpr std::string_view place = "-packages/";  // of site-packages and dist-packages
    const auto found = line.find(place);
    const auto begin = line.find('/');
    const auto end = found == line.npos ? line.npos : line.find('/', found + place.size());
    if (end == line.npos) continue;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    const auto [dash, error] = std::from_chars(line.data(), line.data() + line.size(), from, 16);
    if (error != std::errc()) continue;
    std::from_chars(dash + 1, line.data() + line.size(), to, 16);
    bytes_of[std::string(line.substr(begin, end - begin))] += to - from;
  }
  std::vector<std::pair<std::uint64_t, std::string>> largest;
  for (const auto& [directory, bytes] : bytes_of) {
    std::error_code ignored;
    // What is not imported, but comes along, has none: numpy.libs, nvidia.
    if (!std::filesystem::exists(directory + "/__init__.py", ignored)) continue;
    largest.emplace_back(bytes, std::filesystem::path(directory).filename().string());
  }
  std::sort(largest.rbegin(), largest.rend());
  std::vector<std::string> names;
  for (const auto& [bytes, name] : largest) {
    if (names.size() == most_named || bytes * least_share < largest.front().first) break;
    names.push_back(name);
  }
  return names;
}

std::vector<pid_t> all_processes() { return numbers_in("/proc"); }

bool group_runs(pid_t group) {
  // A dead member that nobody reaps can be signalled too, so that only "no" is an answer.
  if (::kill(-group, 0) != 0 && errno == ESRCH) return false;
  const auto pids = all_processes();
  return std::any_of(pids.begin(), pids.end(), [group](pid_t pid) {
    const auto stat = read_process_stat(pid);
    return stat && stat->group == group && !stat->is_dead();
  });
}

}  // namespace tune
