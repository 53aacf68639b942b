// The loop in virtual time on disks that fill, fail and lose files.
#include <cerrno>
#include <csignal>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "tuner/base/error.h"
#include "tuner/model/paths.h"

using namespace tune;

namespace {

std::size_t times_told(const Harness& harness, const std::string& start) {
  return static_cast<std::size_t>(
      std::count_if(harness.told.begin(), harness.told.end(),
                    [&](const std::string& line) { return line.starts_with(start); }));
}

/// What holds after every run: memory is the fold of the journal, and what it names is there.
void require_whole(Harness& harness) {
  Experiment folded;
  for (const auto& event : harness.events()) folded.apply(event);
  REQUIRE(folded.save() == harness.experiment.save());
  for (const auto& trial : harness.experiment.trials()) {
    for (const auto& checkpoint : trial.checkpoints) {
      const auto directory =
          paths::checkpoint(paths::trial(Harness::directory, trial.id), checkpoint.index);
      REQUIRE(harness.files.exists(paths::manifest(directory)));
    }
  }
}

/// Whether the disk has what `trial` reported last before iteration `next`, and its launch.
bool is_recorded(Harness& harness, int trial, std::int64_t next) {
  std::int64_t iteration = -1;
  for (const auto& event : harness.events()) {
    if (trial_of(event.body) != TrialId{static_cast<std::uint32_t>(trial)}) continue;
    if (std::holds_alternative<ProcessStarted>(event.body)) {
      iteration = std::max<std::int64_t>(iteration, 0);
    } else if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
      iteration = reported->result.training_iteration;
    }
  }
  return iteration >= next - 1;
}

/// No trainable is told to go on before what it said is written.
void require_records_before_acts(Harness& harness) {
  harness.program.step = [&harness, step = harness.program.step](const Json& config,
                                                                 std::int64_t iteration) {
    REQUIRE(is_recorded(harness, config["x"], iteration));
    return step(config, iteration);
  };
}

/// `megabytes` free from now on, whatever is there.
void leave_free(Harness& harness, std::uint64_t megabytes) {
  const std::uint64_t all = std::uint64_t{1} << 40;
  harness.files.limit_capacity(all);
  const std::uint64_t used = all - harness.files.free_bytes("/");
  harness.files.limit_capacity(used + megabytes * 1'000'000);
}

}  // namespace

TEST_CASE("Nothing is launched on a disk with too little room, and goes on when there is more",
          "[loop][space]") {
  Harness harness;
  harness.trials = 6;
  harness.spec.min_free_bytes = 100'000'000;
  int steps = 0;
  harness.program.step = [&](const Json&, std::int64_t) {
    ++steps;
    if (steps == 2) leave_free(harness, 50);
    return FakeStep{.metrics = "{\"loss\":1}", .takes_s = 10};
  };
  // Nothing runs any more when somebody makes room.
  struct Janitor : Callback {
    explicit Janitor(Harness& of) : harness(of) {}
    std::string name() const override { return "janitor"; }
    void on_step_end(const Experiment& experiment) override {
      if (harness.clock.time > 700 && !done) {
        CHECK(experiment.count(TrialState::terminated) == 2);
        CHECK(experiment.count(TrialState::running) == 0);
        leave_free(harness, 200);
        done = true;
      }
    }
    Harness& harness;
    bool done = false;
  };
  harness.callbacks.push_back(std::make_unique<Janitor>(harness));
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 6);
  CHECK(times_told(harness,
                   "notice only 47.7 MiB free in /exp, less than min_free_bytes (95.4 MiB)") == 1);
  CHECK(times_told(harness, "notice still only") == 1);
  CHECK(times_told(harness, "notice there is room again") == 1);
}

TEST_CASE("A run that waits for room can be interrupted, and one that has no more to launch ends",
          "[loop][space]") {
  Harness harness;
  harness.spec.min_free_bytes = 100'000'000;
  const bool is_last = GENERATE(false, true);
  harness.trials = is_last ? 2 : 3;
  int steps = 0;
  harness.program.step = [&](const Json&, std::int64_t) {
    if (++steps == 2) leave_free(harness, 50);
    return FakeStep{.metrics = "{\"loss\":1}", .takes_s = 10};
  };
  if (!is_last) harness.signals = {{500, SIGINT}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == (is_last ? LoopEnd::Kind::finished : LoopEnd::Kind::interrupted));
  CHECK(harness.experiment.count(TrialState::terminated) == 2);
  CHECK(times_told(harness, "notice only") == (is_last ? 0 : 1));
}

TEST_CASE("The checkpoints of all trials together keep to their budget", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 3;
  harness.iterations = 8;
  harness.spec.checkpoint_config = {
      .checkpoint_score_attribute = "loss", .checkpoint_frequency = 1, .max_checkpoint_bytes = 7};
  // Each checkpoint has one byte; the first is the best of its trial.
  harness.program.step = [](const Json&, std::int64_t iteration) {
    return FakeStep{.metrics = "{\"loss\":" + std::to_string(-iteration) + "}"};
  };
  (void)harness.run();
  std::size_t kept = 0;
  for (int i = 0; i < 3; ++i) {
    const auto& checkpoints = harness.trial(i).checkpoints;
    kept += checkpoints.size();
    CHECK(checkpoints.front().index == 1);
    CHECK(checkpoints.back().index == 8);
    CHECK(harness.checkpoint_dirs(i).size() == checkpoints.size());
  }
  CHECK(kept == 7);
  CHECK(harness.trial(2).checkpoints.size() == 3);
  require_whole(harness);
}

TEST_CASE("A budget that cannot be kept is said once, and nothing that is needed is given up",
          "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 2;
  harness.spec.checkpoint_config = {.checkpoint_frequency = 1, .max_checkpoint_bytes = 0};
  (void)harness.run();
  CHECK(harness.experiment.count(TrialState::terminated) == 2);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(harness.trial(i).checkpoints.size() == 1);
    CHECK(harness.trial(i).checkpoints.front().index == 3);
  }
  CHECK(times_told(harness, "notice the checkpoints have") == 1);
}

TEST_CASE("Killed at any disk operation, a run with a budget recovers", "[loop][crash]") {
  const auto prepare = [](Harness& harness) {
    harness.trials = 3;
    harness.iterations = 4;
    harness.spec.checkpoint_config = {.checkpoint_frequency = 1, .max_checkpoint_bytes = 4};
  };
  Harness unharmed;
  prepare(unharmed);
  (void)unharmed.run();
  const auto operations = unharmed.files.operations();
  for (std::uint64_t k = 1; k <= operations; k += test::stride) {
    const bool power_fails = k % 2 == 0;
    const bool is_slow = k % 4 < 2;
    CAPTURE(k, power_fails, is_slow);
    Harness harness;
    prepare(harness);
    if (is_slow) harness.slow_down_disk();
    harness.files.die_at_operation(k, k % 7);
    try {
      (void)harness.run();
    } catch (const Error&) {
    }
    power_fails ? harness.files.crash() : harness.files.restart();
    (void)harness.run();
    REQUIRE(harness.experiment.count(TrialState::terminated) == 3);
    require_whole(harness);
    for (const auto& trial : harness.experiment.trials()) {
      REQUIRE(!trial.checkpoints.empty());
    }
  }
}

TEST_CASE(
    "Whichever disk operation fails, and how: a trial's trouble or a clean stop, and a resume",
    "[loop][disk]") {
  const auto prepare = [](Harness& harness) {
    harness.trials = 3;
    harness.iterations = 3;
    harness.spec.failure_config.max_failures = 1;
    harness.spec.checkpoint_config = {
        .num_to_keep = 1, .checkpoint_frequency = 1, .checkpoint_at_end = true};
  };
  Harness unharmed;
  prepare(unharmed);
  (void)unharmed.run();
  const auto operations = unharmed.files.operations();
  int cases = 0;
  int stops = 0;
  int refused_to_start = 0;
  for (const int error_number : {ENOSPC, EIO, EACCES, EROFS}) {
    for (std::uint64_t k = 1; k <= operations; k += test::stride, ++cases) {
      const bool is_slow = (k + static_cast<std::uint64_t>(error_number)) % 2 == 0;
      CAPTURE(k, error_number, is_slow);
      Harness harness;
      prepare(harness);
      if (is_slow) harness.slow_down_disk();
      harness.files.fail_operation(k, error_number, k % 50);
      try {
        (void)harness.run();
      } catch (const JournalFailed& failed) {
        ++stops;
        const std::string what = failed.what();
        REQUIRE(what.find("/exp/journal-") != std::string::npos);
        REQUIRE(what.find("nothing of it could be remembered any more") != std::string::npos);
      } catch (const Error&) {
        ++refused_to_start;  // the experiment could not be made
        REQUIRE(harness.launches == 0);
      }
      (void)harness.run();
      REQUIRE(harness.experiment.count(TrialState::terminated) == 3);
      require_whole(harness);
      for (const auto& trial : harness.experiment.trials()) REQUIRE(trial.iteration == 3);
    }
  }
  CHECK(cases >= static_cast<int>(4 * (operations / test::stride)));
  CHECK(stops > 100 / test::stride);
  CHECK(refused_to_start > 40 / test::stride);
  CHECK(stops < cases / 2);
}

TEST_CASE("Beside a slow disk the loop goes on, and acts only on what is written", "[loop][disk]") {
  Harness harness;
  harness.trials = 6;
  harness.iterations = 5;
  harness.resources = {{"cpu", 4}};
  harness.spec.checkpoint_config = {.checkpoint_frequency = 2, .checkpoint_at_end = true};
  harness.spec.snapshot_period_s = GENERATE(1.0, 1e9);
  if (harness.spec.snapshot_period_s == 1e9) require_records_before_acts(harness);
  harness.slow_down_disk();
  // What is told after a write comes in a later turn than the result that it is about.
  struct Watcher : Callback {
    explicit Watcher(int& count) : told_later(count) {}
    std::string name() const override { return "watcher"; }
    void on_trial_result(const Trial&, Result&) override { is_in_its_turn = true; }
    void on_trial_save(const Trial&) override { told_later += !is_in_its_turn; }
    void on_step_end(const Experiment&) override { is_in_its_turn = false; }
    int& told_later;
    bool is_in_its_turn = false;
  };
  int told_later = 0;
  harness.callbacks.push_back(std::make_unique<Watcher>(told_later));
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 6);
  CHECK(harness.experiment.results() == 30);
  CHECK(told_later > 9);  // of 18; another result may come in that turn
}

TEST_CASE("What cannot be written is not acted upon, whoever was to write it", "[loop][disk]") {
  const auto prepare = [is_slow = GENERATE(false, true)](Harness& harness) {
    require_records_before_acts(harness);
    if (is_slow) harness.slow_down_disk();
  };
  Harness unharmed;
  prepare(unharmed);
  (void)unharmed.run();
  int stops = 0;
  for (std::uint64_t k = 1; k <= unharmed.files.operations(); ++k) {
    CAPTURE(k);
    Harness harness;
    prepare(harness);
    harness.files.fail_operation(k, ENOSPC, k % 50);
    try {
      (void)harness.run();
    } catch (const Error&) {
      ++stops;
    }
  }
  CHECK(stops > 20);
}

TEST_CASE("A journal that lost its name ends the run before more is built on it", "[loop][disk]") {
  Harness harness;
  harness.trials = 2;
  harness.iterations = 100;
  int steps = 0;
  harness.program.step = [&](const Json&, std::int64_t) {
    if (++steps == 20) harness.files.remove_file("/exp/journal-1.jsonl");
    return FakeStep{.metrics = "{\"loss\":1}"};
  };
  CHECK_THROWS_AS(harness.run(), JournalFailed);
  CHECK(steps < 30);
}

TEST_CASE("Nothing is recorded of a trial, nor made anew, once the experiment was moved away",
          "[loop][disk]") {
  struct Mover : Callback {
    explicit Mover(MemoryFileSystem& on) : files(on) {}
    std::string name() const override { return "mover"; }
    void on_trial_recover(const Trial&) override { files.rename("/exp", "/moved"); }
    MemoryFileSystem& files;
  };
  const bool is_moved_before_it_fails = GENERATE(true, false);
  Harness harness;
  harness.trials = 1;
  harness.iterations = 100;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.spec.failure_config.max_failures = 3;
  int steps = 0;
  harness.program.step = [&](const Json&, std::int64_t) {
    FakeStep step{.metrics = "{\"loss\":1}"};
    if (++steps != 20) return step;
    if (is_moved_before_it_fails) harness.files.rename("/exp", "/moved");
    step.exits = 1;
    return step;
  };
  if (!is_moved_before_it_fails) {
    harness.callbacks.push_back(std::make_unique<Mover>(harness.files));
  }
  CHECK_THROWS_AS(harness.run(), JournalFailed);
  const Trial& trial = harness.experiment.trial(TrialId{0});
  CHECK(trial.failures == (is_moved_before_it_fails ? 0 : 1));
  CHECK_FALSE(trial.checkpoints.empty());
  CHECK(steps == 20);
  CHECK_FALSE(harness.files.exists("/exp/trial_00000"));
}

TEST_CASE("A disk that has no room for a trial's directory is no failure of the trial's",
          "[loop][space]") {
  int launches_without_room = 0;
  for (std::uint64_t k = 1; k <= 60; ++k) {
    Harness harness;
    harness.trials = 3;
    harness.files.fail_operation(k, ENOSPC);
    try {
      const LoopEnd end = harness.run();
      CAPTURE(k, end.reason);
      CHECK(harness.experiment.count(TrialState::error) == 0);
      if (end.kind == LoopEnd::Kind::finished) {
        CHECK(harness.experiment.count(TrialState::terminated) == 3);
      }
    } catch (const Error&) {
      continue;  // the experiment could not be made
    }
    launches_without_room += static_cast<int>(times_told(harness, "notice the machine cannot"));
  }
  CHECK(launches_without_room > 0);
}
