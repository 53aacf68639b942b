// Programs that save by themselves: what is whole is found, with what it has at least.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/execution/plain/checkpoint_watch.h"
#include "tuner/execution/plain/plain_session.h"

using namespace tune;
using namespace tune::test;

namespace {

struct Saving : Session {
  LaunchId run(const std::string& script, const std::string& pattern,
               const std::function<void(PlainWatch&)>& change = {}) {
    std::filesystem::create_directories(root());
    LaunchSpec what = spec({"sh", "-c", script});
    PlainWatch watch{.root = root(), .pattern = pattern};
    watch.known = look_at_checkpoints(root(), pattern);
    watch.others = look_at_others(root(), pattern);
    if (change) change(watch);
    what.plain = PlainReading{{{"loss", ""}}, {"loss"}, std::move(watch)};
    const LaunchId launched = launch(std::move(what));
    wait_for<Greeted>(launched);
    executor.send(launched, protocol::Start{});
    return launched;
  }

  /// A file that was there before the program ran.
  void leave_behind(const std::filesystem::path& name) {
    std::filesystem::create_directories((root() / name).parent_path());
    std::ofstream(root() / name) << "left behind";
  }

  std::size_t remarks(LaunchId launched, LaunchAdvisory::What what) {
    std::size_t count = 0;
    for (const Wakeup& wakeup : heard[launched]) {
      const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup);
      if (remark != nullptr && remark->what == what) ++count;
    }
    return count;
  }

  std::filesystem::path root() const { return dir.path() / "saved"; }

  void step(LaunchId launched) {
    const std::size_t before = count_of<Reported>(launched);
    executor.send(launched, protocol::Step{});
    wait_for_count<Reported>(launched, before + 1);
  }

  /// Steps through results of each of which the program waits until its save was found.
  void step_through(LaunchId launched, int results) {
    for (int i = 1; i <= results; ++i) {
      step(launched);
      wait_for_count<CheckpointFound>(launched, static_cast<std::size_t>(i));
      std::ofstream(dir.path() / ("found-" + std::to_string(i))) << "found";
    }
  }

  /// Of all that were found: the name, and the iteration.
  std::vector<std::pair<std::string, std::int64_t>> found(LaunchId launched) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (const Wakeup& wakeup : heard[launched]) {
      if (const auto* const each = std::get_if<CheckpointFound>(&wakeup)) {
        all.emplace_back(each->files.name.string(), each->iteration);
      }
    }
    return all;
  }

  /// What goes with the last one that was found.
  std::vector<double> losses_ahead(LaunchId launched) {
    std::vector<double> losses;
    for (const Wakeup& wakeup : heard[launched]) {
      const auto* const each = std::get_if<CheckpointFound>(&wakeup);
      if (each == nullptr) continue;
      losses.clear();
      for (const PrintedResult& result : each->ahead) {
        losses.push_back(result.metrics.find("loss").value());
      }
    }
    return losses;
  }

  /// Of all results that were reported.
  std::vector<double> losses(LaunchId launched) {
    std::vector<double> losses;
    for (const Wakeup& wakeup : heard[launched]) {
      const auto* const each = std::get_if<Reported>(&wakeup);
      if (each != nullptr && each->metrics) losses.push_back(each->metrics->find("loss").value());
    }
    return losses;
  }
};

/// All that is in `directory` under the name `last`, of a launch that prints nothing.
CheckpointWatch::Watched watched(const TempDir& directory, pid_t group) {
  return {.what = {.root = directory.path(), .pattern = "last"},
          .stdout_path = directory.path() / "log",
          .stderr_path = directory.path() / "log",
          .begin = {},
          .group = group};
}

using Found = std::vector<std::pair<std::string, std::int64_t>>;

/// A result that a checkpoint has, and its trial has not.
PrintedResult ahead(std::int64_t iteration, const char* metrics) {
  return {iteration, parse_metrics(metrics)};
}

const std::string save_by_rename = "echo $i > saved/t; mv saved/t saved/last; ";
/// Of two results that are printed before anybody looks it would not be known which one a save in
/// between has: so the program goes on once its save was found.
const std::string wait_for_found = "until [ -e found-$i ]; do sleep 0.02; done; ";
void saves_after_result(PlainWatch& watch) { watch.saved = SavedWhen::after_result; }

}  // namespace

TEST_CASE("What is renamed to its name is whole at once, and of the results before it",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run("sleep 0.2; for i in 1 2 3; do echo loss: $i; " +
                                        save_by_rename + wait_for_found + "done; sleep 60",
                                    "last", saves_after_result);
  session.step_through(launched, 3);
  CHECK(session.found(launched) == Found{{"last", 1}, {"last", 2}, {"last", 3}});
  session.executor.signal(launched, SIGKILL);
  session.wait_for<Exited>(launched);
}

TEST_CASE("A save is of the result before it, however much of the log is not read by then",
          "[unit][plain]") {
  Saving session;
  const auto launched =
      session.run("for i in 1 2 3; do yes noise | head -c 900000; echo loss: $i; sleep 0.3; " +
                      save_by_rename + wait_for_found + "done; sleep 60",
                  "last", saves_after_result);
  session.step_through(launched, 3);
  CHECK(session.found(launched) == Found{{"last", 1}, {"last", 2}, {"last", 3}});
  session.executor.signal(launched, SIGKILL);
  session.wait_for<Exited>(launched);
}

TEST_CASE("Saves before a log that is never made up for are given up, and the last ones are right",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "yes noise | head -c 900000; for i in $(seq 90); do echo loss: $i; echo $i > saved/t; "
      "mv saved/t saved/e-$i; done",
      "e-*", saves_after_result);
  for (int i = 1; i <= 90; ++i) session.step(launched);
  session.executor.send(launched, protocol::Step{});
  session.wait_for<Exited>(launched);
  std::string last;
  for (const Wakeup& wakeup : session.heard[launched]) {
    const auto* const found = std::get_if<CheckpointFound>(&wakeup);
    if (found == nullptr) continue;
    last = found->files.name.string();
    const std::int64_t has = std::stoll(last.substr(2));
    CHECK(found->iteration <= has);
    CHECK((found->is_guess || found->iteration == has));
  }
  CHECK(last == "e-90");
}

TEST_CASE("What a process of the program has open for writing is not whole", "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "sleep 0.2; echo loss: 1; (exec 5> saved/last; echo half >&5; sleep 2.5; echo whole >&5; "
      "exec 5>&-; "
      "sleep 60) & wait",
      "last");
  session.step(launched);
  const CheckpointFound found = session.wait_for<CheckpointFound>(launched);
  CHECK(found.files.files.front().bytes == 11);
  session.executor.signal(launched, SIGKILL);
  session.wait_for<Exited>(launched);
}

TEST_CASE("The file that completes a checkpoint makes it whole at once, and nothing else does",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "sleep 0.2; echo loss: 1; mkdir saved/c-1 saved/c-2; echo 1 > saved/c-1/model; echo 1 > "
      "saved/c-2/model; "
      "echo 1 > saved/c-2/done; exit 0",
      "c-*", [](PlainWatch& watch) { watch.complete = "done"; });
  session.step(launched);
  session.step(launched);  // done
  session.wait_for<Exited>(launched);
  CHECK(session.found(launched) == Found{{"c-2", 1}});
}

TEST_CASE("A directory that is rewritten in its place is of the results before its last save",
          "[unit][plain]") {
  std::mutex mutex;
  std::vector<SavedFiles> heard;
  CheckpointWatch watch([&](LaunchId, const std::vector<SavedFiles>& found, CheckpointWatch::News) {
    const std::lock_guard lock(mutex);
    heard.insert(heard.end(), found.begin(), found.end());
  });
  const TempDir dir;
  std::filesystem::create_directory(dir.path() / "last");
  std::ofstream log(dir.path() / "log");
  auto what = watched(dir, ::getpid());
  what.what.complete = "done";
  watch.begin(LaunchId(1), std::move(what));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // Within less than a clock's step: it cannot be looked at in between.
  for (int i = 1; i <= 2; ++i) {
    log << "loss: " << i << std::endl;
    for (const char* const name : {"model", "done"}) std::ofstream(dir.path() / "last" / name) << i;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  {
    const std::lock_guard lock(mutex);
    REQUIRE(heard.size() == 1);
    // Whether the second line came before the save is not sure where the watch wakes between both.
    const SavedFiles& save = heard.front();
    CHECK(save.printed_before.stdout_bytes >= 8);  // the first line did
    CHECK((save.bursts > 0 ? save.printed_at_most : save.printed_before).stdout_bytes == 16);
    heard.clear();
  }
  // Of what is written behind the file that completes a save nobody knows whether it is of that.
  std::ofstream(dir.path() / "last" / "done") << 3;
  for (int i = 0; i < 10; ++i) {
    std::ofstream(dir.path() / "last" / "model") << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  const std::lock_guard lock(mutex);
  CHECK(heard.empty());
}

TEST_CASE("Of a program that ends well all is whole, of one that fails or is killed nothing new",
          "[unit][plain]") {
  Saving session;
  const auto well = session.run("sleep 0.2; echo loss: 1; echo 1 > saved/last; exit 0", "last");
  session.step(well);
  session.step(well);
  session.wait_for<Exited>(well);
  CHECK(session.found(well) == Found{{"last", 1}});
  for (const char* const end : {"exit 3", "kill -9 $$"}) {
    const auto badly =
        session.run(std::string("echo loss: 1; echo 2 > saved/last; ") + end, "last");
    session.step(badly);
    session.executor.send(badly, protocol::Step{});
    session.wait_for<Exited>(badly);
    CHECK(session.found(badly).empty());
  }
  const auto again = session.run("sleep 0.2; echo loss: 1; echo 3 > saved/last; exit 85", "last",
                                 [](PlainWatch& watch) { watch.exit_code = 85; });
  session.step(again);
  session.executor.send(again, protocol::Step{});
  session.wait_for<Exited>(again);
  CHECK(session.found(again) == Found{{"last", 1}});
}

TEST_CASE("What was there before is not found, and neither is what reads it", "[unit][plain]") {
  Saving session;
  std::filesystem::create_directories(session.root());
  std::ofstream(session.root() / "last") << "old";
  const auto launched =
      session.run("cat saved/last > /dev/null; echo loss: 1; sleep 1.5; exit 0", "last");
  session.step(launched);
  session.step(launched);
  session.wait_for<Exited>(launched);
  CHECK(session.found(launched).empty());
}

TEST_CASE("A program that is to end may save what it has come to, and not more", "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "echo loss: 1; sleep 0.1; echo x > saved/t; mv saved/t saved/last; sleep 60", "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
  CHECK(session.found(launched) == Found{{"last", 1}});
}

TEST_CASE("What a program saves after results that nobody took is found with them",
          "[unit][plain]") {
  Saving session;
  // It is told to end as soon as its second result is read, which may be before it has saved: then
  // it saves nevertheless. It goes on only once its first result was taken: of two that are printed
  // before anybody looks it would not be known which of them the save has.
  const auto launched = session.run(
      "trap 'told=1' TERM; sleep 0.2; echo loss: 1; until [ -e go ]; do sleep 0.1; done; sleep "
      "0.3; "
      "echo loss: 2; echo x > saved/t; mv saved/t saved/last; "
      "until [ \"$told\" ]; do sleep 0.05; done; exit 0",
      "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  std::ofstream(session.dir.path() / "go") << "go";
  CHECK(session.wait_for<Exited>(launched).exit_code == 0);
  CHECK(session.found(launched) == Found{{"last", 2}});
  CHECK(session.losses_ahead(launched) == std::vector<double>{2});
}

TEST_CASE("A program that ends well by itself, told to stop or not, says all that it has printed",
          "[unit][plain]") {
  const bool has_ended_before = GENERATE(true, false);
  Saving session;
  const auto launched =
      session.run("echo loss: 1; " + std::string(has_ended_before ? "" : "sleep 0.5; ") +
                      "echo loss: 2; echo loss: 3",
                  "last");
  session.step(launched);
  if (has_ended_before) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  session.executor.send(launched, protocol::Stop{});
  session.wait_for<RanToEnd>(launched);
  for (int i = 0; i < 2; ++i) session.step(launched);
  CHECK(session.count_of<Exited>(launched) == 0);
  session.executor.send(launched, protocol::Step{});
  session.wait_for<Exited>(launched);
  CHECK(session.losses(launched) == std::vector<double>{1, 2, 3});
}

TEST_CASE("What a program has printed up to its end may be wanted by nobody", "[unit][plain]") {
  Saving session;
  const auto launched = session.run("echo loss: 1; echo loss: 2", "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  session.wait_for<RanToEnd>(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).exit_code == 0);
}

TEST_CASE("A program that was signalled has not run to its end, with whatever code it exits",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "trap 'exit 0' TERM; echo loss: 1; until [ -e go ]; do sleep 0.02; done; exit 0", "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});  // nothing is saved within a second: SIGTERM
  session.wait_for<Exited>(launched);
  CHECK(session.count_of<RanToEnd>(launched) == 0);
}

TEST_CASE("What is saved on a signal has all results that were printed before", "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "trap 'echo x > saved/t; mv saved/t saved/last; exit 0' TERM; "
      "printf 'loss: 1\\nloss: 2\\nloss: 3\\n'; while :; do sleep 0.1; done",
      "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  session.wait_for<Exited>(launched);
  CHECK(session.found(launched) == Found{{"last", 3}});
  CHECK(session.losses_ahead(launched) == std::vector<double>{2, 3});
  CHECK(session.remarks(launched, LaunchAdvisory::What::too_late) == 0);
}

TEST_CASE("What is saved last has its result, however much of the log is not read by then",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "trap 'yes noise | head -c 600000; echo loss: 2; sleep 0.3; echo x > saved/t; "
      "mv saved/t saved/last; exit 0' TERM; echo loss: 1; while :; do sleep 0.1; done",
      "last", saves_after_result);
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  session.wait_for<Exited>(launched);
  CHECK(session.found(launched) == Found{{"last", 2}});
  CHECK(session.losses_ahead(launched) == std::vector<double>{2});
}

TEST_CASE("A program that saves on SIGTERM and says so by its exit code gets it at once",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "trap 'echo x > saved/t; mv saved/t saved/last; exit 85' TERM; i=0; "
      "while :; do i=$((i+1)); echo loss: $i; sleep 0.5; done",
      "last", [](PlainWatch& watch) { watch.exit_code = 85; });
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).exit_code == 85);
  CHECK(session.found(launched) == Found{{"last", 1}});
}

TEST_CASE("One that says so and would die of SIGTERM has time to save first", "[unit][plain]") {
  Saving session;
  const auto launched = session.run("echo loss: 1; sleep 0.3; " + save_by_rename + "exec sleep 60",
                                    "last", [](PlainWatch& watch) { watch.exit_code = 85; });
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
  CHECK(session.found(launched) == Found{{"last", 1}});
}

TEST_CASE("A file that is overwritten in its place is whole while it rests", "[unit][plain]") {
  Saving session;
  const auto launched =
      session.run("sleep 0.2; for i in 1 2 3; do echo loss: $i; echo $i > saved/last; " +
                      wait_for_found + "done; exit 3",
                  "last", saves_after_result);
  session.step_through(launched, 3);
  CHECK(session.found(launched) == Found{{"last", 1}, {"last", 2}, {"last", 3}});
  session.wait_for<Exited>(launched);
}

TEST_CASE("Who overwrites what it saves all the time is not waited for without an end",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "sleep 0.2; i=0; while :; do i=$((i+1)); echo loss: $i; echo $i > saved/last; sleep 0.2; "
      "done",
      "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
}

TEST_CASE("What is written in its place, without a rename, is waited for, too", "[unit][plain]") {
  Saving session;
  const auto launched =
      session.run("sleep 0.2; echo loss: 1; echo x > saved/last; sleep 60", "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
  CHECK(session.found(launched) == Found{{"last", 1}});
}

TEST_CASE("A program that prints without an end keeps nobody waiting", "[unit][plain]") {
  Saving session;
  const auto loud =
      session.run("while :; do echo a line of no use to anybody at all; done", "last");
  const auto quiet = session.run("echo loss: 1; exec sleep 60", "last");
  session.step(quiet);
  for (const auto launched : {loud, quiet}) session.executor.signal(launched, SIGKILL);
  for (const auto launched : {loud, quiet}) session.wait_for<Exited>(launched);
}

TEST_CASE("A program that is to end and does not save ends after a second", "[unit][plain]") {
  Saving session;
  const auto launched = session.run("echo loss: 1; sleep 60", "last");
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
  CHECK(session.found(launched).empty());
}

TEST_CASE("A program that can be told to save is told so, and ended once it has", "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "trap 'echo x > saved/t; mv saved/t saved/last' USR1; echo loss: 1; "
      "while :; do sleep 0.1; done",
      "last", [](PlainWatch& watch) { watch.save_signal = SIGUSR1; });
  session.step(launched);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
  CHECK(session.found(launched) == Found{{"last", 1}});
}

TEST_CASE("Results that its checkpoint has come first, and what it prints goes on behind them",
          "[unit][plain]") {
  Saving session;
  std::filesystem::create_directories(session.root());
  LaunchSpec what = session.spec(
      {"sh", "-c", "echo loss: 6; sleep 0.2; echo x > saved/t; mv saved/t saved/last"});
  what.plain =
      PlainReading{{{"loss", ""}}, {"loss"}, PlainWatch{.root = session.root(), .pattern = "last"}};
  for (const int i : {3, 4, 5}) {
    what.plain->ahead.push_back(ahead(i, ("{\"loss\": " + std::to_string(i) + "}").c_str()));
  }
  const LaunchId launched = session.launch(std::move(what));
  session.wait_for<Greeted>(launched);
  // Its trial had come to the third one when its driver died.
  protocol::Start start;
  start.iteration = 3;
  session.executor.send(launched, start);
  for (int i = 0; i < 4; ++i) session.step(launched);
  session.wait_for<Exited>(launched);
  CHECK(session.losses(launched) == std::vector<double>{4, 5, 6});
  CHECK(session.found(launched) == Found{{"last", 6}});
}

TEST_CASE("A program that evaluates what it was restored to has trained no iteration with that",
          "[unit][plain]") {
  Saving session;
  const auto restore = [&](const std::string& script, const char* metrics, int results) {
    std::filesystem::create_directories(session.root());
    LaunchSpec what = session.spec({"sh", "-c", script});
    what.plain = PlainReading{
        {{"loss", ""}}, {"loss"}, PlainWatch{.root = session.root(), .pattern = "last"}};
    what.plain->restored = parse_metrics(metrics);
    const LaunchId launched = session.launch(std::move(what));
    session.wait_for<Greeted>(launched);
    protocol::Start start;
    start.iteration = 5;
    session.executor.send(launched, start);
    for (int i = 0; i <= results; ++i) session.step(launched);  // the last one is its end
    session.wait_for<Exited>(launched);
    return launched;
  };
  const auto evaluates =
      restore("echo loss: 0.31172; echo loss: 0.2; " + save_by_rename, R"({"loss": 0.31172})", 1);
  CHECK(session.losses(evaluates) == std::vector<double>{0.2});
  CHECK(session.found(evaluates) == Found{{"last", 6}});
  CHECK(session.remarks(evaluates, LaunchAdvisory::What::repeated) == 1);
  const auto unclear = restore("echo loss: 0.3; echo loss: 0.2", R"({"loss": 0.3})", 2);
  CHECK(session.losses(unclear) == std::vector<double>{0.3, 0.2});
  CHECK(session.remarks(unclear, LaunchAdvisory::What::repeated) == 1);
  // One that has trained first will have done so each time.
  const auto trains = restore("echo loss: 0.25; echo loss: 0.2", R"({"loss": 0.31172})", 2);
  const auto repeats = restore("echo loss: 0.31172; echo loss: 0.2", R"({"loss": 0.31172})", 2);
  for (const auto launched : {trains, repeats}) {
    CHECK(session.losses(launched).size() == 2);
    CHECK(session.remarks(launched, LaunchAdvisory::What::repeated) == 0);
  }
}

namespace {

/// The programs of a search, one after the other.
struct Restoring {
  PlainHabits habits;
  std::string count = {};  ///< an expression for `training_iteration`
  std::optional<SavedWhen> saved = {};
  std::string earlier = {};  ///< what its trial's log had before
  std::string restored = R"({"loss":3.1234})";
  std::vector<std::string> counts = {};  ///< that its checkpoint has
  bool counts_from_guess = false;        ///< its trial's results up to there do
  const TempDir dir;

  struct Told {
    std::vector<double> losses = {};
    std::vector<double> iterations = {};
    std::vector<std::string> skipped = {};  ///< notices
    int repeated = 0;                       ///< notices that it begins with its checkpoint's result
    std::vector<bool> guesses = {};         ///< of each checkpoint
    std::vector<std::string> counts = {};   ///< of the last one
  };

  /// What is taken for results of a program that goes on `from` there, or begins, and saves once it
  /// has printed all.
  Told told(std::int64_t from, const std::string& printed, bool is_guess = false) {
    const auto log = dir.path() / "log";
    std::ofstream(log) << earlier << printed;
    PlainReading reading{
        {{"loss", ""}}, {"loss"}, PlainWatch{.root = dir.path(), .pattern = "last"}};
    reading.checkpoints->saved = saved;
    if (!count.empty()) reading.metrics.push_back({"training_iteration", count});
    reading.begins_with_guess = is_guess;
    reading.counts = counts;
    reading.counts_from_guess = counts_from_guess;
    if (from > 0) {
      reading.restored = parse_metrics(restored);
      reading.checkpoints->known = {{dir.path(), "last", true, {}}};
    }
    PlainSession session(LaunchId{1}, std::move(reading), habits, log, log);
    session.begin(earlier.size(), 0);
    protocol::Start start;
    start.iteration = from;
    session.on_command(start);
    session.read();
    const LogSizes sizes{earlier.size() + printed.size(), 0};
    SavedFiles last{{"/saved", "last", true, {{"", 1, 1, 0}}}, sizes, 0, sizes};
    last.is_late = true;  // its time tells nothing
    session.find(std::move(last), false);
    session.end({});
    std::vector<Wakeup> wakeups;
    Told told;
    for (bool has_ended = false; !has_ended; wakeups.clear()) {
      session.on_command(protocol::Step{});
      session.say(wakeups);
      for (const Wakeup& wakeup : wakeups) {
        if (const auto* const found = std::get_if<CheckpointFound>(&wakeup)) {
          told.guesses.push_back(found->is_guess);
          told.counts = found->counts;
        }
        const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup);
        if (remark != nullptr && remark->what == LaunchAdvisory::What::skipped) {
          told.skipped.push_back(remark->sentence);
        }
        if (remark != nullptr && remark->what == LaunchAdvisory::What::repeated) ++told.repeated;
        const auto* const each = std::get_if<Reported>(&wakeup);
        if (each != nullptr && each->metrics) {
          const double next =
              told.iterations.empty() ? static_cast<double>(from) + 1 : told.iterations.back() + 1;
          told.losses.push_back(each->metrics->find("loss").value());
          told.iterations.push_back(each->metrics->find("training_iteration").value_or(next));
        }
        has_ended = has_ended || (each != nullptr && each->done);
      }
    }
    return told;
  }

  std::vector<double> lines_taken(std::int64_t from, const char* printed, bool is_guess = false) {
    return told(from, printed, is_guess).losses;
  }
};

/// So many lines, "epoch 4: loss 1.5", with each `step`th number from `first` on.
std::string epochs(int first, int count, int step = 1) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += "epoch " + std::to_string(first + i * step) + ": loss 1.5\n";
  return lines;
}

}  // namespace

TEST_CASE("A program that shows its checkpoint's step once more, with other numbers, repeats it",
          "[unit][plain]") {
  Restoring search;
  const auto lines_taken = [&](std::int64_t from, const char* printed) {
    return search.lines_taken(from, printed);
  };
  CHECK(lines_taken(0, "step 0: loss 4.1\nstep 20: loss 3.1\nstep 40: loss 2.1\n").size() == 3);
  CHECK(lines_taken(2, "step 20: loss 3.2\nstep 40: loss 2.2\n") == std::vector<double>{2.2});
  // Also where another one has begun with other numbers, and trained.
  CHECK(lines_taken(2, "step 40: loss 2.3\n") == std::vector<double>{2.3});
  CHECK(lines_taken(2, "step 20: loss 3.3\nstep 40: loss 2.4\n") == std::vector<double>{2.4});
}

TEST_CASE("Who counts on from a guess does not tell which counts the iterations have",
          "[unit][plain]") {
  Restoring search;
  CHECK(search.lines_taken(0, "epoch 1: loss 4.1\nepoch 2: loss 3.1\n").size() == 2);
  // It had three epochs, and was said to have two or more.
  CHECK(search.lines_taken(2, "epoch 4: loss 1.9\n", true).size() == 1);
  CHECK(search.lines_taken(3, "epoch 4: loss 1.8\n") == std::vector<double>{1.8});
}

TEST_CASE("A checkpoint tells which step its program shows once more", "[unit][plain]") {
  using Counts = std::vector<std::string>;
  for (const std::string metrics : {R"({"loss":9.125})", "{}"}) {
    for (const int results : {2, 3, 5}) {
      CAPTURE(metrics, results);
      std::string before;
      for (int i = 0; i < results; ++i) before += "step " + std::to_string(20 * i) + ": loss 9\n";
      Restoring first{.habits = {}};
      const Counts counts = first.told(0, before).counts;
      const std::string last = std::to_string(20 * (results - 1)),
                        next = std::to_string(20 * results);
      REQUIRE(counts.back() == "step " + last);
      // A driver that has seen nothing of that.
      Restoring search{.habits = {}, .restored = metrics, .counts = counts};
      // An evaluation of random batches has other numbers each time.
      const auto told =
          search.told(results, "step " + last + ": loss 4.5\nstep " + next + ": loss 3.5\n");
      CHECK(told.losses == std::vector<double>{3.5});
      CHECK(told.counts.back() == "step " + next);
      CHECK(told.counts.size() == std::min<std::size_t>(LastCounts::most_kept, counts.size() + 1));
      CHECK(search.lines_taken(results, ("step " + next + ": loss 3.25\n").c_str()) ==
            std::vector<double>{3.25});
      // What it saves again before it has trained further is of the same result.
      Restoring again{.habits = {}, .restored = metrics, .counts = counts};
      const auto nothing = again.told(results, "step " + last + ": loss 4.5\n");
      CHECK(nothing.losses.empty());
      CHECK(nothing.counts == counts);
    }
  }
}

TEST_CASE("A newly trained epoch is not said to be the result of its checkpoint", "[unit][plain]") {
  const auto repeated = [](const std::string& first, bool is_guess, bool is_counted = false) {
    Restoring search{.habits = {}, .restored = R"({"loss":0.25})"};
    if (is_counted) search.told(0, epochs(1, 4));
    return search.told(3, first, is_guess).repeated;
  };
  CHECK(repeated("loss 0.125\nloss 0.0625\n", false) == 0);
  CHECK(repeated("loss 0.125\nloss 0.0625\n", true) == 0);
  // With so few digits an epoch may have changed nothing.
  CHECK(repeated("epoch 4: loss 0.25\n", true) == 1);
  CHECK(repeated("epoch 4: loss 0.25\n", false, true) == 0);
}

TEST_CASE("Who goes on from a guess does not tell that a restored program trains first",
          "[unit][plain]") {
  for (const bool is_guess : {true, false}) {
    Restoring search;
    // Its checkpoint may have one more epoch, so its evaluation is no sign of training.
    CHECK(search.lines_taken(2, "loss 2.9876\n", is_guess) == std::vector<double>{2.9876});
    const std::vector<double> evaluated_and_trained = {3.1234, 1.5};
    const std::vector<double> trained = {1.5};
    CHECK(search.lines_taken(2, "loss 3.1234\nloss 1.5\n") ==
          (is_guess ? trained : evaluated_and_trained));
  }
}

TEST_CASE("A program that counts its results tells what a checkpoint has of which that is a guess",
          "[unit][plain]") {
  for (const std::int64_t has : {2, 3}) {
    const TempDir dir;
    PlainHabits habits;
    for (int i = 1; i <= 6; ++i) habits.count.note(i, "epoch " + std::to_string(i) + ": loss 9");
    const auto log = dir.path() / "log";
    const auto next = std::to_string(has + 1);
    std::ofstream(log) << "epoch " << next << ": loss 1.5\nepoch " << has + 2 << ": loss 1.25\n";
    PlainReading reading{{{"loss", ""}}, {"loss"}, PlainWatch{.root = dir.path(), .pattern = "l"}};
    reading.begins_with_guess = true;  // "2 or later"
    PlainSession session(LaunchId{1}, std::move(reading), habits, log, log);
    session.begin(0, 0);
    protocol::Start start;
    start.iteration = 2;
    session.on_command(start);
    session.end({});
    std::vector<Wakeup> said;
    for (int i = 0; i < 2; ++i) {
      session.on_command(protocol::Step{});
      session.say(said);
    }
    std::vector<double> iterations;
    for (const Wakeup& wakeup : said) {
      const auto* const each = std::get_if<Reported>(&wakeup);
      if (each == nullptr || !each->metrics) continue;
      const auto named = each->metrics->find("training_iteration");
      iterations.push_back(named.value_or(iterations.empty() ? 3 : iterations.back() + 1));
    }
    // Result 3 was never printed if its epoch was in the checkpoint.
    const auto first = static_cast<double>(has + 1);
    CHECK(iterations == std::vector<double>{first, first + 1});
  }
}

TEST_CASE("A program that goes on behind what its checkpoint claims has saved before it printed",
          "[unit][plain]") {
  for (const char* const count : {"", "epoch (\\d+)"}) {
    for (const int has : {3, 4, 5}) {
      CAPTURE(count, has);
      Restoring search{.habits = {}, .count = count};
      search.told(0, epochs(1, 3));  // all trials have been paused with their third result
      const auto told = search.told(3, epochs(has + 1, 2), true);
      CHECK(told.iterations == std::vector<double>{has + 1.0, has + 2.0});
      REQUIRE(told.skipped.size() == (has > 3 ? 1 : 0));
      const char* const missing =
          has == 4 ? "iteration 4 has no row" : "iterations 4 to 5 have no rows";
      if (has > 3) CHECK(told.skipped.front().find(missing) != std::string::npos);
      const bool is_proven = search.habits.orders.of("last")->known() == SavedWhen::before_result;
      CHECK(is_proven == (has == 4));
      CHECK(search.habits.orders.of("last")->may_be(SavedWhen::after_result) == (has != 4));
    }
  }
}

TEST_CASE("A driver that has seen no count learns it from the checkpoint", "[unit][plain]") {
  struct Sample {
    std::vector<std::string> counts;
    int first;
    double iteration;
  };
  const Sample samples[] = {{{"epoch 1", "epoch 2", "epoch 3"}, 5, 5},
                            {{"epoch 1", "epoch 2", "epoch 3"}, 4, 4},
                            {{"epoch 3"}, 5, 4},
                            {{}, 5, 4}};
  for (const Sample& sample : samples) {
    CAPTURE(sample.counts, sample.first);
    Restoring search{.habits = {}, .restored = R"({"loss":4.5})", .counts = sample.counts};
    const auto told = search.told(3, epochs(sample.first, 2), true);
    CHECK(told.iterations == std::vector<double>{sample.iteration, sample.iteration + 1});
    const bool is_proven = search.habits.orders.of("last")->known() == SavedWhen::before_result;
    CHECK(is_proven == (sample.iteration == 5));
  }
}

TEST_CASE("The counts of a checkpoint are those of iterations only where these are known",
          "[unit][plain]") {
  for (const bool is_guess : {false, true}) {
    CAPTURE(is_guess);
    Restoring search{.habits = {},
                     .restored = R"({"loss":4.5})",
                     .counts = {"epoch 2", "epoch 3", "epoch 4"},
                     .counts_from_guess = is_guess};
    // That it is evaluated is seen of the checkpoint's own result in any case.
    CHECK(search.told(3, epochs(4, 2)).losses.size() == 1);
    CHECK(search.habits.count.is_of(3, "epoch 4: loss 1.5") == !is_guess);
  }
}

TEST_CASE("What a program that counts its results saves behind a guess is none for that",
          "[unit][plain]") {
  for (const char* const count : {"", "epoch (\\d+)"}) {
    Restoring search{.habits = {}, .count = count, .saved = SavedWhen::after_result};
    search.told(0, epochs(1, 3));
    const auto told = search.told(3, epochs(5, 2), true);
    CHECK(told.iterations == std::vector<double>{5, 6});
    CHECK(told.guesses == std::vector<bool>{false});
    CHECK(told.skipped.empty());  // it is told how it saves: something else was lost
    CHECK(search.habits.orders.of("last")->may_be(SavedWhen::after_result));
  }
  Restoring uncounted{.habits = {}, .saved = SavedWhen::after_result};
  CHECK(uncounted.told(3, "loss: 1.5\n", true).guesses == std::vector<bool>{true});
}

TEST_CASE("Which results are missing behind a guess is told by the step of the iterations",
          "[unit][plain]") {
  struct Sample {
    const char* what;
    int begin_step;  ///< of the first trial
    int from, first, step;
    bool is_skipped;
  };
  for (const Sample& sample :
       {Sample{"each second one counts", 2, 6, 8, 2, false},
        Sample{"one of those is missing", 2, 6, 10, 2, true},
        Sample{"each second one counts, for an earlier driver", 0, 6, 8, 2, false},
        Sample{"one is missing, for an earlier driver", 0, 6, 8, 1, true},
        Sample{"steps differ from trial to trial", 3, 4, 6, 1, false},
        Sample{"half a step", 2, 6, 9, 2, false}}) {
    CAPTURE(sample.what);
    Restoring search{.habits = {}, .count = "epoch (\\d+)"};
    if (sample.begin_step > 0) search.told(0, epochs(sample.begin_step, 3, sample.begin_step));
    const auto told = search.told(sample.from, epochs(sample.first, 3, sample.step), true);
    CHECK(told.losses.size() == 3);
    CHECK(told.skipped.size() == (sample.is_skipped ? 1 : 0));
    CHECK(search.habits.orders.of("last")->known().has_value() == sample.is_skipped);
  }
}

TEST_CASE("Results that were lost otherwise prove no order", "[unit][plain]") {
  Restoring search{.habits = {}, .count = "epoch (\\d+)"};
  search.told(0, epochs(1, 3));
  // More than one: that is no order.
  const auto several = search.told(3, epochs(6, 1), true);
  REQUIRE(several.skipped.size() == 1);
  CHECK(several.skipped.front().find("iterations 4 to 5 have no rows") != std::string::npos);
  CHECK_FALSE(search.habits.orders.of("last")->known());
  search.habits.orders.of("last")->note_other_guess();
  CHECK(search.told(3, epochs(5, 1), true).skipped.size() == 1);
  CHECK_FALSE(search.habits.orders.of("last")->known());
  // No guess: the program has left out an epoch of its own accord.
  CHECK(search.told(3, epochs(5, 1)).skipped.empty());
}

TEST_CASE("That nothing is printed counts as far as the logs were read", "[unit][plain]") {
  const TempDir dir;
  PlainHabits habits;
  const auto log = dir.path() / "log";
  std::ofstream printed(log);
  PlainReading reading{{{"loss", ""}}, {"loss"}, PlainWatch{.root = dir.path(), .pattern = "last"}};
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  std::vector<Wakeup> said;
  std::uint64_t end = 0;
  const auto print = [&](int i) {
    printed << "loss: " << i << std::endl;
    end = static_cast<std::uint64_t>(printed.tellp());
    session.logs()->times().note(0, end, unix_ns());
  };
  print(0);
  session.read();
  // It saves, then prints, and its driver stands still before it reads that.
  for (int i = 1; i <= 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const std::int64_t now_ns = unix_ns();
    session.find({{"/saved", "last", true, {{"", 1, 1, now_ns}}}, {end, end}, now_ns}, false);
    print(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    session.say(said);
    session.read();
    session.on_command(protocol::Step{});
  }
  session.say(said);
  // By time; a result came before all saves, too, as of a program that prints first.
  CHECK_FALSE(habits.orders.of("last")->may_be(SavedWhen::after_result));
}

TEST_CASE("Who saves, then prints, and is killed in between, has saved no result that is known",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "sleep 0.2; echo loss: 1; sleep 0.3; echo x > saved/t; mv saved/t saved/last; kill -9 $$",
      "last", [](PlainWatch& watch) { watch.saved = SavedWhen::before_result; });
  session.step(launched);
  session.executor.send(launched, protocol::Step{});
  session.wait_for<Exited>(launched);
  CHECK(session.found(launched).empty());
}

TEST_CASE("A save before the first result of which nothing tells what it has is remarked upon",
          "[unit][plain]") {
  Saving session;
  const auto launched = session.run(
      "sleep 0.2; echo x > saved/t; mv saved/t saved/last; sleep 0.6; printf 'loss: 1\\nloss: "
      "2\\nloss: 3\\nloss: 4\\n'; sleep 60",
      "last");
  for (int i = 0; i < 4; ++i) session.step(launched);
  session.wait_for<LaunchAdvisory>(launched);
  CHECK(session.remarks(launched, LaunchAdvisory::What::no_order) == 1);
  CHECK(session.found(launched).empty());
  session.executor.signal(launched, SIGKILL);
  session.wait_for<Exited>(launched);
}

TEST_CASE("A line that is printed right behind a save does not take its result away",
          "[unit][plain]") {
  Saving session;
  const auto launched =
      session.run("sleep 0.2; for i in 1 2 3 4 5 6; do echo loss: $i; " + save_by_rename +
                      "echo another line; " + wait_for_found + "done",
                  "last", saves_after_result);
  session.step_through(launched, 6);
  session.step(launched);  // its end
  session.wait_for<Exited>(launched);
  const Found found = session.found(launched);
  CHECK(found ==
        Found{{"last", 1}, {"last", 2}, {"last", 3}, {"last", 4}, {"last", 5}, {"last", 6}});
}

namespace {

/// A watch whose thread stands still while it says that `c-0` was found, until it is let go.
struct StalledWatch {
  StalledWatch() {
    std::ofstream(log) << "";
    auto what = watched(dir, ::getpid());
    what.what.pattern = "c-*";
    what.what.complete = "DONE";
    watch.begin(LaunchId(1), what);
  }
  /// Until then, nobody sees what happens.
  void stall() {
    std::ofstream(dir.path() / "t") << "saved";
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::filesystem::rename(dir.path() / "t", dir.path() / "c-0");
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_stalled; });
  }
  /// The next one that is found, once it goes on.
  SavedFiles found_next() {
    std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * late_s));
    std::unique_lock lock(mutex);
    may_go_on = true;
    changed.notify_all();
    REQUIRE(changed.wait_for(lock, std::chrono::seconds(5), [this] { return !found.empty(); }));
    return found.front();
  }
  void save(const std::filesystem::path& name) const {
    std::filesystem::create_directories(dir.path() / name);
    std::filesystem::remove(dir.path() / name / "DONE");
    std::ofstream(dir.path() / name / "model") << "saved";
    std::ofstream(dir.path() / name / "DONE") << "";
  }
  void print() const { std::ofstream(log, std::ios::app) << "loss: 1\n"; }

  const TempDir dir;
  const std::filesystem::path log = dir.path() / "log";
  std::mutex mutex;
  std::condition_variable changed;
  bool is_stalled = false, may_go_on = false;
  std::vector<SavedFiles> found;
  CheckpointWatch watch{[this](LaunchId, std::vector<SavedFiles> news, CheckpointWatch::News) {
    std::unique_lock lock(mutex);
    if (std::exchange(is_stalled, true)) found.insert(found.end(), news.begin(), news.end());
    changed.notify_all();
    changed.wait(lock, [this] { return may_go_on; });
  }};
};

}  // namespace

TEST_CASE("Of a directory that was rewritten while nobody looked it is not known which save it has",
          "[unit][plain]") {
  StalledWatch stalled;
  stalled.stall();
  for (int i = 0; i < 2; ++i) {
    stalled.save("c-1");
    stalled.print();
  }
  const SavedFiles found = stalled.found_next();
  CHECK(found.files.name == "c-1");
  CHECK(found.printed_before.stdout_bytes == 0);
  CHECK(found.printed_at_most.stdout_bytes == std::filesystem::file_size(stalled.log));
  CHECK(found.bursts > 0);
  CHECK(found.is_late);
}

TEST_CASE("What was saved last while nobody looked has all that was printed before",
          "[unit][plain]") {
  StalledWatch stalled;
  stalled.stall();
  stalled.print();
  stalled.print();
  stalled.save("c-1");
  const SavedFiles found = stalled.found_next();
  CHECK(found.printed_before.stdout_bytes == std::filesystem::file_size(stalled.log));
  CHECK(found.bursts == 0);
}

TEST_CASE("Of what a program saved and printed before it was watched no order is claimed",
          "[unit][plain]") {
  StalledWatch late;
  late.stall();
  const TempDir dir;
  auto what = watched(dir, ::getpid());
  what.what.pattern = "c-*";
  what.what.complete = "DONE";
  std::filesystem::create_directories(dir.path() / "c-1");
  std::ofstream(dir.path() / "c-1" / "DONE") << "";
  std::ofstream(dir.path() / "log") << "loss: 1\n";
  late.watch.begin(LaunchId(2), what);
  const SavedFiles found = late.found_next();
  CHECK(found.files.name == "c-1");
  CHECK(found.printed_before.stdout_bytes == 0);
  CHECK(found.printed_at_most.stdout_bytes == std::filesystem::file_size(dir.path() / "log"));
  CHECK(found.bursts > 0);
  CHECK(found.is_late);
}
