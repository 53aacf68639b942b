#include <vector>

#include "callbacks/callbacks.h"
#include "tests/support/catch.h"
#include "tuner/space/search_space.h"

using namespace tune;

namespace {

Result with_loss(const std::string& loss, std::int64_t iteration = 5) {
  Result result;
  result.training_iteration = iteration;
  result.metrics = parse_metrics("{\"loss\":" + loss + "}");
  return result;
}

bool asks(Callback& callback, Result result, const Trial& trial = {}) {
  callback.on_trial_result(trial, result);
  return result.should_checkpoint;
}

Trial trial_with(std::uint32_t id, std::size_t clonings = 0) {
  Trial trial;
  trial.id = TrialId{id};
  trial.lineage.resize(clonings);
  return trial;
}

}  // namespace

TEST_CASE("checkpoint_best asks at every new best of all trials, and at nothing else",
          "[checkpoint_best]") {
  const auto callback = make_checkpoint_best({.objective = {"loss", Mode::min}});
  CHECK(asks(*callback, with_loss("3")));
  CHECK_FALSE(asks(*callback, with_loss("3")));
  CHECK_FALSE(asks(*callback, with_loss("4")));
  CHECK_FALSE(asks(*callback, with_loss("NaN")));
  CHECK(asks(*callback, with_loss("2")));
}

TEST_CASE("To checkpoint_best a result that does not fulfil the constraints is not the best",
          "[checkpoint_best]") {
  const auto callback = make_checkpoint_best(
      {.objective = {"loss", Mode::min}, .constraints = {SearchSpace().constraint("loss >= 1")}});
  CHECK(asks(*callback, with_loss("3")));
  CHECK_FALSE(asks(*callback, with_loss("0.5")));
  CHECK(asks(*callback, with_loss("2")));
}

TEST_CASE("checkpoint_best knows the best of earlier sessions", "[checkpoint_best]") {
  const auto callback = make_checkpoint_best({.objective = {"loss", Mode::min}});
  callback->on_trial_replay(Trial{}, with_loss("1"));
  CHECK_FALSE(asks(*callback, with_loss("2")));
}

TEST_CASE("checkpoint_best leaves the first iterations alone, but learns from them",
          "[checkpoint_best]") {
  const auto callback = make_checkpoint_best({.objective = {"loss", Mode::min}, .grace_period = 3});
  CHECK_FALSE(asks(*callback, with_loss("1", 3)));
  CHECK_FALSE(asks(*callback, with_loss("2", 4)));
  CHECK(asks(*callback, with_loss("0.5", 4)));
}

TEST_CASE("To checkpoint_best what a trial reached before it became a copy is no best any more",
          "[checkpoint_best]") {
  const auto make = [] { return make_checkpoint_best({.objective = {"loss", Mode::min}}); };
  auto callback = make();
  CHECK(asks(*callback, with_loss("3"), trial_with(0)));
  CHECK(asks(*callback, with_loss("1"), trial_with(1)));
  CHECK_FALSE(asks(*callback, with_loss("2.5"), trial_with(0)));
  CHECK_FALSE(asks(*callback, with_loss("NaN"), trial_with(2)));
  SECTION("as it is told so") { callback->on_trial_exploit(trial_with(1, 1), Cloning{}); }
  SECTION("as its first result shows, after a replay") {
    CHECK_FALSE(asks(*callback, with_loss("4"), trial_with(1, 1)));
  }
  SECTION("nor after a replay that tells of it once more, of the trial as it is now") {
    callback = make();
    callback->on_trial_replay(trial_with(0), with_loss("2.5"));
    Trial clone = trial_with(1, 1);
    clone.lineage.back().time = 10;
    Result before = with_loss("1");
    before.timestamp = 10;
    callback->on_trial_replay(clone, before);
    CHECK_FALSE(asks(*callback, with_loss("2.7"), trial_with(0)));
  }
  SECTION("nor after a resume from a snapshot") {
    const Json state = callback->save();
    callback = make();
    callback->load(state);
    CHECK_FALSE(asks(*callback, with_loss("2.5"), trial_with(0)));
    callback->on_trial_exploit(trial_with(1, 1), Cloning{});
  }
  CHECK_FALSE(asks(*callback, with_loss("2.9"), trial_with(1, 1)));
  CHECK(asks(*callback, with_loss("2"), trial_with(1, 1)));
}
