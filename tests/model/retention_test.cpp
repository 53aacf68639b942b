#include "tuner/model/retention.h"

#include <limits>

#include "tests/support/catch.h"

using namespace tune;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

std::vector<Checkpoint> with_scores(const std::vector<double>& scores) {
  std::vector<Checkpoint> checkpoints;
  for (const double score : scores) {
    Checkpoint checkpoint;
    checkpoint.index = static_cast<int>(checkpoints.size()) + 1;
    checkpoint.iteration = 5 * checkpoint.index;
    checkpoint.score = score;
    checkpoints.push_back(checkpoint);
  }
  return checkpoints;
}

/// The flags as text, oldest first: "x" is kept, "." is not.
std::string kept(const Retention& rule, const std::vector<double>& scores) {
  std::string flags;
  for (const bool keep : rule.keep(with_scores(scores))) flags += keep ? 'x' : '.';
  return flags;
}

CheckpointConfig config_of(std::optional<int> num_to_keep, bool by_score = false,
                           Mode order = Mode::max) {
  CheckpointConfig config;
  config.num_to_keep = num_to_keep;
  if (by_score) config.checkpoint_score_attribute = "accuracy";
  config.checkpoint_score_order = order;
  return config;
}

}  // namespace

TEST_CASE("make_keep_all keeps all and make_latest_n the newest", "[retention][unit]") {
  CHECK(kept(*make_keep_all(), {1, 2, 3}) == "xxx");
  CHECK(kept(*make_latest_n(0), {1, 2, 3}) == "...");
  CHECK(kept(*make_latest_n(2), {3, 2, 1}) == ".xx");
  CHECK(kept(*make_latest_n(5), {1, 2}) == "xx");
  CHECK(kept(*make_latest_n(1), {}) == "");
}

TEST_CASE("make_best_n keeps the best, the newer of equals, and NaN last in both orders",
          "[retention][unit]") {
  struct Case {
    int n;
    Mode mode;
    std::vector<double> scores;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {1, Mode::max, {1, 3, 2}, ".x."},
      {1, Mode::min, {2, 1, 3}, ".x."},
      {2, Mode::max, {3, 1, 2}, "x.x"},
      {1, Mode::max, {2, 2, 2}, "..x"},
      {2, Mode::min, {2, 2, 2}, ".xx"},
      {1, Mode::max, {not_a_number, 1, not_a_number}, ".x."},
      {1, Mode::min, {not_a_number, 1, not_a_number}, ".x."},
      {1, Mode::max, {-infinity, not_a_number}, ".x"},
      {1, Mode::min, {infinity, not_a_number}, ".x"},
      {2, Mode::max, {not_a_number, 1, not_a_number}, ".xx"},
      {1, Mode::min, {not_a_number, not_a_number, not_a_number}, "..x"},
      {0, Mode::max, {1, 2}, ".."},
      {9, Mode::max, {1, not_a_number}, "xx"},
      {1, Mode::max, {infinity, 1, infinity}, ".x."},
      {1, Mode::min, {-infinity, -1, -infinity}, ".x."},
      {3, Mode::max, {}, ""},
  };
  for (const Case& c : cases) {
    INFO(c.n << ' ' << to_string(c.mode) << " expected " << c.expected);
    CHECK(kept(*make_best_n(c.n, c.mode), c.scores) == c.expected);
  }
}

TEST_CASE("make_every_n_iterations keeps multiples of the iteration", "[retention][unit]") {
  CHECK(kept(*make_every_n_iterations(10), {0, 0, 0, 0}) == ".x.x");
  CHECK(kept(*make_every_n_iterations(1), {0, 0}) == "xx");
}

TEST_CASE("make_any_of keeps what any of its rules keeps", "[retention][unit]") {
  std::vector<std::unique_ptr<Retention>> rules;
  rules.push_back(make_best_n(1, Mode::max));
  rules.push_back(make_latest_n(1));
  rules.push_back(make_every_n_iterations(15));
  CHECK(kept(*make_any_of(std::move(rules)), {9, 1, 1, 1, 1}) == "x.x.x");
  CHECK(kept(*make_any_of(std::vector<std::unique_ptr<Retention>>()), {1, 2}) == "..");
}

TEST_CASE("num_to_keep keeps the best and always the latest", "[retention][unit]") {
  CHECK(kept(*make_retention(config_of(std::nullopt)), {1, 2, 3}) == "xxx");
  CHECK(kept(*make_retention(config_of(std::nullopt, true)), {1, 2, 3}) == "xxx");
  CHECK(kept(*make_retention(config_of(0)), {1, 2, 3}) == "..x");
  CHECK(kept(*make_retention(config_of(0, true)), {3, 2, 1}) == "..x");
  CHECK(kept(*make_retention(config_of(2)), {3, 2, 1}) == ".xx");
  CHECK(kept(*make_retention(config_of(2, true)), {3, 2, 1}) == "xxx");
  CHECK(kept(*make_retention(config_of(2, true)), {3, 2, 1, 0}) == "xx.x");
  CHECK(kept(*make_retention(config_of(2, true, Mode::min)), {3, 2, 1, 0}) == "..xx");
  CHECK(kept(*make_retention(config_of(1, true)), {1, not_a_number, not_a_number}) == "x.x");
}

TEST_CASE("rank_checkpoints puts the best first, without a score the newest", "[retention][unit]") {
  using Order = std::vector<std::size_t>;
  const auto checkpoints = with_scores({2, not_a_number, 3, 2});
  CHECK(rank_checkpoints(checkpoints, config_of(1, true)) == Order{2, 3, 0, 1});
  CHECK(rank_checkpoints(checkpoints, config_of(1, true, Mode::min)) == Order{3, 0, 2, 1});
  CHECK(rank_checkpoints(checkpoints, config_of(1)) == Order{3, 2, 1, 0});
  CHECK(rank_checkpoints({}, config_of(1)).empty());
}

TEST_CASE("Of several checkpoints of one result the first is ranked highest", "[retention][unit]") {
  auto checkpoints = with_scores({1, 3, 3, 3, 3});
  checkpoints[2].iteration = checkpoints[3].iteration = checkpoints[1].iteration;
  using Order = std::vector<std::size_t>;
  CHECK(rank_checkpoints(checkpoints, config_of(1, true)) == Order{4, 1, 2, 3, 0});
  CHECK(make_best_n(2, Mode::max)->keep(checkpoints) ==
        std::vector<bool>{false, true, false, false, true});
}
