// Programs that print and save, in virtual time, and what becomes of their trials: whatever happens
// to them, a row has the metrics of its iteration, and a checkpoint the model that it is said to
// have.
#include "tuner/plain/save_fold.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string>

#include "tests/support/catch.h"
#include "tuner/model/experiment.h"

namespace tune {
namespace {

/// How a checkpoint is known to be whole.
enum class Kind {
  at_once,  ///< a file that is renamed, or a directory with a new `complete`
  at_rest,  ///< nothing changes for a second
};

enum class Fate { none, pause, stop, program_dies, driver_dies, exploit };

struct Program {
  SavedWhen saves = SavedWhen::after_result;
  Kind kind = Kind::at_once;
  double epoch_s = 1;
  double between_s = 0.001;  ///< from the print to the save, or the other way round
  std::int64_t epochs = 12;
  bool counts = false;  ///< it prints the number of its epoch
};

/// Something that it does. Its metric is the number of the epoch, so a row shows whose it is.
struct Deed {
  double at_s = 0;
  bool is_save = false;
  std::int64_t epoch = 0;
};

std::deque<Deed> deeds_of(const Program& program, std::int64_t from, double now_s) {
  std::deque<Deed> deeds;
  for (std::int64_t epoch = from + 1; epoch <= program.epochs; ++epoch) {
    now_s += program.epoch_s;
    const bool saves_first = program.saves == SavedWhen::before_result;
    deeds.push_back({now_s, saves_first, epoch});
    deeds.push_back({now_s + program.between_s, !saves_first, epoch});
    now_s += program.between_s;
  }
  return deeds;
}

PrintedResult result_of(std::int64_t iteration, std::int64_t epoch) {
  PrintedResult result{iteration, {}};
  result.metrics.numbers = {{"epoch", static_cast<double>(epoch)}};
  return result;
}

/// One trial, its program, and the driver.
struct World {
  explicit World(Program what, std::optional<SavedWhen> is_told) : program(what), told(is_told) {
    then(TrialAdded{id, "{}", "", ""});
  }

  struct Kept {
    std::int64_t label = 0;
    std::int64_t epoch = 0;  ///< that it has
    std::vector<PrintedResult> ahead;
    bool is_guess = false;
  };

  void then(EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  }
  const Trial& trial() const { return experiment.trial(id); }

  /// An attempt, to which `fate` happens once it has come to iteration `at`. True: it has ended.
  bool attempt(Fate fate, std::int64_t at, double later_s) {
    const auto [owner, checkpoint] = experiment.restore_point(id);
    const int index = checkpoint != nullptr ? checkpoint->index : 0;
    then(AttemptStarted{id, trial().attempt + 1, index, {}, std::nullopt, true});
    rows.erase(rows.upper_bound(trial().iteration), rows.end());
    const Kept from = index != 0 ? kept.at(index) : Kept{};
    SaveFold fold(orders, told);
    fold.begin(trial().iteration,
               from.label > trial().iteration ? from.ahead : std::vector<PrintedResult>{},
               from.is_guess, "last");
    std::deque<Deed> deeds = deeds_of(program, from.epoch, now_s);
    struct Saving {
      SavedFiles files;
      std::int64_t epoch = 0;
      double found_s = 0;
    };
    std::deque<Saving> savings;
    std::int64_t printed = 0;
    std::map<std::int64_t, std::int64_t> epoch_at;  // of a save, by when it was changed last
    double dies_s = INFINITY, leaves_s = INFINITY, told_s = INFINITY;
    constexpr double tick_s = 0.02;
    for (;;) {
      now_s += tick_s;
      while (!deeds.empty() && deeds.front().at_s <= std::min(now_s, dies_s)) {
        const Deed deed = deeds.front();
        deeds.pop_front();
        if (!deed.is_save) {
          ++printed;
          const std::int64_t missing = program.counts ? deed.epoch - fold.last() - 1 : 0;
          if (program.counts && fold.began_with_guess()) {
            fold.settle_guess();
            fold.note_skipped(missing);
            skipped += missing;
          } else {
            CHECK(missing == 0);
          }
          fold.print(result_of(fold.last() + 1 + missing, deed.epoch), 0,
                     static_cast<std::uint64_t>(printed), {now_s});
          continue;
        }
        const auto ns = static_cast<std::int64_t>(deed.at_s * 1e9);
        epoch_at[ns] = deed.epoch;
        SavedFiles files{{"/saved", "last", true, {{"", 1, 1, ns}}},
                         {static_cast<std::uint64_t>(printed), 0},
                         ns};
        const bool rests = program.kind == Kind::at_rest;
        if (rests) savings.clear();  // it was not whole yet
        savings.push_back({files, deed.epoch, rests ? deed.at_s + 1 : deed.at_s});
      }
      const bool has_ended = deeds.empty() || now_s >= dies_s;
      const bool ends_well = deeds.empty() && now_s < dies_s;
      while (!savings.empty() && (savings.front().found_s <= now_s || ends_well)) {
        fold.save(savings.front().files, false, now_s);
        savings.pop_front();
      }
      if (has_ended) fold.end(ends_well ? SaveFold::End::done : SaveFold::End::killed);
      record(fold, epoch_at);
      while (!fold.is_leaving()) {
        auto result = fold.take();
        if (!result) break;
        record(fold, epoch_at);
        take(*result, fate, at);
        if (fate == Fate::none || trial().iteration < at) continue;
        if (fate == Fate::driver_dies) {
          now_s += later_s;
          then(AttemptEnded{id, trial().attempt, Outcome::interrupted, "", false});
          return false;
        }
        if (fate == Fate::program_dies) {
          dies_s = std::min(dies_s, now_s + later_s);
          continue;
        }
        has_stopped = fate == Fate::stop;
        fold.leave();
        leaves_s = now_s;
      }
      record(fold, epoch_at);
      if (fold.is_leaving() && told_s == INFINITY && !has_ended) {
        const bool is_half_written = program.kind == Kind::at_rest && !savings.empty();
        const bool has_had_time = now_s - leaves_s > 1;
        if (fold.has_checkpoint_of_last() || (has_had_time && !is_half_written)) {
          told_s = now_s;
          dies_s = now_s + later_s;
        }
      }
      if (!has_ended) continue;
      if (fold.is_leaving()) {
        const bool pauses = fate == Fate::pause || fate == Fate::exploit;
        then(AttemptEnded{id, trial().attempt, pauses ? Outcome::paused : Outcome::completed, "",
                          false});
        return !pauses;
      }
      if (fold.results() > 0) continue;
      then(AttemptEnded{id, trial().attempt, ends_well ? Outcome::completed : Outcome::interrupted,
                        "", false});
      return ends_well;
    }
  }

  void take(const PrintedResult& printed, Fate fate, std::int64_t at) {
    Result result;
    result.training_iteration = printed.iteration;
    result.metrics = printed.metrics;
    result.metrics.text = "{}";
    const bool is_it = printed.iteration >= at;
    const Action action = fate == Fate::pause && is_it  ? Action::pause
                          : fate == Fate::stop && is_it ? Action::stop
                                                        : Action::proceed;
    then(ResultReported{id, trial().attempt, result, {action, false}});
    CHECK(!rows.contains(printed.iteration));
    rows[printed.iteration] = printed.metrics.find("epoch").value();
  }

  void record(SaveFold& fold, const std::map<std::int64_t, std::int64_t>& epoch_at) {
    for (SaveFold::Named& named : fold.name(now_s)) {
      CHECK_FALSE(named.is_lost);
      if (!named.ahead.empty() && has_stopped) continue;
      Checkpoint checkpoint;
      checkpoint.index = trial().saves + 1;
      checkpoint.iteration = named.iteration;
      then(CheckpointCommitted{id, checkpoint});
      kept[checkpoint.index] = {named.iteration, epoch_at.at(named.files.changed_ns()),
                                std::move(named.ahead), named.is_guess};
    }
  }

  const TrialId id{0};
  Program program;
  std::optional<SavedWhen> told;
  SaveOrders orders;
  Experiment experiment;
  std::map<std::int64_t, double> rows;
  std::map<int, Kept> kept;
  bool has_stopped = false;
  std::int64_t skipped = 0;  ///< results that were never printed, as it was ended behind their save
  double now_s = 1000;
};

/// Whether each row is of its own epoch, and each checkpoint of the one that it is said to have.
void require_exact(const World& world) {
  std::int64_t expected = 0;
  for (const auto& [iteration, epoch] : world.rows) {
    CHECK(iteration == ++expected);
    CHECK(epoch == static_cast<double>(iteration));
  }
  for (const auto& [index, kept] : world.kept) {
    CAPTURE(index);
    CHECK(kept.label == kept.epoch);
    if (!kept.ahead.empty()) CHECK(kept.ahead.back().iteration == kept.label);
  }
}

void walk(const Program& program, std::optional<SavedWhen> told) {
  for (const Fate fate :
       {Fate::none, Fate::pause, Fate::stop, Fate::program_dies, Fate::driver_dies}) {
    for (const double later_s : {0.0, 0.3, 0.95, 1.7, 40.0}) {
      CAPTURE(program.saves == SavedWhen::after_result, program.kind == Kind::at_once,
              program.epoch_s, program.between_s, told.has_value(), static_cast<int>(fate),
              later_s);
      World world(program, told);
      bool is_over = false;
      // Each attempt is cut off somewhat later than the one before, by iteration.
      for (const std::int64_t at : {3, 4, 7, 9}) {
        if (!is_over) is_over = world.attempt(fate, at, later_s);
        require_exact(world);
      }
      while (!is_over) is_over = world.attempt(Fate::none, 0, 0);
      require_exact(world);
      if (fate != Fate::stop) CHECK(world.rows.size() == 12);
      if (fate == Fate::stop) CHECK(world.rows.size() == 3);
    }
  }
}

TEST_CASE("Of a program whose order is told, rows and checkpoints are exact whatever happens to it",
          "[unit][plain]") {
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    for (const Kind kind : {Kind::at_once, Kind::at_rest}) {
      for (const double epoch_s : {0.03, 0.1, 0.5, 3.0}) {
        for (const double between_s : {0.001, 0.015}) {
          walk({saves, kind, epoch_s, between_s}, saves);
        }
      }
    }
  }
}

TEST_CASE("Of one whose order is learnt they are, too, where epochs are long enough to tell",
          "[unit][plain]") {
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    for (const double epoch_s : {0.5, 3.0}) walk({saves, Kind::at_once, epoch_s, 0.001}, {});
  }
}

TEST_CASE("Who saves first and counts its results loses one at most to a guess, and then is known",
          "[unit][plain]") {
  std::int64_t skipped = 0;
  for (const Fate fate : {Fate::pause, Fate::program_dies, Fate::driver_dies}) {
    for (const double later_s : {0.0, 0.1, 0.95}) {
      // An evaluation may fit in between.
      for (const double between_s : {0.03, 0.2}) {
        CAPTURE(static_cast<int>(fate), later_s, between_s);
        World world({.saves = SavedWhen::before_result,
                     .epoch_s = 0.4,
                     .between_s = between_s,
                     .counts = true},
                    {});
        bool is_over = false;
        for (const std::int64_t at : {3, 5, 7, 9}) {
          if (!is_over) is_over = world.attempt(fate, at, later_s);
        }
        while (!is_over) is_over = world.attempt(Fate::none, 0, 0);
        skipped += world.skipped;
        CHECK(world.skipped <= 1);
        CHECK(std::ssize(world.rows) == 12 - world.skipped);
        for (const auto& [iteration, epoch] : world.rows) {
          CHECK(epoch == static_cast<double>(iteration));
        }
        for (const auto& [index, kept] : world.kept) {
          CHECK(kept.epoch - kept.label >= 0);
          CHECK(kept.epoch - kept.label <= (kept.is_guess ? 1 : 0));
        }
        if (world.skipped > 0) CHECK(world.orders.of("last")->known() == SavedWhen::before_result);
      }
    }
  }
  CHECK(skipped > 0);
}

TEST_CASE("A program that is paused while it trains on to its end has all of that when it goes on",
          "[unit][plain]") {
  World world({SavedWhen::after_result, Kind::at_rest, 0.1, 0.001}, {});
  CHECK_FALSE(world.attempt(Fate::pause, 3, INFINITY));
  CHECK(world.rows.size() == 3);
  REQUIRE(world.kept.size() == 1);
  CHECK(world.kept.begin()->second.label == 12);
  CHECK(world.kept.begin()->second.epoch == 12);
  // Its driver dies while it is given them, and nothing is trained again.
  CHECK_FALSE(world.attempt(Fate::driver_dies, 6, 0));
  CHECK(world.rows.size() == 6);
  CHECK(world.attempt(Fate::none, 0, 0));
  CHECK(world.rows.size() == 12);
  require_exact(world);
}

TEST_CASE("A checkpoint whose order nothing tells is said to be a guess", "[unit][plain]") {
  const auto guesses = [](double behind_s, std::optional<SavedWhen> told) {
    SaveOrders orders;
    SaveFold fold(orders, told);
    fold.begin(0, {});
    std::size_t all = 0, guessed = 0;
    for (std::int64_t i = 1; i <= 8; ++i) {
      const auto at_s = static_cast<double>(i);
      fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(i), {at_s});
      (void)fold.take();
      if (i % 2 != 0) continue;  // one for each result would tell it
      const auto ns = static_cast<std::int64_t>((at_s + behind_s) * 1e9);
      fold.save(
          {{"/saved", "last", true, {{"", 1, 1, ns}}}, {static_cast<std::uint64_t>(i), 0}, ns},
          false, at_s + behind_s);
      for (const SaveFold::Named& named : fold.name(at_s + behind_s)) {
        ++all;
        guessed += named.is_guess ? 1 : 0;
      }
    }
    REQUIRE(all > 0);
    return guessed == all ? "all" : guessed == 0 ? "none" : "some";
  };
  CHECK(guesses(0.5, {}) == std::string("all"));
  CHECK(guesses(0.5, SavedWhen::after_result) == std::string("none"));
  CHECK(guesses(0.005, {}) == std::string("none"));
  CHECK(guesses(0.03, {}) == std::string("all"));  // it may have trained in between
}

/// A program that saves, evaluates for as long as it trains, and prints, is to leave after its
/// first result.
TEST_CASE("Who is to leave before its order is known has guesses, and may still show it",
          "[unit][plain]") {
  for (const bool is_shown : {true, false}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    const auto round = [&](std::int64_t i) {
      const double save_s = 1000 + static_cast<double>(i), print_s = save_s + 0.5;
      const auto ns = static_cast<std::int64_t>(save_s * 1e9);
      const auto printed = static_cast<std::uint64_t>(i);
      fold.save({{"/saved", "last", true, {{"", 1, 1, ns}}}, {printed - 1, 0}, ns}, false, save_s);
      fold.print(result_of(i, i), 0, printed, {print_s});
      return fold.name(print_s);
    };
    CHECK(round(1).empty());
    (void)fold.take();
    fold.leave();
    CHECK(fold.is_order_awaited());
    const auto guessed = round(2);
    REQUIRE(guessed.size() == 1);
    CHECK(guessed.back().iteration == 1);
    CHECK(guessed.back().is_guess);
    CHECK_FALSE(guessed.back().order);
    CHECK(fold.is_order_awaited());
    if (is_shown) orders.of("last")->note_end(SavedWhen::before_result);  // by another trial
    const auto next = round(3);
    REQUIRE(next.size() == 1);
    CHECK(next.back().iteration == (is_shown ? 3 : 2));
    CHECK(next.back().ahead.size() == (is_shown ? 2 : 1));
    CHECK(next.back().is_guess == !is_shown);
    CHECK(fold.is_order_awaited() == !is_shown);
    (void)round(4);
    CHECK_FALSE(fold.is_order_awaited());
  }
}

/// A run of a program that trains, prints and saves each round, with an evaluation between print
/// and save, in the order that it has; looked at every 20 ms. What it saves has the name of what it
/// has saved before.
struct Round {
  SavedWhen saves{};
  double train_s = 0;
  double evaluate_s = 0;
  bool has_initial = false;  ///< it saves before it trains
  std::int64_t every = 1;    ///< it saves with each such result
  bool ends_well = true;
  std::int64_t first = 1;  ///< and not before this one
};
struct Run {
  std::vector<SaveFold::Named> named;
  std::vector<std::int64_t> rounds;  ///< that each of them has
};

Run run_of(const Round& round, SaveOrders& orders, std::int64_t rounds = 12) {
  SaveFold fold(orders);
  fold.begin(0, {});
  Run run;
  std::vector<std::int64_t> round_at;  // by inode
  double now_s = 1000;
  std::uint64_t printed = 0;
  std::int64_t saved = 0;  // its last one
  const auto name = [&] {
    for (SaveFold::Named& named : fold.name(now_s)) {
      const auto inode = static_cast<std::int64_t>(named.files.files.front().inode);
      if (inode != saved) continue;  // it has been replaced before it was copied
      run.rounds.push_back(round_at.at(static_cast<std::size_t>(inode - 1)));
      run.named.push_back(std::move(named));
    }
  };
  const auto pass = [&](double for_s) {
    for (const double until_s = now_s + for_s; now_s < until_s;) {
      now_s = std::min(until_s, now_s + 0.02);
      name();
    }
  };
  const auto save = [&](std::int64_t of) {
    round_at.push_back(of);
    saved = std::ssize(round_at);
    const auto ns = static_cast<std::int64_t>(now_s * 1e9);
    fold.save({{"/saved", "last", true, {{"", static_cast<std::uint64_t>(saved), 1, ns}}},
               {printed, 0},
               ns},
              false, now_s);
  };
  if (round.has_initial) save(0);
  for (std::int64_t i = 1; i <= rounds; ++i) {
    const bool does_save = i % round.every == 0 && i >= round.first;
    pass(round.train_s);
    if (does_save && round.saves == SavedWhen::before_result) save(i);
    if (round.saves == SavedWhen::before_result) pass(round.evaluate_s);
    fold.print(result_of(i, i), 0, ++printed, {now_s, PrintTime::watched_lag_s});
    (void)fold.take();
    name();
    if (round.saves == SavedWhen::after_result) pass(round.evaluate_s);
    if (does_save && round.saves == SavedWhen::after_result) save(i);
  }
  fold.end(round.ends_well ? SaveFold::End::done : SaveFold::End::killed);
  name();
  return run;
}

TEST_CASE("Where an evaluation lies between print and save no checkpoint claims what it lacks",
          "[unit][plain]") {
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    for (const auto& [train_s, evaluate_s] : {std::pair(0.4, 1.6),
                                              {0.3, 0.9},
                                              {0.3, 1.0},
                                              {0.5, 0.8},
                                              {0.8, 0.5},
                                              {3.0, 5.0},
                                              {5.0, 3.0},
                                              {600.0, 60.0}}) {
      for (const std::int64_t every : {1, 2, 3}) {
        // It may save what is not trained, too, or begin to save with its second epoch.
        for (const auto& [ends_well, has_initial, first] : {std::tuple(true, false, 1),
                                                            {false, false, 1},
                                                            {true, true, 1},
                                                            {false, true, 1},
                                                            {true, false, 2},
                                                            {false, false, 2}}) {
          CAPTURE(saves == SavedWhen::after_result, train_s, evaluate_s, every, ends_well,
                  has_initial, first);
          // Each hour is looked at every 20 ms, which takes long under the sanitizers.
          if (train_s > 100 && (has_initial || first > 1)) continue;
          SaveOrders orders;
          const Round round{saves, train_s, evaluate_s, has_initial, every, ends_well, first};
          for (int trial = 0; trial < 2; ++trial) {
            const Run run = run_of(round, orders);
            // Each is copied before the next one replaces it, but for the very first ones.
            REQUIRE(std::cmp_greater_equal(run.named.size(), 12 / every - 4));
            for (std::size_t i = 0; i < run.named.size(); ++i) {
              CAPTURE(i, run.rounds[i]);
              const SaveFold::Named& named = run.named[i];
              const std::int64_t missing = run.rounds[i] - named.iteration;
              CHECK(missing >= 0);
              CHECK(missing <= (named.is_guess ? 1 : 0));
              // The end of a trial that saves with each result, and nothing else, tells it.
              const bool has_told = trial > 0 && ends_well && !has_initial && first == 1;
              if (every == 1 && has_told) CHECK_FALSE(named.is_guess);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("Of a program that saves more often than it prints each save claims what it has",
          "[unit][plain]") {
  // Each result comes with the last of three saves.
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    const bool is_first = saves == SavedWhen::before_result;
    CAPTURE(is_first);
    SaveOrders orders;
    SaveFold fold(orders, saves);
    fold.begin(0, {});
    std::uint64_t printed = 0;
    std::vector<std::int64_t> claimed;
    for (std::int64_t epoch = 1; epoch <= 9; ++epoch) {
      const auto print = [&] {
        if (epoch % 3 != 0) return;
        fold.print(result_of(epoch / 3, epoch), 0, ++printed, {static_cast<double>(epoch)});
        (void)fold.take();
      };
      if (!is_first) print();
      const auto ns = epoch * 1'000'000'000;
      const std::string name = "epoch-" + std::to_string(epoch);
      fold.save({{"/saved", name, true, {{"", 1, 1, ns}}}, {printed, 0}, ns}, false, 0);
      if (is_first) print();
      for (const SaveFold::Named& named : fold.name(0)) claimed.push_back(named.iteration);
    }
    // The score of a result belongs to the first one that claims it.
    CHECK(claimed == std::vector<std::int64_t>{0, 0, 1, 1, 1, 2, 2, 2, 3});
  }
}

TEST_CASE("A save that was named as a guess tells the order of those that follow",
          "[unit][plain]") {
  // Those of the first trial lie in between; those of the second are beside their results.
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    SaveOrders orders;
    for (const bool is_near : {false, true}) {
      const Run run = run_of({saves, 2, is_near ? 0.001 : 1.5, false, 3, false}, orders, 18);
      REQUIRE(run.named.size() >= 4);
      CHECK(run.named.back().is_guess == !is_near);
      if (is_near) CHECK(run.named.back().iteration == run.rounds.back());
    }
  }
}

TEST_CASE("Times prove nothing against a save before the first result", "[unit][plain]") {
  // It trains in a moment, saves, and evaluates for a second; or it has saved what is not trained.
  for (const bool has_saved_first : {false, true}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    std::vector<bool> guesses;
    for (std::int64_t i = 1; i <= 6; ++i) {
      const double at_s = 1000.0 + static_cast<double>(i);
      const auto printed = static_cast<std::uint64_t>(i);
      fold.print(result_of(i, i), 0, printed, {at_s, PrintTime::watched_lag_s});
      (void)fold.take();
      const auto ns = static_cast<std::int64_t>((at_s + 0.005) * 1e9);
      SavedFiles saved{{"/saved", "last", true, {{"", 1, 1, ns}}}, {printed, 0}, ns};
      if (has_saved_first) saved.printed_before_first = LogSizes{};
      fold.save(std::move(saved), false, at_s + 0.5);
      for (const auto& named : fold.name(at_s + 0.9)) guesses.push_back(named.is_guess);
    }
    REQUIRE(guesses.size() >= 3);
    for (const bool is_guess : guesses) CHECK(is_guess == has_saved_first);
  }
}

TEST_CASE("What was saved by a program that was killed before it printed anything is no checkpoint",
          "[unit][plain]") {
  // It may be the model of a result that nobody has seen: all rows behind it would be shifted.
  for (const std::int64_t from : {0, 3}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(from, {});
    fold.save({{"/saved", "last", true, {{"", 1, 1, 0}}}, {0, 0}, 0}, false, 0);
    fold.end(SaveFold::End::killed);
    CHECK(fold.name(0).empty());
  }
}

TEST_CASE("A save of a model that is not trained yet shifts no iterations", "[unit][plain]") {
  SaveOrders orders;
  const Run run = run_of({SavedWhen::after_result, 1, 0.001, true}, orders);
  REQUIRE(run.named.size() >= 9);
  for (std::size_t i = 0; i < run.named.size(); ++i) {
    CHECK(run.named[i].iteration == run.rounds[i]);
  }
}

TEST_CASE("Who saves first, and has saved a model that is not trained, does not claim it trained",
          "[unit][plain]") {
  for (const std::int64_t every : {1, 3}) {
    SaveOrders orders;
    for (int trial = 0; trial < 3; ++trial) {
      CAPTURE(every, trial);
      const Run run = run_of({SavedWhen::before_result, 1, 0.001, true, every}, orders, 18);
      CHECK(run.named.size() >= 4);
      for (std::size_t i = 0; i < run.named.size(); ++i) {
        CHECK(run.named[i].iteration <= run.rounds[i]);
      }
    }
    CHECK(orders.of("last")->known() == SavedWhen::before_result);
  }
}

TEST_CASE("A model that is not trained is told by the save that tells the order", "[unit][plain]") {
  SaveOrders orders;
  SaveFold one(orders), other(orders);
  one.begin(0, {});
  other.begin(0, {});
  std::uint64_t printed = 0;
  const auto saved = [&](const char* name, double at_s) {
    const auto ns = static_cast<std::int64_t>(at_s * 1e9);
    return SavedFiles{{"/saved", name, true, {{"", 1, 1, ns}}}, {printed, 0}, ns};
  };
  const auto print = [&](SaveFold& fold, std::int64_t iteration, double at_s) {
    fold.print(result_of(iteration, iteration), 0, static_cast<std::uint64_t>(iteration),
               {at_s, PrintTime::watched_lag_s});
    (void)fold.take();
  };
  // Both save before they have trained, and one of them right before its second result.
  one.save(saved("e-0", 1000), false, 1000);
  other.save(saved("e-0", 1000), false, 1000);
  for (SaveFold* const fold : {&one, &other}) print(*fold, 1, 1002);
  printed = 1;
  one.save(saved("e-2", 1003.999), false, 1004);
  print(one, 2, 1004);
  for (const SaveFold::Named& named : one.name(1004.01)) CHECK(named.files.name == "e-2");
  CHECK(other.name(1004.01).empty());
  CHECK(orders.of("e-")->known() == SavedWhen::before_result);
}

/// A program that saves each of its rounds and is held up in one of ten of them between its save
/// and its print; looked at every 20 ms.
std::vector<SaveFold::Named> named_of_rounds(SavedWhen saves, double round_s, double lag_s) {
  SaveOrders orders;
  SaveFold fold(orders);
  fold.begin(0, {});
  std::vector<SaveFold::Named> all;
  std::uint64_t printed = 0;
  double at_s = 1000;
  const auto save = [&] {
    const auto ns = static_cast<std::int64_t>(at_s * 1e9);
    return SavedFiles{{"/saved", "last", true, {{"", 1, 1, ns}}}, {printed, 0}, ns};
  };
  std::vector<SavedFiles> found;
  for (std::int64_t i = 1; i <= 60; ++i) {
    const double between_s = i % 10 == 0 ? 1.5 * round_s : 0.001;
    at_s += round_s;
    if (saves == SavedWhen::before_result) {
      found.push_back(save());
      at_s += between_s;
    }
    fold.print(result_of(i, i), 0, ++printed, {at_s, lag_s});
    (void)fold.take();
    if (saves == SavedWhen::after_result) {
      at_s += between_s;
      found.push_back(save());
    }
    // A look at what was saved comes later than that of what was printed.
    if (i % 3 != 0) continue;
    for (SavedFiles& each : found) fold.save(std::move(each), false, at_s);
    found.clear();
    for (SaveFold::Named& named : fold.name(at_s)) all.push_back(std::move(named));
  }
  return all;
}

TEST_CASE("Of rounds of milliseconds the order is learnt where somebody watches the log",
          "[unit][plain]") {
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    for (const double round_s : {0.015, 0.02, 0.05}) {
      CAPTURE(saves == SavedWhen::after_result, round_s);
      const auto named = named_of_rounds(saves, round_s, PrintTime::watched_lag_s);
      REQUIRE(named.size() >= 59);
      std::int64_t iteration = 60 - static_cast<std::int64_t>(named.size());
      for (const SaveFold::Named& each : named) {
        CHECK(each.iteration == ++iteration);
        CHECK_FALSE(each.is_guess);
      }
    }
  }
  // Where nobody does, nothing tells it: it may have saved what was not trained.
  const auto unwatched = named_of_rounds(SavedWhen::before_result, 0.02, PrintTime::read_lag_s);
  REQUIRE(unwatched.size() >= 50);
  for (const SaveFold::Named& each : unwatched) CHECK(each.is_guess);
}

TEST_CASE("Where a result may lie on either side of a save, that tells nothing of the order",
          "[unit][plain]") {
  for (const int bursts : {0, 1}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    for (std::int64_t i = 1; i <= 6; ++i) {
      const auto end = static_cast<std::uint64_t>(10 * i);
      const auto ns = static_cast<std::int64_t>(i * 1'000'000'000 - 1'000'000);
      fold.print(result_of(i, i), 0, end, {static_cast<double>(i), PrintTime::watched_lag_s});
      CHECK(fold.take());
      fold.save({{"/saved", "last", true, {{"", 1, 1, ns}}}, {end - 10, 0}, ns, {end, 0}, bursts},
                false, static_cast<double>(i));
    }
    CHECK(orders.of("last")->known() ==
          (bursts == 0 ? std::optional(SavedWhen::before_result) : std::nullopt));
  }
}

TEST_CASE("What goes on from a checkpoint whose iteration is a guess counts from a guess",
          "[unit][plain]") {
  SaveOrders orders;
  SaveFold fold(orders, SavedWhen::after_result);
  fold.begin(3, {}, true, "last");
  fold.print(result_of(4, 4), 0, 10, {0});
  CHECK(fold.take());
  fold.save({{"/saved", "last", true, {{"", 1, 1, 0}}}, {10, 0}, 0}, false, 0);
  const auto named = fold.name(0);
  REQUIRE(named.size() == 1);
  CHECK(named.front().iteration == 4);
  CHECK(named.front().is_guess);
}

TEST_CASE("A result that was skipped proves an order where none is known", "[unit][plain]") {
  const auto known_of = [](std::int64_t results, std::optional<SavedWhen> earlier,
                           std::optional<SavedWhen> told) {
    SaveOrders orders;
    if (earlier) orders.of("last")->note_earlier(*earlier);
    SaveFold fold(orders, told);
    fold.begin(3, {}, true, "last");
    fold.note_skipped(results);
    return orders.of("last")->known();
  };
  constexpr auto after = SavedWhen::after_result, before = SavedWhen::before_result;
  CHECK(known_of(1, {}, {}) == before);
  CHECK(known_of(2, {}, {}) == std::nullopt);
  // The guess has another reason.
  CHECK(known_of(1, after, {}) == after);
  CHECK(known_of(1, {}, after) == std::nullopt);
}

TEST_CASE("What is counted from a guess is one, until its program tells where it is",
          "[unit][plain]") {
  // What its checkpoint has beyond its trial was counted before.
  for (const bool is_guess : {true, false}) {
    for (const bool counts_from_guess : {true, false}) {
      for (const bool is_number_known : {true, false}) {
        SaveOrders orders;
        SaveFold fold(orders);
        fold.begin(2, {result_of(3, 3)}, is_guess, {}, {}, counts_from_guess);
        fold.print(result_of(4, 4), 0, 1, {4});
        fold.settle_guess(is_number_known);
        fold.print(result_of(6, 6), 0, 2, {6});
        for (const bool expected : {counts_from_guess, is_guess || counts_from_guess,
                                    counts_from_guess && !is_number_known}) {
          CHECK(fold.take().value().is_guess == expected);
        }
      }
    }
  }
}

TEST_CASE("A guess that was made since results may be missing takes each restore its proof",
          "[unit][plain]") {
  for (const bool is_doubted : {false, true}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    fold.doubt(is_doubted);
    for (std::int64_t i = 1; i <= 4; ++i) {
      fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(i), {static_cast<double>(i)});
      (void)fold.take();
    }
    constexpr std::int64_t ns = 4'500'000'000;  // training or an evaluation lies on both sides
    fold.save({{"/saved", "last", true, {{"", 1, 1, ns}}}, {4, 0}, ns}, false, 8);
    const auto named = fold.name(10.1);
    REQUIRE(named.size() == 1);
    CHECK(named.front().is_guess);
    orders.of("last")->note_skipped();
    CHECK(orders.of("last")->known().has_value() == !is_doubted);
  }
}

TEST_CASE(
    "Who came to its end instead of leaving is asked for all that it printed, if that is kept",
    "[unit][plain]") {
  const auto n = static_cast<std::int64_t>(most_printed_ahead) + GENERATE(0, 1);
  SaveOrders orders;
  SaveFold fold(orders, SavedWhen::after_result);
  fold.begin(0, {});
  fold.leave();
  for (std::int64_t i = 1; i <= n; ++i) {
    fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(i), {0});
  }
  fold.end(SaveFold::End::done);
  const bool is_kept = std::cmp_equal(n, most_printed_ahead);
  CHECK(fold.stay() == is_kept);
  CHECK(fold.is_leaving() == !is_kept);
}

TEST_CASE("What it prints in vain is bounded, and what it saves of that is lost", "[unit][plain]") {
  SaveOrders orders;
  SaveFold fold(orders, SavedWhen::after_result);
  fold.begin(0, {});
  fold.leave();
  const auto n = static_cast<std::int64_t>(most_printed_ahead) + 10;
  for (std::int64_t i = 1; i <= n; ++i) {
    fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(i), {0});
  }
  fold.save({{"/saved", "last", true, {{"", 1, 1, 0}}}, {static_cast<std::uint64_t>(n), 0}, 0},
            true, 0);
  CHECK(fold.results() == most_printed_ahead);
  const auto named = fold.name(0);
  REQUIRE(named.size() == 1);
  CHECK(named.front().is_lost);
  CHECK(named.front().ahead.empty());
}

/// Its program prints at each second from 1001 on, and its trial takes what it prints.
void print_three_results(SaveFold& fold) {
  fold.begin(0, {});
  for (std::int64_t i = 1; i <= 3; ++i) {
    fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(i),
               {1000.0 + static_cast<double>(i)});
    (void)fold.take();
  }
}

/// The program is told to end 0.1 s after its third result.
SaveFold::Named saved_on_signal(SaveOrders& orders, double begun_s, SaveFold::End how) {
  SaveFold fold(orders, SavedWhen::after_result);
  print_three_results(fold);
  fold.leave();
  const auto ns = static_cast<std::int64_t>(begun_s * 1e9);
  SavedFiles saved{{"/saved", "last", true, {{"", 1, 1, ns}}}, {3, 0}, ns};
  saved.told_s = 1003.1;
  fold.save(saved, true, begun_s);
  fold.end(how);
  const auto named = fold.name(begun_s);
  REQUIRE(named.size() == 1);
  CHECK(named.front().iteration == 3);
  return named.front();
}

TEST_CASE("What is saved on a signal, and not right behind a result, may have one epoch more",
          "[unit][plain]") {
  SaveOrders orders;
  using End = SaveFold::End;
  for (const End how : {End::done, End::killed}) {
    CHECK_FALSE(saved_on_signal(orders, 1003.001, how).is_guess);
    // Its epoch may have been trained, and be evaluated just then.
    for (const double begun_s : {1003.12, 1003.4, 1003.99}) {
      CHECK(saved_on_signal(orders, begun_s, how).is_guess);
    }
  }
}

TEST_CASE("Who saves first and stops between a save and its result may have one epoch more",
          "[unit][plain]") {
  for (const bool is_epoch : {true, false}) {
    SaveOrders orders;
    SaveFold fold(orders, SavedWhen::before_result);
    print_three_results(fold);
    const auto ns = static_cast<std::int64_t>((is_epoch ? 1003.2 : 1003.01) * 1e9);
    fold.save({{"/saved", "last", true, {{"", 1, 1, ns}}}, {3, 0}, ns}, false, 1004);
    fold.end(SaveFold::End::done);
    const auto named = fold.name(1004);
    REQUIRE(named.size() == 1);
    CHECK(named.front().iteration == 3);
    CHECK(named.front().is_guess == is_epoch);
  }
}

TEST_CASE("How one ends that was told to end shows no order", "[unit][plain]") {
  for (const bool is_told : {true, false}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    for (std::int64_t i = 1; i <= 3; ++i) {
      const double at_s = 1000 + static_cast<double>(i);
      const auto ns = static_cast<std::int64_t>((at_s + 0.5) * 1e9);
      fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(i), {at_s});
      if (i == 3 && is_told) fold.leave();
      fold.save(
          {{"/saved", "last", true, {{"", 1, 1, ns}}}, {static_cast<std::uint64_t>(i), 0}, ns},
          is_told && i == 3, at_s + 0.5);
    }
    fold.end(SaveFold::End::done);
    CHECK(orders.of("last")->known().has_value() == !is_told);
  }
}

TEST_CASE("A script that saves its model and then prints its only result has saved that",
          "[unit][plain]") {
  using End = SaveFold::End;
  for (const End how : {End::done, End::killed}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    fold.save({{"/saved", "model", false, {{"", 1, 1, 0}}}, {0, 0}, 0}, false, 0);
    fold.print(result_of(1, 1), 0, 10, {60});
    fold.end(how);
    CHECK(fold.take());
    const auto named = fold.name(61);
    // Killed, it may have saved what it began with.
    CHECK(fold.has_left_out() == (how == End::killed));
    REQUIRE(named.size() == (how == End::done ? 1 : 0));
    if (how == End::done) CHECK(named.front().iteration == 1);
  }
}

TEST_CASE("Where nothing tells whether a program saves before it prints, or after, that is said",
          "[unit][plain]") {
  struct Sample {
    double epoch_s;
    std::optional<SavedWhen> told;
    bool is_guess;
  };
  for (const Sample& sample :
       {Sample{0.02, {}, true}, Sample{0.02, SavedWhen::before_result, false},
        Sample{1, {}, false}}) {
    SaveOrders orders;
    SaveFold fold(orders, sample.told);
    fold.begin(0, {});
    double now_s = 1000;
    for (std::int64_t i = 1; i <= 40; ++i) {
      now_s += sample.epoch_s;
      const auto ns = static_cast<std::int64_t>(now_s * 1e9);
      const std::uint64_t printed = static_cast<std::uint64_t>(i - 1);
      if (i % 2 == 0) {
        fold.save({{"/saved", "last", true, {{"", 1, 1, ns}}}, {printed, 0}, ns}, false, now_s);
      }
      fold.print(result_of(i, i), 0, printed + 1, {now_s});
      fold.take();
      fold.name(now_s);
    }
    CAPTURE(sample.epoch_s, sample.told.has_value());
    CHECK(fold.has_guessed() == sample.is_guess);
  }
}

/// The save of a program that has printed four results, each of 10 bytes.
SavedFiles saved_behind(std::uint64_t at_least, std::uint64_t at_most, int bursts) {
  return {{"/saved", "last", true, {{"", 1, 1, 0}}}, {at_least, 0}, 0, {at_most, 0}, bursts};
}

/// It was looked at after the driver had stood still.
SavedFiles seen_late(std::uint64_t at_least, std::uint64_t at_most, int bursts) {
  SavedFiles saved = saved_behind(at_least, at_most, bursts);
  saved.is_late = true;
  return saved;
}

TEST_CASE("Of lines that were printed around a save, the result that was printed first is its own",
          "[unit][plain]") {
  struct Sample {
    SavedWhen order;
    SavedFiles saved;
    std::optional<std::int64_t> iteration;
  };
  constexpr auto after = SavedWhen::after_result, before = SavedWhen::before_result;
  const Sample samples[] = {
      {after, saved_behind(12, 25, 0), 1},   // result 2 came behind it
      {after, saved_behind(12, 25, 1), 2},   // 2, then it, then perhaps the next epoch's heading
      {after, saved_behind(22, 29, 2), 2},   // only headings in between
      {before, saved_behind(12, 25, 0), 2},  // it, then 2
      {before, saved_behind(12, 25, 1), std::nullopt},  // 2, then it; or a heading, it, then 2
      {after, saved_behind(12, 35, 0), 1},
      {after, saved_behind(12, 35, 1), std::nullopt},  // 2, or 2 and 3: the driver stood still
      {before, saved_behind(12, 35, 1), std::nullopt},
      {after, seen_late(12, 25, 0), 1},
      {before, seen_late(12, 25, 0), 2},
      {after, seen_late(12, 25, 1), std::nullopt},  // 2, then it; or a heading, it, then 2
      {before, seen_late(12, 19, 1), 2},            // no result in between
  };
  for (const Sample& sample : samples) {
    SaveOrders orders;
    SaveFold fold(orders, sample.order);
    fold.begin(0, {});
    for (std::int64_t i = 1; i <= 4; ++i) {
      fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(10 * i), {0});
      CHECK(fold.take());
    }
    fold.save(sample.saved, false, 0);
    fold.save(saved_behind(40, 40, 0), false, 0);
    const auto named = fold.name(0);
    CAPTURE(sample.saved.bursts, sample.saved.printed_at_most.stdout_bytes);
    if (sample.iteration) {
      REQUIRE_FALSE(named.empty());
      CHECK(named.front().iteration == *sample.iteration);
    } else {
      CHECK((named.empty() || named.front().iteration == 4));
    }
    CHECK_FALSE(fold.has_left_out());
  }
}

TEST_CASE("The last save of a program that saves first claims no result that it may lack",
          "[unit][plain]") {
  SaveOrders orders;
  SaveFold fold(orders, SavedWhen::before_result);
  fold.begin(0, {});
  for (std::int64_t i = 1; i <= 4; ++i) {
    fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(10 * i), {0});
    CHECK(fold.take());
  }
  const std::uint64_t at_least = GENERATE(10, 20, 30);
  for (const int bursts : {1, 2}) fold.save(saved_behind(at_least, 40, bursts), false, 0);
  CHECK(fold.name(0).empty());
  fold.end(SaveFold::End::done);
  const auto named = fold.name(0);
  REQUIRE(named.size() == 1);
  // It may be of the next epoch that was saved, or of a later one, if only one was printed since.
  CHECK(named.front().iteration == static_cast<std::int64_t>(at_least / 10) + 1);
  CHECK(named.front().is_guess == (at_least < 30));
}

TEST_CASE("What a stalled driver has found behind its back is not of the result that comes last",
          "[unit][plain]") {
  SaveOrders orders;
  SaveFold fold(orders, SavedWhen::before_result);
  fold.begin(0, {});
  // It saves each second epoch: 1, a save, and 2 were there when the driver woke; then came 3.
  for (std::int64_t i = 1; i <= 2; ++i) {
    fold.print(result_of(i, i), 0, static_cast<std::uint64_t>(10 * i), {0});
  }
  fold.save(seen_late(0, 20, 1), false, 0);
  fold.print(result_of(3, 3), 0, 30, {1});
  fold.end(SaveFold::End::done);
  while (fold.take()) continue;
  const auto named = fold.name(1);
  REQUIRE(named.size() == 1);
  CHECK(named.front().iteration == 1);
  CHECK(named.front().is_guess);
}

TEST_CASE("A save that was found by looking alone has the result that was printed before it",
          "[unit][plain]") {
  // Looks are 0.25 s apart, and what was printed between them and how the save lies to it is known
  // by times alone.
  for (const SavedWhen saves : {SavedWhen::after_result, SavedWhen::before_result}) {
    for (const double epoch_s : {0.2, 0.5, 3.0}) {
      for (const bool is_told : {true, false}) {
        const bool is_first = saves == SavedWhen::before_result;
        CAPTURE(is_first, epoch_s, is_told);
        SaveOrders orders;
        SaveFold fold(orders, is_told ? std::optional(saves) : std::nullopt);
        fold.begin(0, {});
        double now_s = 1000;
        for (std::int64_t i = 1; i <= 8; ++i) {
          now_s += epoch_s;
          const double printed_s = now_s, saved_s = now_s + (is_first ? -0.001 : 0.001);
          const auto end = static_cast<std::uint64_t>(i);
          fold.print(result_of(i, i), 0, end, {printed_s + 0.02, PrintTime::read_lag_s});
          (void)fold.take();
          const auto ns = static_cast<std::int64_t>(saved_s * 1e9);
          SavedFiles saved{
              {"/saved", "last", true, {{"", end, 1, ns}}}, {end - 1, 0}, ns, {end, 0}};
          saved.is_by_look = true;
          fold.save(std::move(saved), false, now_s + 0.1);
          for (const SaveFold::Named& named : fold.name(now_s + 0.1)) {
            CHECK(std::cmp_equal(named.iteration, named.files.files.front().inode));
            CHECK(named.is_guess == !is_told);
          }
        }
      }
    }
  }
}

TEST_CASE("A save that was seen late tells nothing of the order", "[unit][plain]") {
  for (const bool is_late : {false, true}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    for (std::int64_t i = 1; i <= 6; ++i) {
      const auto at_s = static_cast<double>(i);
      const auto end = static_cast<std::uint64_t>(10 * i);
      fold.print(result_of(i, i), 0, end, {at_s, PrintTime::watched_lag_s});
      CHECK(fold.take());
      const auto ns = static_cast<std::int64_t>(i * 1'000'000'000 + 1'000'000);
      fold.save({{"/saved", "last", true, {{"", 1, 1, ns}}}, {end, 0}, ns, {end, 0}, 0, is_late},
                false, at_s + 0.01);
    }
    CHECK(orders.of("last")->known() ==
          (is_late ? std::nullopt : std::optional(SavedWhen::after_result)));
  }
}

TEST_CASE("A save that is found when its program is gone has the result that the end tells",
          "[unit][plain]") {
  for (const auto how : {SaveFold::End::done, SaveFold::End::killed}) {
    SaveOrders orders;
    SaveFold fold(orders);
    fold.begin(0, {});
    for (std::uint64_t i = 1; i <= 6; ++i) {
      fold.print(result_of(fold.last() + 1, fold.last() + 1), 0, i,
                 {static_cast<double>(i), PrintTime::watched_lag_s});
      CHECK(fold.take());
    }
    constexpr double gone_s = 6.2;
    fold.expect_end();
    fold.save({{"/saved", "last", true, {{"", 1, 1, 6'100'000'000}}}, {6, 0}, 6'100'000'000}, false,
              gone_s);
    CHECK(fold.name(gone_s).empty());
    fold.end(how);
    const auto named = fold.name(gone_s);
    REQUIRE(named.size() == 1);
    CHECK(named.front().iteration == 6);
    CHECK(named.front().is_guess == (how == SaveFold::End::killed));
  }
}

}  // namespace
}  // namespace tune
