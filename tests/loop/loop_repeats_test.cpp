// What is trained again after failures and kills changes no number: a search in virtual time, once
// undisturbed, and once with its trials' and its driver's deaths.
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "tuner/base/error.h"
#include "tuner/policy/stopper.h"

using namespace tune;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::int64_t iteration = 0;
  double loss = 0;
};

bool is_same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-9 * std::abs(a);
}

double average_of(const std::vector<Row>& rows, std::size_t last) {
  double sum = 0, count = 0;
  for (std::size_t i = rows.size() - std::min(last, rows.size()); i < rows.size(); ++i) {
    if (!std::isfinite(rows[i].loss)) continue;
    sum += rows[i].loss;
    ++count;
  }
  return count > 0 ? sum / count : not_a_number;
}

/// Rows of a trial's result.json, by the record alone.
std::vector<std::vector<Row>> rows_of(const std::vector<Event>& events) {
  std::vector<std::vector<Row>> rows;
  Experiment experiment;
  for (const Event& event : events) {
    experiment.apply(event);
    rows.resize(experiment.trials().size());
    if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
      const Result& result = reported->result;
      rows[index_of(reported->trial)].push_back(
          {result.training_iteration, result.find("loss").value_or(not_a_number)});
    } else if (std::holds_alternative<AttemptStarted>(event.body) ||
               std::holds_alternative<CheckpointDamaged>(event.body)) {
      for (const Trial& trial : experiment.trials()) {
        std::erase_if(rows[index_of(trial.id)],
                      [&](const Row& row) { return row.iteration > trial.iteration; });
      }
    }
    // No prefix of the record says anything else than its rows.
    for (const Trial& trial : experiment.trials()) {
      const auto& of = rows[index_of(trial.id)];
      const MetricSummary* const loss = trial.summary("loss");
      REQUIRE_FALSE(trial.summaries_in_doubt);
      REQUIRE((loss != nullptr) == !of.empty());
      if (loss == nullptr) continue;
      double best = not_a_number;
      for (const Row& row : of) best = better(Mode::min, row.loss, best) ? row.loss : best;
      REQUIRE(is_same(loss->best(Mode::min), best));
      REQUIRE(is_same(loss->last, of.back().loss));
      REQUIRE(is_same(loss->average(), average_of(of, of.size())));
      REQUIRE(is_same(trial.average_of_last_5(*loss), average_of(of, 5)));
      REQUIRE(is_same(trial.average_of_last_10(*loss), average_of(of, 10)));
    }
  }
  return rows;
}

/// What the journal has of the trial.
std::string story_of(Harness& harness, TrialId id) {
  std::string story;
  for (const Event& event : harness.events()) {
    if (trial_of(event.body) != id) continue;
    append_json(story, event);
    story += '\n';
  }
  return story;
}

/// A curve of its own for each trial: some settle, some are not finite for a while.
double loss_at(int trial, std::int64_t iteration) {
  const auto i = static_cast<double>(iteration);
  if (trial == 1 && iteration >= 6) return 0.5;
  if (trial == 2 && (iteration == 4 || iteration >= 9)) return not_a_number;
  if (trial == 3 && iteration == 7) return -std::numeric_limits<double>::infinity();
  return 1 / i + 0.3 * std::sin(3.0 * trial + i);
}

/// Counts results, as a plug-in would that knows nothing of restores.
class EighthResult : public Stopper {
 public:
  bool should_stop(const Trial& trial, const Result&) override {
    return index_of(trial.id) == 4 && ++seen_ == 8;
  }
  Json save() const override { return seen_; }
  void load(const Json& state) override { seen_ = state; }

 private:
  int seen_ = 0;
};

/// Lets trial 5 go at its tenth result, and says so once.
class TenthResult : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    if (index_of(trial.id) != 5 || result.training_iteration != 10 || std::exchange(said_, true)) {
      return {};
    }
    return {.action = Action::stop, .why = Rationale().add("score", 0.5)};
  }
  Json save() const override { return said_; }
  void load(const Json& state) override { said_ = state; }

 private:
  bool said_ = false;
};

struct Search : Harness {
  explicit Search(bool saves_at_end) {
    trials = 6;
    iterations = 14;
    spec.checkpoint_config = {.num_to_keep = 1, .checkpoint_frequency = 3};
    spec.checkpoint_config.checkpoint_at_end = saves_at_end;
    spec.failure_config.max_failures = -1;
    make_more_stoppers = [] {
      std::vector<std::unique_ptr<Stopper>> more;
      more.push_back(make_trial_plateau({.metric = "loss", .std = 0.01, .num_results = 4}));
      more.push_back(make_not_finite({.metrics = {"loss"}, .times = 3}));
      more.push_back(std::make_unique<EighthResult>());
      return more;
    };
    make_scheduler = [] { return std::make_unique<TenthResult>(); };
    program.step = [this](const Json& config, std::int64_t iteration) {
      const int trial = config["x"];
      FakeStep step;
      const double loss = loss_at(trial, iteration);
      step.metrics = std::isnan(loss)   ? R"({"loss":"NaN"})"
                     : std::isinf(loss) ? R"({"loss":"-Infinity"})"
                                        : R"({"loss":)" + Json(loss).dump() + "}";
      if (fails && fails()) step = {.exits = 1};
      return step;
    };
  }
  std::function<bool()> fails;
};

}  // namespace

TEST_CASE("Failures of trials and kills of the driver change no number of a search",
          "[loop][repeats]") {
  const bool saves_at_end = GENERATE(false, true);
  Search undisturbed(saves_at_end);
  (void)undisturbed.run();
  const auto expected = rows_of(undisturbed.events());
  REQUIRE(undisturbed.trial(1).why.find("deviation 0") != std::string::npos);
  REQUIRE(undisturbed.trial(1).iteration == 8);
  REQUIRE(undisturbed.trial(2).iteration == 11);
  REQUIRE(undisturbed.trial(4).iteration == 8);
  REQUIRE(undisturbed.trial(5).iteration == 10);
  REQUIRE(undisturbed.trial(5).ended_by == EndedBy::scheduler);
  int deaths = 0;
  for (unsigned seed = 1; seed <= 25; seed += test::stride) {
    CAPTURE(saves_at_end, seed);
    std::mt19937 random(seed);
    Search search(saves_at_end);
    // Each driver a different number of times, then one that lives.
    search.fails = [&random] { return random() % 15 == 0; };
    for (int session = 0; session < 3; ++session) {
      search.files.die_at_operation(20 + random() % 150, random() % 7);
      try {
        (void)search.run();
      } catch (const Error&) {
        ++deaths;
      }
      random() % 2 == 0 ? search.files.crash() : search.files.restart();
    }
    (void)search.run();
    const auto rows = rows_of(search.events());
    REQUIRE(rows.size() == expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CAPTURE(i);
      const Trial& trial = search.trial(static_cast<int>(i));
      const Trial& other = undisturbed.trial(static_cast<int>(i));
      INFO(story_of(search, trial.id));
      REQUIRE(trial.state == other.state);
      REQUIRE(trial.ended_by == other.ended_by);
      REQUIRE(trial.why == other.why);
      REQUIRE(rows[i].size() == expected[i].size());
      for (std::size_t k = 0; k < rows[i].size(); ++k) {
        REQUIRE(rows[i][k].iteration == expected[i][k].iteration);
        REQUIRE(is_same(rows[i][k].loss, expected[i][k].loss));
      }
      const MetricSummary& loss = *trial.summary("loss");
      const MetricSummary& other_loss = *other.summary("loss");
      REQUIRE(loss.count == other_loss.count);
      REQUIRE(is_same(loss.best(Mode::min), other_loss.best(Mode::min)));
      REQUIRE(is_same(loss.average(), other_loss.average()));
      REQUIRE(is_same(trial.average_of_last_5(loss), other.average_of_last_5(other_loss)));
      REQUIRE(is_same(trial.average_of_last_10(loss), other.average_of_last_10(other_loss)));
      REQUIRE(trial.last_metrics.text() == other.last_metrics.text());
    }
  }
  CHECK(deaths > 25 / test::stride);
}
