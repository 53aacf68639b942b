// What it costs to start a process from a driver that holds much memory: the driver's own way
// (vfork-like) beside Boost.Process, which forks, in turns.
//   bench_spawn [--mib N] [--starts N] [--rounds N]
#include "tuner/process/spawn.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <boost/process.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bench/report.h"
#include "tuner/disk/signals_blocked.h"

namespace tune::bench {
namespace {

struct Options {
  std::size_t mib = 1000;
  int starts = 100;
  int rounds = 5;
};

constexpr const char* program = "/bin/true";

template <class Start>
double milliseconds_each(int starts, const Start& start) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < starts; ++i) start();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  return took.count() / starts;
}

void start_ours(Spawner& spawner, const ProcessSpec& spec) {
  const Spawned spawned = [&] {
    const SignalsBlocked blocked;
    return spawner.spawn(spec);
  }();
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(spawned.process.pidfd()), &info, WEXITED | WNOWAIT) !=
      0) {
    throw std::runtime_error("waitid failed");
  }
}

int measure(const Options& options) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("tune-bench-spawn-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::vector<char> held(options.mib << 20);
  std::memset(held.data(), 1, held.size());  // pages that a fork has to map
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  Spawner spawner(descriptors);
  const ProcessSpec spec{{program}, {}, folder, folder / "out.log", folder / "err.log"};
  Report report;
  for (int round = 0; round < options.rounds; ++round) {
    Row& row = report.row({.name = "start and end of " + std::string(program) + " beside " +
                                   std::to_string(options.mib) + " MiB",
                           .unit = "ms",
                           .measured = {},
                           .limit = {},
                           .aim = 1,
                           .kind = Aim::at_most});
    row.measured.push_back(milliseconds_each(options.starts, [&] { start_ours(spawner, spec); }));
    row.limit.push_back(milliseconds_each(options.starts, [] {
      boost::process::child child(program);
      child.wait();
    }));
  }
  report.print(std::cout);
  std::filesystem::remove_all(folder);
  return 0;
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) throw std::invalid_argument(words[i] + " has no value");
    const int value = std::stoi(words[i + 1]);
    if (words[i] == "--mib") {
      options.mib = static_cast<std::size_t>(value);
    } else if (words[i] == "--starts") {
      options.starts = value;
    } else if (words[i] == "--rounds") {
      options.rounds = value;
    } else {
      throw std::invalid_argument("there is no option " + words[i]);
    }
  }
  return options;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    return tune::bench::measure(
        tune::bench::read_options(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    std::cerr << "bench_spawn: " << error.what() << '\n';
    return 2;
  }
}
