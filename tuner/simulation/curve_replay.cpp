// Trials that go along measured curves, and the best value at each budget of virtual time.
#include "tuner/simulation/curve_replay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "searchers/searchers.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/math/random.h"
#include "tuner/simulation/virtual_clock.h"
#include "tuner/spec/spec_policy.h"

namespace tune {

namespace {

std::size_t column_of(const CurveTable& table, const std::string& metric) {
  const auto found = std::find(table.metrics.begin(), table.metrics.end(), metric);
  if (found != table.metrics.end()) {
    return static_cast<std::size_t>(found - table.metrics.begin());
  }
  throw user_error(unknown_name("metric of the curves", metric, table.metrics));
}

/// Error (user) if no searcher could tell where the config is in the space.
void require_leaves(const SearchSpace& space, const Json& config) {
  const std::vector<Json> values = space.leaf_values(config);
  for (std::size_t leaf = 0; leaf < values.size(); ++leaf) {
    const SpaceLeaf& expected = space.leaves()[leaf];
    if (!values[leaf].is_null() || expected.conditional) continue;
    throw user_error("the param space and the curves do not go together: " + expected.pointer +
                     ", which is " + expected.text + ", has no such value in the config " +
                     config.dump());
  }
}

/// Error (user) if another try of a config would be another config, as each curve is taken once.
void require_tries(const SearchSpace& space, const Json& searcher) {
  if (searcher.value("repeat", std::int64_t{1}) == 1) return;
  const std::string key = "/" + searcher.value("repeat_key", std::string("repeat_index"));
  const auto& leaves = space.leaves();
  const bool has_tries = std::any_of(leaves.begin(), leaves.end(), [&](const SpaceLeaf& leaf) {
    const auto* const integer = std::get_if<Integer>(&leaf.domain);
    return leaf.pointer == key || (integer != nullptr && integer->is_seed);
  });
  if (has_tries) return;
  throw user_error(
      "--searcher/repeat: each config of the curves was trained once, so that another try would be "
      "another config. Curves over several seeds have the seed in the param space, and repeat_key "
      "is its name");
}

/// Positions in the table, in the order in which trials take them up.
std::vector<std::size_t> draw_order(std::size_t curves, std::size_t limit, std::uint64_t seed) {
  std::vector<std::size_t> order(curves);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = 0; i + 1 < curves; ++i) {
    std::swap(order[i], order[i + random.below(curves - i)]);
  }
  if (limit > 0 && limit < order.size()) order.resize(limit);
  return order;
}

std::vector<Suggestion> rows_of(const CurveTable& table, const std::vector<std::size_t>& order) {
  std::vector<Suggestion> rows;
  for (const std::size_t at : order) {
    rows.push_back({table.curves[at].config, table.curves[at].tag});
  }
  return rows;
}

/// Some do nothing without a searcher of theirs.
bool needs_searcher(const Json& scheduler) {
  return scheduler.value("type", Json()) == "freeze_thaw";
}

/// `taken`, by trial, has the order of the table's curves until the searcher has decided.
std::unique_ptr<Searcher> make_searcher(const ExperimentSpec& spec, const Catalogue& catalogue,
                                        const CurveTable& table, const Json& searcher,
                                        std::vector<std::size_t>& taken) {
  if (searcher.is_null() && needs_searcher(spec.scheduler)) {
    return make_searcher(spec, catalogue, table, {{"type", "freeze_thaw"}}, taken);
  }
  if (searcher.is_null()) return make_rows(rows_of(table, taken));
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", problems);
  PolicyContext context{space, spec.objectives, spec.num_samples, spec.seed};
  context.scheduler = spec.scheduler;
  for (const Curve& curve : table.curves) context.only_configs.push_back(curve.config);
  context.max_concurrent_trials = static_cast<std::int64_t>(spec.resources.at("cpu"));
  auto inner =
      make_policy(searcher, "--searcher", "searcher", catalogue.searchers, context, problems);
  if (!problems.empty()) throw user_error(problems[0].pointer + ": " + problems[0].sentence);
  if (space.leaves().empty()) {
    throw user_error("a searcher needs a param space, in the spec or as --param-space");
  }
  if (space.has_grid()) throw user_error("/param_space: no searcher goes through a grid of curves");
  require_tries(space, searcher);
  std::vector<std::size_t> all(table.curves.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const Curve& curve : table.curves) require_leaves(space, curve.config);
  return make_nearest_rows(space, rows_of(table, all), taken, std::move(inner));
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += encode_number(value).dump();
    return;
  }
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Trial i trains along the curve that it has taken.
class Replay {
 public:
  Replay(const CurveTable& table, const std::vector<std::size_t>& taken)
      : table_(table), taken_(taken) {
    for (const auto& metric : table.metrics) keys_.push_back(Json(metric).dump() + ":");
  }

  SimulatedStep operator()(const SimulatedRun& run) const {
    const auto trial = parse_trial_id(run.trial_id);
    ensure(trial && index_of(*trial) < taken_.size(), "each simulated trial has a curve");
    const Curve& curve = table_.curves[taken_[index_of(*trial)]];
    if (run.config != curve.config) {
      throw user_error("the scheduler has changed the config of " + run.trial_id +
                       ", and no curve tells what comes of that: only schedulers that leave "
                       "configs alone can be judged on curves");
    }
    const auto at = static_cast<std::size_t>(run.iteration) - 1;
    if (at >= curve.iterations()) return {.metrics = {}, .takes_s = 0, .done = true};
    SimulatedStep step{.metrics = Metrics{"{", {}},
                       .takes_s = curve.seconds[at],
                       .done = at + 1 == curve.iterations()};
    const std::size_t width = table_.metrics.size();
    step.metrics->numbers.reserve(width);
    for (std::size_t i = 0; i < width; ++i) {
      const double value = curve.values[at * width + i];
      if (i > 0) step.metrics->text += ',';
      step.metrics->text += keys_[i];
      append_number(step.metrics->text, value);
      step.metrics->numbers.push_back({table_.metrics[i], value});
    }
    step.metrics->text += '}';
    return step;
  }

 private:
  const CurveTable& table_;
  const std::vector<std::size_t>& taken_;
  std::vector<std::string> keys_;  ///< of the metrics in a JSON object
};

/// Watches what is found by when.
class Watch final : public Callback {
 public:
  Watch(const Objective& objective, const ReplayOptions& options, std::vector<ReplayMark>& marks)
      : objective_(objective), options_(options), marks_(marks) {
    now_.best = std::numeric_limits<double>::quiet_NaN();
  }
  std::string name() const override { return "watch"; }

  void on_trial_start(const Trial& trial) override {
    if (trial.attempt > 1) return;
    move_to(trial.started - VirtualClock::epoch_s);
    ++now_.trials;
  }
  void on_trial_result(const Trial&, Result& result) override {
    const Seconds time = result.timestamp - VirtualClock::epoch_s;
    move_to(time);
    now_.time_s = time;
    ++now_.iterations;
    const double value = result.find(objective_.metric).value_or(now_.best);
    if (better(objective_.mode, value, now_.best)) now_.best = value;
    if (!now_.target_s && options_.target &&
        !better(objective_.mode, *options_.target, now_.best) && !std::isnan(now_.best)) {
      now_.target_s = time;
    }
  }
  void on_experiment_end(const Experiment&) override {
    move_to(std::numeric_limits<Seconds>::infinity());
    if (options_.budgets.empty()) marks_.push_back(now_);
  }

 private:
  /// Whatever happens from now on happens at `time` or later.
  void move_to(Seconds time) {
    for (; marks_.size() < options_.budgets.size(); marks_.push_back(now_)) {
      const Seconds budget = options_.budgets[marks_.size()];
      if (time <= budget) return;
      now_.budget_s = budget;
    }
  }

  const Objective& objective_;
  const ReplayOptions& options_;
  std::vector<ReplayMark>& marks_;
  ReplayMark now_;
};

}  // namespace

double best_in(const CurveTable& table, const Objective& objective) {
  const std::size_t column = column_of(table, objective.metric);
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const Curve& curve : table.curves) {
    for (std::size_t i = column; i < curve.values.size(); i += table.metrics.size()) {
      if (better(objective.mode, curve.values[i], best)) best = curve.values[i];
    }
  }
  return best;
}

std::vector<ReplayMark> replay_curves(const ExperimentSpec& given, const Catalogue& catalogue,
                                      const CurveTable& table, const ReplayOptions& options) {
  ExperimentSpec spec = given;
  const Objective* const objective = sole(spec.objectives);
  if (!objective) throw user_error("a simulation needs one metric and mode to compare by");
  column_of(table, objective->metric);
  auto taken = draw_order(table.curves.size(), options.configs, options.seed);
  spec.seed = options.seed;
  spec.num_samples = static_cast<std::int64_t>(taken.size());
  if (!options.budgets.empty()) spec.time_budget_s = options.budgets.back();
  std::vector<ReplayMark> marks;
  SimulationOptions simulation;
  simulation.directory = options.directory;
  simulation.searcher = make_searcher(spec, catalogue, table, options.searcher, taken);
  // In name only: `simulation.searcher` is asked.
  spec.searcher = {{"type", needs_searcher(spec.scheduler) ? "freeze_thaw" : "random"}};
  simulation.callbacks.push_back(std::make_unique<Watch>(*objective, options, marks));
  SimulatedProgram program;
  program.step = Replay(table, taken);
  program.launch_s = options.launch_s;
  program.save_s = options.save_s;
  simulate_experiment(spec, catalogue, std::move(program), std::move(simulation));
  return marks;
}

}  // namespace tune
