// Runs `git status --porcelain=v2` with a time limit, so that it takes no lock and starts no
// monitor, and parses the lines at its front.
#include "tuner/process/git_state.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>

#include "tuner/disk/file_descriptor.h"

extern char** environ;

namespace tune {

namespace {

using Steady = std::chrono::steady_clock;

/// Enough for what comes first, the commit and one file: a repository may have a million changes.
constexpr std::size_t most_answer_bytes = 64 * 1024;

/// What comes until `end`; nothing if the other side is not done by `until`.
std::optional<std::string> read_until(int descriptor, Steady::time_point until) {
  std::string text;
  std::array<char, 4096> block;
  while (text.size() < most_answer_bytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now()).count();
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&wanted, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// The lines of `git status --porcelain=v2 --branch`.
std::optional<GitState> parse(const std::string& text) {
  constexpr std::string_view commit_key = "# branch.oid ";
  std::optional<GitState> state;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(commit_key)) {
      state.emplace().commit = line.substr(commit_key.size());
      if (state->commit == "(initial)") state->commit.clear();
    } else if (state && !line.starts_with('#')) {
      state->is_dirty = true;
    }
  }
  return state;
}

}  // namespace

std::optional<GitState> git_state(const std::filesystem::path& directory, Seconds limit_s) {
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                         std::chrono::duration<double>(limit_s));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  // It must write nothing there, and start nothing that a repository may name.
  const std::string place = directory.string();
  std::array<const char*, 12> argv = {"git",
                                      "--no-optional-locks",
                                      "-c",
                                      "core.fsmonitor=false",
                                      "-C",
                                      place.c_str(),
                                      "status",
                                      "--porcelain=v2",
                                      "--branch",
                                      "--untracked-files=no",
                                      "--ignore-submodules=all",
                                      nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // it ends with what it starts
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, "git", &actions, &attributes,
                                    const_cast<char* const*>(argv.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return std::nullopt;
  theirs = FileDescriptor();
  const auto text = read_until(ours.get(), until);
  ::kill(-pid, SIGKILL);  // it has said enough, or is too late
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text ? parse(*text) : std::nullopt;
}

}  // namespace tune
