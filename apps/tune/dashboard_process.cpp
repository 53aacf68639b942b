// Starts this program once more, and passes on the lines with which it begins.
#include "apps/tune/dashboard_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

namespace {

/// Where the lines end that say where it is.
constexpr std::string_view last_line = "It ends";

[[noreturn]] void become(const std::string& program, const std::string& directory,
                         const std::string& parent, int output) {
  // What the driver does with signals is its own.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::execl(program.c_str(), "tune", "dashboard", directory.c_str(), "--wait", "--with-parent",
          parent.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

void start_dashboard(const std::filesystem::path& directory, bool is_data_on_stdout) {
  const std::string program = own_program(), place = directory.string();
  const std::string parent = std::to_string(::getpid());
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return complain("there is no dashboard: no pipe is left");
  const FileDescriptor from_it(ends[0]);
  FileDescriptor to_us(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) become(program, place, parent, to_us.get());
  to_us = FileDescriptor();
  std::string text;
  char block[1024];
  pollfd output{from_it.get(), POLLIN, 0};
  // Trials do not wait for a page that hangs.
  constexpr int patience_ms = 5'000;
  while (child > 0 && text.find(last_line) == text.npos && ::poll(&output, 1, patience_ms) == 1) {
    const ssize_t count = ::read(from_it.get(), block, sizeof block);
    if (count <= 0) break;
    text.append(block, static_cast<std::size_t>(count));
  }
  if (text.find(last_line) == text.npos) return complain("the dashboard does not start");
  print_in_passing(is_data_on_stdout ? STDERR_FILENO : STDOUT_FILENO, text);
}

}  // namespace tune
