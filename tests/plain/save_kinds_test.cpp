// Programs that save files of several kinds, in virtual time: the order of one kind says nothing of
// another, and of several saves before one result the last one alone has it.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/plain/save_fold.h"

namespace tune {
namespace {

constexpr std::uint64_t line_bytes = 10;
constexpr double epoch_s = 1;

SavedFiles saved_at(const std::string& name, double at_s, std::int64_t printed) {
  constexpr double ns_per_s = 1e9;
  SavedFiles saved{.printed_before = {static_cast<std::uint64_t>(printed) * line_bytes, 0}};
  saved.files.name = name;
  saved.files.is_file = true;
  saved.files.files.push_back({.changed_ns = static_cast<std::int64_t>(at_s * ns_per_s)});
  saved.begun_ns = saved.files.changed_ns();
  return saved;
}

/// Saves of each epoch: where in it, 0 to 1 up to its print, and 1 or more behind that.
using Saves = std::map<std::string, double>;

struct Claim {
  std::string name;
  std::int64_t iteration = 0;
  std::int64_t has = 0;  ///< whole epochs
  bool is_guess = false;
};

/// A run of a program, whose saves are found at once. `saves_in`: what it saves in an epoch.
template <class SavesIn>
std::vector<Claim> claims_of_run(SaveOrders& orders, SavesIn saves_in, std::int64_t epochs = 12) {
  SaveFold fold(orders);
  fold.begin(0, {});
  std::map<std::string, std::int64_t> has;
  std::vector<Claim> claims;
  const auto name_all = [&](double now_s) {
    for (const SaveFold::Named& named : fold.name(now_s)) {
      const std::string name = named.files.name.string();
      claims.push_back({name, named.iteration, has.at(name), named.is_guess});
    }
  };
  const double begin_s = 1000;
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    const double print_s = begin_s + static_cast<double>(epoch) * epoch_s;
    const Saves saves = saves_in(epoch);
    const auto save = [&](bool is_behind) {
      for (const auto& [kind, place] : saves) {
        if (is_behind != (place >= 1)) continue;
        const double at_s = print_s + (place - 1) * epoch_s;
        const std::string name = kind + std::to_string(epoch);
        constexpr double nearly = 0.9;
        has[name] = place > nearly ? epoch : epoch - 1;
        fold.save(saved_at(name, at_s, is_behind ? epoch : epoch - 1), false, at_s + 0.001);
        name_all(at_s + 0.001);
      }
    };
    save(false);
    fold.print({epoch, {}}, 0, static_cast<std::uint64_t>(epoch) * line_bytes,
               {print_s, PrintTime::watched_lag_s});
    (void)fold.take();
    name_all(print_s + 0.001);
    save(true);
  }
  fold.end(SaveFold::End::done);
  name_all(begin_s + static_cast<double>(epochs + 1) * epoch_s);
  return claims;
}

TEST_CASE("Files before each result and others behind it each have the result that is theirs",
          "[unit][plain]") {
  for (const std::int64_t every : {1, 3}) {
    SaveOrders orders;
    for (int trial = 0; trial < 3; ++trial) {
      CAPTURE(every, trial);
      const auto claims = claims_of_run(orders, [&](std::int64_t epoch) {
        Saves saves = {{"last-", 0.998}};
        if (epoch % every == 0) saves["best-"] = 1.002;
        return saves;
      });
      CHECK(claims.size() >= 11);
      for (const Claim& claim : claims) {
        CAPTURE(claim.name);
        CHECK(claim.iteration == claim.has);
        CHECK_FALSE(claim.is_guess);
      }
    }
    CHECK(orders.of("last-")->known() == SavedWhen::before_result);
    CHECK(orders.of("best-")->known() == SavedWhen::after_result);
  }
}

TEST_CASE("A file in the middle of an epoch does not take the order of those at its end",
          "[unit][plain]") {
  SaveOrders orders;
  int middle = 0;
  for (int trial = 0; trial < 3; ++trial) {
    const auto claims = claims_of_run(orders, [&](std::int64_t epoch) {
      Saves saves = {{"last-", 0.998}};
      if (epoch % 3 == 0) saves["middle-"] = 0.5;
      return saves;
    });
    for (const Claim& claim : claims) {
      CAPTURE(trial, claim.name);
      CHECK(claim.iteration == claim.has);
      const bool is_middle = claim.name.starts_with("middle-");
      CHECK(claim.is_guess == is_middle);
      middle += is_middle ? 1 : 0;
    }
  }
  CHECK(middle == 3 * 4);
}

TEST_CASE("Of a program that names each save by other letters no order is claimed",
          "[unit][plain]") {
  SaveOrders orders;
  std::size_t saves = 0, claims = 0, guesses = 0;
  for (int trial = 0; trial < 3; ++trial) {
    for (const Claim& claim : claims_of_run(orders, [&](std::int64_t) {
           return Saves{{std::string(++saves, 'x'), 0.998}};
         })) {
      CHECK(claim.iteration <= claim.has);
      if (claim.name.size() <= SaveOrders::most_kinds) continue;
      ++claims;
      guesses += claim.is_guess ? 1 : 0;
    }
  }
  CHECK(claims > 0);
  CHECK(guesses == claims);
}

/// Which result "last" has, saved right before the third one, if `seen` is known behind that; -1:
/// it waits. Of an order that is known.
struct Named {
  std::int64_t iteration = -1;
  bool is_guess = false;
  bool operator==(const Named&) const = default;
};
Named named_of_last(SavesSeen seen, double later_s = 0.01, bool has_another = false) {
  SaveOrders orders;
  orders.note_earlier({{"last", SavedWhen::before_result}});
  SaveFold fold(orders);
  fold.begin(0, {});
  fold.watch(seen);
  for (std::int64_t i = 1; i <= 3; ++i) {
    if (i == 3) fold.save(saved_at("last", 2.9, 2), false, 2.9);
    if (i == 3 && has_another) fold.save(saved_at("last", 2.998, 2), false, 2.999);
    fold.print({i, {}}, 0, static_cast<std::uint64_t>(i) * line_bytes,
               {static_cast<double>(i), PrintTime::watched_lag_s});
    (void)fold.take();
  }
  const auto named = fold.name(3 + later_s);
  return named.empty() ? Named{} : Named{named.front().iteration, named.front().is_guess};
}

TEST_CASE("A save has the result behind it once no other of its kind can lie between them",
          "[unit][plain]") {
  const Named waits{};
  const LogSizes before = {2 * line_bytes, 0}, behind = {3 * line_bytes, 0};
  CHECK(named_of_last({behind, 1}) == Named{3, false});
  // Nobody has looked since the result was printed; another one is told, and on its way.
  CHECK(named_of_last({before, 1}) == waits);
  CHECK(named_of_last({behind, 2}) == waits);
  // One that was begun before the result is being written; one behind it has another result.
  CHECK(named_of_last({behind, 1, {{"last", before}}}) == waits);
  CHECK(named_of_last({behind, 1, {{"last", behind}}}) == Named{3, false});
  CHECK(named_of_last({behind, 1, {{"best", before}}}) == Named{3, false});
  // It is never whole, as what a log that lies there.
  CHECK(named_of_last({behind, 1, {{"last", before}}}, 9) == waits);
  CHECK(named_of_last({behind, 1, {{"last", before}}}, 11) == Named{2, true});
  // There is another one: the first of both lacks what the result is of.
  CHECK(named_of_last({behind, 2}, 0.01, true) == Named{2, false});
}

TEST_CASE("Who has saved what it leaves with may show the order of the rest until it has ended",
          "[unit][plain]") {
  SaveOrders orders;
  orders.note_earlier({{"last", SavedWhen::before_result}});
  SaveFold fold(orders);
  fold.begin(0, {});
  fold.save(saved_at("last", 0.998, 0), false, 0.999);
  fold.print({1, {}}, 0, line_bytes, {1, PrintTime::watched_lag_s});
  (void)fold.take();
  CHECK(fold.name(1.001).size() == 1);
  fold.leave();
  fold.save(saved_at("best", 1.002, 1), false, 1.003);
  CHECK(fold.name(1.003).empty());
  CHECK(fold.name(1.3).empty());
  fold.end(SaveFold::End::killed);
  const auto named = fold.name(1.3);
  REQUIRE(named.size() == 1);
  CHECK(named.front().iteration == 1);
  CHECK_FALSE(named.front().is_guess);
}

TEST_CASE("A save by a clock that is found with those before it is not said to be of its result",
          "[unit][plain]") {
  // Between results: one save, two, one; the last one lies beside the next result by chance.
  for (const bool is_by_clock : {true, false}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    for (std::int64_t i = 1; i <= 5; ++i) {
      fold.print({i, {}}, 0, static_cast<std::uint64_t>(i) * line_bytes,
                 {static_cast<double>(i), PrintTime::watched_lag_s});
      (void)fold.take();
    }
    SavedFiles last = saved_at("last", 4.998, 4);
    for (const std::uint64_t printed : {1, 2, 2, 3, 4}) {
      const bool is_second =
          !last.writes.empty() && last.writes.back().stdout_bytes == printed * line_bytes;
      if (is_by_clock || !is_second) last.writes.push_back({printed * line_bytes, 0});
    }
    fold.save(std::move(last), false, 5.1);
    fold.end(SaveFold::End::done);
    const auto named = fold.name(5.2);
    REQUIRE(named.size() == 1);
    CHECK(named.front().iteration == (is_by_clock ? 4 : 5));
    CHECK(named.front().is_guess == is_by_clock);
  }
}

TEST_CASE("Of all that is saved before the only result the last one has it", "[unit][plain]") {
  SaveOrders orders;
  SaveFold fold(orders);
  fold.begin(0, {});
  for (int i = 1; i <= 3; ++i) {
    fold.save(saved_at("e-" + std::to_string(i), i, 0), false, i);
  }
  fold.print({1, {}}, 0, line_bytes, {4, PrintTime::watched_lag_s});
  (void)fold.take();
  fold.end(SaveFold::End::done);
  const auto named = fold.name(5);
  REQUIRE(named.size() == 1);
  CHECK(named.front().files.name == "e-3");
  CHECK(named.front().iteration == 1);
  CHECK(fold.has_left_out());
}

TEST_CASE("A best model that did not get better at the end does not tell that it is saved first",
          "[unit][plain]") {
  const auto known_of = [](const std::vector<std::int64_t>& behind, std::int64_t results) {
    SaveOrder order;
    SavesOfKind kind(&order);
    for (const std::int64_t iteration : behind) kind.note_behind(iteration);
    // A restore: what it saved before its first result is not known.
    kind.note_done({.last = {9, 8, 7}, .began = 5, .results = results, .has_all_gaps = false});
    return order.known();
  };
  CHECK(known_of({7, 8}, 4) == std::nullopt);
  CHECK(known_of({6, 7, 8}, 4) == std::nullopt);
  CHECK(known_of({5, 6, 7, 8}, 4) == SavedWhen::before_result);
}

TEST_CASE("A save is a guess where another one may lie before the same result", "[unit][plain]") {
  for (const bool is_late : {false, true}) {
    SaveOrders orders;
    orders.note_earlier({{"e-", SavedWhen::before_result}});
    SaveFold fold(orders);
    fold.begin(0, {});
    fold.print({1, {}}, 0, line_bytes, {1, PrintTime::watched_lag_s});
    fold.save(saved_at("e-2", 1.5, 1), false, 3);
    SavedFiles other = saved_at("e-3", 2.5, 1);
    other.is_late = is_late;  // the driver stood still: it may lie behind the next result
    fold.save(std::move(other), false, 3);
    fold.print({2, {}}, 0, 2 * line_bytes, {2.6, PrintTime::watched_lag_s});
    for (int i = 0; i < 2; ++i) (void)fold.take();
    const auto named = fold.name(3.1);
    REQUIRE(named.size() == 2);
    CHECK(named.front().iteration == 1);
    CHECK(named.front().is_guess == is_late);
    CHECK(named.back().iteration == 2);
  }
}

TEST_CASE("A best model of the epoch before a result is not said to be of that result",
          "[unit][plain]") {
  // A result for each second epoch, and a save beside each of them but for the sixth.
  SaveOrders orders;
  for (int trial = 0; trial < 2; ++trial) {
    const auto claims = claims_of_run(orders, [&](std::int64_t epoch) {
      return Saves{{"best-", epoch == 6 ? 0.5 : 0.998}};
    });
    CHECK(claims.size() == 12);
    for (const Claim& claim : claims) {
      CAPTURE(trial, claim.name);
      CHECK(claim.iteration == claim.has);
      CHECK(claim.is_guess == (claim.name == "best-6"));
    }
  }
}

}  // namespace
}  // namespace tune
