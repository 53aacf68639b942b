#include "tuner/policy/stopper.h"

#include <limits>

#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/policy/stopper_catalogue.h"
#include "tuner/space/search_space.h"

using namespace tune;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

Trial trial_of(std::uint32_t id) {
  Trial trial;
  trial.id = TrialId(id);
  return trial;
}

Result result_of(double value, std::int64_t iteration = 1) {
  Result result;
  result.training_iteration = iteration;
  result.metrics.numbers = {{"loss", value}};
  return result;
}

/// Which of the values, told one after the other, stop trial `id`: "x", else ".".
std::string stops(Stopper& stopper, const std::vector<double>& values, std::uint32_t id = 0) {
  std::string answers;
  std::int64_t iteration = 0;
  for (const double value : values) {
    const bool stop = stopper.should_stop(trial_of(id), result_of(value, ++iteration));
    answers += stop ? 'x' : '.';
  }
  return answers;
}

bool stops_all(const Stopper& stopper) { return stopper.should_stop_all(0).has_value(); }

/// A stopper like `stopper` that has loaded its state, by way of text.
template <class Make>
std::unique_ptr<Stopper> reloaded(const Stopper& stopper, Make make) {
  auto other = make();
  other->load(Json::parse(stopper.save().dump()));
  CHECK(other->save() == stopper.save());
  return other;
}

Factory<Stopper> factory_of(const std::string& name) {
  Catalogue catalogue;
  add_stoppers(catalogue);
  return catalogue.stoppers.at(name);
}

std::string complaint(const std::string& name, const Json& options) {
  const SearchSpace space;
  try {
    factory_of(name)(options, PolicyContext{space, {}, 1, 0});
  } catch (const OptionError& error) {
    return error.pointer + ": " + error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("A metric bound stops at its bound, and never for NaN or a missing metric",
          "[stopper][unit]") {
  const auto answers = [](Comparison comparison, double bound) {
    return stops(*make_metric_bound("loss", comparison, bound),
                 {0, 1, 2, not_a_number, infinity, -infinity});
  };
  CHECK(answers(Comparison::greater_equal, 1) == ".xx.x.");
  CHECK(answers(Comparison::greater, 1) == "..x.x.");
  CHECK(answers(Comparison::less_equal, 1) == "xx...x");
  CHECK(answers(Comparison::less, 1) == "x....x");
  CHECK(stops(*make_metric_bound("accuracy", Comparison::greater_equal, -infinity), {1, 2}) ==
        "..");
}

TEST_CASE("A metric bound also knows the fields that the driver fills in", "[stopper][unit]") {
  const auto stopper = make_metric_bound("training_iteration", Comparison::greater_equal, 3);
  CHECK(stops(*stopper, {9, 9, 9, 9}) == "..xx");
}

TEST_CASE("max_iteration stops at its iteration, also of a trial that was restored",
          "[stopper][unit]") {
  const auto stopper = make_max_iteration(3);
  CHECK(stops(*stopper, {9, 9, 9, 9}) == "..xx");
  CHECK_FALSE(stopper->should_stop(trial_of(1), result_of(1, 2)));
  CHECK(stopper->should_stop(trial_of(1), result_of(1, 3)));
}

TEST_CASE("The stopper nan counts results in a row that are not finite", "[stopper][unit]") {
  const auto answers = [](int times, const std::vector<double>& values) {
    return stops(*make_not_finite({.metrics = {"loss"}, .times = times}), values);
  };
  CHECK(answers(1, {1, not_a_number, 1, infinity, -infinity}) == ".x.xx");
  CHECK(answers(2, {not_a_number, 1, not_a_number, infinity, 1, not_a_number}) == "...x..");
  const auto other = make_not_finite({.metrics = {"accuracy"}});
  CHECK(stops(*other, {not_a_number, 1}) == "..");
  const auto both = make_not_finite({.metrics = {"accuracy", "loss"}, .times = 2});
  CHECK(stops(*both, {not_a_number}, 1) == ".");
  CHECK(stops(*both, {not_a_number}, 2) == ".");
  CHECK(stops(*both, {not_a_number}, 1) == "x");
  CHECK(both->why().words() == "not finite loss, times 2");
  both->on_trial_end(trial_of(1));
  CHECK(stops(*both, {not_a_number}, 1) == ".");
  const auto again =
      reloaded(*both, [] { return make_not_finite({.metrics = {"loss"}, .times = 2}); });
  CHECK(stops(*again, {not_a_number}, 2) == "x");
}

TEST_CASE("What a trial repeats is not counted again, and ends it where it had ended",
          "[stopper][unit]") {
  // It has come to `counted`, and is told of an earlier iteration, or that one, once more.
  const auto again = [](Stopper& stopper, double value, std::int64_t iteration,
                        std::int64_t counted) {
    Trial trial = trial_of(0);
    trial.counted_iteration = counted;
    trial.iteration = iteration - 1;
    REQUIRE(trial.repeats(result_of(value, iteration)));
    return stopper.should_stop_again(trial, result_of(value, iteration));
  };
  SECTION("nan") {
    const auto stopper = make_not_finite({.metrics = {"loss"}, .times = 3});
    CHECK(stops(*stopper, {1, not_a_number}) == "..");
    for (int i = 0; i < 5; ++i) CHECK_FALSE(again(*stopper, not_a_number, 2, 2));
    CHECK(stops(*stopper, {not_a_number, not_a_number}) == ".x");
    CHECK_FALSE(again(*stopper, not_a_number, 3, 4));
    CHECK(again(*stopper, not_a_number, 4, 4));
  }
  SECTION("trial_plateau") {
    TrialPlateauOptions options{.metric = "loss"};
    const auto stopper = make_trial_plateau(options);
    CHECK(stops(*stopper, {1, 2, 3, 4, 5, 6}) == "......");
    for (int i = 0; i < 5; ++i) CHECK_FALSE(again(*stopper, 6, 6, 6));
    CHECK(stops(*stopper, {6, 6, 6}) == "..x");
    CHECK_FALSE(again(*stopper, 6, 8, 9));
    CHECK(again(*stopper, 6, 9, 9));
  }
  SECTION("experiment_plateau") {
    ExperimentPlateauOptions options{.metric = "loss", .top = 1, .patience = 1};
    const auto stopper = make_experiment_plateau(options);
    CHECK(stops(*stopper, {1}) == ".");
    for (int i = 0; i < 5; ++i) CHECK_FALSE(again(*stopper, 1, 1, 1));
    CHECK_FALSE(stops_all(*stopper));
    CHECK(stops(*stopper, {1}) == ".");
    CHECK(stops_all(*stopper));
  }
  SECTION("those that look at the result alone") {
    const auto iterations = make_max_iteration(4);
    CHECK_FALSE(again(*iterations, 1, 3, 9));
    CHECK(again(*iterations, 1, 4, 9));
    const auto bound = make_metric_bound("loss", Comparison::less, 2);
    CHECK(again(*bound, 1, 3, 9));
    CHECK_FALSE(again(*bound, 2, 3, 9));
  }
  SECTION("one of somebody else's") {
    class Counter : public Stopper {
     public:
      bool should_stop(const Trial&, const Result&) override { return ++asked == 3; }
      int asked = 0;
    };
    Counter counter;
    CHECK_FALSE(again(counter, 1, 3, 9));
    Trial trial = trial_of(0);
    trial.counted_iteration = 9;
    trial.ended_by = EndedBy::rule;
    trial.end_iteration = 9;
    CHECK_FALSE(counter.should_stop_again(trial, result_of(1, 8)));
    CHECK(counter.should_stop_again(trial, result_of(1, 9)));
    CHECK(counter.asked == 0);
  }
}

TEST_CASE("A time budget ends everything when it is used up", "[stopper][unit]") {
  const auto stopper = make_time_budget(60);
  CHECK_FALSE(stopper->should_stop(trial_of(0), result_of(1)));
  CHECK_FALSE(stopper->should_stop_all(59.9));
  CHECK(stopper->should_stop_all(60) == "the time budget of 60 s is used up");
}

TEST_CASE("A trial plateau is a window of values that differ little", "[stopper][unit]") {
  TrialPlateauOptions options;
  options.metric = "loss";
  options.std = 0.1;
  options.num_results = 3;
  options.grace_period = 0;
  CHECK(stops(*make_trial_plateau(options), {1, 1, 1}) == "..x");
  CHECK(stops(*make_trial_plateau(options), {5, 1, 1.1, 1}) == "...x");
  CHECK(stops(*make_trial_plateau(options), {1, 2, 3, 4, 5}) == ".....");
  CHECK(stops(*make_trial_plateau(options), {1, not_a_number, 1, 1, 1}) == "....x");
  // The population's standard deviation of 0, 0, 3 is the square root of 2.
  options.std = 1.4142136;
  CHECK(stops(*make_trial_plateau(options), {0, 0, 3}) == "..x");
  options.std = 1.4142135;
  CHECK(stops(*make_trial_plateau(options), {0, 0, 3}) == "...");
}

TEST_CASE("A plateau is found also among numbers whose squares no double holds",
          "[stopper][unit]") {
  TrialPlateauOptions options{.metric = "loss", .std = 0, .num_results = 7, .grace_period = 0};
  CHECK(stops(*make_trial_plateau(options), std::vector<double>(7, 0.1)) == "......x");
  options.num_results = 2;
  options.std = 1e300;
  CHECK(stops(*make_trial_plateau(options), {1.7e308, 1.7e308}) == ".x");
  CHECK(stops(*make_trial_plateau(options), {1.7e308, -1.7e308, infinity, infinity}) == "....");
  ExperimentPlateauOptions all{.metric = "loss", .std = 1, .top = 2};
  const auto stopper = make_experiment_plateau(all);
  stops(*stopper, {1.7e308}, 0);
  stops(*stopper, {1.7e308}, 1);
  CHECK(stops_all(*stopper));
}

TEST_CASE("A trial plateau waits for its grace period and its threshold", "[stopper][unit]") {
  TrialPlateauOptions options;
  options.metric = "loss";
  options.num_results = 2;
  options.grace_period = 4;
  CHECK(stops(*make_trial_plateau(options), {1, 1, 1, 1}) == "...x");
  options.grace_period = 0;
  options.metric_threshold = 5;
  options.mode = Mode::max;
  CHECK(stops(*make_trial_plateau(options), {1, 1, 5, 5}) == "...x");
  options.mode = Mode::min;
  CHECK(stops(*make_trial_plateau(options), {6, 6, 5, 5}) == "...x");
}

TEST_CASE("A trial plateau looks at each trial by itself and forgets those that have ended",
          "[stopper][unit]") {
  TrialPlateauOptions options;
  options.metric = "loss";
  options.num_results = 2;
  options.grace_period = 2;
  const auto stopper = make_trial_plateau(options);
  CHECK(stops(*stopper, {1}, 0) == ".");
  CHECK(stops(*stopper, {1}, 1) == ".");
  CHECK(stopper->save()["trials"].size() == 2);
  CHECK(stops(*stopper, {1}, 0) == "x");
  // It may die before it has ended, and come there again.
  CHECK(stopper->save()["trials"].size() == 2);
  stopper->on_trial_end(trial_of(0));
  stopper->on_trial_end(trial_of(1));
  CHECK(stopper->save()["trials"].empty());
}

TEST_CASE("An experiment plateau looks at the best value of each trial", "[stopper][unit]") {
  ExperimentPlateauOptions options;
  options.metric = "loss";
  options.top = 2;
  const auto stopper = make_experiment_plateau(options);
  CHECK(stops(*stopper, {1, 1, 1, 1}, 0) == "....");
  CHECK_FALSE(stops_all(*stopper));
  stops(*stopper, {2}, 1);
  CHECK_FALSE(stops_all(*stopper));
  stops(*stopper, {not_a_number}, 2);
  CHECK_FALSE(stops_all(*stopper));
  stops(*stopper, {1}, 2);
  CHECK(stopper->should_stop_all(0) == "the best 2 values of 'loss' have settled");
  // A new best value breaks the plateau again.
  stops(*stopper, {0.5}, 1);
  CHECK_FALSE(stops_all(*stopper));
}

TEST_CASE("An experiment plateau has patience for further results", "[stopper][unit]") {
  ExperimentPlateauOptions options;
  options.metric = "loss";
  options.mode = Mode::max;
  options.top = 2;
  options.patience = 2;
  const auto stopper = make_experiment_plateau(options);
  stops(*stopper, {3}, 0);
  stops(*stopper, {3}, 1);
  CHECK_FALSE(stops_all(*stopper));
  stops(*stopper, {1}, 2);
  CHECK_FALSE(stops_all(*stopper));
  stops(*stopper, {1}, 3);
  CHECK(stops_all(*stopper));
}

TEST_CASE("Saved plateau stoppers give the same answers after loading", "[stopper][unit]") {
  const auto make_trial = [] {
    TrialPlateauOptions options;
    options.metric = "loss";
    return make_trial_plateau(options);
  };
  const auto trial = make_trial();
  stops(*trial, {1, not_a_number, infinity, 1, 1, 1}, 7);
  CHECK(stops(*reloaded(*trial, make_trial), {1}, 7) == "x");

  const auto make_experiment = [] {
    ExperimentPlateauOptions options;
    options.metric = "loss";
    options.top = 2;
    options.patience = 1;
    return make_experiment_plateau(options);
  };
  const auto experiment = make_experiment();
  stops(*experiment, {1}, 0);
  stops(*experiment, {1}, 1);
  CHECK_FALSE(stops_all(*experiment));
  const auto other = reloaded(*experiment, make_experiment);
  CHECK_FALSE(stops_all(*other));
  stops(*other, {5}, 2);
  CHECK(stops_all(*other));
}

TEST_CASE("A stopper refuses a state that is not its own and keeps what it has",
          "[stopper][unit]") {
  TrialPlateauOptions options;
  options.metric = "loss";
  const auto stopper = make_trial_plateau(options);
  stops(*stopper, {1, 1});
  const Json before = stopper->save();
  for (const Json& bad : {Json(nullptr), Json(1), Json{{"trials", 3}},
                          Json{{"trials", Json::array({Json::array({"x"})})}}}) {
    INFO(bad.dump());
    CHECK_THROWS_AS(stopper->load(bad), Error);
    CHECK(stopper->save() == before);
  }
  ExperimentPlateauOptions experiment_options;
  CHECK_THROWS_AS(make_experiment_plateau(experiment_options)->load(before), Error);
}

TEST_CASE("make_any_of asks every stopper about every result", "[stopper][unit]") {
  const auto make = [] {
    TrialPlateauOptions options;
    options.metric = "loss";
    options.num_results = 2;
    options.grace_period = 0;
    std::vector<std::unique_ptr<Stopper>> stoppers;
    stoppers.push_back(make_metric_bound("loss", Comparison::less, 1));
    stoppers.push_back(make_trial_plateau(options));
    stoppers.push_back(make_time_budget(10));
    return make_any_of(std::move(stoppers));
  };
  const auto stopper = make();
  CHECK(stops(*stopper, {0.5}) == "x");
  CHECK(stops(*reloaded(*stopper, make), {0.5}) == "x");
  CHECK(stops(*stopper, {2, 4, 4}, 1) == "..x");
  CHECK_FALSE(stopper->should_stop_all(9));
  CHECK(stopper->should_stop_all(10));
  CHECK_THROWS_AS(stopper->load({{"stoppers", Json::array()}}), Error);
  for (const std::uint32_t id : {0, 1}) stopper->on_trial_end(trial_of(id));
  CHECK(stopper->save()["stoppers"]["1"]["trials"].empty());
}

TEST_CASE("A stopper finds its state again where the rules beside it have changed",
          "[stopper][unit]") {
  const auto plateau = [](int num_results) {
    TrialPlateauOptions options;
    options.metric = "loss";
    options.num_results = num_results;
    options.grace_period = 0;
    return make_trial_plateau(options);
  };
  std::vector<NamedStopper> before;
  before.push_back({"bound", make_metric_bound("loss", Comparison::less, 1)});
  before.push_back({"plateau", plateau(3)});
  const auto old_rules = make_any_of(std::move(before));
  REQUIRE(stops(*old_rules, {9, 4}) == "..");
  const Json state = old_rules->save();

  const auto changed = [&](const std::string& name, int num_results) {
    std::vector<NamedStopper> after;
    after.push_back({name, plateau(num_results)});
    auto rules = make_any_of(std::move(after));
    rules->load(state);
    return rules;
  };
  CHECK(stops(*changed("plateau", 3), {4, 4}) == ".x");
  CHECK(stops(*changed("plateau", 2), {4}) == "x");      // a shorter window
  CHECK(stops(*changed("plateau", 4), {4, 4}) == "..");  // a longer one
  CHECK(stops(*changed("other", 3), {4, 4}) == "..");    // begins anew
}

TEST_CASE("A plateau over fewer results than it was goes on with the latest of them",
          "[stopper][unit]") {
  const auto plateau = [](int num_results) {
    TrialPlateauOptions options;
    options.metric = "loss";
    options.num_results = num_results;
    options.grace_period = 0;
    return make_trial_plateau(options);
  };
  const auto wide = plateau(4);
  REQUIRE(stops(*wide, {9, 8, 7, 4}) == "....");
  const auto narrow = plateau(2);
  narrow->load(wide->save());
  CHECK(narrow->save()["trials"] == Json::parse("[[0, 4, [7.0, 4.0]]]"));
  CHECK(stops(*narrow, {4}) == "x");
}

TEST_CASE("An experiment plateau goes on with fewer values, and in the other mode",
          "[stopper][unit]") {
  const auto make = [](int top, Mode mode) {
    ExperimentPlateauOptions options;
    options.metric = "loss";
    options.top = top;
    options.mode = mode;
    return make_experiment_plateau(options);
  };
  const auto wide = make(4, Mode::min);
  for (int trial = 0; trial < 4; ++trial) stops(*wide, {static_cast<double>(trial)}, trial);
  const auto narrow = make(2, Mode::max);
  narrow->load(wide->save());
  // Of 3, 2, 1 and 0 the best two are 3 and 2 now.
  CHECK(narrow->save()["best"] == Json{{3.0, 3}, {2.0, 2}});
}

TEST_CASE("Stoppers are made by name with their options", "[stopper][unit]") {
  const SearchSpace space;
  const PolicyContext context{space, {{"loss", Mode::min}}, 1, 0};
  CHECK(stops(*factory_of("max_iteration")({{"iterations", 2}}, context), {1, 1}) == ".x");
  CHECK(factory_of("time_budget")({{"seconds", 2}}, context)->should_stop_all(2));
  CHECK(stops(*factory_of("nan")(Json::object(), context), {1, not_a_number}) == ".x");
  CHECK(stops(*factory_of("nan")({{"metric", "loss"}, {"times", 2}}, context),
              {not_a_number, not_a_number}) == ".x");
  const auto plateau =
      factory_of("trial_plateau")({{"num_results", 2}, {"grace_period", 0}}, context);
  CHECK(stops(*plateau, {1, 1}) == ".x");
  const auto all = factory_of("experiment_plateau")({{"metric", "loss"}, {"top", 2}}, context);
  stops(*all, {1}, 0);
  stops(*all, {1}, 1);
  CHECK(stops_all(*all));
}

TEST_CASE("A stopper that compares is told the mode of a metric that is not the experiment's",
          "[stopper][unit]") {
  const SearchSpace space;
  PolicyContext context{space, {{"loss", Mode::min}}, 1, 0};
  const Json gain = {{"metric", "gain"}}, threshold = {{"metric", "gain"}, {"metric_threshold", 1}};
  const auto refuses = [&](const char* name, const Json& options) {
    try {
      factory_of(name)(options, context);
    } catch (const OptionError& error) {
      return error.pointer;
    }
    return std::string();
  };
  CHECK(refuses("experiment_plateau", gain).empty());  // it has begun
  context.is_new = true;
  CHECK(refuses("experiment_plateau", gain) == "/mode");
  CHECK(refuses("experiment_plateau", {{"metric", "gain"}, {"mode", "max"}}).empty());
  CHECK(refuses("trial_plateau", gain).empty());  // it compares with nothing
  CHECK(refuses("trial_plateau", threshold) == "/mode");
}

TEST_CASE("Bad options of stoppers are refused with a sentence", "[stopper][unit]") {
  CHECK(complaint("max_iteration", Json::object()) ==
        ": 'iterations' is needed here and has no default");
  CHECK(complaint("max_iteration", {{"iterations", 0}}) ==
        "/iterations: 'iterations' must be at least 1, got 0");
  CHECK(complaint("time_budget", {{"seconds", 1}, {"minutes", 2}}) ==
        "/minutes: unknown option 'minutes', expected 'seconds'");
  CHECK(complaint("nan", Json::object()) == ": 'metric' is needed here and has no default");
  CHECK(complaint("nan", {{"metric", "loss"}, {"times", 0}}) ==
        "/times: 'times' must be at least 1, got 0");
  CHECK(complaint("trial_plateau", Json::object()) ==
        ": 'metric' is needed here and has no default");
  CHECK(complaint("trial_plateau", {{"metric", "loss"}, {"num_results", 1}}) ==
        "/num_results: 'num_results' must be at least 2, got 1");
  CHECK(complaint("experiment_plateau", {{"metric", "loss"}, {"pateince", 1}}) ==
        "/pateince: unknown option 'pateince', did you mean 'patience'?");
  CHECK(complaint("experiment_plateau", {{"metric", "loss"}, {"top", 1}}) ==
        "/top: 'top' must be at least 2, got 1");
}
