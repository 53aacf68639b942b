#include "tuner/view/findings.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace tune {
namespace {

struct Ended {
  std::string config;
  double loss = 1;
  bool has_failed = false;
};

/// Trials that have ended, one after the other.
Experiment experiment_of(const std::vector<Ended>& trials) {
  Experiment experiment;
  const auto then = [&](EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  };
  then(SessionStarted{"here", 1, "0"});
  for (std::uint32_t i = 0; i < trials.size(); ++i) {
    then(TrialAdded{TrialId{i}, trials[i].config, "", ""});
    then(AttemptStarted{TrialId{i}, 1, 0, {}});
    if (!trials[i].has_failed) {
      Result result;
      result.training_iteration = 1;
      Json metrics = {{"loss", encode_number(trials[i].loss)}};
      result.metrics = parse_metrics(metrics.dump());
      then(ResultReported{TrialId{i}, 1, std::move(result), {}});
    }
    const std::string reason = "it exited with code 1: out of memory at " + std::to_string(i);
    then(AttemptEnded{TrialId{i}, 1, trials[i].has_failed ? Outcome::failed : Outcome::completed,
                      trials[i].has_failed ? reason : "", false, 0});
  }
  return experiment;
}

ResultGrid grid_of(const std::vector<Ended>& trials) {
  ExperimentSpec spec;
  spec.name = "x";
  spec.objectives = {{"loss", Mode::min}};
  spec.param_space = {{"lr", {{"loguniform", {1e-4, 1}}}},
                      {"batch", {{"choice", {32, 64, 128, 256}}}}};
  return ResultGrid(experiment_of(trials), spec, "nowhere");
}

std::string config_of(double lr, int batch) { return Json({{"lr", lr}, {"batch", batch}}).dump(); }

std::vector<std::string> said(const std::vector<Finding>& findings, FindingKind kind) {
  std::vector<std::string> sentences;
  for (const Finding& each : findings) {
    if (each.kind == kind) sentences.push_back(each.sentence);
  }
  return sentences;
}

/// Spread evenly over the space; `fails` says which fail.
std::vector<Ended> spread(const std::function<bool(double lr, int batch)>& fails) {
  std::vector<Ended> trials;
  for (int i = 0; i < 48; ++i) {
    const double lr = std::pow(10, -4 + 4.0 * i / 48);
    const int batch = 32 << i % 4;
    trials.push_back({config_of(lr, batch), std::abs(std::log10(lr) + 2), fails(lr, batch)});
  }
  return trials;
}

TEST_CASE("Failures that share one corner of the space are told by its two borders",
          "[findings][unit]") {
  const auto findings = findings_of(
      grid_of(spread([](double lr, int batch) { return lr > 0.01 && batch >= 128; })), {}, {});
  const auto sentences = said(findings, FindingKind::failures);
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0].starts_with("12 of 48 trials failed: it exited with code 1"));
  CHECK(sentences[1].starts_with("All 12 failed trials have "));
  CHECK(sentences[1].find("batch >= 128") != std::string::npos);
  CHECK(sentences[1].find("lr >= 0.0") != std::string::npos);
  CHECK(sentences[1].ends_with("of the 12 trials there 12 failed."));
}

TEST_CASE("Failures all over the space are no region", "[findings][unit]") {
  int n = 0;
  const auto findings =
      findings_of(grid_of(spread([&](double, int) { return ++n % 5 == 0; })), {}, {});
  CHECK(said(findings, FindingKind::failures).size() == 1);
}

TEST_CASE("Where nearly all fail, nothing is told by where they are", "[findings][unit]") {
  std::vector<Ended> trials;
  for (int i = 1; i <= 6; ++i) trials.push_back({config_of(0.1 * i, 32), 1, i < 6});
  CHECK(said(findings_of(grid_of(trials), {}, {}), FindingKind::failures).size() == 1);
}

TEST_CASE("Best values at the upper border of a range are told, those inside are not",
          "[findings][unit]") {
  auto trials = spread([](double, int) { return false; });
  CHECK(said(findings_of(grid_of(trials), {}, {}), FindingKind::edge).empty());
  for (Ended& trial : trials) trial.loss = -Json::parse(trial.config).at("lr").get<double>();
  const auto sentences = said(findings_of(grid_of(trials), {}, {}), FindingKind::edge);
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].starts_with("4 of the best 5 trials have lr in the highest tenth"));
}

TEST_CASE("Trials whose last value is no number are counted", "[findings][unit]") {
  const auto sentences = said(findings_of(grid_of({{config_of(0.1, 32), NAN},
                                                   {config_of(0.2, 32), INFINITY},
                                                   {config_of(0.3, 32), 1}}),
                                          {}, {}),
                              FindingKind::not_finite);
  CHECK(sentences ==
        std::vector<std::string>{"The last loss of 2 trials of 3 is no finite number."});
}

TEST_CASE("Most trials without an improvement are told once they are many", "[findings][unit]") {
  const auto grid = grid_of(spread([](double, int) { return false; }));
  CHECK(said(findings_of(grid, {}, 40), FindingKind::stalled).empty());
  CHECK(said(findings_of(grid, {}, 10), FindingKind::stalled) ==
        std::vector<std::string>{"The 38 trials that started after the best result came have not "
                                 "improved on it."});
}

/// Of 20 trials that are judged at 1, those that go on have these scores at 4.
RunHistory judged(const std::vector<double>& later) {
  RunHistory history;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const bool goes_on = i < later.size();
    history.judgements.push_back({TrialId{i}, 1, 1, static_cast<double>(i), 10, goes_on});
    if (goes_on) history.judgements.push_back({TrialId{i}, 4, 4, later[i], NAN, true});
  }
  return history;
}

TEST_CASE("A rung that says nothing about the next one is too harsh if it ends many",
          "[findings][unit]") {
  const auto grid = grid_of({{config_of(0.1, 32)}});
  const auto harsh = judged({5, 1, 8, 2, 7, 3, 6, 4});
  CHECK(said(findings_of(grid, harsh, {}), FindingKind::early_stopping)[0].starts_with(
      "Early stopping may be too harsh: of the 8 trials judged at both 1 and 4"));
  CHECK(said(findings_of(grid, judged({1, 2, 3, 4, 5, 6, 7, 8}), {}), FindingKind::early_stopping)
            .empty());
  CHECK(said(findings_of(grid, judged({1, 2, 3}), {}), FindingKind::early_stopping).empty());
}

TEST_CASE("A rung that ends few although it knows the order is too mild", "[findings][unit]") {
  std::vector<double> later;
  for (int i = 0; i < 16; ++i) later.push_back(i);
  const auto sentences = said(findings_of(grid_of({{config_of(0.1, 32)}}), judged(later), {}),
                              FindingKind::early_stopping);
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].starts_with("Early stopping may be too mild"));
}

TEST_CASE("Ranks of equal scores are shared", "[findings][unit]") {
  const auto agreements = rung_agreements(judged({1, 1, 1, 1, 2, 2, 2, 2}).judgements);
  REQUIRE(agreements.size() == 1);
  CHECK(agreements[0].correlation == Approx(0.8729).epsilon(0.001));
  CHECK(agreements[0].ended == 12);
  CHECK(rung_agreements(judged({1, 1, 1, 1, 1, 1, 1, 1}).judgements).empty());
}

TEST_CASE("Saves that fail are counted among all, and the trials named whose they are",
          "[findings][unit]") {
  Experiment experiment = experiment_of({{config_of(0.1, 32)}, {config_of(0.2, 64)}});
  const auto then = [&](EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  };
  CheckpointCommitted committed;
  committed.trial = TrialId{0};
  committed.checkpoint.index = 1;
  committed.checkpoint.iteration = 1;
  then(std::move(committed));
  then(CheckpointFailed{TrialId{1}, 1, "no space is left"});
  then(CheckpointFailed{TrialId{1}, 2, "no space is left"});
  ExperimentSpec spec;
  spec.name = "x";
  spec.objectives = {{"loss", Mode::min}};
  const auto findings = findings_of(ResultGrid(std::move(experiment), spec, "nowhere"), {}, {});
  const auto sentences = said(findings, FindingKind::saves);
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].starts_with("2 of 3 saves failed"));
  CHECK(sentences[0].find("no space is left") != std::string::npos);
  for (const Finding& each : findings) {
    if (each.kind == FindingKind::saves) CHECK(each.trials == std::vector{TrialId{1}});
  }
}

TEST_CASE("A GPU that was free for long is told with the reason that held longest",
          "[findings][unit]") {
  RunHistory history;
  history.idle = {{"a", "0", 10, 11, "x"}, {"a", "1", 20, 60, "y"}, {"a", "1", 70, 80, "z"}};
  const auto grid = grid_of(spread([](double, int) { return false; }));  // 193 seconds
  const auto sentences = said(findings_of(grid, history, {}), FindingKind::idle);
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0] ==
        "GPU 1 of a was free for 0:00:50 of 0:03:12 (26 %), for 0:00:40 because y.");
}

}  // namespace
}  // namespace tune
