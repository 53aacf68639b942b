// A ProcessExecutor in a folder of its own, and waiting for what is expected of its children.
// Knows the probe program, not any trial.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef SESSIONS_BY_AGENT
#include "tuner/cluster/agent_executor.h"
#endif
#include "tuner/execution/local/process_executor.h"
#include "tuner/process/system_clock.h"

namespace tune::test {

/// For children that should be there long since: a test that waits so long has failed.
inline constexpr Seconds patience_s = 120;

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "tune-exec-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = std::filesystem::canonical(name);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

inline LaunchId launch_of(const Wakeup& wakeup) {
  return std::visit(
      [](const auto& what) {
        if constexpr (requires { what.launch; }) {
          return what.launch;
        } else {
          return LaunchId(-1);
        }
      },
      wakeup);
}

#ifdef SESSIONS_BY_AGENT
/// What runs in a session runs under an agent, a process of its own.
inline std::unique_ptr<Executor> make_executor(AsioReactor& reactor,
                                               const std::filesystem::path& directory) {
  auto executor = std::make_unique<AgentExecutor>(reactor, ClusterOptions{.directory = directory,
                                                                          .hosts = {"oak"},
                                                                          .launcher = {"env"},
                                                                          .program = CLUSTER_AGENT,
                                                                          .bind = "127.0.0.1",
                                                                          .version = "1.0"});
  (void)executor->start([] { return false; });
  return executor;
}
#else
inline std::unique_ptr<Executor> make_executor(AsioReactor& reactor, const std::filesystem::path&) {
  return std::make_unique<ProcessExecutor>(reactor);
}
#endif

class Session {
 public:
  explicit Session(Interrupts interrupts = Interrupts::leave_alone) : reactor(interrupts) {}

  LaunchSpec spec(std::vector<std::string> argv) const {
    return {std::move(argv), {}, dir.path(), dir.path() / "out.log", dir.path() / "err.log"};
  }

  LaunchSpec probe(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), EXEC_PROBE);
    return spec(std::move(arguments));
  }

  LaunchId launch(LaunchSpec what) {
    const LaunchId launch{next_++};
    executor.launch(launch, std::move(what));
    return launch;
  }

  LaunchId launch_probe(std::vector<std::string> arguments) {
    return launch(probe(std::move(arguments)));
  }

  /// The first event of this kind for the launch, waiting for it if it has not come yet.
  template <class Kind>
  Kind wait_for(LaunchId launch) {
    for (;;) {
      for (const auto& wakeup : heard[launch]) {
        if (const auto* wanted = std::get_if<Kind>(&wakeup)) return *wanted;
      }
      wait();
    }
  }

  /// The number of another process, which the launched one tells.
  pid_t pid_told_by(LaunchId launch) {
    return static_cast<pid_t>(wait_for<Reported>(launch).metrics->find("pid").value());
  }

  /// Waits until so many events of this kind have come for the launch.
  template <class Kind>
  void wait_for_count(LaunchId launch, std::size_t count) {
    while (count_of<Kind>(launch) < count) wait();
  }

  template <class Kind>
  std::size_t count_of(LaunchId launch) {
    std::size_t count = 0;
    for (const auto& wakeup : heard[launch]) count += std::holds_alternative<Kind>(wakeup) ? 1 : 0;
    return count;
  }

  /// Launches, waits for the end, and gives what was written to stdout.log.
  std::string output_of(LaunchSpec what) {
    const auto path = what.stdout_path;
    wait_for<Exited>(launch(std::move(what)));
    return read_file(path);
  }

  /// One wait; returns how many events it gave.
  std::size_t wait() {
    std::vector<Wakeup> wakeups;
    reactor.wait(clock->steady() + patience_s, wakeups);
    if (wakeups.empty()) throw std::runtime_error("nothing happened for very long");
    for (auto& wakeup : wakeups) heard[launch_of(wakeup)].push_back(std::move(wakeup));
    return wakeups.size();
  }

  TempDir dir;
  std::unique_ptr<Clock> clock = make_system_clock();
  AsioReactor reactor;
  const std::unique_ptr<Executor> own_executor = make_executor(reactor, dir.path());
  Executor& executor = *own_executor;
  std::map<LaunchId, std::vector<Wakeup>> heard;  ///< by launch, in order

 private:
  std::uint64_t next_ = 1;
};

}  // namespace tune::test
