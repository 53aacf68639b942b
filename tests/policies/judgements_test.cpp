// What schedulers say that they have judged a result by.
#include "tests/policies/scheduler_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

std::string why(Scheduler& scheduler, std::uint32_t id, std::int64_t iteration, double loss) {
  return scheduler.on_result(trial_number(id), result_at(iteration, loss)).why.text();
}

void add(Scheduler& scheduler, std::uint32_t count) {
  for (std::uint32_t id = 0; id < count; ++id) {
    Trial trial = trial_number(id);
    trial.config = R"({"x":0.5})";
    scheduler.on_trial_add(trial);
    trial.state = TrialState::running;
    scheduler.on_trial_start(trial);
  }
}

void pause(Scheduler& scheduler, std::uint32_t id) {
  Trial trial = trial_number(id);
  trial.state = TrialState::paused;
  scheduler.on_trial_wait(trial);
}

}  // namespace

TEST_CASE("asha says at which rung, with what score, below which cutoff of how many", "[asha]") {
  const auto asha = make_scheduler("asha", {{"max_t", 8}, {"reduction_factor", 2}});
  add(*asha, 4);
  CHECK(why(*asha, 0, 1, 0.5) == R"({"rung":1,"score":0.5,"of":0})");
  CHECK(why(*asha, 1, 1, 0.7) == R"({"rung":1,"score":0.7,"cutoff":0.5,"of":1})");
  CHECK(why(*asha, 2, 1, 0.25) == R"({"rung":1,"score":0.25,"cutoff":0.6,"of":2})");
  // Between two rungs nothing is judged, nor is what has been judged before.
  CHECK(why(*asha, 2, 1, 0.25).empty());
  CHECK(why(*asha, 2, 3, 0.25) == R"({"rung":2,"score":0.25,"of":0})");
  CHECK(why(*asha, 2, 3, 0.25).empty());
  CHECK(why(*asha, 2, 8, 0.25) == R"({"max_t":8})");
}

TEST_CASE("Whoever judges a score that is infinite says which infinity it was", "[asha][nan]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto says = [](const std::string& type, const Json& options, double loss) {
    const auto scheduler = make_scheduler(type, options);
    add(*scheduler, 2);
    (void)why(*scheduler, 0, 2, 0.5);
    return why(*scheduler, 1, 2, loss);
  };
  const Json halving = {{"max_t", 8}, {"reduction_factor", 2}};
  const Json population = {{"time_attr", "training_iteration"},
                           {"perturbation_interval", 2},
                           {"hyperparam_mutations", {{"x", {{"uniform", {0, 1}}}}}}};
  for (const auto& [type, options] :
       std::vector<std::pair<std::string, Json>>{{"asha", halving},
                                                 {"asha_promotion", halving},
                                                 {"hyperband", halving},
                                                 {"pbt", population}}) {
    INFO(type);
    CHECK_THAT(says(type, options, infinity), Catch::Matchers::Contains(R"("score":"Infinity")"));
    CHECK_THAT(says(type, options, -infinity), Catch::Matchers::Contains(R"("score":"-Infinity")"));
  }
}

TEST_CASE("asha says the metric's own values in mode max, and which bracket", "[asha]") {
  const auto asha = make_scheduler("asha", {{"max_t", 8},
                                            {"reduction_factor", 2},
                                            {"metric", "gain"},
                                            {"mode", "max"},
                                            {"brackets", 2}});
  add(*asha, 1);
  const std::string said = why(*asha, 0, 2, 0.5);
  CHECK(said.find(R"("score":-0.5)") != std::string::npos);
  CHECK(said.find(R"("bracket":)") != std::string::npos);
}

TEST_CASE("asha_promotion says the place at a rung, and how many of it are promoted",
          "[asha_promotion]") {
  const auto asha = make_scheduler("asha_promotion", {{"max_t", 8}, {"reduction_factor", 2}});
  add(*asha, 3);
  CHECK(why(*asha, 0, 1, 0.5) == R"({"rung":1,"score":0.5,"place":1,"promoted":0,"of":1})");
  CHECK(why(*asha, 1, 1, 0.4) == R"({"rung":1,"score":0.4,"place":1,"promoted":1,"of":2})");
  CHECK(why(*asha, 2, 1, 0.6) == R"({"rung":1,"score":0.6,"place":3,"promoted":1,"of":3})");
  CHECK(why(*asha, 1, 8, 0.1) == R"({"max_t":8})");
}

TEST_CASE("hyperband says who has arrived, and what the cutoff was once all have", "[hyperband]") {
  const auto hyperband = make_scheduler("hyperband", {{"max_t", 2}, {"reduction_factor", 2}});
  add(*hyperband, 2);
  CHECK(why(*hyperband, 0, 1, 0.5) == R"({"rung":1,"score":0.5,"arrived":1,"of":2,"bracket":0})");
  pause(*hyperband, 0);
  CHECK(why(*hyperband, 1, 1, 0.75) ==
        R"({"rung":1,"score":0.75,"arrived":2,"of":2,"bracket":0,"cutoff":0.5,"kept":1})");
}

TEST_CASE("median_stopping says the best so far and the median of how many", "[median_stopping]") {
  const auto median =
      make_scheduler("median_stopping", {{"time_attr", "training_iteration"}, {"grace_period", 1}});
  add(*median, 4);
  for (std::uint32_t id = 0; id < 3; ++id) CHECK(why(*median, id, 1, id + 1.0).empty());
  CHECK(why(*median, 3, 1, 1.5) == R"({"best":1.5,"median":2,"of":3})");
}

TEST_CASE("pbt says the place in the population", "[pbt]") {
  const auto pbt =
      make_scheduler("pbt", {{"time_attr", "training_iteration"},
                             {"perturbation_interval", 2},
                             {"hyperparam_mutations", {{"x", {{"uniform", {0, 1}}}}}}});
  add(*pbt, 2);
  CHECK(why(*pbt, 0, 1, 0.5).empty());
  CHECK(why(*pbt, 0, 2, 0.5) == R"({"time":2,"score":0.5,"place":1,"of":1,"quantile":0})");
  CHECK(why(*pbt, 1, 2, 0.75) == R"({"time":2,"score":0.75,"place":2,"of":2,"quantile":1})");
}

TEST_CASE("Synchronous pbt says at which barrier a trial is held", "[pbt]") {
  const auto pbt =
      make_scheduler("pbt", {{"time_attr", "training_iteration"},
                             {"perturbation_interval", 2},
                             {"synch", true},
                             {"hyperparam_mutations", {{"x", {{"uniform", {0, 1}}}}}}});
  add(*pbt, 2);
  CHECK(why(*pbt, 0, 1, 0.5).empty());
  CHECK(why(*pbt, 0, 2, 0.5) == R"({"time":2,"score":0.5,"sync":2})");
}
