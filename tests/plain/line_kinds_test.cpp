// Lines of batches and lines of validations, by the words before the metric.
#include "tuner/plain/line_kinds.h"

#include <string>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// The two lines that are told once `line` has come, if they are.
std::string told(LineKinds& kinds, const std::string& line) {
  kinds.take(closing_line(line, "loss").value(), line);
  const auto two = kinds.take_mixed();
  return two ? two->usual + "; " + two->other : "";
}

}  // namespace

TEST_CASE("Two kinds of lines that count are told once, when one of them has come again",
          "[unit][plain]") {
  KnownKinds known;
  LineKinds kinds(known);
  CHECK(told(kinds, "iter 10: loss 2.98").empty());
  CHECK(told(kinds, "iter 20: loss 2.90").empty());
  CHECK(told(kinds, " * loss 3.0").empty());  // which waits
  CHECK(told(kinds, " * loss 3.1") == "iter 10: loss 2.98;  * loss 3.0");
  for (int i = 0; i < 3; ++i) CHECK(told(kinds, " * loss 2").empty());
}

TEST_CASE("A single line that counts before, or among, lines of another kind is told",
          "[unit][plain]") {
  const std::string check = "Checked the model: loss: 3", epoch = "epoch 1 loss: 2";
  KnownKinds known;
  LineKinds before(known);
  CHECK(told(before, check).empty());
  CHECK(told(before, epoch).empty());
  CHECK(told(before, epoch) == epoch + "; " + check);
  LineKinds among(known);
  for (int i = 0; i < 3; ++i) CHECK(told(among, epoch).empty());
  CHECK(told(among, check).empty());  // which waits
  CHECK(told(among, epoch) == epoch + "; " + check);
  LineKinds after(known);
  for (int i = 0; i < 3; ++i) CHECK(told(after, epoch).empty());
  CHECK(told(after, check).empty());
  CHECK(after.settle_at_end() == std::vector<bool>{false});
}

TEST_CASE("Bars whose speed turns round, and lines with words in front of others, are no kinds",
          "[unit][plain]") {
  KnownKinds known;
  LineKinds kinds(known);
  CHECK(told(kinds, "New best! epoch 1 loss: 3").empty());
  for (int i = 0; i < 3; ++i) CHECK(told(kinds, "epoch 1 loss: 2").empty());
  for (int i = 0; i < 3; ++i) CHECK(told(kinds, "45%|####   | 1.2s/it, loss=2").empty());
}

TEST_CASE("Lines wait until a kind comes again, and no more than a handful do", "[unit][plain]") {
  KnownKinds known;
  LineKinds kinds(known);
  using Count = LineKinds::Count;
  const auto take = [&](const std::string& line) {
    return kinds.take(closing_line(line, "loss").value(), line);
  };
  CHECK(take("val loss: 1").counts == Count::later);
  for (const char* const line : {"a loss: 1", "b loss: 1", "c loss: 1", "d loss: 1", "e loss: 1",
                                 "f loss: 1", "g loss: 1"}) {
    CHECK(take(line).counts == Count::later);
  }
  const LineKinds::Answer last = take("h loss: 1");
  CHECK(last.counts == Count::yes);
  CHECK(last.held == std::vector<bool>(8, true));
  CHECK_FALSE(known.counted);
}
