// What every searcher that learns makes of trials that fail.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

const Json square = {{"x", {{"uniform", {0, 1}}}}, {"y", {{"uniform", {0, 1}}}}};

struct Learner {
  std::string name;
  Json options = nullptr;
};

/// Each with as few trials to know beforehand as it takes.
const std::vector<Learner> learners = {{"tpe"},
                                       {"gp", {{"n_candidates", 64}, {"n_local_searches", 2}}},
                                       {"stages", {{"switch_after", 20}}},
                                       {"bohb", {{"max_t", 1}, {"random_fraction", 0}}},
                                       {"nsga2", {{"population", 8}}}};

std::unique_ptr<Searcher> make(const Learner& learner, std::uint64_t seed = 1) {
  return make_searcher(learner.name, square, -1, learner.options, seed);
}

/// Of 40 trials spread over the square; the score rises up to x = 0.5, and with y.
void tell_known(Searcher& searcher, const Observation& beyond, Ended how) {
  for (std::uint32_t id = 0; id < 40; ++id) {
    const double x = (id + 0.5) / 40, y = std::fmod(id * 0.618, 1.0);
    searcher.on_trial_add(TrialId(id), Json{{"x", x}, {"y", y}}.dump());
    if (x < 0.5) {
      searcher.on_trial_end(TrialId(id), {1, {x + 0.1 * y}}, Ended::complete);
    } else {
      searcher.on_trial_end(TrialId(id), beyond, how);
    }
  }
}

/// How many of the next 20 suggestions, none of which ends, lie beyond x = 0.5.
int beyond_of_next(Searcher& searcher) {
  int beyond = 0;
  for (std::uint32_t id = 40; id < 60; ++id) {
    const Json config = next_config(searcher, id);
    searcher.on_trial_add(TrialId(id), config.dump());
    if (config.at("x").get<double>() >= 0.5) ++beyond;
  }
  return beyond;
}

}  // namespace

TEST_CASE("Searchers that learn keep away from where configs fail", "[failures][statistics]") {
  for (const Learner& learner : learners) {
    INFO(learner.name);
    int beyond = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto searcher = make(learner, seed);
      tell_known(*searcher, {0, {}}, Ended::failed);
      beyond += beyond_of_next(*searcher);
    }
    CHECK(beyond <= 12);  // of 60
  }
}

TEST_CASE("A score that is no finite number is a failure, whoever has ended the trial",
          "[failures][nan]") {
  for (const Learner& learner : learners) {
    for (const double score : {no_number, infinity, -infinity}) {
      for (const Ended how : {Ended::complete, Ended::stopped}) {
        INFO(learner.name << " " << score << " " << static_cast<int>(how));
        const auto searcher = make(learner), failed = make(learner);
        tell_known(*searcher, {1, {score}}, how);
        tell_known(*failed, {1, {-infinity}}, Ended::failed);
        for (std::uint32_t id = 40; id < 43; ++id) {
          CHECK(next_config(*searcher, id) == next_config(*failed, id));
        }
      }
    }
  }
}

TEST_CASE("A trial that the machine has cost teaches nothing", "[failures]") {
  for (const Learner& learner : learners) {
    INFO(learner.name);
    const auto searcher = make(learner), without = make(learner);
    for (std::uint32_t id = 0; id < 40; ++id) {
      const Json config = {{"x", (id + 0.5) / 40}, {"y", std::fmod(id * 0.618, 1.0)}};
      // It is known as well as any that runs, so it is not suggested again.
      for (auto* const each : {searcher.get(), without.get()}) {
        if (each == without.get() && id % 2 == 1) continue;
        each->on_trial_add(TrialId(id), config.dump());
        if (id % 2 == 0) {
          each->on_trial_end(TrialId(id), {1, {-std::abs(id - 20.0)}}, Ended::complete);
        } else {
          each->on_trial_end(TrialId(id), {0, {}}, Ended::lost);
        }
      }
    }
    CHECK(next_config(*searcher, 40) == next_config(*without, 40));
  }
}

TEST_CASE("A failed trial that is tried again and works is no failure any more", "[failures]") {
  for (const Learner& learner : learners) {
    INFO(learner.name);
    const auto searcher = make(learner), other = make(learner);
    tell_known(*searcher, {0, {}}, Ended::failed);
    for (auto* const each : {searcher.get(), other.get()}) {
      tell_known(*each, {1, {0.3}}, Ended::complete);
    }
    CHECK(next_config(*searcher, 40) == next_config(*other, 40));
  }
}

TEST_CASE("cma_es leaves where configs fail", "[failures]") {
  int beyond = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto searcher = make({"cma_es"}, seed);
    for (std::uint32_t id = 0; id < 60; ++id) {
      const Json config = next_config(*searcher, id);
      const double x = config.at("x"), y = config.at("y");
      const bool fails = x + y > 1;
      searcher->on_trial_add(TrialId(id), config.dump());
      if (fails && id >= 40) ++beyond;
      // A score that says the opposite does not count, be it a last one or no number.
      const Observation last{1, {id % 2 == 0 ? 100 : infinity}};
      searcher->on_trial_end(TrialId(id), fails ? last : Observation{1, {x}},
                             fails && id % 2 == 0 ? Ended::failed : Ended::complete);
    }
  }
  CHECK(beyond <= 35);  // of 100
}
