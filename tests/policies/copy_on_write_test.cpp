// The containers of schedulers: they answer like those of the standard library, and a copy stays
// what it was.
#include "schedulers/copy_on_write.h"

#include <map>
#include <set>
#include <vector>

#include "schedulers/sorted_chunks.h"
#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {

using Numbers = SortedChunks<int, std::less<>>;

void check_same(const Numbers& numbers, const std::set<int>& model) {
  REQUIRE(numbers.size() == model.size());
  REQUIRE(numbers.empty() == model.empty());
  std::vector<int> seen;
  for (const int number : numbers) seen.push_back(number);
  REQUIRE(seen == std::vector<int>(model.begin(), model.end()));
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    REQUIRE(numbers.at(rank) == seen[rank]);
    REQUIRE(numbers.rank(seen[rank]) == rank);
  }
}

std::map<TrialId, int> entries_of(const TrialTable<int>& table) {
  std::map<TrialId, int> entries;
  table.for_each([&](TrialId trial, int value) { entries[trial] = value; });
  return entries;
}

}  // namespace

TEST_CASE("Sorted chunks hold what a set holds, whatever is added and removed", "[copies][unit]") {
  Random random(11);
  Numbers numbers;
  std::set<int> model;
  // Grows to thousands, shrinks to nothing, and grows again.
  for (const double growth : {0.8, 0.2, 0.1, 0.7}) {
    for (int i = 0; i < 6000; ++i) {
      const int number = static_cast<int>(random.below(8000));
      if (random.uniform() < growth) {
        numbers.insert(number);
        model.insert(number);
      } else {
        numbers.erase(number);
        model.erase(number);
      }
      const auto rank = std::distance(model.begin(), model.lower_bound(number));
      if (i % 50 == 0) REQUIRE(numbers.rank(number) == static_cast<std::size_t>(rank));
    }
    check_same(numbers, model);
  }
  while (!model.empty()) {
    numbers.erase(*model.begin());
    model.erase(model.begin());
  }
  check_same(numbers, model);
}

TEST_CASE("Sorted chunks take what comes in order, up or down", "[copies][unit]") {
  Numbers up;
  Numbers down;
  std::set<int> model;
  for (int i = 0; i < 5000; ++i) {
    up.insert(i);
    down.insert(4999 - i);
    model.insert(i);
  }
  check_same(up, model);
  check_same(down, model);
}

TEST_CASE("A table of trials holds what a map holds, and its copies stay as they were",
          "[copies][unit]") {
  Random random(12);
  TrialTable<int> table;
  std::map<TrialId, int> model;
  std::vector<std::pair<TrialTable<int>, std::map<TrialId, int>>> copies;
  for (int i = 0; i < 4000; ++i) {
    const TrialId trial{static_cast<std::uint32_t>(random.below(1000))};
    if (random.uniform() < 0.6) {
      table[trial] = i;
      model[trial] = i;
    } else if (random.uniform() < 0.5) {
      table.erase(trial);
      model.erase(trial);
    } else if (int* const value = table.find(trial)) {
      *value = model.at(trial) = -i;
    }
    REQUIRE(table.contains(trial) == model.contains(trial));
    if (i % 200 == 0) copies.emplace_back(table, model);
  }
  CHECK(table.size() == model.size());
  CHECK(entries_of(table) == model);
  for (const auto& [copy, expected] : copies) {
    CHECK(copy.size() == expected.size());
    CHECK(entries_of(copy) == expected);
  }
}

TEST_CASE("Of a shared value, the copy and the original each change their own", "[copies][unit]") {
  CopyOnWrite<std::vector<int>> value;
  value.change() = {1};
  CopyOnWrite<std::vector<int>> copy = value;
  value.change().push_back(2);
  copy.change().push_back(3);
  CHECK(*value == std::vector<int>{1, 2});
  CHECK(*copy == std::vector<int>{1, 3});
  CopyOnWrite<std::vector<int>> assigned;
  assigned = value;
  assigned.change().clear();
  CHECK(*value == std::vector<int>{1, 2});
}
