#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/model/experiment.h"

using namespace tune;

namespace {

/// An experiment with `n` trials that wait.
class Waiting {
 public:
  explicit Waiting(std::uint32_t n) {
    apply(SessionStarted{"host", 1, "test"});
    for (std::uint32_t id = 0; id < n; ++id) apply(TrialAdded{TrialId(id), "{}", "", ""});
  }

  void start(std::uint32_t id) {
    const int attempt = experiment.trial(TrialId(id)).attempt + 1;
    const Checkpoint* latest = experiment.trial(TrialId(id)).latest_checkpoint();
    apply(AttemptStarted{TrialId(id), attempt, latest ? latest->index : 0, {}});
  }

  void end(std::uint32_t id, Outcome outcome, bool retry = false, Seconds not_before = 0) {
    const int attempt = experiment.trial(TrialId(id)).attempt;
    if (outcome == Outcome::paused) {
      Checkpoint checkpoint;
      checkpoint.index = experiment.trial(TrialId(id)).saves + 1;
      apply(CheckpointCommitted{TrialId(id), checkpoint});
    }
    apply(AttemptEnded{TrialId(id), attempt, outcome, "", retry, not_before});
  }

  Experiment experiment;

 private:
  void apply(EventBody body) {
    experiment.apply({experiment.last_event() + 1, 100, std::move(body)});
  }
};

std::unique_ptr<Scheduler> fifo() {
  const SearchSpace space;
  return all_policies().schedulers.at("fifo")(nullptr, {space, {}, 1, 0});
}

}  // namespace

TEST_CASE("fifo lets every trial go on", "[fifo][unit]") {
  const auto scheduler = fifo();
  for (const double loss : {0.0, 1e300}) {
    Result result;
    result.metrics.numbers = {{"loss", loss}};
    CHECK(scheduler->on_result(Trial{}, result) == Decision{});
  }
}

TEST_CASE("fifo has no options", "[fifo][unit]") {
  const SearchSpace space;
  const PolicyContext context{space, {}, 1, 0};
  CHECK_THROWS_AS(all_policies().schedulers.at("fifo")({{"eta", 3}}, context), OptionError);
}

TEST_CASE("The first trial that waits is chosen first, and nothing if none waits",
          "[scheduler][unit]") {
  const auto scheduler = fifo();
  Waiting waiting(2);
  CHECK(scheduler->choose(waiting.experiment, 200, false) == TrialId(0));
  waiting.start(0);
  CHECK(scheduler->choose(waiting.experiment, 200, false) == TrialId(1));
  waiting.start(1);
  CHECK(scheduler->choose(waiting.experiment, 200, false) == std::nullopt);
}

TEST_CASE("A pending trial is chosen before a paused one", "[scheduler][unit]") {
  const auto scheduler = fifo();
  Waiting waiting(2);
  waiting.start(0);
  waiting.end(0, Outcome::paused);
  CHECK(scheduler->choose(waiting.experiment, 200, false) == TrialId(1));
  waiting.start(1);
  CHECK(scheduler->choose(waiting.experiment, 200, false) == TrialId(0));
}

TEST_CASE("A retry is not chosen before its time", "[scheduler][unit]") {
  const auto scheduler = fifo();
  Waiting waiting(1);
  waiting.start(0);
  waiting.end(0, Outcome::failed, true, 300);
  CHECK(scheduler->choose(waiting.experiment, 299, false) == std::nullopt);
  CHECK(scheduler->choose(waiting.experiment, 300, false) == TrialId(0));
}
