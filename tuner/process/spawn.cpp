// clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD), because Boost.Process 1.81's launchers fork, leak
// descriptors and leave zombies.
#include "tuner/process/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>

#include "tuner/base/error.h"
#include "tuner/disk/regular_file.h"
#include "tuner/disk/signals_blocked.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/process_wide.h"

/// clone(2) by its second name. The thread sanitizer takes the first for a fork, with two
/// memories, and goes on with a confused state in the only one that there is.
extern "C" int __clone(int (*run)(void*), void* stack_top, int flags, void* argument, ...);

namespace tune {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr int descriptors_in_child = protocol::socket_fd + 1;
constexpr std::size_t kernel_sigset_bytes = 8;
constexpr const char* oom_score_adj_file = "/proc/self/oom_score_adj";
constexpr int oom_score_added = 500;  // of 1000, which stand for all of the memory

/// What the child works from, in memory that it shares with the waiting parent.
struct ChildPlan {
  const char* path;
  char* const* argv;
  char* const* environment;
  const char* directory;
  std::array<int, descriptors_in_child> sources;  ///< all above the places they go to
  pid_t parent;
  rlimit descriptors;         ///< the limit to be had
  const char* oom_score_adj;  ///< digits
  std::size_t oom_score_adj_bytes;
  const char* volatile failed_call = nullptr;
  volatile int error = 0;
};

/// What getdents64 fills in; libc has no such struct.
struct DirectoryEntry64 {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

/// Where there is no close_range (before Linux 5.9, or not allowed by a container's runtime). Those
/// of the driver are close-on-exec; this is for what a library has opened without that. Without
/// /proc it stays open.
__attribute__((no_sanitize("address", "thread", "undefined"))) void close_by_name() {
  const long directory =
      ::syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
  if (directory < 0) return;
  alignas(DirectoryEntry64) char block[4096];
  for (;;) {
    const long count = ::syscall(SYS_getdents64, directory, block, sizeof block);
    if (count <= 0) break;
    for (long at = 0; at < count;) {
      const auto* const entry = reinterpret_cast<const DirectoryEntry64*>(block + at);
      at += entry->bytes;
      int fd = 0;
      for (const char* digit = entry->name; fd >= 0 && *digit != 0; ++digit) {
        fd = *digit >= '0' && *digit <= '9' ? 10 * fd + (*digit - '0') : -1;
      }
      if (fd >= descriptors_in_child) ::syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
    }
  }
  ::syscall(SYS_close, directory);
}

/// Who starts trials is to outlive them where memory runs out: of all, the kernel kills the one
/// with the largest score. Where /proc is not to be written, sizes alone decide.
__attribute__((no_sanitize("address", "thread", "undefined"))) void raise_oom_score(
    const ChildPlan& plan) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, oom_score_adj_file, O_WRONLY | O_CLOEXEC, 0);
  if (file < 0) return;
  ::syscall(SYS_write, file, plan.oom_score_adj, plan.oom_score_adj_bytes);
  ::syscall(SYS_close, file);
}

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
    if (::syscall(SYS_close_range, descriptors_in_child, ~0U, 0) != 0) close_by_name();
    // Failing that, it has the driver's own: no reason not to run.
    raise_oom_score(plan);
    ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &plan.descriptors, nullptr);
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
  try {
    auto fd = above_standard(open_regular(path.string(), O_WRONLY | O_CREAT | O_APPEND));
    if (fd) return fd;
  } catch (const NotRegular& something_else) {
    throw DirectoryFault(something_else);
  }
  const Error error = file_error("cannot open", path.string(), errno);
  if (errno == ENOENT) throw DirectoryFault(error);
  throw error;
}

int own_oom_score_adj() {
  int score = 0;
  std::ifstream(oom_score_adj_file) >> score;
  return score;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const auto& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

/// All calls up to the last have worked, and there is no such program.
class NoSuchProgram : public Error {
 public:
  explicit NoSuchProgram(const Error& error) : Error(error) {}
};

Error sentence_of(const ChildPlan& plan, const std::string& program) {
  const std::string_view call = plan.failed_call;
  if (call == "execve") return file_error("cannot run", program, plan.error);
  if (call == "chdir") {
    return file_error("cannot enter the working directory", plan.directory, plan.error);
  }
  return file_error("cannot run " + program + ":", call, plan.error);
}

}  // namespace

Spawner::Spawner(const rlimit& descriptors)
    : descriptors_(descriptors),
      oom_score_adj_(std::to_string(std::min(own_oom_score_adj() + oom_score_added, 1000))),
      environment_(inherited_environment()),
      dev_null_(above_standard(::open("/dev/null", O_RDWR | O_CLOEXEC))),
      stack_(stack_bytes) {
  if (!dev_null_) throw file_error("cannot open", "/dev/null", errno);
}

Process Spawner::start(const Program& program, const std::filesystem::path& directory,
                       const std::array<int, 4>& sources) {
  static_assert(descriptors_in_child == 4);
  const std::string name = "'" + program.argv[0] + "'";
  const auto argv = pointers_to(program.argv);
  const auto environment = pointers_to(program.environment);
  ChildPlan plan{.path = program.path.c_str(),
                 .argv = argv.data(),
                 .environment = environment.data(),
                 .directory = directory.c_str(),
                 .sources = sources,
                 .parent = ::getpid(),
                 .descriptors = descriptors_,
                 .oom_score_adj = oom_score_adj_.data(),
                 .oom_score_adj_bytes = oom_score_adj_.size()};
  int pidfd = -1;
  const int pid = ::__clone(run_child, stack_.data() + stack_.size(),
                            CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
  if (pid < 0) throw file_error("cannot start a process for", name, errno);
  if (pidfd < 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, __WALL);
    throw machine_error("cannot run " + name + ": this kernel gives no descriptor of a process");
  }
  Process process(pid, FileDescriptor(pidfd));
  if (plan.failed_call == nullptr) return process;
  const Error error = sentence_of(plan, name);
  if (plan.error == ENOENT && plan.failed_call == std::string_view("execve")) {
    throw NoSuchProgram(error);
  }
  const bool is_about_directory = plan.failed_call == std::string_view("chdir");
  if (is_about_directory && (plan.error == ENOENT || plan.error == ENOTDIR)) {
    throw DirectoryFault(error);
  }
  throw error;
}

LaunchFiles open_launch_files(const ProcessSpec& spec) {
  LaunchFiles files;
  files.out = open_log(spec.stdout_path);
  if (spec.stderr_path != spec.stdout_path) files.own_err = open_log(spec.stderr_path);
  struct stat out_log {};
  struct stat err_log {};
  (void)::fstat(files.out.get(), &out_log);
  (void)::fstat(files.err(), &err_log);
  files.stdout_begin = static_cast<std::uint64_t>(out_log.st_size);
  files.stderr_begin = static_cast<std::uint64_t>(err_log.st_size);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw file_error("cannot make a socket for", "'" + spec.argv[0] + "'", errno);
  }
  files.ours = FileDescriptor(ends[0]);
  files.theirs = above_standard(ends[1]);
  if (!files.theirs) {
    throw file_error("cannot make a socket for", "'" + spec.argv[0] + "'", errno);
  }
  return files;
}

Spawned Spawner::spawn(const ProcessSpec& spec) {
  const Program program = resolve(spec);
  LaunchFiles files = open_launch_files(spec);
  Process process = start(program, spec.directory,
                          {dev_null_.get(), files.out.get(), files.err(), files.theirs.get()});
  const auto stat = read_process_stat(process.pid());
  return {.process = std::move(process),
          .socket = std::move(files.ours),
          .start_ticks = stat ? stat->start_ticks : 0,
          .stdout_begin = files.stdout_begin,
          .stderr_begin = files.stderr_begin};
}

void Spawner::try_out() try {
  const int nothing = dev_null_.get();
  const Program idle{"/bin/true", {"/bin/true"}, environment_};
  const Process process = start(idle, "/", {nothing, nothing, nothing, nothing});
  pollfd exited{process.pidfd(), POLLIN, 0};
  while (::poll(&exited, 1, -1) < 0 && errno == EINTR) {
  }
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(process.pidfd()), &info, WEXITED | WNOWAIT) != 0) {
    throw file_error("cannot wait for '/bin/true':", "waitid", errno);
  }
} catch (const NoSuchProgram&) {
  // What comes before is what matters: an image may well have no such program.
}

void require_launches() try {
  const ProcessWide process;  // an ignored SIGCHLD would lose its end
  const SignalsBlocked blocked;
  Spawner(process.descriptors_before()).try_out();
} catch (const Error& error) {
  throw machine_error(std::string("this machine cannot start trials: ") + error.what() +
                      " (tune needs Linux 5.4 or newer, and a container that lets it use that)");
}

}  // namespace tune
