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
