// clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD), because Boost.Process 1.81's launchers fork, leak
// descriptors and leave zombies. Knows no loop and no protocol.
#include "tuner/exec/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "tuner/core/error.h"
#include "tuner/exec/process_stat.h"
#include "tuner/exec/program.h"

/// clone(2) by its second name. The thread sanitizer takes the first for a fork, with two
/// memories, and goes on with a confused state in the only one that there is.
extern "C" int __clone(int (*run)(void*), void* stack_top, int flags, void* argument, ...);

namespace tune {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr int descriptors_in_child = protocol::socket_fd + 1;
constexpr std::size_t kernel_sigset_bytes = 8;

/// What the child works from, in memory that it shares with the waiting parent.
struct ChildPlan {
  const char* path;
  char* const* argv;
  char* const* environment;
  const char* directory;
  std::array<int, descriptors_in_child> sources;  ///< all above the places they go to
  pid_t parent;
  const char* volatile failed_call = nullptr;
  volatile int error = 0;
};

/// Everything between clone and exec. It runs in the parent's memory, so system calls only, raw
/// ones, and no instrumentation: the sanitizers' wrappers would record them as the parent's.
__attribute__((no_sanitize("address", "thread", "undefined"))) int run_child(void* argument) {
  auto& plan = *static_cast<ChildPlan*>(argument);
  const unsigned long default_action[4] = {};  // the kernel's struct: SIG_DFL, no flags, no mask
  for (int signal = 1; signal < NSIG; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, default_action, nullptr, kernel_sigset_bytes);
  }
  const char* call = "setpgid";
  long result = ::syscall(SYS_setpgid, 0, 0);
  if (result == 0) {
    call = "prctl";
    result = ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  }
  // A parent that died before the line above will send no signal.
  if (::syscall(SYS_getppid) != plan.parent) ::syscall(SYS_exit_group, 127);

  if (result == 0) {
    call = "chdir";
    result = ::syscall(SYS_chdir, plan.directory);
  }
  for (int place = 0; place < descriptors_in_child && result >= 0; ++place) {
    call = "dup3";
    result = ::syscall(SYS_dup3, plan.sources[static_cast<std::size_t>(place)], place, 0);
  }
  if (result >= 0) {
    call = "close_range";
    result = ::syscall(SYS_close_range, descriptors_in_child, ~0U, 0);
  }
  if (result >= 0) {
    const unsigned long empty_mask = 0;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &empty_mask, nullptr, kernel_sigset_bytes);
    call = "execve";
    ::syscall(SYS_execve, plan.path, plan.argv, plan.environment);
  }
  plan.error = errno;
  plan.failed_call = call;
  ::syscall(SYS_exit_group, 127);
  return 127;
}

/// Above the descriptors that the child's are copied to, whatever the driver was started without.
FileDescriptor above_standard(int fd) {
  FileDescriptor given(fd);
  if (fd < 0 || fd >= descriptors_in_child) return given;
  return FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, descriptors_in_child));
}

FileDescriptor open_log(const std::filesystem::path& path) {
  auto fd = above_standard(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) throw file_error("cannot open", path.string(), errno);
  return fd;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const auto& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

Error start_error(const ChildPlan& plan, const LaunchSpec& spec) {
  const std::string_view call = plan.failed_call;
  const std::string program = "'" + spec.argv[0] + "'";
  if (call == "execve") return file_error("cannot run", program, plan.error);
  if (call == "chdir") {
    return file_error("cannot enter the working directory", spec.directory.string(), plan.error);
  }
  return file_error("cannot run " + program + ":", call, plan.error);
}

}  // namespace

Spawner::Spawner()
    : environment_(inherited_environment()),
      dev_null_(above_standard(::open("/dev/null", O_RDONLY | O_CLOEXEC))),
      stack_(stack_bytes) {
  if (!dev_null_) throw file_error("cannot open", "/dev/null", errno);
}

Spawned Spawner::spawn(const LaunchSpec& spec) {
  const Program program = resolve_program(spec, environment_);
  const auto argv = pointers_to(program.argv);
  const auto environment = pointers_to(program.environment);

  const auto out = open_log(spec.stdout_path);
  const auto own_err =
      spec.stderr_path == spec.stdout_path ? FileDescriptor() : open_log(spec.stderr_path);
  struct stat log {};
  (void)::fstat(own_err ? own_err.get() : out.get(), &log);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw file_error("cannot make a socket for", "'" + spec.argv[0] + "'", errno);
  }
  FileDescriptor ours(ends[0]);
  const auto theirs = above_standard(ends[1]);
  if (!theirs) throw file_error("cannot make a socket for", "'" + spec.argv[0] + "'", errno);

  ChildPlan plan{
      .path = program.path.c_str(),
      .argv = argv.data(),
      .environment = environment.data(),
      .directory = spec.directory.c_str(),
      .sources = {dev_null_.get(), out.get(), own_err ? own_err.get() : out.get(), theirs.get()},
      .parent = ::getpid()};
  int pidfd = -1;
  const int pid = ::__clone(run_child, stack_.data() + stack_.size(),
                            CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
  if (pid < 0) throw file_error("cannot start a process for", "'" + spec.argv[0] + "'", errno);
  Process process(pid, FileDescriptor(pidfd));
  if (plan.failed_call != nullptr) throw start_error(plan, spec);
  const auto stat = read_process_stat(pid);
  return {std::move(process), std::move(ours), stat ? stat->start_ticks : 0,
          static_cast<std::uint64_t>(log.st_size)};
}

}  // namespace tune
