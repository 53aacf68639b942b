// What a launched process finds, and what is left when it could not be launched.
// Knows no message.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "trainable/protocol.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/program.h"
#include "tuner/process/spawn.h"

using namespace tune;
using namespace tune::test;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// Where nobody may forbid a system call.
bool is_unable(int exit_code) {
  if (exit_code == 77) WARN("not tested: no system call can be forbidden here");
  return exit_code == 77;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

TEST_CASE("A child has the descriptors 0 to 3 only, however many the driver leaks",
          "[unit][process]") {
  std::vector<FileDescriptor> leaked;
  for (int i = 0; i < 100; ++i) leaked.emplace_back(::open("/dev/null", O_RDONLY));
  Session session;
  const auto other = session.launch_probe({"until-told"});
  session.wait_for<Launched>(other);
  const auto text = session.output_of(session.probe({"describe"}));
  CHECK(has_line(text, "descriptors 0 1 2 3"));
  CHECK(has_line(text, "stdin 0"));
}

TEST_CASE("A child is killed before its driver where memory runs out", "[unit][process]") {
  const auto own_score = [] {
    int score = -1;
    std::ifstream("/proc/self/oom_score_adj") >> score;
    return score;
  };
  const int before = own_score();
  Session session;
  const auto text = session.output_of(session.probe({"describe"}));
  CHECK(has_line(text, "oom_score_adj " + std::to_string(std::min(before + 500, 1000))));
  CHECK(own_score() == before);
}

TEST_CASE("A child of a driver without standard descriptors has its own", "[unit][process]") {
  Session session;
  const auto driver = session.launch(session.spec({EXEC_DRIVER, "closed", EXEC_PROBE}));
  CHECK(session.wait_for<Exited>(driver).exit_code == 0);
  const auto text = read_file(session.dir.path() / "inner.log");
  CHECK(has_line(text, "descriptors 0 1 2 3"));
  CHECK(has_line(text, "stdin 0"));
}

TEST_CASE("A child leads its own group, dies with the driver and is in its directory",
          "[unit][process]") {
  Session session;
  const auto text = session.output_of(session.probe({"describe"}));
  CHECK(has_line(text, "leads_group yes"));
  CHECK(has_line(text, "death_signal " + std::to_string(SIGKILL)));
  CHECK(has_line(text, "directory " + session.dir.path().string()));
}

TEST_CASE("A child starts with default signals, whatever the driver blocks and ignores",
          "[unit][process]") {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ::signal(SIGQUIT, SIG_IGN);
  std::string text;
  {
    Session session;
    text = session.output_of(session.probe({"describe"}));
  }
  ::signal(SIGQUIT, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(has_line(text, "SigBlk:\t0000000000000000"));
  CHECK(has_line(text, "SigIgn:\t0000000000000000"));
}

TEST_CASE("Of a batch system's words a child inherits where it is, and neither request nor task",
          "[unit][process]") {
  const std::vector<std::string> taken = {"SLURM_NTASKS", "SLURM_GPUS_PER_NODE", "SLURM_EXPORT_ENV",
                                          "SLURM_PROCID", "SRUN_CPUS_PER_TASK"};
  const std::vector<std::string> left = {"SLURM_JOB_ID", "SLURM_CONF", "SBATCH_ACCOUNT"};
  for (const auto* const names : {&taken, &left}) {
    for (const std::string& name : *names) ::setenv(name.c_str(), "1", 1);
  }
  const auto environment = inherited_environment();
  const auto has = [&](const std::string& name) {
    return std::find(environment.begin(), environment.end(), name + "=1") != environment.end();
  };
  for (const std::string& name : taken) CHECK_FALSE(has(name));
  for (const std::string& name : left) CHECK(has(name));
  for (const auto* const names : {&taken, &left}) {
    for (const std::string& name : *names) ::unsetenv(name.c_str());
  }
}

TEST_CASE("A child's environment is the driver's, without an outer driver's, with the launch's",
          "[unit][process]") {
  ::setenv("TUNE_TRIAL_ID", "of-the-outer-driver", 1);
  ::setenv("EXEC_TEST_KEPT", "kept", 1);
  ::setenv("EXEC_TEST_REPLACED", "old", 1);
  std::string text;
  {
    Session session;
    auto spec = session.probe({"print-environment"});
    spec.environment = {"EXEC_TEST_REPLACED=new", "TUNE_ATTEMPT=1"};
    spec.own_environment = {"TUNE_ATTEMPT=a=b"};
    text = session.output_of(spec);
  }
  ::unsetenv("TUNE_TRIAL_ID");
  CHECK_FALSE(text.find("of-the-outer-driver") != text.npos);
  CHECK(has_line(text, "EXEC_TEST_KEPT=kept"));
  CHECK(has_line(text, "EXEC_TEST_REPLACED=new"));
  CHECK_FALSE(has_line(text, "EXEC_TEST_REPLACED=old"));
  CHECK(has_line(text, "TUNE_ATTEMPT=a=b"));
  CHECK(has_line(text, "TUNE_SOCKET_FD=3"));
}

TEST_CASE("A program that is only read is told of nobody to talk with", "[unit][process]") {
  ProcessSpec spec;
  spec.argv = {"/bin/true"};
  const std::string socket = std::string(protocol::env_socket_fd) + "=3";
  const auto has = [&](const std::string& variable) {
    const auto environment = resolve_program(spec, {}).environment;
    return std::find(environment.begin(), environment.end(), variable) != environment.end();
  };
  CHECK(has(socket));
  spec.knows_socket = false;
  CHECK_FALSE(has(socket));
  CHECK_FALSE(has(std::string(protocol::env_version) + "=" + std::to_string(protocol::version)));
}

TEST_CASE("Arguments reach the child untouched by any shell", "[unit][process]") {
  Session session;
  const auto text = session.output_of(session.probe({"print-arguments", "a b", "$HOME", "", "*"}));
  CHECK(text == std::string(EXEC_PROBE) + "\nprint-arguments\na b\n$HOME\n\n*\n");
}

TEST_CASE("A program without a slash is found in the PATH of the launch", "[unit][process]") {
  Session session;
  const std::filesystem::path probe = EXEC_PROBE;
  auto spec = session.spec({probe.filename(), "exit", "7"});
  spec.environment = {"PATH=/nonexistent:" + probe.parent_path().string()};
  CHECK(session.wait_for<Exited>(session.launch(spec)).exit_code == 7);
}

TEST_CASE("A relative program is found from the driver's directory, not the trial's",
          "[unit][process]") {
  Session session;
  const auto relative = "./" + std::filesystem::relative(EXEC_PROBE).string();
  CHECK(session.wait_for<Exited>(session.launch(session.spec({relative, "exit", "7"}))).exit_code ==
        7);
}

TEST_CASE("Output is appended to what the files hold", "[unit][process]") {
  Session session;
  std::ofstream(session.dir.path() / "out.log") << "before\n";
  session.wait_for<Exited>(session.launch_probe({"alternate", "4"}));
  session.wait_for<Exited>(session.launch_probe({"alternate", "2"}));
  CHECK(read_file(session.dir.path() / "out.log") == "before\n0\n2\n0\n");
  CHECK(read_file(session.dir.path() / "err.log") == "1\n3\n1\n");
}

TEST_CASE("Output and errors in one file keep their order", "[unit][process]") {
  Session session;
  auto spec = session.probe({"alternate", "6"});
  spec.stderr_path = spec.stdout_path;
  CHECK(session.output_of(spec) == "0\n1\n2\n3\n4\n5\n");
}

TEST_CASE("A launch that cannot be says which and why", "[unit][process]") {
  Session session;
  const auto reason = [&](LaunchSpec spec) {
    return session.wait_for<LaunchFailed>(session.launch(std::move(spec))).reason;
  };
  CHECK(reason(session.spec({"/nonexistent/x"})) ==
        "cannot run '/nonexistent/x': No such file or directory");
  CHECK(reason(session.spec({"no-such-program-x"})) ==
        "cannot run 'no-such-program-x': No such file or directory");
  const auto plain = session.dir.path() / "plain";
  std::ofstream(plain) << "no program\n";
  CHECK(reason(session.spec({plain})) == "cannot run '" + plain.string() + "': Permission denied");
  std::filesystem::permissions(plain, std::filesystem::perms::owner_all);
  CHECK(reason(session.spec({plain})) == "cannot run '" + plain.string() + "': Exec format error");
  CHECK(reason(session.spec({})) == "cannot run a program without a name");

  auto nowhere = session.probe({});
  nowhere.directory = "/nonexistent/place";
  CHECK(reason(nowhere) ==
        "cannot enter the working directory /nonexistent/place: No such file or directory");
  auto silent = session.probe({});
  silent.stderr_path = "/nonexistent/err.log";
  CHECK(reason(silent) == "cannot open /nonexistent/err.log: No such file or directory");
}

TEST_CASE("Whatever a trial puts in place of its log is a failed launch, and nobody waits for it",
          "[unit][process]") {
  Session session;
  const auto log = session.dir.path() / "out.log";
  const auto target = session.dir.path() / "target";
  std::ofstream(target) << "the user's own\n";
  const auto refused = [&](const std::string& what) {
    const auto launch = session.launch_probe({"exit", "0"});
    const auto reason = session.wait_for<LaunchFailed>(launch).reason;
    CHECK(reason == "cannot use " + log.string() + ": it is " + what +
                        " where a file of the driver's belongs");
    std::filesystem::remove(log);
  };
  REQUIRE(::mkfifo(log.c_str(), 0600) == 0);
  refused("a FIFO");
  std::filesystem::create_symlink(target, log);
  refused("a link");
  std::filesystem::create_symlink("nowhere", log);
  refused("a link");
  std::filesystem::create_directory(log);
  refused("a directory");
  CHECK(read_file(target) == "the user's own\n");
  CHECK_FALSE(std::filesystem::exists(session.dir.path() / "nowhere"));
  session.output_of(session.probe({"alternate", "1"}));
  CHECK(read_file(log) == "0\n");
}

TEST_CASE("Where the kernel has no close_range, a child has the descriptors 0 to 3 only, too",
          "[unit][process]") {
  Session session;
  const auto driver = session.launch(
      session.spec({EXEC_DRIVER, "without", std::to_string(SYS_close_range), EXEC_PROBE}));
  const auto code = session.wait_for<Exited>(driver).exit_code;
  if (is_unable(code)) return;
  CHECK(code == 0);
  CHECK(has_line(read_file(session.dir.path() / "inner.log"), "descriptors 0 1 2 3"));
}

TEST_CASE("Nothing but starting and waiting is needed of the kernel", "[unit][process]") {
  std::vector<long> calls = {SYS_pidfd_open, SYS_pidfd_send_signal};
#ifdef TUNE_SANITIZED
  WARN("not tested without prlimit64: sanitizers themselves need it");
#else
  calls.push_back(SYS_prlimit64);
#endif
  for (const long call : calls) {
    Session session;
    const auto driver =
        session.launch(session.spec({EXEC_DRIVER, "without", std::to_string(call), EXEC_PROBE}));
    const auto code = session.wait_for<Exited>(driver).exit_code;
    if (is_unable(code)) return;
    INFO(call << read_file(session.dir.path() / "err.log"));
    CHECK(code == 0);
  }
}

TEST_CASE("A machine that cannot launch says in one sentence what it lacks", "[unit][process]") {
  Session session;
  const auto driver =
      session.launch(session.spec({EXEC_DRIVER, "try-out-without", std::to_string(SYS_setpgid)}));
  const auto code = session.wait_for<Exited>(driver).exit_code;
  if (is_unable(code)) return;
  CHECK(code == 3);
  CHECK_THAT(
      read_file(session.dir.path() / "out.log"),
      Catch::Matchers::StartsWith(
          "this machine cannot start trials: cannot run '/bin/true': setpgid: Operation not "
          "permitted (tune needs Linux 5.4 or newer, and a container that lets it use that)\n"));
  CHECK_NOTHROW(require_launches());
}

TEST_CASE("A launch beyond the descriptor limit fails, and the next one works", "[unit][process]") {
  Session session;
  session.wait_for<Exited>(session.launch_probe({"exit", "0"}));
  // The sanitizer needs a descriptor when it meets a type of exception for the first time.
  session.wait_for<LaunchFailed>(session.launch(session.spec({"/"})));
  std::string reason;
  {
    std::vector<FileDescriptor> all;
    do {
      all.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (all.back());
    reason = session.wait_for<LaunchFailed>(session.launch_probe({"exit", "0"})).reason;
  }
  CHECK_THAT(reason, Catch::Matchers::EndsWith(": Too many open files"));
  CHECK(session.wait_for<Exited>(session.launch_probe({"exit", "6"})).exit_code == 6);
}

TEST_CASE("Failed launches leave no zombie, no descriptor and no event behind", "[unit][process]") {
  Session session;
  const auto launch_and_fail = [&](const char* program) {
    const auto launch = session.launch(session.spec({program}));
    session.wait_for<LaunchFailed>(launch);
    return launch;
  };
  launch_and_fail("/nonexistent/program");
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    CHECK(session.heard[launch_and_fail("/nonexistent/program")].size() == 1);
    CHECK(session.heard[launch_and_fail("no-such-program-x")].size() == 1);
  }
  CHECK_FALSE(has_children());
  CHECK(open_descriptors() == before);
}

TEST_CASE("Failed launches do not run the driver's destructors or flush its buffers",
          "[unit][process]") {
  Session session;
  CHECK(session.output_of(session.spec({EXEC_DRIVER, "fail-to-launch", "5"})) ==
        "buffered\nfarewell\n");
}

TEST_CASE("Launched names the process by number and start time, whatever it is called",
          "[unit][process]") {
  Session session;
  const auto odd = session.dir.path() / "a) b (c 1 2";
  std::filesystem::copy_file(EXEC_PROBE, odd);
  const auto first = session.wait_for<Launched>(session.launch_probe({"until-told"}));
  const auto second = session.wait_for<Launched>(session.launch(session.spec({odd, "until-told"})));
  const auto third = session.wait_for<Launched>(session.launch_probe({"until-told"}));
  CHECK(first.start_ticks > 0);
  CHECK(first.start_ticks <= second.start_ticks);
  CHECK(second.start_ticks <= third.start_ticks);
  CHECK(second.start_ticks == read_process_stat(static_cast<pid_t>(second.pid))->start_ticks);
  CHECK(::getpgid(static_cast<pid_t>(second.pid)) == second.pid);
}

TEST_CASE("A driver that is killed takes its children along", "[unit][process]") {
  Session session;
  const auto driver = session.launch(session.spec({EXEC_DRIVER, "await-death", EXEC_PROBE}));
  const auto orphan = session.pid_told_by(driver);
  const FileDescriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, orphan, 0)));
  REQUIRE(watch);
  session.executor.signal(driver, SIGKILL);
  pollfd ended{watch.get(), POLLIN, 0};
  CHECK(::poll(&ended, 1, static_cast<int>(patience_s * 1000)) == 1);
  CHECK(session.wait_for<Exited>(driver).signal == SIGKILL);
}
