// Whole experiments in virtual time.
#include "tuner/simulation/simulation.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/support/catch.h"
#include "tests/support/thawing_searcher.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Pauses each trial once, at its second iteration, and lets them go on in the order of their ids.
class PauseOnce : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    const bool pauses = result.training_iteration == 2 && trial.checkpoints.empty();
    return {pauses ? Action::pause : Action::proceed};
  }
};

class PauseForEver : public PauseOnce {
 public:
  std::optional<TrialId> choose(const Experiment& experiment, Seconds, bool) const override {
    if (experiment.pending().empty()) return std::nullopt;
    return experiment.pending().begin()->second;
  }
};

/// Trial 1 goes on as a copy of trial 0 after its first result.
class CopyOnce : public PauseOnce {
 public:
  Decision on_result(const Trial& trial, const Result&) override {
    if (trial.id == TrialId{0}) return {.checkpoint = true};
    if (!trial.lineage.empty()) return {};
    return {.action = Action::exploit, .exploit = Exploit{TrialId{0}, R"({"x":0.5})", ""}};
  }
};

/// Writes down what it is told.
class Log : public Callback {
 public:
  explicit Log(std::vector<std::string>& lines) : lines_(lines) {}
  std::string name() const override { return "log"; }
  void on_trial_result(const Trial& trial, Result& result) override {
    lines_.push_back(std::to_string(index_of(trial.id)) + " at " +
                     std::to_string(result.training_iteration) + ": " + result.metrics.text);
  }
  void on_notice(const std::string& sentence) override { lines_.push_back(sentence); }

 private:
  std::vector<std::string>& lines_;
};

struct Simulation {
  Simulation() {
    spec.param_space = Json::parse(R"({"x": {"uniform": [0, 1]}})");
    spec.num_samples = 6;
    spec.resources = {{"cpu", 2}};
    spec.objectives = {{"loss", Mode::min}};
    spec.stop = Json::parse(R"({"training_iteration": 3})");
    program.step = [](SimulatedRun& run) {
      const double loss = run.config.at("x").get<double>() / static_cast<double>(run.iteration);
      return SimulatedStep{.metrics = parse_metrics(Json{{"loss", loss}}.dump()), .takes_s = 10};
    };
  }

  RunOutcome run(std::filesystem::path directory = {}) {
    SimulationOptions options;
    options.directory = std::move(directory);
    options.callbacks.push_back(std::make_unique<Log>(told));
    return simulate_experiment(spec, catalogue, program, std::move(options));
  }

  ExperimentSpec spec;
  SimulatedProgram program;
  Catalogue catalogue = built_in_catalogue();
  std::vector<std::string> told;
};

/// Counts the records that it is told of.
class Records : public Callback {
 public:
  Records(bool wants, std::vector<std::uint64_t>& numbers) : wants_(wants), numbers_(numbers) {}
  std::string name() const override { return "records"; }
  bool wants_events() const override { return wants_; }
  void on_events(std::span<const Event> events) override {
    for (const Event& event : events) numbers_.push_back(event.number);
  }

 private:
  const bool wants_;
  std::vector<std::uint64_t>& numbers_;
};

/// A new directory's name, removed at the end.
struct Scratch {
  Scratch()
      : path(std::filesystem::temp_directory_path() /
             ("tune-simulation-" + std::to_string(::getpid()))) {}
  ~Scratch() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("A callback that wants records gets each once and in order, others get none") {
  Simulation simulation;
  std::vector<std::uint64_t> wanted, unwanted;
  SimulationOptions options;
  options.callbacks.push_back(std::make_unique<Records>(false, unwanted));
  options.callbacks.push_back(std::make_unique<Records>(true, wanted));
  const auto outcome = simulate_experiment(simulation.spec, simulation.catalogue,
                                           simulation.program, std::move(options));
  REQUIRE(wanted.size() > 18);
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(wanted[i] == i + 1);
  CHECK(wanted.size() == outcome.results.experiment().last_event());
  CHECK(unwanted.empty());
}

TEST_CASE("A simulation takes the virtual time that its steps, launches and saves add up to") {
  Simulation simulation;
  auto outcome = simulation.run();
  const Experiment& all = outcome.results.experiment();
  CHECK(outcome.end.kind == LoopEnd::Kind::finished);
  CHECK(all.count(TrialState::terminated) == 6);
  CHECK(all.results() == 18);
  // Three rounds of two trials, three steps of ten seconds each.
  CHECK(all.last_time() - all.started() == Approx(90).margin(1));
  CHECK(outcome.results.best_result().metrics.at("training_iteration") == 3);

  simulation.program.launch_s = 5;
  simulation.program.save_s = 2;
  simulation.spec.checkpoint_config.checkpoint_frequency = 1;
  outcome = simulation.run();
  const Experiment& slower = outcome.results.experiment();
  CHECK(slower.last_time() - slower.started() == Approx(90 + 3 * 5 + 3 * 3 * 2).margin(1));
  CHECK(slower.saves().committed == 18);
  CHECK(slower.saves().save_s == Approx(36));
}

TEST_CASE("A race over tries runs in a simulation: what is clearly worse gets no more of them") {
  Simulation simulation;
  simulation.spec.num_samples = 4;
  simulation.spec.searcher =
      Json::parse(R"({"type": "random", "repeat": 6, "repeat_at_least": 2})");
  const auto outcome = simulation.run();
  CHECK(outcome.end.kind == LoopEnd::Kind::finished);
  std::map<double, int> tries;
  for (const Trial& trial : outcome.results.experiment().trials()) {
    ++tries[Json::parse(trial.config.text()).at("x").get<double>()];
  }
  REQUIRE(tries.size() == 4);
  CHECK(tries.begin()->second == 6);
  CHECK(tries.rbegin()->second < 6);
}

TEST_CASE("A restore in a simulation goes back to the checkpoint's iteration and state") {
  Simulation simulation;
  simulation.spec.num_samples = 1;
  simulation.spec.failure_config.max_failures = 1;
  simulation.spec.checkpoint_config.checkpoint_frequency = 2;
  bool failed = false;
  simulation.spec.stop = Json::parse(R"({"training_iteration": 5})");
  simulation.program.step = [&](SimulatedRun& run) {
    run.state = run.state.is_null() ? 1 : run.state.get<int>() * 2;
    SimulatedStep step{.metrics = parse_metrics(Json{{"loss", run.state}}.dump())};
    if (run.iteration == 4 && !std::exchange(failed, true)) step.exits = 3;
    return step;
  };
  const auto outcome = simulation.run();
  CHECK(simulation.told ==
        std::vector<std::string>{R"(0 at 1: {"loss":1})", R"(0 at 2: {"loss":2})",
                                 R"(0 at 3: {"loss":4})", R"(0 at 3: {"loss":4})",
                                 R"(0 at 4: {"loss":8})", R"(0 at 5: {"loss":16})"});
  CHECK(outcome.results.experiment().trials()[0].failures == 1);
}

TEST_CASE("Trials that a scheduler pauses go on in a simulation from where they were") {
  Simulation simulation;
  add_factory(simulation.catalogue.schedulers, "pause_once",
              [](const Json&, const PolicyContext&) { return std::make_unique<PauseOnce>(); });
  simulation.spec.scheduler = {{"type", "pause_once"}};
  const auto outcome = simulation.run();
  const Experiment& all = outcome.results.experiment();
  CHECK(all.count(TrialState::terminated) == 6);
  CHECK(all.results() == 18);
  for (const Trial& trial : all.trials()) {
    CHECK(trial.attempt == 2);
    CHECK(trial.iteration == 3);
  }
}

TEST_CASE("A clone in a simulation has its donor's iteration and state, and a config of its own") {
  Simulation simulation;
  add_factory(simulation.catalogue.schedulers, "copy_once",
              [](const Json&, const PolicyContext&) { return std::make_unique<CopyOnce>(); });
  simulation.spec.scheduler = {{"type", "copy_once"}};
  simulation.spec.num_samples = 2;
  simulation.spec.stop = Json::parse(R"({"training_iteration": 4})");
  simulation.program.step = [](SimulatedRun& run) {
    if (run.state.is_null()) run.state = run.trial_id;
    // The other trial reports first when the donor has three iterations behind it.
    const bool waits = run.state == "trial_00001";
    const Json metrics = {{"loss", run.config.at("x")}, {"from", run.state}};
    return SimulatedStep{.metrics = parse_metrics(metrics.dump()), .takes_s = waits ? 35.0 : 10.0};
  };
  const auto outcome = simulation.run();
  const Experiment& all = outcome.results.experiment();
  CHECK(all.count(TrialState::terminated) == 2);
  const Trial& clone = all.trials()[1];
  REQUIRE(clone.lineage.size() == 1);
  CHECK(clone.lineage[0].donor_iteration == 3);
  CHECK(clone.iteration == 4);
  CHECK(Json::parse(clone.last_metrics.text()) == Json{{"from", "trial_00000"}, {"loss", 0.5}});
}

TEST_CASE(
    "Trials that their scheduler leaves waiting for ever do not keep a simulation from its end") {
  Simulation simulation;
  add_factory(simulation.catalogue.schedulers, "for_ever",
              [](const Json&, const PolicyContext&) { return std::make_unique<PauseForEver>(); });
  simulation.spec.scheduler = {{"type", "for_ever"}};
  const auto outcome = simulation.run();
  CHECK(outcome.results.experiment().count(TrialState::paused) == 6);
}

TEST_CASE("A simulation in a directory leaves the same journal each time, and no other files") {
  Simulation simulation;
  const Scratch first;
  simulation.run(first.path);
  const auto journal = content(first.path / "journal-1.jsonl");
  CHECK(std::count(journal.begin(), journal.end(), '\n') > 18);
  const ResultGrid grid = ResultGrid::load(first.path);
  CHECK(grid.experiment().results() == 18);
  std::filesystem::remove_all(first.path);
  simulation.run(first.path);
  // All but the last record, which holds what keeping the state has cost in real time.
  const auto without_costs = [](const std::string& text) {
    return text.substr(0, text.rfind('\n', text.size() - 2));
  };
  CHECK(without_costs(content(first.path / "journal-1.jsonl")) == without_costs(journal));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(first.path)) {
    CHECK(entry.is_regular_file());
    ++files;
  }
  CHECK(files == 3);
  REQUIRE_THROWS_WITH(simulation.run(first.path),
                      Catch::Matchers::Contains("already is an experiment"));
}

TEST_CASE(
    "A simulated trial that hangs is ended by its timeout, and without one that is an error") {
  Simulation simulation;
  simulation.program.step = [step = simulation.program.step](SimulatedRun& run) {
    SimulatedStep done = step(run);
    done.hangs = run.trial_id == "trial_00001" && run.iteration == 2;
    return done;
  };
  REQUIRE_THROWS_WITH(simulation.run(), Catch::Matchers::Contains("the simulation stands still"));
  simulation.spec.trial_timeout_s = 60;
  const auto outcome = simulation.run();
  const Experiment& all = outcome.results.experiment();
  CHECK(all.count(TrialState::error) == 1);
  CHECK(all.count(TrialState::terminated) == 5);
  CHECK(all.trials()[1].error->starts_with("it said nothing for 60 s"));
}

TEST_CASE("The time budget of a spec ends a simulation in virtual time") {
  Simulation simulation;
  simulation.spec.num_samples = -1;
  simulation.spec.time_budget_s = 3600;
  const auto outcome = simulation.run();
  CHECK(outcome.end.kind == LoopEnd::Kind::stopped);
  const Experiment& all = outcome.results.experiment();
  CHECK(all.last_time() - all.started() == Approx(3600).margin(10));
  CHECK(all.trials().size() == Approx(3600.0 / 30 * 2).margin(2));
}

TEST_CASE("A time budget that no sum of numbers hits exactly ends a simulation all the same",
          "[minutes]") {
  double budget_s = 3000;
  for (int i = 0; i < 8; ++i) {
    budget_s = std::nextafter(budget_s, 4000);
    Simulation simulation;
    simulation.spec.num_samples = -1;
    simulation.spec.time_budget_s = budget_s;
    CHECK(simulation.run().end.kind == LoopEnd::Kind::stopped);
  }
}

TEST_CASE("A trial that needs more than there is in the spec's resources is refused") {
  Simulation simulation;
  simulation.spec.resources_per_trial = {{"cpu", 3}};
  REQUIRE_THROWS_WITH(simulation.run(), Catch::Matchers::Contains("/resources_per_trial: "));
}

TEST_CASE("A searcher has paused trials go on in a simulation, the same each time") {
  const auto starts = [] {
    Simulation simulation;
    simulation.spec.num_samples = 3;
    simulation.spec.resources = {{"cpu", 1}};
    add_factory(simulation.catalogue.schedulers, "pause_once",
                [](const Json&, const PolicyContext&) { return std::make_unique<PauseOnce>(); });
    simulation.spec.scheduler = {{"type", "pause_once"}};
    SimulationOptions options;
    options.searcher = std::make_unique<ThawingSearcher>(3, 2);
    struct Starts : Callback {
      explicit Starts(std::string& to) : all(to) {}
      std::string name() const override { return "starts"; }
      void on_trial_start(const Trial& trial) override {
        all += std::to_string(index_of(trial.id)) + " ";
      }
      std::string& all;
    };
    std::string all;
    options.callbacks.push_back(std::make_unique<Starts>(all));
    const auto outcome = simulate_experiment(simulation.spec, simulation.catalogue,
                                             simulation.program, std::move(options));
    CHECK(outcome.end.kind == LoopEnd::Kind::finished);
    return all;
  };
  CHECK(starts() == "0 0 1 1 2 2 ");
  CHECK(starts() == starts());
}

TEST_CASE("A searcher that has any paused trial go on brings no scheduler to a fault") {
  const std::string scheduler = GENERATE(
      R"({"type": "fifo"})", R"({"type": "asha", "max_t": 9})",
      R"({"type": "asha_promotion", "max_t": 9})", R"({"type": "hyperband", "max_t": 9})",
      R"({"type": "pbt", "perturbation_interval": 2, "hyperparam_mutations": {"x": {"uniform": [0, 1]}}})",
      R"({"type": "pbt", "perturbation_interval": 2, "synch": true, "hyperparam_mutations": {"x": {"uniform": [0, 1]}}})",
      R"({"type": "pbt", "perturbation_interval": [2, 4], "hyperparam_mutations": {"x": {"uniform": [0, 1]}}})",
      R"({"type": "median_stopping", "grace_period": 2})");
  CAPTURE(scheduler);
  Simulation simulation;
  simulation.spec.num_samples = 12;
  simulation.spec.stop = Json::parse(R"({"training_iteration": 9})");
  simulation.spec.scheduler = Json::parse(scheduler);
  simulation.spec.checkpoint_config.checkpoint_frequency = 1;
  simulation.program.step = [](SimulatedRun& run) {
    const double loss = static_cast<double>(run.iteration) * run.config.at("x").get<double>();
    return SimulatedStep{.metrics = parse_metrics(Json{{"loss", loss}}.dump()), .takes_s = 10};
  };
  SimulationOptions options;
  options.searcher = std::make_unique<ThawingSearcher>(12, 12);
  const auto outcome = simulate_experiment(simulation.spec, simulation.catalogue,
                                           simulation.program, std::move(options));
  CHECK(outcome.end.kind == LoopEnd::Kind::finished);
  CHECK(outcome.results.experiment().trials().size() == 12);
  for (const Trial& trial : outcome.results.experiment().trials()) CHECK(is_final(trial.state));
}
