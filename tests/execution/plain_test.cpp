// Programs that know nothing of the driver: what they print answers the steps.
#include <signal.h>

#include <algorithm>
#include <set>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/execution/plain/plain_session.h"

using namespace tune;
using namespace tune::test;

namespace {

struct Plain : Session {
  PlainReading reading = {{{"loss", ""}, {"training_iteration", ""}}, {"loss"}};

  LaunchId run(const std::string& script, std::int64_t iteration = 0) {
    LaunchSpec what = spec({"sh", "-c", script});
    what.plain = reading;
    const LaunchId launched = launch(std::move(what));
    CHECK(wait_for<Greeted>(launched).hello.api == protocol::Api::function_api);
    protocol::Start start;
    start.iteration = iteration;
    executor.send(launched, start);
    return launched;
  }

  /// The next result's loss.
  double step(LaunchId launched) {
    const std::size_t before = count_of<Reported>(launched);
    executor.send(launched, protocol::Step{});
    wait_for_count<Reported>(launched, before + 1);
    for (auto it = heard[launched].rbegin();; ++it) {
      if (const auto* reported = std::get_if<Reported>(&*it)) {
        return reported->metrics ? reported->metrics->find("loss").value() : -1;
      }
    }
  }
};

constexpr double done = -1;  ///< as Plain::step has it

/// What a session that has ended says in four steps.
struct Told {
  std::vector<double> losses;
  std::vector<std::int64_t> saved;  ///< iterations of checkpoints
  std::set<LaunchAdvisory::What> remarked;
};
Told told_in_steps(PlainSession& session) {
  Told told;
  for (int step = 0; step < 4; ++step) {
    std::vector<Wakeup> said;
    session.on_command(protocol::Step{});
    session.say(said);
    for (const Wakeup& wakeup : said) {
      if (const auto* const found = std::get_if<CheckpointFound>(&wakeup)) {
        told.saved.push_back(found->iteration);
      } else if (const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup)) {
        told.remarked.insert(remark->what);
      } else if (const auto* const reported = std::get_if<Reported>(&wakeup);
                 reported != nullptr && reported->metrics) {
        told.losses.push_back(reported->metrics->find("loss").value());
      }
    }
  }
  return told;
}

}  // namespace

TEST_CASE("Each step is answered with the next result that was printed, to the last",
          "[unit][plain]") {
  Plain session;
  const auto launched =
      session.run("echo loss: 1; echo 'loss: 2' >&2; sleep 0.1; printf 'loss: 3'");
  CHECK(session.step(launched) == 1);
  CHECK(session.step(launched) == 2);
  CHECK(session.step(launched) == 3);
  CHECK(session.count_of<Exited>(launched) == 0);
  CHECK(session.step(launched) == done);
  CHECK(session.wait_for<Exited>(launched).exit_code == 0);
}

TEST_CASE("What was printed before a failure is said before it", "[unit][plain]") {
  Plain session;
  const auto launched = session.run("echo loss: 1; echo loss: 2; exit 3");
  CHECK(session.step(launched) == 1);
  CHECK(session.step(launched) == 2);
  session.executor.send(launched, protocol::Step{});
  CHECK(session.wait_for<Exited>(launched).exit_code == 3);
  CHECK(session.count_of<Reported>(launched) == 2);
}

TEST_CASE("A metric that never comes is a fault that names those that came", "[unit][plain]") {
  Plain session;
  const auto launched = session.run("echo val_los: 0.5 lr=3; echo the end");
  session.executor.send(launched, protocol::Step{});
  const std::string reason = session.wait_for<Faulted>(launched).reason;
  CHECK(reason.find("never had a number for the metric 'loss'") != reason.npos);
  CHECK(reason.find("names that were seen: val_los, lr") != reason.npos);
  CHECK(reason.find("the end") != reason.npos);
  session.wait_for<Exited>(launched);
}

TEST_CASE("Of several metrics the one that never comes is named", "[unit][plain]") {
  Plain session;
  session.reading = {{{"loss", ""}, {"ms", ""}}, {"loss", "ms"}};
  const auto launched = session.run("echo loss: 0.5; echo loss: 0.4");
  session.executor.send(launched, protocol::Step{});
  const std::string reason = session.wait_for<Faulted>(launched).reason;
  CHECK(reason.find("never had a number for the metric 'ms'") != reason.npos);
  session.wait_for<Exited>(launched);
}

TEST_CASE("Who goes on in the background hears that this was ended", "[unit][plain]") {
  Plain session;
  const bool has_result = GENERATE(true, false);
  const auto launched =
      session.run(std::string(has_result ? "echo loss: 1; " : "") + "sleep 60 & sleep 60 & exit 0");
  const std::string sentence =
      "left 2 processes running, which were ended: a program must stay in the foreground";
  if (has_result) CHECK(session.step(launched) == 1);
  session.executor.send(launched, protocol::Step{});
  CHECK(session.wait_for<LaunchAdvisory>(launched).sentence.find(sentence) != sentence.npos);
  if (!has_result) {
    CHECK(session.wait_for<Faulted>(launched).reason.find("; it " + sentence) != sentence.npos);
  }
  session.wait_for<Exited>(launched);
}

TEST_CASE("What ends soon after its program was no training in the background", "[unit][plain]") {
  Plain session;
  const auto launched = session.run("echo loss: 1; sleep 0.03 & exit 0");
  CHECK(session.step(launched) == 1);
  CHECK(session.step(launched) == done);
  session.wait_for<Exited>(launched);
  CHECK(session.count_of<LaunchAdvisory>(launched) == 0);
}

TEST_CASE("A number that is not read whole is no result, and its line is said", "[unit][plain]") {
  Plain session;
  const auto launched = session.run("echo loss: 999; echo \"loss: 1'000\"; echo loss: 1001");
  CHECK(session.step(launched) == 999);
  CHECK(session.step(launched) == 1001);
  const LaunchAdvisory remarked = session.wait_for<LaunchAdvisory>(launched);
  CHECK(remarked.what == LaunchAdvisory::What::cut);
  CHECK(remarked.sentence.find("has printed 'loss: 1'000'") != std::string::npos);
  CHECK(session.step(launched) == done);
  session.wait_for<Exited>(launched);
}

TEST_CASE("What a crash quotes is no result, and is said", "[unit][plain]") {
  Plain session;
  const auto launched = session.run(
      "echo loss: 3; echo 'Traceback (most recent call last):' >&2; echo '    loss = 0.5' >&2; "
      "echo 'ValueError: loss: 0.1' >&2; exit 1");
  CHECK(session.step(launched) == 3);
  CHECK(session.wait_for<Exited>(launched).exit_code == 1);
  CHECK(session.count_of<Reported>(launched) == 1);
  const LaunchAdvisory remarked = session.wait_for<LaunchAdvisory>(launched);
  CHECK(remarked.what == LaunchAdvisory::What::no_result);
  CHECK(remarked.sentence.find("has printed '    loss = 0.5'") != std::string::npos);
}

TEST_CASE("A program that goes on at an iteration says nothing twice", "[unit][plain]") {
  Plain session;
  const auto launched =
      session.run("for i in 3 4 5 5 6; do echo training_iteration=$i loss=$i; done", 4);
  CHECK(session.step(launched) == 5);
  CHECK(session.step(launched) == 6);
  CHECK(session.step(launched) == done);
  session.wait_for<Exited>(launched);
}

TEST_CASE("One that ends without a result after a restore has done all", "[unit][plain]") {
  Plain session;
  const auto launched = session.run("true", 4);
  CHECK(session.step(launched) == done);
  session.wait_for<Exited>(launched);
}

TEST_CASE("Stop ends it, and what it printed since is nobody's", "[unit][plain]") {
  Plain session;
  const auto launched = session.run("echo loss: 1; echo loss: 2; exec sleep 60");
  CHECK(session.step(launched) == 1);
  session.executor.send(launched, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launched).signal == SIGTERM);
  CHECK(session.count_of<Reported>(launched) == 1);
}

TEST_CASE("A signal goes to the program alone, and SIGKILL to all of it", "[unit][plain]") {
  Plain session;
  const auto launched = session.run(
      "trap 'echo loss: 7' TERM; echo loss: 1; "
      "sh -c 'trap \"echo helper >&2\" TERM; for i in 1 2 3 4 5 6; do sleep 0.2; done' & "
      "wait; wait; echo loss: 8; sleep 60");
  CHECK(session.step(launched) == 1);
  session.executor.signal(launched, SIGTERM);
  for (int i = 0;
       i < 600 && read_file(session.dir.path() / "out.log").find("8") == std::string::npos; ++i) {
    ::usleep(10'000);
  }
  CHECK(read_file(session.dir.path() / "out.log") == "loss: 1\nloss: 7\nloss: 8\n");
  CHECK(read_file(session.dir.path() / "err.log").empty());
  session.executor.signal(launched, SIGKILL);
  CHECK(session.wait_for<Exited>(launched).signal == SIGKILL);
}

TEST_CASE("Many thousand results wait on the disk, and none is lost", "[unit][plain]") {
  Plain session;
  const auto launched =
      session.run("i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo loss: $i; done");
  for (int i = 1; i <= 5000; ++i) REQUIRE(session.step(launched) == i);
  CHECK(session.step(launched) == done);
  session.wait_for<Exited>(launched);
}

TEST_CASE("Two logs that are one are read once", "[unit][plain]") {
  Plain session;
  LaunchSpec what = session.spec({"sh", "-c", "echo loss: 1; echo loss: 2 >&2"});
  what.stderr_path = what.stdout_path;
  what.plain = PlainReading{{{"loss", ""}}, {"loss"}};
  const LaunchId launched = session.launch(std::move(what));
  session.wait_for<Greeted>(launched);
  session.executor.send(launched, protocol::Start{});
  CHECK(session.step(launched) == 1);
  CHECK(session.step(launched) == 2);
  CHECK(session.step(launched) == done);
  session.wait_for<Exited>(launched);
}

namespace {

/// What is remarked of a program that has printed `text` and runs for `age_s`.
std::vector<std::string> remarks_on(const std::string& text, Seconds age_s,
                                    const std::vector<std::string>& others = {},
                                    bool has_ended = false,
                                    std::vector<std::string> closing = {"val_loss"}) {
  const TempDir dir;
  const auto log = dir.path() / "log";
  std::ofstream(log) << text;
  PlainHabits habits;
  PlainReading reading{{{"val_loss", ""}}, std::move(closing)};
  for (const std::string& other : others) reading.metrics.push_back({other, ""});
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.read();
  if (has_ended) session.end(ExitStatus{});
  std::vector<Wakeup> wakeups;
  for (int i = 0; i < 5; ++i) session.remark(age_s, wakeups);
  session.say(wakeups);
  std::vector<std::string> sentences;
  for (const Wakeup& wakeup : wakeups) {
    if (const auto* const said = std::get_if<LaunchAdvisory>(&wakeup)) {
      sentences.push_back(said->sentence);
    }
  }
  return sentences;
}

}  // namespace

TEST_CASE("A metric that is called almost as the awaited one is remarked upon soon",
          "[unit][plain]") {
  CHECK(remarks_on("valloss: 3\n", 5).empty());
  const auto remarks = remarks_on("valloss: 3\n", 10);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks.front() ==
        "has printed 'valloss', and no number for the metric 'val_loss' so far: is that what is "
        "meant?");
  CHECK(remarks_on("accuracy: 3\n", 10).empty());
  CHECK(remarks_on("valloss: 3\nval_loss: 3\n", 10).empty());
}

TEST_CASE(
    "What else the spec goes by, and is called almost so, is remarked upon after three results",
    "[unit][plain]") {
  std::string two, three;
  for (int i = 1; i <= 3; ++i) {
    two = std::exchange(three, three + "val_loss: " + std::to_string(i) + " val_accuracy: 0.5\n");
  }
  const std::vector<std::string> sentence = {
      "has printed 'val_accuracy', and no number for the metric 'val_acc' so far: is that what is "
      "meant?"};
  CHECK(remarks_on(two, 0, {"val_acc"}).empty());
  CHECK(remarks_on(three, 0, {"val_acc"}) == sentence);
  CHECK(remarks_on(two, 0, {"val_acc"}, true) == sentence);
  CHECK(remarks_on(three, 0, {"val_accuracy"}).empty());
  CHECK(remarks_on(three, 0, {"f1"}).empty());
}

TEST_CASE("A longer name with the metric as its end is remarked upon after three lines",
          "[unit][plain]") {
  const std::string two = "avg.val_loss: 3\navg.val_loss: 2\n";
  CHECK(remarks_on(two, 3).empty());
  CHECK(remarks_on(two + "avg.val_loss: 1\n", 2).empty());
  CHECK(remarks_on(two + "val_loss: 1\n", 3).empty());
  CHECK(remarks_on(two + "avg.val_loss: 1\n", 3) ==
        std::vector<std::string>{"has printed 'avg.val_loss', and no number for the metric "
                                 "'val_loss' so far: is that what is meant?"});
  CHECK(
      remarks_on(two + "{\"best\": {\"val_loss\": 1}}\n", 3) ==
      std::vector<std::string>{"has printed 'best/val_loss' and 'avg.val_loss', and no number for "
                               "the metric 'val_loss' so far: is one meant?"});
}

TEST_CASE("Results of two phases that stand in the lines above are told", "[unit][plain]") {
  const std::string epoch = "Training\nval_loss: 3\nValidation\nval_loss: 2\n";
  CHECK(remarks_on(epoch, 0).empty());
  const auto remarks = remarks_on(epoch + epoch, 0);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks.front() ==
        "prints 'val_loss' for several phases, and not in front of it which, such as 'val_loss: 2' "
        "below 'Validation' and 'val_loss: 3' below 'Training': each is a result, so an epoch has "
        "several, and the curve mixes them. If one of them is meant, print it under a name of its "
        "own, or say how its lines are read: \"metrics\" (docs/plain.md)");
}

TEST_CASE("Of several metrics the lines of results tell their phases, and no lines of the others",
          "[unit][plain]") {
  const auto remarks_of = [](const std::string& epoch) {
    return remarks_on(epoch + epoch + epoch, 0, {"val_acc"}, false, {"val_loss", "val_acc"});
  };
  CHECK(remarks_of("val_loss: 3\ntest val_loss: 2\nval_acc: 1\ntest val_acc: 4\n").empty());
  CHECK(remarks_of("Train:\nval_loss: 3\nval_acc: 1\nTest:\nval_loss: 2\nval_acc: 4\n").size() ==
        1);
}

TEST_CASE("A save waits for the result before it while it is open which phase counts",
          "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  PlainHabits habits;
  PlainReading reading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}};
  reading.checkpoints.emplace();
  reading.checkpoints->saved = SavedWhen::after_result;
  std::ofstream(log) << "";
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  for (int epoch = 1; epoch <= 2; ++epoch) {
    std::ofstream(log, std::ios::app) << "val loss: " << epoch << "\nval acc: " << epoch << "\n";
    session.read();
    const std::int64_t now_ns = unix_ns();
    session.find({{dir.path(), "last", true, {{"", 1, 1, now_ns}}}, session.logs()->look(), now_ns},
                 false);
  }
  session.end(ExitStatus{});
  CHECK(told_in_steps(session).saved == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("Two logs, each with one phase of several metrics, tell no phase to who goes on",
          "[unit][plain]") {
  const TempDir dir;
  const auto out = dir.path() / "out", err = dir.path() / "err";
  std::ofstream(out) << "train loss: 1\ntrain acc: 1\ntrain loss: 2\ntrain acc: 2\n";
  std::ofstream(err) << "val loss: 1\nval acc: 1\nval loss: 2\nval acc: 2\n";
  PlainHabits habits;
  PlainSession session(LaunchId(1), PlainReading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}},
                       habits, out, err);
  session.begin(std::filesystem::file_size(out), std::filesystem::file_size(err));
  protocol::Start start;
  start.iteration = 2;
  session.on_command(start);
  CHECK(habits.phases.empty());
}

TEST_CASE("A trial says what its metrics lack, and nothing false of those that it has",
          "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  // What has come of the loss is of an earlier epoch.
  std::ofstream(log) << "epoch 1: loss: 1\nepoch 2: f1: 2\n";
  PlainHabits habits;
  const std::vector<PlainMetric> metrics = {{"loss", ""}, {"acc", ""}, {"f1", ""}};
  PlainSession session(LaunchId(1), PlainReading{metrics, {"loss", "acc", "f1"}}, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.read();
  session.end(ExitStatus{});
  session.on_command(protocol::Step{});
  std::vector<Wakeup> said;
  session.say(said);
  const auto fault = std::find_if(said.begin(), said.end(), [](const Wakeup& wakeup) {
    return std::holds_alternative<Faulted>(wakeup);
  });
  REQUIRE(fault != said.end());
  CHECK(std::get<Faulted>(*fault).reason.find("for the metric 'acc'") != std::string::npos);
}

TEST_CASE("Whoever prints numbers for a minute and never the metric is told how one is read",
          "[unit][plain]") {
  const std::string text = "lr: 0.1\nthe validation loss was 0.91, in 3 s\nbye\n";
  CHECK(remarks_on(text, 59).empty());
  const auto remarks = remarks_on(text, 60);
  REQUIRE_FALSE(remarks.empty());
  CHECK(remarks.front() ==
        "has printed no number for the metric 'val_loss' so far; names that were seen: lr; it "
        "printed last: 'the validation loss was 0.91, in 3 s'. If that line has it, as 0.91: --set "
        "'trainable/plain/metrics="
        "{\"val_loss\":\"the +validation +loss +was +([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\"}'");
  CHECK(remarks_on(text + "val_loss: 3\n", 60).empty());
  CHECK(remarks_on("no number\n", 60).empty());
}

TEST_CASE("No number is proposed for the metric by its place alone", "[unit][plain]") {
  const auto remarks = remarks_on("accuracy 0.91 time 0.05 s\n", 60);
  REQUIRE_FALSE(remarks.empty());
  CHECK(remarks.front() ==
        "has printed no number for the metric 'val_loss' so far; it printed last: 'accuracy 0.91 "
        "time 0.05 s'. What is called otherwise is read by the words before it: --set "
        "'trainable/plain/metrics={\"val_loss\":\"WORDS ([-+0-9.e]+)\"}'");
}

TEST_CASE("Two hundred lines with numbers and without the metric are enough to be told of it",
          "[unit][plain]") {
  std::string text;
  for (int i = 0; i < 199; ++i) text += "step " + std::to_string(i) + "\n";
  CHECK(remarks_on(text, 2).empty());
  CHECK(remarks_on(text + "no number\n", 2).empty());
  CHECK(remarks_on(text + "step 200\nval_loss: 3\n", 2).empty());
  const auto remarks = remarks_on(text + "step 200\n", 2);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks.front().starts_with("has printed no number for the metric 'val_loss' so far"));
}

TEST_CASE("Iterations below 0 are remarked upon once, and count for nothing", "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  std::ofstream(log) << "training_iteration: -4 loss: 1\ntraining_iteration: -3 loss: 1\n"
                        "training_iteration: 1 loss: 2\n";
  PlainHabits habits;
  PlainSession session(LaunchId(1),
                       PlainReading{{{"loss", ""}, {"training_iteration", ""}}, {"loss"}}, habits,
                       log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.read();
  session.on_command(protocol::Step{1});
  std::vector<Wakeup> wakeups;
  session.say(wakeups);
  std::vector<std::string> sentences;
  for (const Wakeup& wakeup : wakeups) {
    if (const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup)) {
      sentences.push_back(remark->sentence);
    } else if (const auto* const reported = std::get_if<Reported>(&wakeup)) {
      CHECK(reported->metrics->find("loss") == 2);
    }
  }
  CHECK(sentences == std::vector<std::string>{"has printed a result with training_iteration -4, "
                                              "which counts as none: iterations count from 1"});
}

namespace {

/// What comes of what a program prints of `val_loss`, once it has ended with success.
struct Outcome {
  std::vector<double> results;
  std::set<LaunchAdvisory::What> remarked;
};
Outcome outcome_of(const std::string& out, const std::string& err, PlainHabits& habits) {
  const TempDir dir;
  std::ofstream(dir.path() / "out") << out;
  std::ofstream(dir.path() / "err") << err;
  PlainSession session(LaunchId(1), PlainReading{{{"val_loss", ""}}, {"val_loss"}}, habits,
                       dir.path() / "out", dir.path() / "err");
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.read();
  session.end({});
  Outcome outcome;
  constexpr std::int64_t steps = 6;
  for (std::int64_t i = 1; i <= steps; ++i) {
    session.on_command(protocol::Step{i});
    std::vector<Wakeup> wakeups;
    session.say(wakeups);
    for (const Wakeup& wakeup : wakeups) {
      if (const auto* const reported = std::get_if<Reported>(&wakeup);
          reported && reported->metrics) {
        outcome.results.push_back(*reported->metrics->find("val_loss"));
      } else if (const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup)) {
        outcome.remarked.insert(remark->what);
      }
    }
  }
  return outcome;
}

}  // namespace

TEST_CASE("What a program says twice, or sums up, is left out and remarked upon", "[unit][plain]") {
  PlainHabits habits;
  const Outcome outcome = outcome_of(
      "epoch 1 val_loss: 0.5\nepoch 2 val_loss: 0.4\n"
      "epoch 3 val_loss: 0.6\nBest val_loss: 0.4\n",
      "INFO val_loss=0.5\nINFO val_loss=0.4\nINFO val_loss=0.6\n", habits);
  CHECK(outcome.results == std::vector<double>{0.5, 0.4, 0.6});
  CHECK(outcome.remarked == std::set{LaunchAdvisory::What::echo, LaunchAdvisory::What::summary});
}

TEST_CASE("A line that comes again behind further results is not said to sum up", "[unit][plain]") {
  using What = LaunchAdvisory::What;
  const auto remarked = [](const std::string& out) {
    PlainHabits habits;
    const Outcome outcome = outcome_of(out, "", habits);
    CHECK(outcome.results == std::vector<double>{0.5, 0.4, 0.3, 0.2});
    return outcome.remarked;
  };
  const std::string first = "epoch 1 val_loss: 0.5\nepoch 2 val_loss: 0.4\n";
  const std::string third = "epoch 3 val_loss: 0.3\n", fourth = "epoch 4 val_loss: 0.2\n";
  const std::string test = "test val_loss: 0.6\n";
  CHECK(remarked(first + test + third + test + fourth + test) == std::set{What::other_kind});
  CHECK(remarked(first + third + fourth + test) == std::set{What::summary});
  CHECK(remarked(first + third + fourth + test + test) == std::set{What::summary});
}

TEST_CASE("Of training and validation all trials of a program count one, and a remark says so",
          "[unit][plain]") {
  PlainHabits habits;
  const std::string epochs =
      "train val_loss: 0.5\nval val_loss: 0.4\ntrain val_loss: 0.3\nval val_loss: 0.3\n";
  for (int trial = 0; trial < 2; ++trial) {
    const Outcome outcome = outcome_of(epochs, "", habits);
    CHECK(outcome.results == std::vector<double>{0.4, 0.3});
    CHECK(outcome.remarked == std::set{LaunchAdvisory::What::other_kind});
  }
}

TEST_CASE("Lines of several kinds with the metric are each a result, and a remark shows two",
          "[unit][plain]") {
  PlainHabits habits;
  const Outcome outcome = outcome_of(
      "batch 1 val_loss: 0.9\nbatch 2 val_loss: 0.8\n * val_loss: 0.5\n"
      "batch 1 val_loss: 0.7\nbatch 2 val_loss: 0.6\n * val_loss: 0.4\n",
      "", habits);
  CHECK(outcome.results == std::vector<double>{0.9, 0.8, 0.5, 0.7, 0.6, 0.4});
  CHECK(outcome.remarked == std::set{LaunchAdvisory::What::several_kinds});
}

TEST_CASE("What is saved behind a first line of training has the result that this is",
          "[unit][plain]") {
  const TempDir dir;
  PlainHabits habits;
  const auto log = dir.path() / "log";
  std::ofstream(log) << "train loss: 0.5\n";
  PlainReading reading{{{"loss", ""}}, {"loss"}, PlainWatch{.root = dir.path(), .pattern = "last"}};
  reading.checkpoints->saved = SavedWhen::after_result;
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.read();
  const std::int64_t now_ns = unix_ns();
  session.find({{dir.path(), "last", true, {{"", 1, 1, now_ns}}}, session.logs()->look(), now_ns},
               false);
  std::ofstream(log, std::ios::app) << "train loss: 0.4\n";
  session.read();
  std::vector<Wakeup> said;
  for (int step = 0; step < 2; ++step) {
    session.on_command(protocol::Step{});
    session.say(said);
  }
  std::vector<double> losses;
  for (const Wakeup& wakeup : said) {
    if (const auto* const reported = std::get_if<Reported>(&wakeup)) {
      losses.push_back(reported->metrics->find("loss").value());
    } else if (const auto* const found = std::get_if<CheckpointFound>(&wakeup)) {
      CHECK(found->iteration == 1);
      CHECK_FALSE(found->is_guess);
      losses.push_back(0);
    }
  }
  CHECK(losses == std::vector<double>{0.5, 0, 0.4});
}

TEST_CASE(
    "Of lines that wait for others one kind counts at a good end, and none where it was cut off",
    "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  std::ofstream(log) << "Epoch 1: loss 0.5\nTest loss 0.6\n";
  const auto ended = [&](const ExitStatus& status) {
    PlainHabits habits;
    PlainSession session(LaunchId(1), PlainReading{{{"loss", ""}}, {"loss"}}, habits, log, log);
    session.begin(0, 0);
    session.on_command(protocol::Start{});
    session.end(status);
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) {
      std::vector<Wakeup> said;
      session.on_command(protocol::Step{});
      session.say(said);
      for (const Wakeup& wakeup : said) {
        const auto* const reported = std::get_if<Reported>(&wakeup);
        if (reported != nullptr && reported->metrics) {
          losses.push_back(reported->metrics->find("loss").value());
        }
      }
    }
    return losses;
  };
  CHECK(ended({}) == std::vector<double>{0.5});
  CHECK(ended({.signal = SIGKILL}) == std::vector<double>{0.5});
  CHECK(ended({.exit_code = 1}) == std::vector<double>{0.5});
}

TEST_CASE(
    "The kind that has given a trial its last result counts once it goes on, however it was cut "
    "off",
    "[unit][plain]") {
  // The first launch was cut off between its lines, and so two lines of training stand together.
  const std::string earlier =
      "train loss: 9\ntrain loss: 9\nval loss: 1\ntrain loss: 8\nval loss: 0.5\n";
  const TempDir dir;
  const auto log = dir.path() / "log";
  const auto counted = [&](std::optional<double> last, bool is_copy = false) {
    std::ofstream(log) << (is_copy ? "" : earlier);
    PlainHabits habits;
    PlainReading reading{{{"loss", ""}}, {"loss"}};
    reading.last = last;
    if (is_copy) {  // of a trial that has had that, and gone on
      std::ofstream(dir.path() / "donor") << earlier << "train loss: 7\nval loss: 0.25\n";
      reading.donor_logs = {dir.path() / "donor"};
      reading.restored = parse_metrics(R"({"loss":0.5})");
    }
    PlainSession session(LaunchId(1), reading, habits, log, log);
    session.begin(is_copy ? 0 : earlier.size(), is_copy ? 0 : earlier.size());
    protocol::Start start;
    start.iteration = 2;
    session.on_command(start);
    return habits.kinds.counted;
  };
  CHECK(counted(0.5) == Phase::validation);
  CHECK(counted(8) == Phase::training);
  CHECK(counted(3) == std::nullopt);
  CHECK(counted({}) == std::nullopt);
  // What it had before it became a copy tells nothing of that.
  CHECK(counted(8, true) == Phase::validation);
}

TEST_CASE("Lines that close a result without its first metric are of a kind, too",
          "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  std::string printed;
  for (const int epoch : {1, 2, 3}) {
    printed += "epoch " + std::to_string(epoch) + " train loss: " + std::to_string(epoch) +
               " acc: 0.5\ntest loss: 1" + std::to_string(epoch) + "\ntest acc: 0.25\n";
  }
  std::ofstream(log) << printed;
  PlainHabits habits;
  PlainReading reading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}};
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.end({});
  CHECK(told_in_steps(session).losses == std::vector<double>{11, 12, 13});
}

TEST_CASE(
    "A resumed trial whose launch was cut off between two kinds of lines has one kind, and its "
    "closing line is none",
    "[unit][plain]") {
  const std::string earlier =
      "train loss: -6\nloss: 3\ntrain loss: -7\ntrain loss: -7\nloss: 2\ntrain loss: -8\n";
  const TempDir dir;
  const auto log = dir.path() / "log";
  std::ofstream(log) << earlier
                     << "train loss: -8\nloss: 1.5\ntrain loss: -9\nloss: 1\n"
                        "Best loss: 1\n";
  PlainHabits habits;
  PlainReading reading{{{"loss", ""}}, {"loss"}};
  reading.last = 2;
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(earlier.size(), earlier.size());
  protocol::Start start;
  start.iteration = 2;
  session.on_command(start);
  session.end({});
  const auto [losses, saved, remarked] = told_in_steps(session);
  CHECK(saved.empty());
  CHECK(losses == std::vector<double>{1.5, 1});
  CHECK(remarked == std::set{LaunchAdvisory::What::other_kind, LaunchAdvisory::What::summary});
}

TEST_CASE("What is saved behind a bar's last drawing has its value, though nothing has ended it",
          "[unit][plain]") {
  const TempDir dir;
  PlainHabits habits;
  const auto log = dir.path() / "log";
  std::ofstream(log) << "\rEpoch 0:  50%|# | 1/2 [1it/s]\rEpoch 0: 100%|##| 2/2 [1it/s, loss=0.5]";
  PlainReading reading{{{"loss", ""}}, {"loss"}, PlainWatch{.root = dir.path(), .pattern = "last"}};
  reading.checkpoints->saved = SavedWhen::after_result;
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  session.on_command(protocol::Step{});
  std::vector<Wakeup> said;
  const auto save = [&] {
    const std::int64_t now_ns = unix_ns();
    session.find({{dir.path(), "last", true, {{"", 1, 1, now_ns}}}, session.logs()->look(), now_ns},
                 false);
    session.say(said);
  };
  const auto saved_iterations = [&] {
    std::vector<std::int64_t> iterations;
    for (const Wakeup& wakeup : said) {
      const auto* const found = std::get_if<CheckpointFound>(&wakeup);
      if (found != nullptr) iterations.push_back(found->iteration);
    }
    return iterations;
  };
  save();
  CHECK(saved_iterations().empty());
  for (const char* const drawn :
       {"\rEpoch 1:  50%|# | 1/2 [1it/s, loss=0.5]", "\rEpoch 1: 100%|##| 2/2 [1it/s, loss=0.4]"}) {
    std::ofstream(log, std::ios::app) << drawn;
    session.read();
    session.say(said);
  }
  CHECK(saved_iterations() == std::vector<std::int64_t>{1});
  session.on_command(protocol::Step{});
  save();
  session.end({});
  session.say(said);
  CHECK(saved_iterations() == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("A result that waits for a metric is remarked upon, with what is missing and since when",
          "[unit][plain]") {
  const auto remarks = [](const std::string& text) {
    const TempDir dir;
    const auto log = dir.path() / "log";
    std::ofstream(log) << text;
    PlainHabits habits;
    PlainReading reading{{{"loss", ""}, {"mb", ""}}, {"loss", "mb"}};
    PlainSession session(LaunchId(1), reading, habits, log, log);
    session.begin(0, 0);
    session.on_command(protocol::Start{});
    session.end({});
    std::vector<Wakeup> said;
    session.say(said);
    std::string sentences;
    for (const Wakeup& wakeup : said) {
      const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup);
      if (remark != nullptr) sentences += remark->sentence + "\n";
    }
    return sentences;
  };
  const std::string once = remarks("mb: 3\nloss: 5\nloss: 4\nloss: 3\n");
  CHECK(once.starts_with(
      "has printed 'loss' 2 times since its result of iteration 1, and 'mb' not once: "));
  CHECK(std::count(once.begin(), once.end(), '\n') == 1);
  std::string bars, both;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < 20; ++i) bars += "loss: " + std::to_string(100 - i) + "\r";
    bars += "mb: 3\n";
    both += "loss: 0.5\nmb: 3\n";
  }
  CHECK(remarks(bars) == "");
  CHECK(remarks(both) == "");

  // Which of the numbers belong together cannot be known: a check before the first epoch, or behind
  // the last one.
  const auto is_uneven = [&](const std::string& text, const std::string& often) {
    const std::string seldom = often == "loss" ? "mb" : "loss";
    INFO(text);
    CHECK(remarks(text).starts_with("prints '" + often + "' more often than '" + seldom +
                                    "', and their lines name no epoch that both have: "));
  };
  is_uneven(both + "loss: 0.4\n", "loss");
  is_uneven("mb: 1\nloss: 5\nmb: 2\nloss: 4\nmb: 3\n", "mb");
  is_uneven("loss: 5\nmb: 1\nloss: 4\nloss: 3\nmb: 2\nloss: 2\nloss: 1\nmb: 1\nloss: 0\n", "loss");
  CHECK(remarks("epoch 1 loss: 5\nepoch 2 loss: 4\nepoch 2 mb: 2\nepoch 3 loss: 3\n"
                "epoch 4 loss: 3\nepoch 4 mb: 1\n") == "");
  CHECK(remarks("loss: 5\nloss: 4 mb: 2\nloss: 3\nloss: 3 mb: 1\nloss: 2\n") == "");
}

TEST_CASE("A program that begins anew has its first line counted as in its first launch",
          "[unit][plain]") {
  const std::string begin = GENERATE("start: loss 5\n", "start: loss: 5\n");
  const std::string epochs =
      GENERATE("epoch 1 loss: 4\nepoch 2 loss: 3\n",
               "train loss: 4\nval loss: 4.5\ntrain loss: 3\nval loss: 3.5\n");
  const auto results = [&](const std::string& earlier) {
    const TempDir dir;
    const auto log = dir.path() / "log";
    std::ofstream(log) << earlier << begin << epochs << epochs << epochs;
    PlainHabits habits;
    PlainSession session(LaunchId(1), PlainReading{{{"loss", ""}}, {"loss"}}, habits, log, log);
    session.begin(earlier.size(), earlier.size());
    session.on_command(protocol::Start{});
    session.end({});
    std::vector<double> losses;
    for (int step = 0; step < 8; ++step) {
      std::vector<Wakeup> said;
      session.on_command(protocol::Step{});
      session.say(said);
      for (const Wakeup& wakeup : said) {
        const auto* const reported = std::get_if<Reported>(&wakeup);
        if (reported != nullptr && reported->metrics) {
          losses.push_back(reported->metrics->find("loss").value());
        }
      }
    }
    return losses;
  };
  CHECK(results("").size() == 7);
  CHECK(results(begin + epochs) == results(""));
}

TEST_CASE("A bar that nothing has ended is judged before what the other stream says behind it",
          "[unit][plain]") {
  const TempDir dir;
  PlainHabits habits;
  const auto out = dir.path() / "out", err = dir.path() / "err";
  std::ofstream(out).flush();
  const auto print = [](const std::filesystem::path& log, const std::string& text) {
    std::ofstream(log, std::ios::app) << text;
  };
  print(err, "\repoch 1 loss=0.25 \repoch 2 loss=0.1230 ");
  PlainReading reading{{{"loss", ""}}, {"loss"}, PlainWatch{.root = dir.path(), .pattern = "last"}};
  reading.checkpoints->saved = SavedWhen::after_result;
  PlainSession session(LaunchId(1), reading, habits, out, err);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  const std::int64_t now_ns = unix_ns();
  session.find({{dir.path(), "last", true, {{"", 1, 1, now_ns}}}, session.logs()->look(), now_ns},
               false);
  const std::string best =
      GENERATE("Best loss: 0.1230\n", "Best loss: 0.123\n", "Best loss: 0.123");
  const bool reads = GENERATE(false, true), has_end = GENERATE(false, true);
  CAPTURE(best, reads, has_end);
  print(out, best);
  if (reads) session.read();
  if (has_end) print(err, "\n");
  session.end({});
  const auto [losses, saved, remarked] = told_in_steps(session);
  CHECK(losses == std::vector<double>{0.25, 0.123});
  CHECK(saved == std::vector<std::int64_t>{2});
}

TEST_CASE(
    "The last words of a program that is started for them alone are told by what it printed before",
    "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  std::ofstream(log) << "Epoch 1: loss: 0.5\nEpoch 2: loss: 0.4\nEpoch 3: lo";
  PlainHabits habits;
  PlainSession session(LaunchId(1), PlainReading{{{"loss", ""}}, {"loss"}}, habits, log, log);
  const std::uint64_t begin = std::filesystem::file_size(log);
  session.begin(begin, begin);
  protocol::Start start;
  start.iteration = 2;
  session.on_command(start);
  std::ofstream(log, std::ios::app) << "batch 1 loss 0.9\nBest loss: 0.4\n";
  session.end({});
  session.on_command(protocol::Step{});
  std::vector<Wakeup> said;
  session.say(said);
  std::set<LaunchAdvisory::What> remarked;
  for (const Wakeup& wakeup : said) {
    if (const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup)) {
      remarked.insert(remark->what);
    } else if (const auto* const reported = std::get_if<Reported>(&wakeup)) {
      CHECK(reported->done);
      CHECK_FALSE(reported->metrics);
    }
  }
  CHECK(remarked == std::set{LaunchAdvisory::What::no_colon, LaunchAdvisory::What::summary});
}

TEST_CASE("What waits for a next line is a result at the program's end", "[unit][plain]") {
  PlainHabits one, other;
  CHECK(outcome_of("train val_loss: 0.5\n", "", one).results == std::vector<double>{0.5});
  const std::string bars =
      "Epoch 0: 100%|##| 2/2 [val_loss=0.5]\rEpoch 1:   0%|  | 0/2 [val_loss=0.5]\r"
      "Epoch 1: 100%|##| 2/2 [val_loss=0.5]\n";
  CHECK(outcome_of("", bars, other).results == std::vector<double>{0.5, 0.5});
}

TEST_CASE("A last line that has another form than the results is none, and is remarked upon",
          "[unit][plain]") {
  using What = LaunchAdvisory::What;
  const auto of = [](const std::string& out) {
    PlainHabits habits;
    return outcome_of(out, "", habits);
  };
  Outcome outcome = of("epoch 1 val_loss 0.5\nepoch 2 val_loss 0.4\nRESULT val_loss=0.01\n");
  CHECK(outcome.results == std::vector<double>{0.5, 0.4});
  CHECK(outcome.remarked == std::set{What::summary});
  outcome = of("epoch,val_loss\n1,0.5\n2,0.4\nScore: val_loss=0.01\n");
  CHECK(outcome.results == std::vector<double>{0.5, 0.4});
  // What is behind it tells that it was none, and that a colon is not how results are told.
  outcome =
      of("epoch 1 val_loss 0.5\nepoch 2 val_loss 0.4\nEvaluated: val_loss=0.3\n"
         "epoch 3 val_loss 0.2\n");
  CHECK(outcome.results == std::vector<double>{0.5, 0.4, 0.3, 0.2});
}

TEST_CASE("Of lines of several processes those of the lowest rank count", "[unit][plain]") {
  using What = LaunchAdvisory::What;
  for (const char* const out :
       {"[rank0]: val_loss: 0.5\n[rank1]: val_loss: 0.6\n[rank1]: val_loss: 0.3\n"
        "[rank0]: val_loss: 0.4\n",
        "[rank1]: val_loss: 0.6\n[rank0]: val_loss: 0.5\n[rank0]: val_loss: 0.4\n"
        "[rank1]: val_loss: 0.3\n"}) {
    PlainHabits habits;
    const Outcome outcome = outcome_of(out, "", habits);
    CHECK(outcome.results == std::vector<double>{0.5, 0.4});
    CHECK(outcome.remarked == std::set{What::other_rank});
  }
  PlainHabits one;
  CHECK(outcome_of("[rank3]: val_loss: 0.5\n", "", one).results == std::vector<double>{0.5});
}

TEST_CASE("Results of several processes are told apart or said, in whatever order they come",
          "[unit][plain]") {
  using What = LaunchAdvisory::What;
  const std::string ahead =
      "0: starts\n1: epoch 1 val_loss: 0.9\n1: epoch 2 val_loss: 0.8\n0: epoch 1 val_loss: 0.5\n"
      "1: epoch 3 val_loss: 0.7\n0: epoch 2 val_loss: 0.4\n";
  PlainHabits habits;
  const Outcome first = outcome_of(ahead, "", habits);
  CHECK(first.results == std::vector<double>{0.9, 0.8, 0.5, 0.4});
  CHECK(first.remarked == std::set{What::late_rank, What::other_rank});
  // The next trial knows who prints the results.
  const Outcome second = outcome_of(ahead, "", habits);
  CHECK(second.results == std::vector<double>{0.5, 0.4});
  CHECK(second.remarked == std::set{What::other_rank});
  // Under a name that nobody knows each counts, which is said.
  PlainHabits others;
  const Outcome unknown = outcome_of(
      "[p0] epoch 1 val_loss: 0.5\n[p1] epoch 1 val_loss: 0.6\n[p0] epoch 2 val_loss: 0.4\n", "",
      others);
  CHECK(unknown.results == std::vector<double>{0.5, 0.6, 0.4});
  CHECK(unknown.remarked == std::set{What::interleaved});
}

TEST_CASE("Lines without a colon are the results, though a bar has one", "[unit][plain]") {
  const auto bar = [](int epoch, const char* value) {
    const std::string begin = "Epoch " + std::to_string(epoch) + ": ";
    return begin + " 50%|##  | 1/2 [00:01<00:01, val_loss=0.9]\r" + begin +
           "100%|####| 2/2 [00:02<00:00, val_loss=" + value + "]\n";
  };
  PlainHabits habits;
  const std::string out = bar(1, "0.81") + "epoch 1 val_loss 0.5\n" + bar(2, "0.72") +
                          "epoch 2 val_loss 0.4\n" + bar(3, "0.63") + "epoch 3 val_loss 0.3\n";
  const Outcome first = outcome_of(out, "", habits);
  CHECK(first.remarked.contains(LaunchAdvisory::What::bar));
  const Outcome second = outcome_of(out, "", habits);
  CHECK(second.results == std::vector<double>{0.5, 0.4, 0.3});
  // A last bar with the value of the one before is no result of its epoch either.
  const std::string same = bar(1, "0.9") + "epoch 1 val_loss 0.5\n" + bar(2, "0.9") +
                           "epoch 2 val_loss 0.4\n" + bar(3, "0.9");
  CHECK(outcome_of(same, "", habits).results == std::vector<double>{0.5, 0.4});
  // What only praises a value of the bar's is prose.
  PlainHabits bars;
  const std::string best = "new best val_loss 0.81\n";
  CHECK(outcome_of(bar(1, "0.81") + best + bar(2, "0.72") + best, "", bars).results.size() == 4);
}

TEST_CASE("A program that prints nothing is remarked upon after a minute", "[unit][plain]") {
  CHECK(remarks_on("", 10).empty());
  const auto remarks = remarks_on("", 60);
  REQUIRE_FALSE(remarks.empty());
  CHECK(remarks.front().starts_with("has printed nothing so far"));
  CHECK(remarks_on("begins\n", 60).empty());
}
