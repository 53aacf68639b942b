// What processes take of memory, and what is left: of real ones, and on made-up machines.
#include "tuner/process/memory_use.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::test;

namespace {

namespace fs = std::filesystem;

struct Machine {
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((dir.path() / file).parent_path());
    std::ofstream(dir.path() / file) << text;
  }
  std::uint64_t available() const {
    return available_memory(dir.path() / "proc", dir.path() / "sys");
  }
  std::uint64_t kills() const {
    return out_of_memory_kills(dir.path() / "proc", dir.path() / "sys");
  }
  TempDir dir;
};

}  // namespace

TEST_CASE("A process group's memory is what its processes have written to", "[unit][memory]") {
  // `tail` keeps a line that does not end. In a group of its own: what allocators give back, and
  // other tests take, is not in it.
  constexpr std::uint64_t much = 64 << 20;
  // Until its program begins, it has the pages of the tests: a pipe closes then.
  int begins[2];
  REQUIRE(::pipe2(begins, O_CLOEXEC) == 0);
  const pid_t group = ::fork();
  if (group == 0) {
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", "(head -c 67108864 /dev/zero; exec sleep 1000) | tail", nullptr);
    ::_exit(127);
  }
  ::setpgid(group, group);
  ::close(begins[1]);
  char byte = 0;
  REQUIRE(::read(begins[0], &byte, 1) == 0);
  ::close(begins[0]);
  const auto use = [&] {
    return memory_use_of({group, 0x7ffffffe}, "libtune-no-such-library.so.1");
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto found = use();
  while (found.at(0).bytes < much && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found = use();
  }
  ::kill(-group, SIGKILL);
  ::waitpid(group, nullptr, 0);
  REQUIRE(found.size() == 2);
  CHECK(found[0].bytes >= much);
  CHECK(found[0].bytes < 2 * much);
  CHECK(found[0].device_bytes == 0);
  CHECK(found[1].bytes == 0);
}

TEST_CASE("What is available is the kernel's word, and no more than any control group leaves",
          "[unit][memory]") {
  Machine machine;
  CHECK(machine.available() == 0);
  machine.write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:     64 kB\n");
  CHECK(machine.available() == 64 * 1024);
  machine.write("proc/self/cgroup", "0::/slice/job\n");
  CHECK(machine.available() == 64 * 1024);
  machine.write("sys/fs/cgroup/slice/job/memory.max", "max\n");
  machine.write("sys/fs/cgroup/slice/memory.max", "10000\n");
  machine.write("sys/fs/cgroup/slice/memory.current", "7000\n");
  machine.write("sys/fs/cgroup/slice/memory.stat", "anon 5000\ninactive_file 1500\n");
  CHECK(machine.available() == 4500);
  machine.write("sys/fs/cgroup/slice/memory.current", "70000\n");
  CHECK(machine.available() == 0);
}

TEST_CASE("The first version of control groups limits memory, too", "[unit][memory]") {
  Machine machine;
  machine.write("proc/meminfo", "MemAvailable: 64 kB\n");
  machine.write("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:memory:/job_7\n");
  machine.write("sys/fs/cgroup/memory/job_7/memory.limit_in_bytes", "8192\n");
  machine.write("sys/fs/cgroup/memory/job_7/memory.usage_in_bytes", "4096\n");
  machine.write("sys/fs/cgroup/memory/job_7/memory.stat", "total_inactive_file 96\n");
  CHECK(machine.available() == 4192);
}

TEST_CASE("Whom the kernel has killed for lack of memory is counted where the driver is",
          "[unit][memory]") {
  Machine machine;
  CHECK(machine.kills() == 0);
  machine.write("proc/vmstat", "nr_free_pages 7\noom_kill 9\n");
  CHECK(machine.kills() == 9);
  SECTION("by its own group") {
    machine.write("proc/self/cgroup", "0::/slice/job\n");
    machine.write("sys/fs/cgroup/slice/memory.events", "low 0\noom 4\noom_kill 4\n");
    machine.write("sys/fs/cgroup/slice/job/memory.events", "low 0\noom 3\noom_kill 2\n");
    CHECK(machine.kills() == 2);
  }
  SECTION("by the first version's") {
    machine.write("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:memory:/job_7\n0::/\n");
    machine.write("sys/fs/cgroup/memory/job_7/memory.oom_control", "under_oom 0\noom_kill 5\n");
    CHECK(machine.kills() == 5);
  }
  SECTION("by its container's, whose path outside is another") {
    machine.write("proc/self/cgroup", "4:memory:/docker/abc\n");
    machine.write("sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 6\n");
    CHECK(machine.kills() == 6);
  }
  SECTION("by the machine, where no group counts") {
    machine.write("proc/self/cgroup", "0::/\n");
    CHECK(machine.kills() == 9);
  }
}
