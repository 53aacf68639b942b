// What Slurm says, read; and the launcher, with a program in the place of srun.
// Knows no daemon of Slurm's: tests/e2e/slurm_test.py does.
#include "tuner/cluster/slurm.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/slurm_launcher.h"
#include "tuner/cluster/submitted_job.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

using Names = std::vector<std::string>;

EnvironmentLookup environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

/// A program called srun that runs these words, first in PATH as long as this lives.
class FakeSrun {
 public:
  explicit FakeSrun(const std::string& words) : path_(::getenv("PATH")) {
    const auto program = dir_.path() / "srun";
    std::ofstream(program) << "#!/bin/sh\necho \"$@\" >> " << given() << "\n" << words << "\n";
    ::chmod(program.c_str(), 0755);
    ::setenv("PATH", (dir_.path().string() + ":" + path_).c_str(), 1);
    make_cluster_directory(dir_.path());
  }
  ~FakeSrun() { ::setenv("PATH", path_.c_str(), 1); }

  SlurmLauncher::Options options() const {
    return {.directory = dir_.path(),
            .job = {.id = "12", .nodes = {"n1", "n2", "n3"}, .here = {}},
            .agent = {"tune", "agent", "/x"}};
  }
  /// The arguments of each start.
  std::string given() const { return (dir_.path() / "given").string(); }

 private:
  TempDir dir_;
  std::string path_;
};

template <class Condition>
bool comes_true(const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (!holds() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return holds();
}

}  // namespace

TEST_CASE("A list of nodes is read as Slurm writes it", "[cluster][unit]") {
  CHECK(names_in_hostlist("n1") == Names{"n1"});
  CHECK(names_in_hostlist("n[1-3,07],m1") == Names{"n1", "n2", "n3", "n07", "m1"});
  CHECK(names_in_hostlist("n[08-11]") == Names{"n08", "n09", "n10", "n11"});
  CHECK(names_in_hostlist("r[1-2]n[1-2]-ib") == Names{"r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"});
  for (const char* const wrong :
       {"", "n[", "n[1", "n[3-1]", "n[a-b]", "n1,", "n[1-9999999999]", "n[1-999]m[1-999]"}) {
    CHECK_THROWS_AS(names_in_hostlist(wrong), Error);
  }
}

TEST_CASE("A time is read in all forms that Slurm takes", "[cluster][unit]") {
  CHECK(slurm_seconds("30") == 1800.0);
  CHECK(slurm_seconds("30:05") == 1805.0);
  CHECK(slurm_seconds("8:00:01") == 28801.0);
  CHECK(slurm_seconds("1-0") == 86400.0);
  CHECK(slurm_seconds("1-02:30") == 95400.0);
  CHECK(slurm_seconds("1-02:30:01") == 95401.0);
  for (const char* const none : {"", "UNLIMITED", "INVALID", "-5", "1:2:3:4", "1h", "1-"}) {
    CHECK_FALSE(slurm_seconds(none));
  }
}

TEST_CASE("srun's words prove the end of tasks, and not of a node that is cut off",
          "[cluster][unit]") {
  const auto killed = ended_tasks("srun: error: n2: task 1: Killed");
  REQUIRE(killed);
  CHECK(killed->nodes == Names{"n2"});
  CHECK(killed->how == "Killed");
  const auto several = ended_tasks("srun: error: n[2-3]: tasks 1-2: Exited with exit code 2");
  REQUIRE(several);
  CHECK(several->nodes == Names{"n2", "n3"});
  CHECK(several->how == "Exited with exit code 2");
  for (const char* const nothing :
       {"srun: error: Node failure on n4", "srun: error: n2: task: Killed",
        "1: srun: error: n2: task 1: Killed", "srun: error: task 1 launch failed: x",
        "srun: error: Unable to create step for job 4: task 1: busy", "", "srun: error: "}) {
    CHECK_FALSE(ended_tasks(nothing));
  }
}

TEST_CASE("The environment says which job this is, and whether srun has started it",
          "[cluster][unit]") {
  std::map<std::string, std::string> variables = {{"SLURM_JOB_ID", "12"},
                                                  {"SLURM_JOB_NODELIST", "n[1-2]"}};
  auto job = slurm_job(environment_of(variables));
  REQUIRE(job);
  CHECK(job->id == "12");
  CHECK(job->nodes == Names{"n1", "n2"});
  CHECK(job->here.empty());
  CHECK_FALSE(job->is_task);
  variables["SLURMD_NODENAME"] = "n2";
  CHECK(slurm_job(environment_of(variables))->here == "n2");
  variables["SLURM_STEP_ID"] = "4294967290";  // the shell of salloc on a node
  CHECK_FALSE(slurm_job(environment_of(variables))->is_task);
  variables["SLURM_STEP_ID"] = "0";
  CHECK(slurm_job(environment_of(variables))->is_task);
  variables.erase("SLURM_JOB_ID");
  CHECK_FALSE(slurm_job(environment_of(variables)));
}

TEST_CASE("The queue says whether a job runs, for how long yet, and where", "[cluster][unit]") {
  const auto running = read_queued_job("RUNNING|1-00:00:30|None|2|n[1-2]");
  REQUIRE(running);
  CHECK(running->is_alive());
  CHECK(running->left_s == 86430.0);
  CHECK(running->nodes == Names{"n1", "n2"});
  const auto waiting = read_queued_job("PENDING|1:00:00|Resources|4|");
  REQUIRE(waiting);
  CHECK(waiting->is_alive());
  CHECK_FALSE(waiting->left_s);
  CHECK(waiting->reason == "Resources");
  CHECK(waiting->node_count == 4);
  CHECK_FALSE(read_queued_job("RUNNING|UNLIMITED|None|1|n1")->left_s);
  for (const char* const state : {"COMPLETED", "TIMEOUT", "CANCELLED", "NODE_FAIL"}) {
    CHECK_FALSE(read_queued_job(std::string(state) + "|0:00|None|1|n1")->is_alive());
  }
  CHECK_FALSE(read_queued_job("slurm_load_jobs error: Invalid job id specified"));
}

TEST_CASE("One srun starts all agents, so that none takes the others with it",
          "[cluster][process]") {
  const FakeSrun srun("exec sleep 1000");
  SlurmLauncher launcher(srun.options());
  launcher.start({"n1", "n2", "n3"});
  REQUIRE(comes_true([&] { return !read_file(srun.given()).empty(); }));
  const std::string given = " " + read_file(srun.given());
  for (const char* const option :
       {" --jobid=12 ", " --no-kill ", " --kill-on-bad-exit=0 ", " --wait=0 ", " --nodes=3 ",
        " --ntasks=3 ", " --ntasks-per-node=1 ", " --input=none ", " tune agent /x\n"}) {
    CHECK_THAT(given, Contains(option));
  }
  CHECK_THAT(given, !Contains("--overlap") && !Contains("--exact"));
  CHECK(launcher.is_running());
  CHECK_FALSE(launcher.ending("n2"));
}

TEST_CASE("Beside agents that have come back srun starts the missing ones alone",
          "[cluster][process]") {
  const FakeSrun srun("exec sleep 1000");
  SlurmLauncher launcher(srun.options());
  CHECK_FALSE(launcher.ending("n1"));
  CHECK_FALSE(launcher.has_ended_there("n1"));
  launcher.start({"n2", "n3"});
  REQUIRE(comes_true([&] { return !read_file(srun.given()).empty(); }));
  const std::string given = " " + read_file(srun.given());
  for (const char* const option : {" --nodes=2 ", " --overlap ", " --nodelist=n2,n3 "}) {
    CHECK_THAT(given, Contains(option));
  }
}

TEST_CASE("What srun says of one task is proof for its node alone", "[cluster][process]") {
  const FakeSrun srun(
      "echo '0: srun: error: n1: task 0: Killed'\n"
      "echo 'srun: error: Node failure on n3' >&2\n"
      "printf 'srun: error: n2: ta' >&2; sleep 0.1; echo 'sk 1: Killed' >&2\n"
      "exec sleep 1000");
  SlurmLauncher launcher(srun.options());
  launcher.start({"n1", "n2", "n3"});
  REQUIRE(comes_true([&] {
    launcher.look();
    return launcher.has_ended_there("n2");
  }));
  CHECK_THAT(launcher.ending("n2").value(), Contains("Killed"));
  CHECK_FALSE(launcher.has_ended_there("n1"));
  CHECK_FALSE(launcher.has_ended_there("n3"));
}

TEST_CASE("An srun that has ended well says nothing of its nodes", "[cluster][process]") {
  const FakeSrun srun("exit 0");
  SlurmLauncher launcher(srun.options());
  launcher.start({"n1", "n2", "n3"});
  REQUIRE(comes_true([&] { return !launcher.is_running(); }));
  launcher.look();
  CHECK(launcher.ending("n1").value() == "exit code 0");
  CHECK_FALSE(launcher.has_ended_there("n1"));
}

TEST_CASE("An agent is started again once, on its node alone and beside the first step",
          "[cluster][process]") {
  const FakeSrun srun("echo 'srun: error: n2: task 0: Killed' >&2");
  SlurmLauncher launcher(srun.options());
  launcher.start({"n1", "n2", "n3"});
  REQUIRE(comes_true([&] {
    launcher.look();
    return launcher.has_ended_there("n2");
  }));
  REQUIRE(launcher.can_start_again("n2"));
  CHECK_FALSE(launcher.can_start_again("elsewhere"));
  launcher.start_again("n2");
  // What was said of the first agent there proves nothing of the second one.
  CHECK_FALSE(launcher.has_ended_there("n2"));
  CHECK_FALSE(launcher.can_start_again("n2"));
  CHECK(launcher.can_start_again("n1"));
  REQUIRE(comes_true([&] { return !launcher.is_running(); }));
  const std::string given = read_file(srun.given());
  const std::string again = given.substr(given.find('\n') + 1);
  CHECK_THAT(again, Contains("--overlap") && Contains("--nodelist=n2") && Contains("--ntasks=1 "));
}

TEST_CASE("A job's script says what it asks for, and runs one program", "[cluster][unit]") {
  const std::string text = job_script_text({.name = "my search",
                                            .nodes = "2-4",
                                            .gpus_per_node = "8",
                                            .time = "8:00:00",
                                            .others = {"--comment=it's mine"}},
                                           "/sh ared/50%/x", {"/opt/tune", "batch", "/sh ared/x"});
  CHECK_THAT(text, Catch::Matchers::StartsWith("#!/bin/bash\n"));
  for (const char* const line :
       {"#SBATCH '--job-name=my search'\n", "#SBATCH --nodes=2-4\n", "#SBATCH --gpus-per-node=8\n",
        "#SBATCH --time=8:00:00\n", "#SBATCH --requeue\n", "#SBATCH --open-mode=append\n",
        "#SBATCH '--output=/sh ared/50%%/x/job/out.log'\n",
        "exec /opt/tune batch '/sh ared/x'\n"}) {
    CHECK_THAT(text, Contains(line));
  }
}

TEST_CASE("What a job is asked for is said once", "[cluster][unit]") {
  for (const char* const option :
       {"--nodes=4", "-N", "-N4", "--time", "-t1:00", "--gpus-per-node=2", "--array=1-4", "-a1-4",
        "--wrap=true", "--wait", "--arr=1-3", "--wai", "--gpus-per-n=1", "-vW", "-Qt9", "-HvN4",
        "--no-requeue", "--no-r"}) {
    INFO(option);
    CHECK_FALSE(reserved_option({"--exclusive", option}).empty());
  }
  CHECK(
      reserved_option({"--nodelist=n1", "--time-min=1", "--partition", "gpu", "-p", "x"}).empty());
  // Others that a part of a reserved one may look like, and values of letters.
  CHECK(reserved_option({"--gpus=2", "--no-kill", "--wait-all-nodes=1", "-vpNat", "-cW", "-Q", "-",
                         "--", "--export=--array"})
            .empty());
}
