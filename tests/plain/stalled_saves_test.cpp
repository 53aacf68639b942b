// What a program saves while the driver stands still, in virtual time: whatever it does until
// somebody looks again, no checkpoint is said to have a result that it lacks, or to have exactly
// those that it has not.
#include <algorithm>
#include <string>

#include "tests/support/catch.h"
#include "tuner/plain/save_fold.h"

namespace tune {
namespace {

constexpr std::uint64_t line_bytes = 10;
constexpr std::int64_t known_results = 2;  ///< before the stall

/// It prints a line without a result, 'h', or with the next one, 'r', or saves: 's'.
struct Stalled {
  std::string deeds;

  std::int64_t results_before(std::size_t end) const {
    return known_results + std::count(deeds.begin(), deeds.begin() + static_cast<int>(end), 'r');
  }
  std::uint64_t printed_before(std::size_t end) const {
    const auto saves = std::count(deeds.begin(), deeds.begin() + static_cast<int>(end), 's');
    return line_bytes * (known_results + end - static_cast<std::uint64_t>(saves));
  }
  /// The queue has one event of all lines between two saves.
  int bursts_before(std::size_t end) const {
    int bursts = 0;
    for (std::size_t i = 0; i < end; ++i) {
      bursts += deeds[i] != 's' && (i == 0 || deeds[i - 1] == 's') ? 1 : 0;
    }
    return bursts;
  }
  /// As it is found at once, when the driver goes on; `deeds[at]` is a save.
  SavedFiles found(std::size_t at) const {
    const LogSizes all{printed_before(deeds.size()), 0};
    const bool is_behind_all = printed_before(at) == all.stdout_bytes;
    return {.files = {"/saved", std::to_string(at), true, {{"", 1, 1, 0}}},
            .printed_before = is_behind_all ? all : LogSizes{line_bytes * known_results, 0},
            .printed_at_most = all,
            .bursts = is_behind_all ? 0 : bursts_before(at),
            .is_late = true};
  }
};

std::vector<SaveFold::Named> named_of(const Stalled& stalled, SavedWhen saves, SaveFold::End how) {
  SaveOrders orders;
  SaveFold fold(orders, saves);
  fold.begin(0, {});
  std::int64_t iteration = 0;
  const auto print = [&](std::uint64_t end) {
    fold.print({++iteration, {}}, 0, end, {0, 1});
    CHECK(fold.take());
  };
  for (std::int64_t i = 1; i <= known_results; ++i) {
    print(line_bytes * static_cast<std::uint64_t>(i));
  }
  for (std::size_t i = 0; i < stalled.deeds.size(); ++i) {
    if (stalled.deeds[i] == 'r') print(stalled.printed_before(i + 1));
  }
  for (std::size_t i = 0; i < stalled.deeds.size(); ++i) {
    if (stalled.deeds[i] == 's') fold.save(stalled.found(i), false, 0);
  }
  auto named = fold.name(0);
  fold.end(how);
  for (auto& each : fold.name(0)) named.push_back(std::move(each));
  return named;
}

/// All of up to so many deeds.
std::vector<std::string> all_deeds(std::size_t most) {
  std::vector<std::string> all = {""};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == most) break;
    for (const char deed : {'h', 'r', 's'}) all.push_back(all[i] + deed);
  }
  return all;
}

TEST_CASE("Of what was saved behind a stalled driver's back no iteration is claimed that it lacks",
          "[unit][plain]") {
  constexpr std::size_t most_deeds = 6;
  const auto saves = GENERATE(SavedWhen::after_result, SavedWhen::before_result);
  const auto how = GENERATE(SaveFold::End::done, SaveFold::End::killed);
  int wrong = 0, lost = 0;
  for (const std::string& deeds : all_deeds(most_deeds)) {
    const Stalled stalled{deeds};
    const auto named = named_of(stalled, saves, how);
    for (const SaveFold::Named& each : named) {
      const std::int64_t before = stalled.results_before(std::stoul(each.files.name.string()));
      // Behind the last result of a program that saves first there is none to come.
      const std::int64_t has = saves == SavedWhen::after_result
                                   ? before
                                   : std::min(before + 1, stalled.results_before(deeds.size()));
      const bool is_right = each.is_guess ? each.iteration <= has : each.iteration == has;
      if (!is_right) UNSCOPED_INFO(deeds << ": " << each.iteration << " of " << has);
      wrong += is_right ? 0 : 1;
    }
    const auto last = deeds.rfind('s');
    const bool has_last = std::any_of(named.begin(), named.end(), [last](const auto& each) {
      return each.files.name == std::to_string(last);
    });
    const bool has_saved = how == SaveFold::End::done && last != deeds.npos;
    if (has_saved && !has_last) UNSCOPED_INFO(deeds << " is lost");
    lost += has_saved && !has_last ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(lost == 0);
}

TEST_CASE("A trial that is to go on does so from no save that a stall of the driver hides",
          "[unit][plain]") {
  const auto saves = GENERATE(SavedWhen::after_result, SavedWhen::before_result);
  for (const auto how : {SaveFold::End::killed, SaveFold::End::saved}) {
    CHECK(named_of({"rsr"}, saves, how).empty());
  }
  CHECK(named_of({"rsr"}, saves, SaveFold::End::done).size() == 1);
}

}  // namespace
}  // namespace tune
