#include "tuner/exec/process_stat.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "tuner/exec/file_descriptor.h"

namespace tune {
namespace {

/// Larger than any that the kernel lets a program be started with, in practice.
constexpr std::size_t most_environment_bytes = 8 * 1024 * 1024;

std::string read_all(pid_t pid, const char* name, std::size_t most_bytes) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
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

}  // namespace

std::optional<ProcessStat> read_process_stat(pid_t pid) {
  const std::string text = read_all(pid, "stat", 4096);
  // The name in field 2 may hold spaces and parentheses, so fields are counted from its end.
  const auto end_of_name = text.rfind(')');
  if (end_of_name == text.npos || end_of_name + 2 > text.size()) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(end_of_name + 2);
  ProcessStat stat;
  const auto state = take_field(rest);
  if (!state.empty()) stat.state = state.front();
  take_field(rest);  // the parent
  stat.group = to_number<pid_t>(take_field(rest));
  for (int field = 6; field < 22; ++field) take_field(rest);
  stat.start_ticks = to_number<std::uint64_t>(take_field(rest));
  return stat;
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

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  std::error_code ignored;
  std::filesystem::directory_iterator entry("/proc", ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      pids.push_back(to_number<pid_t>(name));
    }
  }
  return pids;
}

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
