// What the end of a process means.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tuner/run/trials/diagnosis.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

using Gone = WorkerGroup::Gone;
using How = Gone::How;

}  // namespace

TEST_CASE("A process is ended from outside by what a terminal or a batch system sends",
          "[failures]") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    CAPTURE(signal);
    CHECK(is_ended_from_outside({.how = How::exited, .signal = signal}));
    CHECK(is_ended_from_outside({.how = How::exited, .exit_code = 128 + signal}));
    CHECK_FALSE(is_ended_from_outside({.how = How::lost, .signal = signal}));
  }
  for (const int signal : {0, SIGKILL, SIGSEGV}) {
    CAPTURE(signal);
    CHECK_FALSE(is_ended_from_outside({.how = How::exited, .signal = signal}));
    CHECK_FALSE(is_ended_from_outside({.how = How::exited, .exit_code = 128 + signal}));
  }
  CHECK_FALSE(is_ended_from_outside({.how = How::exited, .exit_code = SIGTERM}));
}

TEST_CASE("The end of a process that nobody asked to leave has an outcome and a reason",
          "[failures]") {
  FailureFacts facts;
  Ending ending = ending_of({.how = How::exited, .exit_code = 3}, true, facts);
  CHECK(ending.outcome == Outcome::failed);
  CHECK(ending.reason == "it exited with code 3");
  CHECK(facts.exit_code == 3);
  CHECK_FALSE(facts.signal);
  facts = {};
  ending = ending_of({.how = How::exited, .signal = SIGSEGV}, true, facts);
  CHECK(ending.outcome == Outcome::failed);
  CHECK_THAT(ending.reason, Contains("killed by signal 11"));
  CHECK(facts.signal == SIGSEGV);
  CHECK_FALSE(facts.exit_code);
  facts = {};
  // Named, and not judged: the count does not say whom the kernel has killed.
  ending = ending_of({.how = How::exited, .signal = SIGKILL, .memory_kills = 1}, true, facts);
  CHECK(ending.reason ==
        "it was killed by signal 9 (Killed); while it ran, the kernel killed a process because "
        "memory ran out");
  CHECK(ending.blame == Blame::unknown);
  ending = ending_of({.how = How::exited, .exit_code = 1, .memory_kills = 2}, true, facts);
  CHECK(ending.reason ==
        "it exited with code 1; while it ran, the kernel killed 2 processes because memory ran "
        "out");
  facts = {};
  CHECK(ending_of({.how = How::exited}, true, facts).outcome == Outcome::completed);
  ending = ending_of({.how = How::exited, .was_told = true}, false, facts);
  CHECK(ending.outcome == Outcome::failed);
  CHECK(ending.reason == "it exited with code 0 before it reported a result");
  ending = ending_of({.how = How::exited}, false, facts);
  CHECK_THAT(ending.reason,
             Contains("before it said hello: if it only prints its metrics, write ${args} at the "
                      "end of its command"));
  ending = ending_of({.how = How::lost, .reason = "it does not end"}, true, facts);
  CHECK(ending.outcome == Outcome::failed);
  CHECK(ending.reason == "it does not end");
  // A lost node is no failure of what ran there.
  ending = ending_of({.how = How::node_lost, .reason = "node elm is lost: why"}, true, facts);
  CHECK(ending.outcome == Outcome::interrupted);
  CHECK(ending.reason == "lost_node: node elm is lost: why");
  // What stands in its way before it comes to anything is no failure of the trial's, nor is what
  // the machine cannot start.
  const Gone in_its_way{.how = How::exited, .exit_code = 1, .obstacle = "port 7 is taken"};
  ending = ending_of(in_its_way, false, facts);
  CHECK(ending.outcome == Outcome::interrupted);
  CHECK(ending.reason == "port 7 is taken");
  CHECK(ending_of(in_its_way, true, facts).outcome == Outcome::failed);
  CHECK(ending_of({.how = How::not_launched}, false, facts).outcome == Outcome::interrupted);
  CHECK(ending_of({.how = How::not_launched, .is_trials_fault = true}, false, facts).outcome ==
        Outcome::failed);
}

TEST_CASE("What a program said last stands behind the reason's first line, said once",
          "[failures]") {
  Ending ending{Outcome::failed, "it exited with code 1\nat line 5"};
  add(ending, {{"out of memory", true}, {}}, "/exp/stderr.log");
  CHECK(ending.reason ==
        "it exited with code 1; the last line of its stderr: out of memory; see /exp/stderr.log"
        "\nat line 5");
  ending = {Outcome::failed, "out of memory"};
  add(ending, {{"error: out of memory", true}, "it says so"}, "/exp/stderr.log");
  CHECK(ending.reason == "out of memory; see /exp/stderr.log");
  CHECK(ending.no_retry == "it says so");
  ending = {Outcome::failed, "it exited with code 1"};
  add(ending, {{"ValueError: lr", false}, {}}, "/exp/stderr.log");
  CHECK(ending.reason ==
        "it exited with code 1; its stderr says: ValueError: lr; see /exp/stderr.log");
}

TEST_CASE("A program that prints its usage to standard output alone has that in its failure",
          "[failures]") {
  const FailureJudge judge(std::nullopt, {});
  const auto dir =
      std::filesystem::temp_directory_path() / ("tune-failures-" + std::to_string(::getpid()));
  std::filesystem::create_directory(dir);
  std::ofstream(dir / "stdout.log") << "Usage: train [options] file\n-q : quiet\n";
  const auto log = dir / "stderr.log";
  const auto said_of = [&] {
    Ending ending{Outcome::failed, "it exited with code 1"};
    add(ending, look_into(judge, log, 0, {.exit_code = 1}), log);
    return ending.reason;
  };
  CHECK(said_of() == "it exited with code 1; its stdout says: Usage: train [options] file; see " +
                         (dir / "stdout.log").string());
  std::ofstream(log) << "no such file\n";
  CHECK(said_of().find("stderr: no such file") != std::string::npos);
  std::filesystem::remove_all(dir);
}

TEST_CASE("A program that says on standard output why it fails has that in its failure",
          "[failures]") {
  const FailureJudge judge(std::nullopt, {});
  const auto dir =
      std::filesystem::temp_directory_path() / ("tune-reasons-" + std::to_string(::getpid()));
  std::filesystem::create_directory(dir);
  const auto log = dir / "stderr.log";
  const auto said_of = [&](const std::string& out, const std::string& err,
                           Seconds launched_at = 0) {
    std::ofstream(dir / "stdout.log") << out;
    std::ofstream(log) << err;
    Ending ending{Outcome::failed, "it exited with code 1"};
    add(ending, look_into(judge, log, 0, {.exit_code = 1}, launched_at), log);
    return ending.reason.substr(std::min(ending.reason.find("; ") + 2, ending.reason.size()));
  };
  const std::string out = "; see " + (dir / "stdout.log").string(), err = "; see " + log.string();
  CHECK(said_of("loss: 0.5\nno data in /data\n", "") ==
        "the last line of its stdout: no data in /data" + out);
  CHECK(said_of("ERROR: no data\n", "100%|####|\n") ==
        "the last line of its stdout: ERROR: no data" + out);
  // What stderr says of an error counts, and so does its last line where stdout tells no more.
  CHECK(said_of("ERROR: no data\n", "ValueError: x\nerror: bad\n") ==
        "the last line of its stderr: error: bad" + err);
  CHECK(said_of("loss: 0.5\n", "out of memory\n") ==
        "the last line of its stderr: out of memory" + err);
  // Hydra, and who is like it.
  CHECK(said_of("", "Could not override '--lr'.\n").find("by '${args_no_hyphens}' behind") !=
        std::string::npos);
  // Nothing tells why; what there is to read is there.
  CHECK(said_of("\n", "") == out.substr(2));
  // An earlier attempt has written that.
  CHECK(said_of("no data\n", "", 1e11) == "see " + log.string());
  std::filesystem::remove_all(dir);
}

TEST_CASE("It is looked at whether a program that has failed could still write", "[failures]") {
  const FailureJudge judge(std::nullopt, {});
  // /proc has no room for anything, and a directory that is not there is no full disk.
  CHECK(look_into(judge, "/proc/stderr.log", 0, {}).is_disk_full);
  CHECK_FALSE(look_into(judge, "/tmp/stderr.log", 0, {}).is_disk_full);
  CHECK_FALSE(look_into(judge, "/nowhere/stderr.log", 0, {}).is_disk_full);
}
