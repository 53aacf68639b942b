// The jobs of a search, with programs in the place of Slurm's.
#include "tuner/cluster/job_launcher.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/disk/liveness.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

/// `sbatch`, `squeue` and `scancel` in a directory in front of PATH: scripts, which see the
/// directory as $AT.
class FakeSlurm {
 public:
  FakeSlurm() {
    make_cluster_directory(dir.path());
    ::setenv("AT", dir.path().c_str(), 1);
    ::setenv("PATH", (dir.path().string() + ":" + path_).c_str(), 1);
    // The names that it was given become lines of the queue, with numbers from 1.
    put("sbatch", R"(for word; do case $word in --job-name=*) name=${word#*=};; esac; done
echo $name >> $AT/names; id=$(wc -l < $AT/names); echo "$name|$id|PENDING|0:00|Priority|1|" >> $AT/queue
echo $id)");
    put("squeue", "cat $AT/queue 2>/dev/null; exit 0");
    put("scancel", "echo $* >> $AT/cancelled");
  }
  ~FakeSlurm() { ::setenv("PATH", path_.c_str(), 1); }

  void put(const std::string& name, const std::string& text) {
    const auto file = dir.path() / name;
    std::ofstream(file.string() + ".new") << "#!/bin/sh\n" << text << "\n";
    ::chmod((file.string() + ".new").c_str(), 0755);
    std::filesystem::rename(file.string() + ".new", file);
  }
  std::string text(const std::string& name) const {
    std::ifstream file(dir.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(dir.path() / name) << text;
  }

  JobLauncher& start(int most = 2) {
    launcher.emplace(JobLauncher::Options{
        .directory = dir.path(),
        .jobs = {.policy = {.most = most, .time_s = 3600},
                 .time = "60",
                 .sbatch = {},
                 .experiment = "e"},
        .agent = {"tune", "agent", "/e"},
        .notice = [this](const std::string& sentence) { notices.push_back(sentence); }});
    return *launcher;
  }
  /// Waits until that holds.
  void until(const std::function<bool()>& holds) {
    const Seconds deadline = seconds_since_boot() + 60;
    while (!holds()) {
      if (seconds_since_boot() > deadline)
        throw std::runtime_error("it did not happen: " + text("cluster/jobs.json") + text("queue"));
      launcher->look();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::vector<ListedJob> listed() const { return read_job_list(dir.path()); }
  bool was_told(const std::string& part) const {
    return std::any_of(notices.begin(), notices.end(), [&](const std::string& sentence) {
      return sentence.find(part) != std::string::npos;
    });
  }

  test::TempDir dir;
  std::vector<std::string> notices;
  std::optional<JobLauncher> launcher;

 private:
  const std::string path_ = ::getenv("PATH");
};

NodeDemand demand(std::size_t waiting) {
  return {.waiting = waiting, .running = {}, .is_given_up = {}, .per_trial = {{"cpu", 1}}};
}

}  // namespace

TEST_CASE("A job is in the list before Slurm is asked for it, and its number once it is known",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  slurm.put("sbatch", "cp $AT/cluster/jobs.json $AT/seen; echo 4711");
  slurm.start(1).want(demand(1), {});
  slurm.until([&] { return slurm.listed().size() == 1 && !slurm.listed()[0].id.empty(); });
  CHECK_THAT(slurm.text("seen"), Contains(R"("id":null)") && Contains(slurm.listed()[0].name));
  CHECK(slurm.listed()[0].id == "4711");
  CHECK_THAT(slurm.text("cluster/job.sh"), Contains("--node \"$SLURMD_NODENAME:$SLURM_JOB_ID\""));
}

TEST_CASE("A job whose number was never heard is found by its name, and not asked for again",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", ""}});
  slurm.write("queue", "e-1|12|PENDING|0:00|Resources|1|\n");
  slurm.start(1).want(demand(5), {});
  slurm.until([&] { return slurm.listed()[0].id == "12"; });
  slurm.until([&] { return slurm.was_told("waiting for Slurm: 1 job pending (Resources)"); });
  CHECK(slurm.text("names").empty());
  // Its agent comes before anybody has heard of its number, too.
  slurm.launcher->joined({"n1:12", {{"cpu", 1}}, {}});
  CHECK(slurm.launcher->awaited().empty());
}

TEST_CASE("Nothing follows from the silence of Slurm", "[cluster][jobs]") {
  FakeSlurm slurm;
  slurm.start(1).want(demand(5), {});
  slurm.until([&] { return slurm.was_told("waiting for Slurm"); });
  slurm.put("squeue", "echo cannot contact controller >&2; exit 1");
  slurm.launcher->joined({"n1:1", {{"cpu", 1}}, {}});
  slurm.launcher->lost("n1:1");
  slurm.until([&] { return slurm.was_told("cannot contact controller"); });
  CHECK(slurm.listed().size() == 1);
  CHECK(slurm.launcher->awaited() == "Slurm, which does not answer");
  slurm.put("squeue", "cat $AT/queue");
  slurm.until([&] { return slurm.was_told("Slurm answers again"); });
  CHECK(slurm.listed().size() == 1);
  CHECK(slurm.text("names").size() == slurm.listed()[0].name.size() + 1);
}

TEST_CASE("What sbatch refuses is said once, and is no job", "[cluster][jobs]") {
  FakeSlurm slurm;
  slurm.put("sbatch", "echo sbatch: error: QOSMaxSubmitJobPerUserLimit >&2; exit 1");
  slurm.start().want(demand(5), {});
  slurm.until([&] { return slurm.was_told("QOSMaxSubmitJobPerUserLimit"); });
  slurm.until([&] { return slurm.listed().empty(); });
  CHECK(slurm.launcher->exhausted().empty());
  CHECK_THAT(slurm.launcher->awaited(), Contains("QOSMaxSubmitJobPerUserLimit"));
}

TEST_CASE("A job that Slurm no longer knows is gone, and another one is asked for",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", "12"}});
  slurm.start(1).want(demand(1), {});
  slurm.until([&] { return slurm.text("names").size() > 0; });
  slurm.until([&] { return slurm.listed().size() == 1 && slurm.listed()[0].id == "1"; });
}

TEST_CASE("A node that no trial fits ends the asking with a sentence", "[cluster][jobs]") {
  FakeSlurm slurm;
  JobLauncher& launcher = slurm.start(1);
  launcher.want(demand(1), {});
  slurm.until([&] { return slurm.listed().size() == 1 && !slurm.listed()[0].id.empty(); });
  launcher.joined({"n1:1", {{"cpu", 0.5}}, {}});
  launcher.want(demand(1), {{"n1:1", 0, false}});
  CHECK(slurm.was_told("trials fit no node of Slurm's jobs"));
  std::vector<JobLauncher::Order> orders;
  const auto ordered = [&](bool is_given_up) {
    launcher.want(demand(1), {{"n1:1", 0, is_given_up}});
    orders = launcher.take_orders();
    return !orders.empty();
  };
  slurm.until([&] { return ordered(false); });
  CHECK(orders[0].what == JobOrder::vacate_idle);
  slurm.until([&] { return ordered(true); });
  CHECK(orders[0].what == JobOrder::leave);
  launcher.lost("n1:1");
  slurm.write("queue", "");
  slurm.until([&] { return !launcher.exhausted().empty(); });
  CHECK_THAT(launcher.exhausted(), Contains("a trial takes 1 of 'cpu', but there are 0.5"));
}

TEST_CASE("At the end all jobs without an agent are taken back, also one that is just asked for",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", "12"}, {"e-2", ""}, {"e-3", "14"}});
  JobLauncher& launcher = slurm.start(5);
  launcher.joined({"n1:14", {{"cpu", 1}}, {}});
  launcher.end();
  slurm.until([&] { return !launcher.is_running(); });
  CHECK(slurm.text("cancelled") == "12\n--name=e-2\n");
  // An agent that leaves ends its own.
  CHECK(slurm.listed().size() == 1);
  launcher.lost("n1:14");
  slurm.until([&] { return !launcher.is_running(); });
  CHECK(slurm.listed().empty());
  launcher.tell_what_is_left();
  CHECK(slurm.notices.empty());
}

TEST_CASE("At the end a job is ended whose agent does not leave", "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", "12"}});
  JobLauncher& launcher = slurm.start(5);
  launcher.joined({"n1:12", {{"cpu", 1}}, {}});
  launcher.end();
  launcher.end_rest();
  slurm.until([&] { return !launcher.is_running(); });
  CHECK(slurm.text("cancelled") == "12\n");
  CHECK(slurm.listed().empty());
}

TEST_CASE("At the end an sbatch under way is waited for, and its job ended, and no job follows",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  slurm.put("sbatch", "touch $AT/asked; until test -e $AT/go; do sleep 0.02; done; echo 4711");
  JobLauncher& launcher = slurm.start();
  launcher.want(demand(5), {});
  slurm.until([&] { return std::filesystem::exists(slurm.dir.path() / "asked"); });
  launcher.end();
  launcher.look();
  CHECK(launcher.is_running());
  CHECK_THAT(launcher.awaited_at_end(), Contains(slurm.listed().at(0).name));
  slurm.write("go", "");
  slurm.until([&] { return !launcher.is_running(); });
  CHECK(slurm.text("cancelled") == "4711\n");
  CHECK(slurm.listed().empty());
}

TEST_CASE("A job that Slurm does not end at first is ended by another try", "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", "12"}, {"e-2", "13"}});
  slurm.write("queue", "e-1|12|PENDING|0:00|Priority|1|\n");
  slurm.put("scancel",
            "echo $* >> $AT/cancelled; test $(wc -l < $AT/cancelled) -gt 1 || "
            "{ echo Socket timed out >&2; exit 1; }");
  slurm.start(5).end();
  slurm.until([&] { return !slurm.launcher->is_running(); });
  // What Slurm no longer shows has ended.
  CHECK(slurm.text("cancelled") == "12 13\n12\n");
  CHECK(slurm.listed().empty());
}

TEST_CASE("Jobs that Slurm does not end are said with the command to type, and stay in the list",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", "12"}, {"e-2", ""}});
  slurm.write("queue", "e-1|12|PENDING|0:00|Priority|1|\n");
  slurm.put("scancel", "echo Socket timed out >&2; exit 1");
  slurm.start(5).end();
  slurm.until([&] { return !slurm.launcher->is_running(); });
  CHECK(slurm.listed().size() == 2);
  slurm.launcher->tell_what_is_left();
  REQUIRE(slurm.notices.size() == 1);
  CHECK(slurm.notices[0] ==
        "2 jobs of this search are not known to have ended: 12, e-2; end with: scancel 12; scancel "
        "--name=e-2 (Socket timed out)");
}

TEST_CASE("A list of jobs that is damaged is said with what to do", "[cluster][jobs]") {
  FakeSlurm slurm;
  for (const char* const text : {"", "{\"jobs\":", "{}", "{\"jobs\":[{\"name\":1}]}"}) {
    slurm.write("cluster/jobs.json", text);
    CHECK_THROWS_WITH(slurm.listed(),
                      Contains("is damaged: " + job_list(slurm.dir.path()).native()) &&
                          Contains("squeue --me") && Contains("remove the file") &&
                          !Contains("json.exception"));
  }
}

TEST_CASE("A job must have more time than twice the margin", "[cluster][jobs]") {
  FakeSlurm slurm;
  write_job_list(slurm.dir.path(), {{"e-1", "12"}});  // so Slurm is not asked
  CHECK_NOTHROW(check_agent_jobs(slurm.dir.path(), "5", {}, 149));
  CHECK_THROWS_WITH(check_agent_jobs(slurm.dir.path(), "5", {}, 150), Contains("twice the 150 s"));
}

TEST_CASE("An sbatch that is not waited for takes no job along that runs on this machine",
          "[cluster][jobs]") {
  FakeSlurm slurm;
  slurm.put("sbatch",
            "setsid sh -c 'echo $$ > $AT/pid; touch $AT/runs; exec sleep 60' > /dev/null 2>&1 &\n"
            "sleep 60");
  const auto runs = [&] { return std::filesystem::exists(slurm.dir.path() / "runs"); };
  CHECK_THROWS_WITH(ask_slurm({"sbatch"}, 30, runs), Contains("not waited for"));
  const pid_t job = std::stoi(slurm.text("pid"));
  CHECK(::kill(job, 0) == 0);
  ::kill(job, SIGKILL);
}
