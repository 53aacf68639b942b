// How much of memory a trial takes that has ended: a search may have a hundred thousand of them.
#include <malloc.h>

#include <cmath>

#include "tests/support/catch.h"
#include "tuner/base/json_text.h"
#include "tuner/model/experiment.h"

using namespace tune;

namespace {

std::string make_text(const std::string& name, int numbers, double seed) {
  std::string text = "{";
  for (int i = 0; i < numbers; ++i) {
    append_key(text, name + std::to_string(i));
    append_number(text, std::sin(seed + i));
  }
  return text + "}";
}

/// Adds a trial that runs, reports a dozen times and ends.
void add_ended_trial(Experiment& experiment) {
  const TrialId id{static_cast<std::uint32_t>(experiment.trials().size())};
  const auto seed = static_cast<double>(index_of(id));
  const auto apply = [&](EventBody body) {
    experiment.apply({experiment.last_event() + 1, 1, std::move(body)});
  };
  apply(TrialAdded{id, make_text("hyperparameter_", 13, seed), std::string(100, 't'), ""});
  apply(AttemptStarted{id, 1, 0, {}});
  for (int i = 1; i <= 12; ++i) {
    Result result;
    result.training_iteration = i;
    result.metrics = parse_metrics(make_text("validation/metric_", 12, seed + 0.01 * i));
    apply(ResultReported{id, 1, std::move(result), {}});
  }
  apply(AttemptEnded{id, 1, Outcome::completed, ""});
}

double given_out() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

}  // namespace

TEST_CASE("A trial that has ended takes less than 2 kB with 1 kB of config and metrics",
          "[experiment][memory]") {
  constexpr int trials = 1'000;
  Experiment experiment;
  for (int i = 0; i < trials; ++i) add_ended_trial(experiment);
  const double before = given_out();
  if (before == 0) return;  // a sanitizer has replaced malloc
  for (int i = 0; i < trials; ++i) add_ended_trial(experiment);
  const Trial& last = experiment.trials().back();
  CHECK(last.config.text().size() + last.last_metrics.text().size() >= 1'000);
  CHECK((given_out() - before) / trials < 2'000);

  // And so after a resume.
  Experiment resumed;
  const double before_resume = given_out();
  for (const auto& trial : experiment.trials()) {
    std::string line;
    experiment.append_trial(line, trial.id);
    resumed.load_trial(line);
  }
  resumed.load_totals(experiment.save_totals({}));
  CHECK((given_out() - before_resume) / (2 * trials) < 2'000);
}
