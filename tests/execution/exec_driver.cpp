// A small driver to be run by the tests: for what can only be seen from outside of a driver.
// Knows the executor and how to tell a number to whoever started it.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/execution/local/process_executor.h"
#include "tuner/process/orphans.h"
#include "tuner/process/spawn.h"
#include "tuner/process/watchdog.h"

namespace {

constexpr double no_deadline = std::numeric_limits<double>::infinity();

struct Farewell {
  ~Farewell() { std::fputs("farewell\n", stdout); }
} farewell;

tune::LaunchSpec spec_of(std::vector<std::string> argv) {
  const auto here = std::filesystem::current_path();
  return {std::move(argv), {}, here, here / "inner.log", here / "inner.log"};
}

template <class Kind>
Kind wait_for(tune::Reactor& reactor) {
  for (std::vector<tune::Wakeup> wakeups;; wakeups.clear()) {
    reactor.wait(no_deadline, wakeups);
    for (const auto& wakeup : wakeups) {
      if (const auto* wanted = std::get_if<Kind>(&wakeup)) return *wanted;
    }
  }
}

/// Leaves something in stdio's buffer while programs fail to start.
int fail_to_launch(int count) {
  std::fputs("buffered\n", stdout);
  tune::AsioReactor reactor;
  tune::ProcessExecutor executor(reactor);
  for (int i = 0; i < count; ++i) {
    executor.launch(tune::LaunchId(i), spec_of({"/nonexistent/program"}));
    wait_for<tune::LaunchFailed>(reactor);
  }
  return 0;
}

/// Starts `program`, says its number, and waits to be killed. TUNE_TEST_MARK is what marks it.
int await_death(const std::string& program, const std::string& mode) {
  tune::AsioReactor reactor;
  tune::ProcessExecutor executor(reactor);
  auto spec = spec_of({program, mode});
  if (const char* const mark = std::getenv("TUNE_TEST_MARK")) {
    spec.environment.push_back(std::string("TUNE_SESSION=") + mark);
  }
  executor.launch(tune::LaunchId(1), std::move(spec));
  const auto launched = wait_for<tune::Launched>(reactor);
  const std::string line =
      R"({"type":"result","metrics":{"pid":)" + std::to_string(launched.pid) + "}}\n";
  ::send(3, line.data(), line.size(), MSG_NOSIGNAL);
  wait_for<tune::Exited>(reactor);
  return 1;
}

/// Starts `program` with the standard descriptors closed, as some daemons do.
int launch_without_standard_descriptors(const std::string& program) {
  for (int fd = 0; fd < 4; ++fd) ::close(fd);
  tune::AsioReactor reactor;
  tune::ProcessExecutor executor(reactor);
  executor.launch(tune::LaunchId(1), spec_of({program, "describe"}));
  return wait_for<tune::Exited>(reactor).exit_code;
}

/// From now on the kernel answers this system call with EPERM, as older container runtimes do.
void forbid(unsigned call) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::exit(77);
  }
}

/// Starts `program` where the system call is forbidden, with descriptors that are not
/// close-on-exec.
int launch_without(unsigned call, const std::string& program) {
  for (int i = 0; i < 100; ++i) (void)::open("/dev/null", O_RDONLY);
  forbid(call);
  tune::require_launches();
  tune::AsioReactor reactor;
  tune::ProcessExecutor executor(reactor);
  executor.launch(tune::LaunchId(1), spec_of({program, "describe"}));
  return wait_for<tune::Exited>(reactor).exit_code;
}

/// What is said of a machine on which the system call is forbidden.
int try_out_without(unsigned call) {
  forbid(call);
  try {
    tune::require_launches();
  } catch (const tune::Error& error) {
    std::printf("%s\n", error.what());
    return error.fault() == tune::Fault::machine ? 3 : 2;
  }
  return 0;
}

/// Ends the orphans of an experiment where the system call is forbidden. The number of sentences.
int end_orphans_without(unsigned call, const std::string& experiment) {
  forbid(call);
  const auto sentences = tune::end_orphans(
      {.experiment = std::stoll(experiment), .driver = tune::this_identity()}, {});
  return static_cast<int>(sentences.size());
}

/// Starts `program` with a child in its group, says that one's number, and does not come back.
int hang(const std::string& program) {
  tune::Watchdog watchdog("ask somebody", 1);
  const tune::ActivityTracker::Activity doing(&watchdog.activities(), "the test hangs");
  tune::AsioReactor reactor(tune::Interrupts::report, &watchdog);
  tune::ProcessExecutor executor(reactor);
  executor.launch(tune::LaunchId(1), spec_of({program, "grandchild"}));
  const auto told = wait_for<tune::Reported>(reactor);
  watchdog.only_lingers("the disk is gone");
  std::fprintf(stderr, "it hangs beside %ld\n",
               static_cast<long>(told.metrics->find("pid").value_or(0)));
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  if (mode == "fail-to-launch") return fail_to_launch(std::stoi(argv[2]));
  if (mode == "await-death") return await_death(argv[2], argc > 3 ? argv[3] : "stay");
  if (mode == "hang") return hang(argv[2]);
  if (mode == "closed") return launch_without_standard_descriptors(argv[2]);
  if (mode == "without") return launch_without(static_cast<unsigned>(std::stoi(argv[2])), argv[3]);
  if (mode == "end-orphans-without") {
    return end_orphans_without(static_cast<unsigned>(std::stoi(argv[2])), argv[3]);
  }
  if (mode == "try-out-without") return try_out_without(static_cast<unsigned>(std::stoi(argv[2])));
  return 2;
}
