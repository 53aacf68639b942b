#include "tuner/plain/save_order.h"

#include <optional>
#include <utility>

#include "tests/support/catch.h"

namespace tune {
namespace {

constexpr auto after = SavedWhen::after_result;
constexpr auto before = SavedWhen::before_result;

/// A save that takes 10 ms, so long after a result and before the next one.
std::optional<SavedWhen> told(double since_s, double until_s, double lag_s = 0) {
  constexpr double at_s = 1000;
  const auto vote = vote_of({.result_before = PrintTime{at_s + lag_s},
                             .begun_s = at_s + since_s,
                             .ended_s = at_s + since_s + 0.01,
                             .result_behind = PrintTime{at_s + since_s + 0.01 + until_s + lag_s},
                             .now_s = at_s + 100});
  return vote ? std::optional(vote->when) : std::nullopt;
}

TEST_CASE("A save right behind a result is of that one, one right before the next of the next",
          "[unit][plain]") {
  for (const double epoch_s : {0.1, 1.0, 600.0}) {
    for (const double lag_s : {0.0, 0.01, 0.02}) {
      CAPTURE(epoch_s, lag_s);
      CHECK(told(0.001, epoch_s, lag_s) == after);
      CHECK(told(epoch_s, 0.001, lag_s) == before);
    }
  }
}

TEST_CASE("What was printed while nobody looked tells nothing of a save beside it",
          "[unit][plain]") {
  // It may have been printed at once, and was seen an epoch later.
  for (const double lag_s : {PrintTime::watched_lag_s, 1.2}) {
    const auto vote = vote_of({.result_before = PrintTime{1000, PrintTime::watched_lag_s},
                               .begun_s = 1000.005,
                               .ended_s = 1000.006,
                               .result_behind = PrintTime{1001.5, lag_s},
                               .now_s = 1002});
    CHECK(vote.has_value() == (lag_s < 1));
  }
}

TEST_CASE("A save in the middle of an epoch, and epochs shorter than the lag, tell nothing",
          "[unit][plain]") {
  CHECK(told(1, 1) == std::nullopt);
  CHECK(told(1, 2) == std::nullopt);
  CHECK(told(0.02, 0.001) == std::nullopt);
  CHECK(told(0.001, 0.02) == std::nullopt);
}

TEST_CASE("One save tells beyond doubt where it is nearer by far, in epochs that are not short",
          "[unit][plain]") {
  const auto is_clear = [](double since_s, double until_s) {
    return vote_of({.result_before = PrintTime{1000},
                    .begun_s = 1000 + since_s,
                    .ended_s = 1000 + since_s,
                    .result_behind = PrintTime{1000 + since_s + until_s},
                    .now_s = 2000})
               ->weight == SaveOrder::enough;
  };
  CHECK(is_clear(0.02, 60));
  CHECK(is_clear(60, 0.02));
  CHECK_FALSE(is_clear(0.001, 0.9));  // a program that stutters
  CHECK_FALSE(is_clear(0.9, 0.001));
}

TEST_CASE("A save that has time for an evaluation or for training on both sides tells nothing",
          "[unit][plain]") {
  // What is short beside the other may be either of both: 1.6 s and 0.4 s, or a minute and 3 s.
  for (const auto& [near_s, far_s] : {std::pair(0.4, 1.6), {0.2, 3.0}, {3.0, 60.0}}) {
    CAPTURE(near_s, far_s);
    CHECK(told(near_s, far_s) == std::nullopt);
    CHECK(told(far_s, near_s) == std::nullopt);
  }
  // It collects a model from many machines for 5 s, and trains for an hour.
  CHECK(told(5, 3600) == after);
}

TEST_CASE("What is written while a result is printed is near that by its begin alone",
          "[unit][plain]") {
  // Printed at 1000 and 1000.5; a thread of it writes for 0.7 s.
  SaveMoment save{.result_before = PrintTime{1000, PrintTime::watched_lag_s},
                  .begun_s = 1000.1,
                  .ended_s = 1000.8,
                  .result_behind = PrintTime{1000.5, PrintTime::watched_lag_s},
                  .now_s = 1010};
  CHECK_FALSE(vote_of(save));
  REQUIRE(between_results(save));
  CHECK(between_results(save)->place == Approx(0.2));
  save.begun_s = 1000.001;
  REQUIRE(vote_of(save));
  CHECK(vote_of(save)->when == after);
  save.begun_s = 1000.499;
  REQUIRE(vote_of(save));
  CHECK(vote_of(save)->when == before);
}

TEST_CASE("A save before the first result may be of that if others lie as near to theirs",
          "[unit][plain]") {
  SaveOrder order;
  CHECK(order.may_be_of_first(60));
  for (const double until_s : {0.002, 5.0, 0.001}) order.note_until_result(until_s);
  CHECK(order.may_be_of_first(0.01));
  CHECK_FALSE(order.may_be_of_first(0.3));
  // What a run goes on from it may save once more, as it begins.
  SaveOrder untold;
  CHECK(untold.may_be_of_first(0.01, true));
  CHECK_FALSE(untold.may_be_of_first(0.3, true));
}

TEST_CASE("The end of who saves several times between two results proves no order",
          "[unit][plain]") {
  const SavedWhen how = GENERATE(before, after);
  SaveOrder order;
  order.note_saves(3);
  order.note_end(how);
  CHECK(order.known() == std::nullopt);
  SaveOrder once;
  once.note_saves(1);
  once.note_end(how);
  CHECK(once.known() == how);
}

TEST_CASE("First saves prove nothing and may contradict times, and how a run ends beats both",
          "[unit][plain]") {
  SaveOrder order;
  order.note_first_saves(true);
  CHECK(order.known() == std::nullopt);
  CHECK(order.may_be(after));
  order.note_saved_first();
  CHECK_FALSE(order.may_be(after));
  // The first one was of a model that was not trained, or each is evaluated for long.
  order.note(after, SaveOrder::enough);
  CHECK(order.known() == std::nullopt);
  order.note_end(after);
  CHECK(order.known() == after);
  SaveOrder contradicted;
  contradicted.note_first_saves(false);
  CHECK(contradicted.known() == std::nullopt);
  CHECK_FALSE(contradicted.may_be(before));
  contradicted.note(before, SaveOrder::enough);
  CHECK(contradicted.known() == std::nullopt);
  contradicted.note_end(before);
  CHECK(contradicted.known() == before);
}

TEST_CASE("What earlier drivers have learnt holds until something speaks against it",
          "[unit][plain]") {
  SaveOrder order;
  order.note_earlier(before);
  CHECK(order.known() == before);
  CHECK(order.may_be(before));
  CHECK_FALSE(order.may_be(after));
  // It may have saved at the begin of each epoch what the one before came to.
  order.note_saved_first();
  order.note(after, SaveOrder::enough);
  CHECK(order.known() == std::nullopt);
  order.note_end(after);
  CHECK(order.known() == after);
  SaveOrder changed;
  changed.note_earlier(before);
  changed.note(after, SaveOrder::enough);
  CHECK(changed.known() == std::nullopt);
}

TEST_CASE("Who saves at the begin of each epoch is not taken for one that saves before it prints",
          "[unit][plain]") {
  SaveOrder order;
  order.note_saved_first();
  order.note(after, SaveOrder::enough);
  order.note_end(before);
  CHECK(order.known() == std::nullopt);
  // Something may lie between the print and the save.
  SaveOrder later;
  later.note_saved_first();
  for (int i = 0; i < 4; ++i) later.note_between({0.05, 1});
  later.note_end(before);
  CHECK(later.known() == std::nullopt);
  SaveOrder evaluated;
  evaluated.note_saved_first();
  for (int i = 0; i < 4; ++i) evaluated.note_between({0.2, 1});
  evaluated.note_end(before);
  CHECK(evaluated.known() == before);
  // Where epochs are too short for times, the end alone tells.
  SaveOrder untimed;
  untimed.note_saved_first();
  untimed.note_end(before);
  CHECK(untimed.known() == before);
}

TEST_CASE("One restore that goes on behind a result that was not printed proves who saves first",
          "[unit][plain]") {
  SaveOrder order;
  order.note_skipped();
  CHECK(order.known() == before);
  CHECK_FALSE(order.may_be(after));
  // Who skips an epoch when it is restored, and has never saved before its first result.
  SaveOrder contradicted;
  contradicted.note_first_saves(false);
  contradicted.note_skipped();
  CHECK(contradicted.known() == std::nullopt);
  SaveOrder timed;
  timed.note(after, SaveOrder::enough);
  timed.note_skipped();
  CHECK(timed.known() == std::nullopt);
  SaveOrder ended;
  ended.note_skipped();
  ended.note_end(after);
  CHECK(ended.known() == after);
}

TEST_CASE("Where a checkpoint may have more results for another reason, no restore proves an order",
          "[unit][plain]") {
  SaveOrder order;
  order.note_other_guess();
  order.note_skipped();
  CHECK(order.known() == std::nullopt);
  CHECK(order.may_be(after));
}

TEST_CASE("That no result comes for long tells that it came before", "[unit][plain]") {
  SaveMoment save{.result_before = PrintTime{1000}, .begun_s = 1000.01, .ended_s = 1000.02};
  save.now_s = 1000.05;
  CHECK_FALSE(vote_of(save));
  save.now_s = 1000.2;
  REQUIRE(vote_of(save));
  CHECK(vote_of(save)->when == after);
  CHECK(vote_of(save)->weight < SaveOrder::enough);
  save.now_s = 1001.2;
  CHECK(vote_of(save)->weight == SaveOrder::enough);
  save.begun_s = save.ended_s = 1001;
  save.now_s = 1001.1;
  CHECK_FALSE(vote_of(save));
  save.result_before.reset();
  save.now_s = 2000;
  CHECK_FALSE(vote_of(save));
}

TEST_CASE("The order is known from two saves on, and one in four may lie", "[unit][plain]") {
  SaveOrder order;
  CHECK(order.known() == std::nullopt);
  order.note(before, 2);
  CHECK(order.known() == std::nullopt);
  order.note(before, 2);
  CHECK(order.known() == before);
  order.note(after, 2);
  CHECK(order.known() == std::nullopt);
  order.note(before, 2);
  order.note(before, 2);
  CHECK(order.known() == before);
}

TEST_CASE("A save that is far from its result is far also where most of its kind are",
          "[unit][plain]") {
  SaveOrder order;
  for (const double until_s : {0.9, 0.05, 0.9, 0.9, 0.06, 0.9}) order.note_until_result(until_s);
  CHECK(order.is_far(0.9));
  CHECK_FALSE(order.is_far(0.1));
}

}  // namespace
}  // namespace tune
