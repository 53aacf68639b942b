// The console through its hooks, in virtual time.
#include <cstdlib>
#include <ctime>

#include "callbacks/callbacks.h"
#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"
#include "tuner/space/search_space.h"

using namespace tune;
using namespace tune::testing;

namespace {

class HandClock final : public Clock {
 public:
  Seconds now() const override { return 1700000000 + time; }
  Seconds steady() const override { return 1000 + time; }
  Seconds time = 0;
};

struct Screen {
  HandClock clock;
  std::string text;
  std::unique_ptr<Callback> console;
  Story story;

  explicit Screen(ConsoleStyle style) {
    ::setenv("TZ", "UTC0", 1);
    ::tzset();
    ConsoleOptions options;
    options.style = style;
    options.write = [this](std::string_view more) { text += more; };
    options.clock = &clock;
    options.width = 72;
    options.height = 12;
    console = make_console(options);
  }
  void setup(bool resumed = false, const std::vector<Constraint>& constraints = {}) {
    RunInfo info = info_of("/experiments/digits", resumed);
    info.constraints = constraints;
    console->setup(info, Experiment());
    console->on_step_begin(story.experiment);
  }
  void start(TrialId id, int checkpoint = 0) {
    console->on_trial_start(story.start(id, checkpoint));
  }
  void report(TrialId id, int iteration, const std::string& metrics) {
    Result result = result_of(iteration, metrics);
    console->on_trial_result(story.experiment.trial(id), result);
    story.report(id, result);
  }
  void save(TrialId id) {
    const Checkpoint& checkpoint = story.save(id);
    console->on_checkpoint(story.experiment.trial(id), checkpoint);
  }
  void step(Seconds later) {
    clock.time += later;
    console->on_step_end(story.experiment);
  }
  std::string take() { return std::exchange(text, {}); }
};

}  // namespace

TEST_CASE("The last line has the results a second of the whole session, however short",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add("{}", "lr=0.1").id;
  screen.setup();
  screen.start(a);
  for (int i = 1; i <= 6; ++i) screen.report(a, i, R"({"loss":0.5})");
  screen.step(0.5);
  screen.take();
  screen.console->on_experiment_end(screen.story.experiment);
  CHECK(screen.take().find("| 12.0 results/s |") != std::string::npos);
}

TEST_CASE("A resumed session counts the checkpoints of all sessions, as it does the trials",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add("{}", "lr=0.1").id;
  screen.start(a);
  screen.story.report(a, result_of(1, R"({"loss":0.5})"));
  screen.story.save(a);
  screen.story.end(a, Outcome::completed);
  const TrialId b = screen.story.add("{}", "lr=0.2").id;
  screen.setup(true);
  screen.start(b);
  screen.report(b, 1, R"({"loss":0.4})");
  screen.save(b);
  screen.console->on_experiment_end(screen.story.experiment);
  const std::string last = screen.take();
  CHECK(last.find(" 1 completed,") != std::string::npos);
  CHECK(last.find("| 2 checkpoints saved |") != std::string::npos);
}

TEST_CASE("Lines say of an iteration that it may be a later one", "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add("{}", "lr=0.1").id;
  const TrialId b = screen.story.add("{}", "lr=0.2").id;
  screen.setup();
  screen.start(a);
  screen.start(b);
  screen.report(a, 1, R"({"loss":0.5})");
  screen.step(6);
  CHECK(screen.take().find("new best loss 0.5 by trial_00000 at iteration 1 (lr=0.1)") !=
        std::string::npos);
  Result guess = result_of(2, R"({"loss":0.3})");
  guess.iteration_is_guess = true;
  screen.console->on_trial_result(screen.story.experiment.trial(a), guess);
  screen.story.report(a, guess);
  screen.save(a);
  screen.step(3);
  CHECK(screen.take().find("new best loss 0.3 by trial_00000 at iteration 2 or later (lr=0.1)") !=
        std::string::npos);
  screen.story.exploit(b, Exploit{a, R"({"lr":0.3})", "lr=0.3"});
  const Trial& copy = screen.story.experiment.trial(b);
  screen.console->on_trial_exploit(copy, copy.lineage.back());
  screen.console->on_trial_start(screen.story.start_clone(b));
  screen.console->on_trial_restore(copy, &screen.story.experiment.trial(a).checkpoints.front());
  const std::string told = "trial_00001 goes on as a copy of trial_00000 from iteration 2 or later";
  CHECK(screen.take().find(told) != std::string::npos);
}

TEST_CASE("The console writes plain lines for a pipe", "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add("{}", "lr=0.1").id;
  const TrialId b = screen.story.add("{}", "lr=0.2").id;
  screen.setup();
  screen.start(a);
  screen.start(b);
  screen.step(1);
  screen.report(a, 1, R"({"loss":0.5})");
  screen.report(b, 1, R"({"loss":0.25})");
  screen.report(b, 2, R"({"loss":NaN})");
  screen.save(a);
  screen.step(9);
  screen.report(a, 2, R"({"loss":0.3})");
  screen.step(1);
  screen.console->on_trial_recover(
      screen.story.end(a, Outcome::failed, "exit code 1:\033[2J bad\nluck", true));
  screen.start(a, 1);
  screen.console->on_notice("the disk is nearly full");
  screen.console->on_trial_complete(screen.story.end(b, Outcome::completed));
  screen.console->on_trial_error(
      screen.story.end(a, Outcome::failed, "killed by signal 9\n  File \"a.py\", line 7"));
  screen.console->on_experiment_end(screen.story.experiment);
  CHECK(screen.text ==
        "2023-11-14T22:13:20 running digits in /experiments/digits, 3 trials, min loss\n"
        "2023-11-14T22:13:20 trial_00000 started: lr=0.1\n"
        "2023-11-14T22:13:20 trial_00001 started: lr=0.2\n"
        "2023-11-14T22:13:30 0:00:10 2 running, 0 waiting, 0 completed, 0 failed of 3 | 0.3 "
        "results/s "
        "| cpu 4/8, gpu 1/2 | 1 checkpoint saved | best loss 0.25 by trial_00001 at iteration 1 "
        "(lr=0.2)\n"
        "2023-11-14T22:13:31 trial_00000 failed in attempt 1 and will be tried again: exit code 1: "
        "[2J bad\n"
        "2023-11-14T22:13:31 trial_00000 started, attempt 2, from iteration 1: lr=0.1\n"
        "2023-11-14T22:13:31 notice: the disk is nearly full\n"
        "2023-11-14T22:13:31 trial_00001 completed at iteration 2, loss NaN (exit)\n"
        "2023-11-14T22:13:31 trial_00000 failed: killed by signal 9\n"
        "2023-11-14T22:13:31 0:00:11 0 running, 0 waiting, 1 completed, 1 failed of 3 | 0.4 "
        "results/s "
        "| cpu 0/8, gpu 0/2 | 1 checkpoint saved | best loss 0.25 by trial_00001 at iteration 1 "
        "(lr=0.2)\n"
        "trial        state      iteration  best loss  checkpoint  config\n"
        "trial_00001  completed          2       0.25           -  lr=0.2\n"
        "trial_00000  failed             1        0.5           1  lr=0.1\n");
}

TEST_CASE("The console counts routine lines that come too fast, but shows every failure",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  for (int i = 0; i < 100; ++i) screen.story.add();
  screen.setup();
  for (std::uint32_t i = 0; i < 100; ++i) {
    screen.start(TrialId{i});
    screen.console->on_trial_error(screen.story.end(TrialId{i}, Outcome::failed, "exit code 1"));
  }
  CHECK(lines_of(screen.take()).size() == 1 + 20 + 100);
  screen.step(10);
  CHECK(screen.take().ends_with(" | 80 lines left out\n"));
  screen.step(10);
  CHECK(screen.take().ends_with("gpu 0/2\n"));
}

TEST_CASE("The console redraws its table in place, at most four times a second",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::table);
  const TrialId id = screen.story.add("{}", "lr=0.1").id;
  screen.setup();
  screen.take();
  screen.start(id);
  screen.step(0);
  CHECK(screen.take() ==
        "digits  0:00:00  0.0 results/s  cpu 2/8  gpu 0.5/2\033[K\n"
        "1 running, 0 waiting, 0 completed, 0 failed of 3\033[K\n"
        "end not known: no trial has ended yet\033[K\n"
        "\033[K\n"
        "trial        iteration  loss  checkpoint     time  config\033[K\n"
        "trial_00000          0     -           -  0:00:00  lr=0.1\033[K\n"
        "\033[J");
  screen.report(id, 1, R"({"loss":0.5})");
  screen.step(0.125);
  CHECK(screen.take().empty());
  screen.save(id);
  screen.step(0.125);
  CHECK(screen.take() ==
        "\r\033[6A"
        "digits  0:00:00  0.0 results/s  cpu 2/8  gpu 0.5/2\033[K\n"
        "1 running, 0 waiting, 0 completed, 0 failed of 3\033[K\n"
        "end not known: no trial has ended yet\033[K\n"
        "best loss 0.5 by trial_00000 at iteration 1 (lr=0.1)\033[K\n"
        "\033[K\n"
        "trial        iteration  loss  checkpoint     time  config\033[K\n"
        "trial_00000          1   0.5           1  0:00:00  lr=0.1\033[K\n"
        "\033[J");

  SECTION("and makes room for a notice above it") {
    screen.console->on_notice("the disk is nearly full");
    CHECK(screen.take() == "\r\033[7A\033[J2023-11-14T22:13:20 notice: the disk is nearly full\n");
    screen.step(0);
    CHECK(screen.take().starts_with("digits  0:00:00"));
  }
}

TEST_CASE("The console knows the best trial of earlier sessions", "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId id = screen.story.add("{}", "lr=0.1").id;
  screen.story.start(id);
  screen.story.report(id, result_of(1, R"({"loss":0.125})"));
  screen.story.report(id, result_of(2, R"({"loss":4})"));
  screen.story.resume();
  screen.setup(true);
  CHECK(screen.take().starts_with("2023-11-14T22:13:20 resuming digits in "));
  screen.step(10);
  CHECK(screen.take().ends_with(" | best loss 0.125 by trial_00000 (lr=0.1)\n"));
}

TEST_CASE("To the console only what fulfils the constraints is the best", "[callbacks][console]") {
  const std::vector<Constraint> constraints = {SearchSpace().constraint("ms <= 3")};
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add("{}", "lr=0.1").id;
  const TrialId b = screen.story.add("{}", "lr=0.2").id;
  screen.setup(false, constraints);
  for (const TrialId id : {a, b}) screen.start(id);
  screen.report(a, 1, R"({"loss":0.1,"ms":4})");
  screen.report(b, 1, R"({"loss":0.5,"ms":3})");
  screen.step(10);
  CHECK(screen.take().find("best loss 0.5 by trial_00001") != std::string::npos);
  screen.report(a, 2, R"({"loss":0.2,"ms":2})");
  screen.step(10);
  CHECK(screen.take().find("best loss 0.1 by trial_00000") != std::string::npos);
  // At the end a trial's last result counts.
  screen.report(a, 3, R"({"loss":0.3,"ms":9})");
  screen.console->on_experiment_end(screen.story.experiment);
  const std::string end = screen.take();
  CHECK(end.find("best loss 0.5 by trial_00001") != std::string::npos);
  CHECK(end.find("\ntrial_00000 ") == std::string::npos);

  Screen resumed(ConsoleStyle::lines);
  const TrialId id = resumed.story.add("{}", "lr=0.1").id;
  resumed.story.start(id);
  resumed.story.report(id, result_of(1, R"({"loss":0.125,"ms":4})"));
  resumed.story.resume();
  resumed.setup(true, constraints);
  resumed.step(10);
  CHECK(resumed.take().find("best loss") == std::string::npos);
}

TEST_CASE(
    "A new best of the console is the best one of trials whose last results fulfil the "
    "constraints",
    "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add("{}", "lr=0.1").id;
  const TrialId b = screen.story.add("{}", "lr=0.2").id;
  screen.setup(false, {SearchSpace().constraint("ms <= 5")});
  const auto told = [&] {
    screen.step(1.5);
    const std::string text = screen.take();
    const auto at = text.find("new best");
    return at == std::string::npos ? "" : text.substr(at, text.find('(', at) - at);
  };
  for (const TrialId id : {a, b}) screen.start(id);
  screen.take();
  screen.report(a, 1, R"({"loss":1,"ms":9})");
  CHECK(told().empty());
  // The first result counts again, and is better than this one.
  screen.report(a, 2, R"({"loss":2,"ms":4})");
  CHECK(told().starts_with("new best loss 1 by trial_00000"));
  screen.report(a, 3, R"({"loss":1.5,"ms":4})");
  CHECK(told().empty());
  screen.report(b, 1, R"({"loss":3,"ms":4})");
  screen.report(a, 4, R"({"loss":0.5,"ms":9})");
  CHECK(told().starts_with("new best loss 3 by trial_00001"));
  screen.report(a, 5, R"({"loss":0.75,"ms":5})");
  CHECK(told().starts_with("new best loss 0.5 by trial_00000"));
}

TEST_CASE("The console shows a column for each of several metrics, and no best trial",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::table);
  const TrialId id = screen.story.add("{}", "lr=0.1").id;
  RunInfo info;
  info.name = "digits";
  info.objectives = {{"loss", Mode::min}, {"speed", Mode::max}};
  screen.console->setup(info, screen.story.experiment);
  CHECK(screen.take().ends_with(", min loss, max speed\n"));
  screen.start(id);
  screen.report(id, 1, R"({"loss":0.5,"speed":7})");
  screen.step(0);
  CHECK(screen.take() ==
        "digits  0:00:00  0.0 results/s\033[K\n"
        "1 running, 0 waiting, 0 completed, 0 failed\033[K\n"
        "end not known: how many trials there will be is not known\033[K\n"
        "\033[K\n"
        "trial        iteration  loss  speed  checkpoint     time  config\033[K\n"
        "trial_00000          1   0.5      7           -  0:00:00  lr=0.1\033[K\n"
        "\033[J");
}

TEST_CASE("The console shows an experiment without an objective", "[callbacks][console]") {
  Screen screen(ConsoleStyle::table);
  const TrialId id = screen.story.add("{}", "lr=0.1").id;
  RunInfo info;
  info.name = "digits";
  info.directory = "/experiments/digits";
  screen.console->setup(info, screen.story.experiment);
  screen.take();
  screen.start(id);
  screen.report(id, 1, R"({"loss":0.5})");
  screen.step(0);
  CHECK(screen.take() ==
        "digits  0:00:00  0.0 results/s\033[K\n"
        "1 running, 0 waiting, 0 completed, 0 failed\033[K\n"
        "end not known: how many trials there will be is not known\033[K\n"
        "\033[K\n"
        "trial        iteration  checkpoint     time  config\033[K\n"
        "trial_00000          1           -  0:00:00  lr=0.1\033[K\n"
        "\033[J");
}

TEST_CASE("After a resume the console says of which iteration the best result is",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId id = screen.story.add("{}", "lr=0.1").id;
  screen.story.start(id);
  screen.story.report(id, result_of(3, R"({"loss":0.125})"));
  screen.story.resume();
  screen.setup(true);
  screen.step(10);
  CHECK(screen.take().find("best loss 0.125 by trial_00000 at iteration 3") != std::string::npos);
}

TEST_CASE("The console tells of a new best result, once a second at most", "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId id = screen.story.add("{}", "lr=0.1").id;
  screen.setup();
  screen.start(id);
  screen.take();
  screen.report(id, 1, R"({"loss":0.5})");
  screen.step(1);
  CHECK(screen.take() ==
        "2023-11-14T22:13:21 new best loss 0.5 by trial_00000 at iteration 1 (lr=0.1)\n");
  screen.report(id, 2, R"({"loss":0.25})");
  screen.step(0.5);
  CHECK(screen.take().empty());
  screen.report(id, 3, R"({"loss":0.75})");
  screen.step(0.5);
  CHECK(screen.take() ==
        "2023-11-14T22:13:22 new best loss 0.25 by trial_00000 at iteration 2 (lr=0.1)\n");
  screen.step(5);
  CHECK(screen.take().empty());
}

TEST_CASE("Of equal trials the console names the one with the lower number",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId first = screen.story.add("{}", "lr=0.1").id;
  const TrialId second = screen.story.add("{}", "lr=0.2").id;
  screen.setup();
  screen.start(first);
  screen.start(second);
  screen.report(second, 1, R"({"loss":0.5})");
  screen.report(first, 1, R"({"loss":0.5})");
  screen.take();
  screen.step(1);
  CHECK(screen.take().find("best loss 0.5 by trial_00000") != std::string::npos);
}

TEST_CASE("The console writes no line for a checkpoint, but counts them", "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId id = screen.story.add().id;
  screen.setup();
  screen.start(id);
  screen.report(id, 1, R"({"speed":0.5})");
  screen.take();
  for (int i = 0; i < 3; ++i) screen.save(id);
  CHECK(screen.take().empty());
  screen.step(10);
  CHECK(screen.take().find(" | 3 checkpoints saved") != std::string::npos);
}

TEST_CASE("The console's table has the best trials that run first", "[callbacks][console]") {
  Screen screen(ConsoleStyle::table);
  for (int i = 0; i < 3; ++i) screen.story.add();
  screen.setup();
  for (const std::uint32_t i : {0U, 1U, 2U}) screen.start(TrialId{i});
  screen.report(TrialId{1}, 1, R"({"loss":0.5})");
  screen.report(TrialId{2}, 1, R"({"loss":0.25})");
  screen.take();
  screen.step(1);
  const std::string table = screen.take();
  const auto place = [&](const char* trial) { return table.rfind(trial); };
  CHECK(place("\ntrial_00002") < place("\ntrial_00001"));
  CHECK(place("\ntrial_00001") < place("\ntrial_00000"));
}

TEST_CASE("The console says how much of the time budget is left", "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId id = screen.story.add().id;
  RunInfo info = info_of("/experiments/digits");
  info.time_budget_s = 600;
  screen.console->setup(info, Experiment());
  screen.console->on_step_begin(screen.story.experiment);
  screen.start(id);
  screen.take();
  // The session of the story began at 1700000001.
  screen.step(301);
  CHECK(screen.take().find(" | at most 5 min left") != std::string::npos);
}

TEST_CASE("The console says what is left of the budget beside an end that comes sooner",
          "[callbacks][console]") {
  Screen screen(ConsoleStyle::lines);
  const TrialId a = screen.story.add().id, b = screen.story.add().id;
  RunInfo info = info_of("/experiments/digits");
  info.time_budget_s = 600;
  screen.console->setup(info, Experiment());
  screen.console->on_step_begin(screen.story.experiment);
  screen.start(a);
  screen.report(a, 1, R"({"loss":0.5})");
  screen.story.end(a, Outcome::completed);
  screen.start(b);
  screen.take();
  screen.step(61);
  CHECK_THAT(screen.take(), Catch::Matchers::Contains(" left, 9 min of the time budget"));
}
