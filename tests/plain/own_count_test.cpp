#include "tuner/plain/own_count.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("A line with the count of an iteration is of that one, whatever values it has",
          "[unit][plain]") {
  OwnCount count;
  count.note(1, "step 0: val loss 4.0");
  count.note(2, "step 20: val loss 3.0");
  CHECK_FALSE(count.is_of(2, "step 20: val loss 3.1"));  // two may differ by chance
  count.note(3, "step 40: val loss 2.0");
  count.note(1, "step 0: val loss 9.0");  // another launch
  CHECK(count.is_of(2, "step 20: val loss 3.1"));
  CHECK(count.is_of(3, "step 40: val loss 2.2"));
  CHECK_FALSE(count.is_of(2, "step 40: val loss 2.2"));
  CHECK_FALSE(count.is_of(2, "step 0: val loss 2.2"));
  // One that counts anew from its restore on looks like that.
  CHECK_FALSE(count.is_of(1, "step 0: val loss 4.1"));
  CHECK_FALSE(count.is_of(4, "step 60: val loss 1.0"));
}

TEST_CASE("Two results tell a count where two runs have the same", "[unit][plain]") {
  OwnCount count;
  for (int run = 0; run < 2; ++run) {
    CHECK_FALSE(count.is_of(2, "step 20: val loss 3.1"));
    count.note(1, "step 0: val loss 4.0");
    count.note(2, "step 20: val loss 3.0");
  }
  CHECK(count.is_of(2, "step 20: val loss 3.1"));
  CHECK_FALSE(count.is_of(2, "step 40: val loss 3.1"));
}

TEST_CASE("What a restored program goes on with is counted, unless it may count one too many",
          "[unit][plain]") {
  OwnCount count;
  for (int i = 1; i <= 3; ++i) count.note(i, "step " + std::to_string(20 * i) + ": 1");
  count.note(4, "step 60: 2", true);  // one too many
  count.note(5, "step 80: 2", true);
  CHECK_FALSE(count.is_of(4, "step 60: 2"));
  count.note(4, "step 80: 2", true);
  CHECK(count.is_of(4, "step 80: 2"));
}

TEST_CASE("Counts at equal steps tell also of iterations that no trial has come to",
          "[unit][plain]") {
  OwnCount count;
  count.note(1, "step  0: 4");
  count.note(2, "step 20: 3");
  CHECK_FALSE(count.would_be_of(3, "step 40: 2"));  // two may differ by chance
  count.note(3, "step 40: 2");
  CHECK(count.would_be_of(3, "step 40: 2"));
  CHECK(count.would_be_of(4, "step 60: 1"));
  CHECK(count.would_be_of(7, "step 120: 1"));  // padded otherwise
  for (const char* const line : {"step 80: 1", "step 61: 1", "epoch 60: 1", "step: 1", "60: 1"}) {
    CAPTURE(line);
    CHECK_FALSE(count.would_be_of(4, line));
  }
  // What a restored program prints again is told by what was printed alone.
  CHECK_FALSE(count.is_of(4, "step 60: 1"));
}

TEST_CASE("Counts of which some differ in their step tell nothing of iterations to come",
          "[unit][plain]") {
  OwnCount count;
  for (const int step : {1, 100, 200, 300}) {
    count.note(step == 1 ? 1 : step / 100 + 1, "step " + std::to_string(step) + ": 1");
  }
  CHECK(count.would_be_of(4, "step 300: 1"));
  CHECK_FALSE(count.would_be_of(5, "step 400: 1"));
  OwnCount backwards;
  for (int i = 1; i <= 3; ++i) backwards.note(i, "left " + std::to_string(9 - i) + ": 1");
  CHECK_FALSE(backwards.would_be_of(4, "left 5: 1"));
}

TEST_CASE("The last counts up to a result are those that count upwards to it", "[unit][plain]") {
  using Counts = std::vector<std::string>;
  LastCounts counts;
  CHECK(counts.up_to(1).empty());
  for (int i = 1; i <= 5; ++i) counts.note(i, "step " + std::to_string(20 * i) + ": loss 1.5");
  CHECK(counts.up_to(5) == Counts{"step 60", "step 80", "step 100"});
  CHECK(counts.up_to(2) == Counts{"step 20", "step 40"});
  CHECK(counts.up_to(6).empty());
  counts.note(6, "loss 1.5");  // it has none
  counts.note(7, "step 140: loss 1.5");
  CHECK(counts.up_to(6).empty());
  CHECK(counts.up_to(7) == Counts{"step 140"});
  counts.note(9, "step 180: loss 1.5");  // the one between is missing
  CHECK(counts.up_to(9) == Counts{"step 180"});
  counts.note(10, "step 20: loss 1.5");  // it counts anew
  CHECK(counts.up_to(10) == Counts{"step 20"});
  counts.note(11, "step 20: loss 1.5");
  CHECK(counts.up_to(11) == Counts{"step 20"});
  counts.note(12, "epoch 30: loss 1.5");
  CHECK(counts.up_to(12) == Counts{"epoch 30"});
}

TEST_CASE("Who goes on has the counts of what it goes on from, and forgets those long past",
          "[unit][plain]") {
  using Counts = std::vector<std::string>;
  LastCounts counts;
  counts.begin(7, {"epoch 6", "epoch 7"});
  CHECK(counts.up_to(7) == Counts{"epoch 6", "epoch 7"});
  CHECK(counts.up_to(6) == Counts{"epoch 6"});
  counts.note(8, "epoch 8: loss 1.5");
  CHECK(counts.up_to(8) == Counts{"epoch 6", "epoch 7", "epoch 8"});
  for (int i = 9; i <= 1'000; ++i) counts.note(i, "epoch " + std::to_string(i));
  CHECK(counts.up_to(8).empty());
  CHECK(counts.up_to(1'000) == Counts{"epoch 998", "epoch 999", "epoch 1000"});
}

TEST_CASE("A count that a checkpoint has is known without the results before it", "[unit][plain]") {
  OwnCount count;
  for (int i = 4; i <= 6; ++i) count.know(i, "step " + std::to_string(20 * i) + ": 1");
  CHECK(count.is_of(6, "step 120: 2"));
  CHECK(count.would_be_of(8, "step 160: 2"));
  CHECK_FALSE(count.would_be_of(8, "step 140: 2"));
  count.note(7, "step 140: 1");
  CHECK(count.is_of(7, "step 140: 2"));
  OwnCount early;
  early.know(1, "step 0: 1");
  CHECK_FALSE(early.is_of(2, "step 20: 2"));
  early.know(2, "step 20: 1");
  CHECK(early.is_of(2, "step 20: 2"));
  CHECK_FALSE(early.is_of(2, "step 0: 2"));
}

TEST_CASE("A count has a name, wherever it stands in the line", "[unit][plain]") {
  const auto line = [](int form, int i) {
    const std::string n = std::to_string(i), loss = std::to_string(1.0 / i);
    switch (form) {
      case 0:
        return "{\"val_loss\": " + loss + ", \"epoch\": " + n + "}";
      case 1:
        return "{'eval_loss': '" + loss + "', 'epoch': '" + n + ".0'}";
      case 2:
        return "12:30:0" + n + ",123 INFO Epoch[" + n + "/9] val_loss=" + loss;
      default:
        return "val_loss " + loss + " (iter " + n + ")";
    }
  };
  for (const int form : {0, 1, 2, 3}) {
    CAPTURE(form);
    OwnCount count;
    for (int i = 1; i <= 3; ++i) count.note(i, line(form, i));
    CHECK(count.is_of(3, line(form, 3)));
    CHECK(count.would_be_of(5, line(form, 5)));
    CHECK_FALSE(count.would_be_of(4, line(form, 5)));
  }
}

TEST_CASE("What a word names that is no whole number is no count", "[unit][plain]") {
  for (const std::string name : {"epoch ", "epochs: ", "per step 0.", "stepwise "}) {
    CAPTURE(name);
    OwnCount count;
    for (int i = 1; i <= 3; ++i) count.note(i, "loss " + name + std::to_string(i) + ".5");
    CHECK_FALSE(count.is_of(3, "loss " + name + "3.5"));
  }
}

TEST_CASE("Numbers that differ from trial to trial are no count", "[unit][plain]") {
  // Seconds that have gone by, or steps of as many samples as a hyperparameter says.
  OwnCount count;
  for (int i = 1; i <= 3; ++i) count.note(i, std::to_string(100 * i) + " s: 1");
  CHECK(count.is_of(3, "300 s: 1"));
  count.note(1, "150 s: 1");
  CHECK_FALSE(count.is_of(3, "300 s: 1"));
  CHECK_FALSE(count.would_be_of(4, "400 s: 1"));
}

TEST_CASE("The step of named iterations is known from two that are the same on", "[unit][plain]") {
  CountStep step;
  step.note(20);
  CHECK_FALSE(step.known());
  step.note(20);
  CHECK(step.known() == 20);
  step.note(40);
  step.note(20);
  CHECK_FALSE(step.known());
}

TEST_CASE("Numbers that are no count tell nothing", "[unit][plain]") {
  for (const char* const begin : {"epoch 1: ", "lr 0.1 ", "loss ", ""}) {
    OwnCount count;
    count.note(1, "epoch 0: loss 4");
    count.note(2, std::string(begin) + "loss 3");
    count.note(3, std::string(begin) + "loss 2");
    count.note(4, "epoch 2: loss 1");
    CHECK_FALSE(count.is_of(2, std::string(begin) + "loss 2.9"));
  }
}

}  // namespace
}  // namespace tune
