// What trials have come to, held against the rows that count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/catch.h"
#include "tuner/model/experiment.h"

using namespace tune;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

struct Row {
  std::int64_t iteration = 0;
  double loss = 0;
};

double average_of(const std::vector<Row>& rows, std::size_t last) {
  long double sum = 0, count = 0;
  for (std::size_t i = rows.size() - std::min(last, rows.size()); i < rows.size(); ++i) {
    if (!std::isfinite(rows[i].loss)) continue;
    sum += rows[i].loss;
    ++count;
  }
  return count > 0 ? static_cast<double>(sum / count) : not_a_number;
}

double best_of(const std::vector<Row>& rows, Mode mode) {
  double best = not_a_number;
  for (const Row& row : rows) {
    if (better(mode, row.loss, best)) best = row.loss;
  }
  return best;
}

bool is_same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-9 * std::abs(a);
}

/// An experiment, and beside it the rows of each trial's result.json since it became what it is.
struct World {
  Experiment experiment;
  std::vector<std::vector<Row>> rows;

  void then(EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  }
  TrialId add() {
    const TrialId id{static_cast<std::uint32_t>(rows.size())};
    rows.emplace_back();
    then(TrialAdded{id, "{}", "", ""});
    return id;
  }
  const Trial& trial(std::uint32_t id = 0) const { return experiment.trial(TrialId{id}); }

  /// From where the experiment says; rows after that go.
  void start(std::uint32_t id = 0) {
    const auto [owner, checkpoint] = experiment.restore_point(TrialId{id});
    const std::size_t stretches = begun(id);
    then(AttemptStarted{TrialId{id},
                        trial(id).attempt + 1,
                        checkpoint != nullptr ? checkpoint->index : 0,
                        {},
                        owner == TrialId{id} ? std::nullopt : std::optional(owner)});
    cut(id, stretches);
  }
  void damage(std::uint32_t id = 0) {
    const auto [owner, checkpoint] = experiment.restore_point(TrialId{id});
    const std::size_t stretches = begun(id);
    const auto clone = owner == TrialId{id} ? std::nullopt : std::optional(TrialId{id});
    then(CheckpointDamaged{owner, checkpoint->index, "bytes", clone});
    cut(id, stretches);
  }
  void report(double loss, bool saves = false, std::uint32_t id = 0, Decision decision = {}) {
    Result result;
    result.training_iteration = trial(id).iteration + 1;
    result.metrics.numbers = {{"loss", loss}};
    result.metrics.text = "{\"at\":" + std::to_string(result.training_iteration) + "}";
    decision.checkpoint = saves;
    rows[id].push_back({result.training_iteration, loss});
    then(ResultReported{TrialId{id}, trial(id).attempt, std::move(result), decision});
  }
  void save(std::int64_t iteration, std::uint32_t id = 0) {
    Checkpoint checkpoint;
    checkpoint.index = trial(id).saves + 1;
    checkpoint.iteration = iteration;
    then(CheckpointCommitted{TrialId{id}, checkpoint});
  }
  void end(Outcome outcome, std::uint32_t id = 0, bool retry = false) {
    then(AttemptEnded{TrialId{id}, trial(id).attempt, outcome, "why", retry});
  }
  void fail(std::uint32_t id = 0) { end(Outcome::failed, id, true); }

  /// The trial is what its rows say.
  void require_true(std::uint32_t id = 0) const {
    const Trial& seen = trial(id);
    const auto& expected = rows[id];
    CAPTURE(id, experiment.last_event(), expected.size());
    const MetricSummary* const loss = seen.summary("loss");
    if (expected.empty()) {
      REQUIRE(loss == nullptr);
      REQUIRE(seen.last_metrics.empty());
      return;
    }
    REQUIRE(loss != nullptr);
    REQUIRE(seen.last_metrics == "{\"at\":" + std::to_string(expected.back().iteration) + "}");
    REQUIRE(is_same(loss->last, expected.back().loss));
    REQUIRE(is_same(loss->best(Mode::min), best_of(expected, Mode::min)));
    REQUIRE(is_same(loss->best(Mode::max), best_of(expected, Mode::max)));
    REQUIRE(is_same(loss->average(), average_of(expected, expected.size())));
    REQUIRE(is_same(seen.average_of_last_5(*loss), average_of(expected, 5)));
    REQUIRE(is_same(seen.average_of_last_10(*loss), average_of(expected, 10)));
  }

  /// All of it is in its text.
  void require_text() const {
    Experiment read;
    for (const Trial& each : experiment.trials()) {
      std::string line;
      experiment.append_trial(line, each.id);
      read.load_trial(line);
    }
    read.load_totals(Json::parse(experiment.save_totals({}).dump()));
    REQUIRE(read.save() == experiment.save());
  }

 private:
  std::size_t begun(std::uint32_t id) const {
    const auto& lineage = trial(id).lineage;
    return static_cast<std::size_t>(std::count_if(
        lineage.begin(), lineage.end(), [](const Cloning& each) { return each.started != 0; }));
  }
  void cut(std::uint32_t id, std::size_t stretches) {
    if (begun(id) != stretches) rows[id].clear();
    std::erase_if(rows[id], [&](const Row& row) { return row.iteration > trial(id).iteration; });
  }
};

}  // namespace

TEST_CASE("What a restore takes back is in no summary", "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  for (int i = 1; i <= 7; ++i) world.report(i, i == 5);
  world.save(5);
  world.require_true();
  world.fail();
  world.start();
  world.require_true();
  CHECK(world.trial().summary("loss")->max == 5);
  CHECK(world.trial().counted_iteration == 7);
  world.report(60);
  world.report(70);
  world.report(8);
  world.require_true();
  CHECK(world.trial().summary("loss")->average() == Approx((15 + 60 + 70 + 8) / 8.0));
}

TEST_CASE("Without a checkpoint nothing is left of a failed attempt", "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  world.report(-100);
  world.report(2);
  world.fail();
  world.start();
  world.require_true();
  world.report(3);
  CHECK(world.trial().summary("loss")->min == 3);
  CHECK(world.trial().last_metrics == R"({"at":1})");
}

TEST_CASE("Of a damaged checkpoint the one before counts, and of one that came late its own",
          "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  for (int i = 1; i <= 9; ++i) {
    world.report(10.0 - i, i == 2 || i == 4 || i == 8);
    if (i == 5) world.save(2);
    if (i == 6) world.save(4);
  }
  world.save(8);
  world.fail();
  world.start();
  world.require_true();
  world.damage();
  CHECK(world.trial().iteration == 4);
  CHECK(world.trial().summary("loss")->min == 6);
  world.require_true();
  CHECK_FALSE(world.trial().summaries_in_doubt);
}

TEST_CASE("A checkpoint that a program has made by itself may be of any of the last results",
          "[summaries][unit]") {
  World world;
  world.add();
  world.then(AttemptStarted{TrialId{0}, 1, 0, {}, std::nullopt, true});
  for (int i = 1; i <= 40; ++i) world.report(100 - i);
  world.save(25);
  world.report(0);
  world.fail();
  world.start();
  CHECK(world.trial().iteration == 25);
  CHECK(world.trial().summary("loss")->min == 75);
  world.require_true();
}

TEST_CASE("A trial that goes back to where nothing is known of is in doubt, and its rows say it",
          "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  for (int i = 1; i <= 200; ++i) world.report(i == 150 ? -5 : 1000 - i);
  world.save(100);  // no result's decision had spoken of it
  world.fail();
  world.start();
  CHECK(world.trial().iteration == 100);
  CHECK(world.trial().summaries_in_doubt);
  world.require_text();
  world.experiment.summarise_anew(TrialId{0}, [&](const Experiment::UseResult& use) {
    for (const Row& row : world.rows[0]) {
      Metrics metrics;
      metrics.numbers = {{"loss", row.loss},
                         {"training_iteration", static_cast<double>(row.iteration)}};
      use(metrics);
    }
  });
  CHECK_FALSE(world.trial().summaries_in_doubt);
  const MetricSummary& loss = *world.trial().summary("loss");
  CHECK(loss.min == 900);
  CHECK(loss.count == 100);
  CHECK(world.trial().summary("training_iteration") == nullptr);
}

TEST_CASE("Averages are right, also after a restore and of a snapshot, whose sum no double holds",
          "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  for (int i = 1; i <= 5; ++i) world.report(1e308, i == 3);
  world.save(3);
  world.require_true();
  world.require_text();
  world.fail();
  world.start();
  world.report(-1.5e308);
  world.require_true();
  world.require_text();
}

TEST_CASE("An average is right where the sum cancels, also of a snapshot and after the end",
          "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  for (const double loss : {1e16, 1.0, -1e16}) world.report(loss);
  world.require_text();
  world.report(-1);
  const MetricSummary& loss = *world.trial().summary("loss");
  CHECK(loss.average() == 0);
  CHECK(world.trial().average_of_last_5(loss) == 0);
  for (int i = 0; i < 5; ++i) world.report(1.7e308);
  world.report(0.1);
  world.require_text();
  world.end(Outcome::completed);
  world.require_text();
  CHECK(world.trial().summary("loss")->average() == 0.85e308);
}

TEST_CASE("What is not finite is no number to a summary", "[summaries][unit]") {
  World world;
  world.add();
  world.start();
  for (const double loss : {-infinity, 3.0, not_a_number, 4.0, infinity}) world.report(loss);
  world.require_true();
  const MetricSummary& loss = *world.trial().summary("loss");
  CHECK(loss.best(Mode::min) == 3);
  CHECK(loss.best(Mode::max) == 4);
  CHECK(loss.average() == 3.5);
  CHECK(std::isinf(loss.last));
}

TEST_CASE(
    "However trials fail, pause, are cloned and find checkpoints damaged, what they have come to "
    "is what their rows say",
    "[summaries]") {
  for (unsigned seed = 0; seed < 25; ++seed) {
    const bool damages = seed % 2 == 1;
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
    World world;
    for (int i = 0; i < 3; ++i) world.add();
    std::vector<std::vector<std::int64_t>> saving(3);
    for (int turn = 0; turn < 400; ++turn) {
      const std::uint32_t id = below(3);
      const Trial& trial = world.trial(id);
      if (trial.state != TrialState::running) {
        if (!world.experiment.may_start(TrialId{id}, 1e9)) continue;
        world.start(id);
        const bool has_checkpoint = world.experiment.restore_point(TrialId{id}).second != nullptr;
        if (damages && below(6) == 0 && has_checkpoint) world.damage(id);
      } else {
        const std::uint32_t what = below(20);
        auto& under_way = saving[id];
        if (what < 12) {
          const double odd[] = {infinity, -infinity, not_a_number};
          const double loss = below(8) == 0 ? odd[below(3)] : below(1000) / 10.0;
          const bool saves = below(3) == 0 && under_way.size() < 2;
          world.report(loss, saves, id);
          if (saves) under_way.push_back(trial.iteration);
        } else if (what < 16) {
          if (under_way.empty()) continue;
          world.save(under_way.front(), id);
          under_way.erase(under_way.begin());
          if (trial.checkpoints.size() > 3) {
            world.then(CheckpointsDropped{TrialId{id}, {trial.checkpoints[below(3)].index}});
          }
        } else if (what == 16) {
          under_way.clear();
          const TrialId donor{(id + 1) % 3};
          if (trial.iteration == 0) continue;
          world.report(1, false, id,
                       {.action = Action::exploit, .exploit = Exploit{donor, "{}", ""}});
          world.end(Outcome::exploiting, id);
        } else {
          under_way.clear();
          world.end(what == 17   ? Outcome::paused
                    : what == 18 ? Outcome::interrupted
                                 : Outcome::failed,
                    id, true);
        }
      }
      for (std::uint32_t each = 0; each < 3; ++each) {
        // Of two damaged ones in a row it has no mark.
        const bool is_in_doubt = world.trial(each).summaries_in_doubt;
        REQUIRE((damages || !is_in_doubt));
        if (!is_in_doubt) world.require_true(each);
      }
      if (turn % 20 == 0) world.require_text();
      REQUIRE(trial.marks.size() <= 6);
    }
  }
}
