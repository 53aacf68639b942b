// How long a decision of the searcher freeze_thaw takes: one worker, 1,000 epochs of made-up curves
// over eight hyperparameters, 50 epochs each.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>

#include "searchers/searchers.h"
#include "tuner/policy/decision_epochs.h"
#include "tuner/space/search_space.h"

using namespace tune;

namespace {

constexpr int dimensions = 8;
constexpr std::int64_t max_t = 50;
constexpr std::int64_t all_epochs = 1000;

template <class Call>
double ms_of(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// The farther from 0.3 in all of them, the worse.
double height_of(const Json& config) {
  double height = 0;
  for (const auto& [name, value] : config.items()) {
    height -= std::pow(value.get<double>() - 0.3, 2);
  }
  return height;
}

void print(const char* name, std::vector<double> ms) {
  double sum = 0;
  for (const double one : ms) sum += one;
  std::sort(ms.begin(), ms.end());
  std::printf("%s: %zu, mean %.2f ms, median %.2f, 99 %% %.2f, longest %.2f\n", name, ms.size(),
              sum / static_cast<double>(ms.size()), ms[ms.size() / 2], ms[ms.size() * 99 / 100],
              ms.back());
}

}  // namespace

int main() {
  Json json;
  for (int j = 0; j < dimensions; ++j) json["x" + std::to_string(j)] = {{"uniform", {0, 1}}};
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(json, "", problems);
  FreezeThawSearchOptions options;
  options.epochs.max_t = max_t;
  options.seed = 3;
  const auto searcher = make_freeze_thaw_search(space, options);
  const auto decisions_at = decision_epochs(options.epochs);
  std::vector<double> asked, learned;
  std::map<TrialId, std::int64_t> trained;
  std::map<TrialId, double> heights;
  for (std::int64_t epochs = 0; epochs < all_epochs;) {
    TrialId id{static_cast<std::uint32_t>(heights.size())};
    Answer answer;
    asked.push_back(ms_of([&] { answer = searcher->suggest(id); }));
    if (const auto* const resume = std::get_if<Resume>(&answer)) {
      id = resume->trial;
      searcher->on_trial_resume(id);
    } else {
      const Json& config = std::get<Suggestion>(answer).config;
      searcher->on_trial_add(id, config.dump());
      heights[id] = height_of(config);
    }
    std::int64_t& at = trained[id];
    const std::int64_t until = decisions_at[next_decision(decisions_at, at)];
    epochs += until - at;
    at = until;
    const double left = std::exp(-static_cast<double>(at) / 9);
    const Observation last{at, {heights[id] - left}};
    learned.push_back(ms_of([&] {
      if (at == max_t) {
        searcher->on_trial_end(id, last, Ended::stopped);
      } else {
        searcher->on_trial_pause(id, last);
      }
    }));
  }
  print("decisions", asked);
  print("learning of what came of one", learned);
  return 0;
}
