// Lines of batches and lines of validations, by the words before the metric.
#include "tuner/script/line_kinds.h"

#include <string>

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("Two kinds of lines that come twice each are told once", "[unit][plain]") {
  LineKinds kinds;
  CHECK_FALSE(kinds.take("iter : loss", "iter 10: loss 2.98"));
  CHECK_FALSE(kinds.take("iter : loss", "iter 20: loss 2.90"));
  CHECK_FALSE(kinds.take("step : train loss val loss", "step 20: train loss 2.9, val loss 3.1"));
  CHECK(kinds.take("step : train loss val loss", "step 40: train loss 2.8, val loss 3.0") ==
        "iter 10: loss 2.98");
  for (int i = 0; i < 3; ++i) CHECK_FALSE(kinds.take("epoch loss", "epoch 1 loss 2"));
}

TEST_CASE("A line that comes once, and bars whose speed turns round, are no kinds of their own",
          "[unit][plain]") {
  LineKinds kinds;
  for (int i = 0; i < 3; ++i) CHECK_FALSE(kinds.take("epoch loss", "epoch 1 loss: 2"));
  CHECK_FALSE(kinds.take("before training loss", "before training loss: 3"));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(kinds.take("s it loss", "45%|####   | 1.2s/it, loss=2"));
}
