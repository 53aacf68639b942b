// What a budget over all trials gives up, by example and against a plain search over everything.
#include "tuner/model/checkpoint_budget.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/catch.h"
#include "tuner/math/random.h"

namespace tune {
namespace {

using Name = std::pair<TrialId, int>;

Trial trial_with(std::uint32_t id, std::vector<Checkpoint> checkpoints) {
  Trial trial;
  trial.id = TrialId{id};
  trial.checkpoints = std::move(checkpoints);
  return trial;
}

bool nothing_pinned(TrialId, int) { return false; }

TEST_CASE("The oldest that is neither latest nor best goes first, whose it may be",
          "[checkpoint_budget][unit]") {
  const CheckpointConfig config{.checkpoint_score_attribute = "acc"};
  CheckpointBudget budget(config, {});
  Trial first = trial_with(0, {{.index = 1, .score = 0.9, .bytes = 10}});
  budget.update(first);
  CHECK(!budget.expendable(nothing_pinned));
  Trial second = trial_with(1, {{.index = 1, .score = 0.1, .bytes = 20}});
  budget.update(second);
  second.checkpoints.push_back({.index = 2, .score = 0.2, .bytes = 20});
  budget.update(second);
  first.checkpoints.push_back({.index = 2, .score = 0.5, .bytes = 10});
  budget.update(first);
  first.checkpoints.push_back({.index = 3, .score = 0.4, .bytes = 10});
  budget.update(first);
  CHECK(budget.bytes() == 70);
  CHECK(budget.expendable(nothing_pinned) == Name{TrialId{1}, 1});
  CHECK(budget.expendable([](TrialId id, int) { return id == TrialId{1}; }) == Name{TrialId{0}, 2});
  second.checkpoints.erase(second.checkpoints.begin());
  budget.update(second);
  CHECK(budget.bytes() == 50);
  first.checkpoints.erase(first.checkpoints.begin() + 1);
  budget.update(first);
  CHECK(!budget.expendable(nothing_pinned));
  first.checkpoints.clear();
  budget.update(first);
  CHECK(budget.bytes() == 20);
  first.checkpoints.push_back({.index = 4, .score = 0.5, .bytes = 5});
  budget.update(first);
  CHECK(budget.bytes() == 25);
}

TEST_CASE("What a clone has saved before it became one goes before all others",
          "[checkpoint_budget][unit]") {
  const CheckpointConfig config{.checkpoint_score_attribute = "acc"};
  CheckpointBudget budget(config, {});
  Trial other = trial_with(0, {{.index = 1, .score = 0.1, .bytes = 1}});
  budget.update(other);
  Trial clone = trial_with(1, {{.index = 1, .score = 0.9, .bytes = 1}});
  budget.update(clone);
  other.checkpoints.push_back({.index = 2, .score = 0.2, .bytes = 1});
  budget.update(other);
  CHECK(budget.expendable(nothing_pinned) == Name{TrialId{0}, 1});
  clone.lineage.push_back({.started = 1, .saves = 1});
  clone.checkpoints.push_back({.index = 2, .score = 0.5, .bytes = 1});
  budget.update(clone);
  CHECK(budget.expendable(nothing_pinned) == Name{TrialId{1}, 1});
  clone.checkpoints.erase(clone.checkpoints.begin());
  budget.update(clone);
  CHECK(budget.expendable(nothing_pinned) == Name{TrialId{0}, 1});
}

TEST_CASE("What is there from an earlier session is older than all that comes",
          "[checkpoint_budget][unit]") {
  Trial late = trial_with(0, {{.index = 1, .time_total_s = 5, .bytes = 1},
                              {.index = 2, .time_total_s = 50, .bytes = 1}});
  Trial early = trial_with(1, {{.index = 1, .time_total_s = 9, .bytes = 1},
                               {.index = 2, .time_total_s = 50, .bytes = 1}});
  late.started = 100;
  early.started = 10;
  CheckpointBudget budget({}, {late, early});
  CHECK(budget.bytes() == 4);
  CHECK(budget.expendable(nothing_pinned) == Name{TrialId{1}, 1});
}

TEST_CASE("A time that is no number, of an old journal, leaves the others in their order",
          "[checkpoint_budget][unit]") {
  Trials trials;
  for (std::uint32_t id = 0; id < 60; ++id) {
    trials.push_back(trial_with(id, {{.index = 1, .time_total_s = 50, .bytes = 1},
                                     {.index = 2, .time_total_s = 60, .bytes = 1}}));
    trials.back().started = 1000 - id;
    if (id % 3 == 1) trials.back().checkpoints.front().time_total_s = std::nan("");
  }
  CheckpointBudget budget({}, trials);
  CHECK(budget.bytes() == 120);
  std::set<Name> given_up;
  const auto next = [&] {
    const auto name = *budget.expendable([&](TrialId id, int index) {
      return given_up.contains({id, index});
    });
    given_up.insert(name);
    return name;
  };
  // Those without a time count from their trial's start.
  CHECK(next() == Name{TrialId{58}, 1});
  for (int i = 1; i < 60; ++i) next();
  CHECK(given_up.size() == 60);
  CHECK(!budget.expendable([&](TrialId id, int index) { return given_up.contains({id, index}); }));
}

TEST_CASE(
    "Whatever happens, latest, best and pinned ones stay, and the sum is kept where it can be",
    "[checkpoint_budget][property]") {
  Random random(7);
  int given_up = 0;
  int over = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    CheckpointConfig config;
    if (random.below(2) == 0) config.checkpoint_score_attribute = "acc";
    if (random.below(2) == 0) config.checkpoint_score_order = Mode::min;
    const std::uint64_t limit = random.below(200);
    Trials trials;
    for (std::uint32_t id = 0; id < 4; ++id) trials.push_back(trial_with(id, {}));
    CheckpointBudget budget(config, trials);
    std::vector<Name> by_age;
    for (int step = 0; step < 30; ++step) {
      Trial& changed = trials[random.below(4)];
      changed.checkpoints.push_back({.index = ++changed.saves,
                                     .score = static_cast<double>(random.below(5)),
                                     .bytes = random.below(20)});
      by_age.emplace_back(changed.id, changed.saves);
      budget.update(changed);
      const Name pinned{TrialId{static_cast<std::uint32_t>(random.below(4))},
                        static_cast<int>(random.below(10))};
      const auto is_pinned = [&](TrialId id, int index) { return Name{id, index} == pinned; };
      const auto sum = [&] {
        std::uint64_t bytes = 0;
        for (const auto& trial : trials) {
          for (const auto& checkpoint : trial.checkpoints) bytes += checkpoint.bytes;
        }
        return bytes;
      };
      const auto expected = [&]() -> std::optional<Name> {
        for (const Name& name : by_age) {
          const auto& all = trials[index_of(name.first)].checkpoints;
          const auto best = all[rank_checkpoints(all, config).front()].index;
          const bool kept = name.second == all.back().index || name.second == best;
          if (!kept && name != pinned) return name;
        }
        return std::nullopt;
      };
      while (budget.bytes() > limit) {
        const auto victim = budget.expendable(is_pinned);
        REQUIRE(victim == expected());
        if (!victim) break;
        Trial& loser = trials[index_of(victim->first)];
        std::erase_if(loser.checkpoints, [&](const auto& c) { return c.index == victim->second; });
        std::erase(by_age, *victim);
        budget.update(loser);
        ++given_up;
      }
      REQUIRE(budget.bytes() == sum());
      over += budget.bytes() > limit;
    }
  }
  CHECK(given_up > 1000);
  CHECK(over > 100);
}

}  // namespace
}  // namespace tune
