// Detection on made-up machines.
// Knows no process.
#include "tuner/execution/local/detect_resources.h"

#include <fstream>
#include <map>

#include "tests/execution/session.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::test;

namespace {

namespace fs = std::filesystem;

class Machine {
 public:
  Machine() {
    roots.proc = dir_.path() / "proc";
    roots.sys = dir_.path() / "sys";
    roots.dev = dir_.path() / "dev";
    roots.nvml_library = "libtune-no-such-library.so.1";
    roots.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto it = variables.find(name);
      if (it == variables.end()) return std::nullopt;
      return it->second;
    };
    roots.affinity_cpus = [] { return 8; };
  }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((dir_.path() / file).parent_path());
    std::ofstream(dir_.path() / file) << text;
  }

  std::map<std::string, std::string> variables;
  DetectionRoots roots;

 private:
  TempDir dir_;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("A machine without limits and gpus has the cpus of its affinity", "[unit][resources]") {
  Machine machine;
  const auto found = detect_resources(machine.roots);
  CHECK(found.cpus == 8);
  CHECK(found.gpus.empty());
  CHECK(found.notices.empty());
  CHECK(found.totals() == Resources{{"cpu", 8}});
}

TEST_CASE("A cgroup limits the cpus, rounded down, and never below one", "[unit][resources]") {
  Machine machine;
  machine.write("proc/self/cgroup", "0::/slice/job\n");
  const auto [own, above, cpus] = GENERATE(table<std::string, std::string, int>({
      {"max 100000\n", "max 100000\n", 8},
      {"400000 100000\n", "max 100000\n", 4},
      {"max 100000\n", "250000 100000\n", 2},
      {"300000 100000\n", "200000 100000\n", 2},
      {"50000 100000\n", "max 100000\n", 1},
      {"1600000 100000\n", "max 100000\n", 8},
      {"nonsense\n", "", 8},
  }));
  machine.write("sys/fs/cgroup/slice/job/cpu.max", own);
  machine.write("sys/fs/cgroup/slice/cpu.max", above);
  CHECK(detect_resources(machine.roots).cpus == cpus);
}

TEST_CASE("A container that sees only its own cgroup's mount is limited by it",
          "[unit][resources]") {
  Machine machine;
  machine.write("proc/self/cgroup", "0::/not/visible/here\n");
  machine.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  const auto found = detect_resources(machine.roots);
  CHECK(found.cpus == 3);
  CHECK(found.cpus_from.find("cpu.max") != std::string::npos);
}

TEST_CASE("The older kind of cgroup limits the cpus too", "[unit][resources]") {
  Machine machine;
  machine.write("proc/self/cgroup", "5:memory:/big\n4:cpu,cpuacct:/docker/abc\n2:cpuset:/\n0::/\n");
  const std::string group = GENERATE("sys/fs/cgroup/cpu,cpuacct/docker/abc/",
                                     "sys/fs/cgroup/cpu,cpuacct/", "sys/fs/cgroup/cpu/docker/");
  machine.write(group + "cpu.cfs_period_us", "50000\n");
  machine.write(group + "cpu.cfs_quota_us", "-1\n");
  CHECK(detect_resources(machine.roots).cpus == 8);
  machine.write(group + "cpu.cfs_quota_us", "275000\n");
  CHECK(detect_resources(machine.roots).cpus == 5);
}

TEST_CASE("A scheduler's list of gpus is believed, before anything else", "[unit][resources]") {
  Machine machine;
  machine.roots.nvml_library = NVML_GOOD;
  machine.write("dev/nvidia0", "");
  const auto [list, names] = GENERATE(table<std::string, Names>({
      {"", {}},
      {"3", {"3"}},
      {"2,0", {"2", "0"}},
      {"GPU-aa-bb, MIG-GPU-cc/1/0", {"GPU-aa-bb", "MIG-GPU-cc/1/0"}},
      {"1,-1,2", {"1"}},
      {"-1", {}},
      {"NoDevFiles", {}},
  }));
  const std::string variable = GENERATE("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS");
  machine.variables[variable] = list;
  const auto found = detect_resources(machine.roots);
  CHECK(found.gpus == names);
  CHECK(found.gpus_from == variable + "='" + list + "'");
  CHECK(found.notices.empty());
}

TEST_CASE("CUDA_VISIBLE_DEVICES wins over SLURM_STEP_GPUS", "[unit][resources]") {
  Machine machine;
  machine.variables = {{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_STEP_GPUS", "4,5"}};
  CHECK(detect_resources(machine.roots).gpus == Names{"0"});
}

TEST_CASE("NVML names the gpus, and the parts of one that is divided", "[unit][resources]") {
  Machine machine;
  machine.roots.nvml_library = NVML_GOOD;
  machine.write("dev/nvidia0", "");
  const auto found = detect_resources(machine.roots);
  CHECK(found.gpus == Names{"GPU-0", "MIG-1-0", "MIG-1-2"});
  CHECK(found.gpus_from == NVML_GOOD);
  CHECK(found.notices.empty());
  CHECK(found.totals() == Resources{{"cpu", 8}, {"gpu", 3}});
}

TEST_CASE("An NVML that does not work makes the gpus unknown, with a notice", "[unit][resources]") {
  Machine machine;
  machine.roots.nvml_library = NVML_BROKEN;
  machine.write("dev/nvidia0", "");
  const auto found = detect_resources(machine.roots);
  CHECK(found.gpus.empty());
  REQUIRE(found.notices.size() == 1);
  CHECK(found.notices[0].find("nvmlInit_v2 failed with code 18") != std::string::npos);
  CHECK(found.notices[0].find("--resources gpu=N") != std::string::npos);
}

TEST_CASE("What Slurm has granted limits the cpus where it does not confine the job",
          "[unit][resources]") {
  Machine machine;
  const auto [granted, cpus] = GENERATE(
      table<std::string, int>({{"2", 2}, {"64", 8}, {"0", 8}, {"-1", 8}, {"", 8}, {"2(x3)", 8}}));
  machine.variables["SLURM_CPUS_ON_NODE"] = granted;
  CHECK(detect_resources(machine.roots).cpus == cpus);
}

TEST_CASE("Without NVML the device files are counted", "[unit][resources]") {
  Machine machine;
  machine.write("dev/nvidia0", "");
  machine.write("dev/nvidia11", "");
  machine.write("dev/nvidiactl", "");
  machine.write("dev/nvidia-uvm", "");
  machine.write("dev/nvidia", "");
  CHECK(detect_resources(machine.roots).gpus == Names{"0", "1"});
  SECTION("and a longer list of the kernel module's does not add to them") {
    for (const char* bus : {"a", "b", "c"}) {
      machine.write(std::string("proc/driver/nvidia/gpus/") + bus + "/information", "");
    }
    CHECK(detect_resources(machine.roots).gpus == Names{"0", "1"});
  }
}

TEST_CASE("The kernel module's list alone counts gpus", "[unit][resources]") {
  Machine machine;
  machine.write("proc/driver/nvidia/gpus/0000:01:00.0/information", "");
  const auto found = detect_resources(machine.roots);
  CHECK(found.gpus == Names{"0"});
  CHECK(found.gpus_from.find("gpus") != std::string::npos);
}

TEST_CASE("This machine has at least one cpu", "[unit][resources]") {
  CHECK(detect_resources().cpus >= 1);
}
