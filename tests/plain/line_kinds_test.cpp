// Lines of batches and lines of validations, by the words before the metric.
#include "tuner/plain/line_kinds.h"

#include <string>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// The line of the other kind that is told of `line`, if one is.
std::optional<std::string> told(LineKinds& kinds, const std::string& line) {
  kinds.take(closing_line(line, "loss").value(), line);
  return kinds.take_other();
}

}  // namespace

TEST_CASE("Two kinds of lines that come twice each are told once", "[unit][plain]") {
  KnownKinds known;
  LineKinds kinds(known);
  CHECK_FALSE(told(kinds, "iter 10: loss 2.98"));
  CHECK_FALSE(told(kinds, "iter 20: loss 2.90"));
  CHECK_FALSE(told(kinds, "step 20: train loss 2.9, mean loss 3.1"));
  CHECK_FALSE(told(kinds, " * loss 3.0"));
  CHECK(told(kinds, " * loss 3.1") == "iter 10: loss 2.98");
  for (int i = 0; i < 3; ++i) CHECK_FALSE(told(kinds, "epoch 1 loss 2"));
}

TEST_CASE("A line that comes once, and bars whose speed turns round, are no kinds of their own",
          "[unit][plain]") {
  KnownKinds known;
  LineKinds kinds(known);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(told(kinds, "epoch 1 loss: 2"));
  CHECK_FALSE(told(kinds, "beforehand loss: 3"));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(told(kinds, "45%|####   | 1.2s/it, loss=2"));
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
