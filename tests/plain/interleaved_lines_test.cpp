// Lines that come in turn, each of another curve.
#include "tuner/plain/interleaved_lines.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// The two lines that are told; empty: none are.
std::string told(const std::vector<std::string>& lines) {
  InterleavedLines interleaved;
  std::string all;
  for (const std::string& line : lines) {
    const std::string text = line + " loss: 1";
    if (const auto two = interleaved.take(closing_line(text, "loss").value(), text)) {
      all += two->first + ", " + two->second;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("Lines that differ by a number that comes again are told once", "[unit][plain]") {
  CHECK(told({"[p0] epoch 1", "[p1] epoch 1", "[p0] epoch 2", "[p1] epoch 2", "[p0] epoch 3"}) ==
        "[p0] epoch 1 loss: 1, [p1] epoch 1 loss: 1");
  CHECK(told({"model 1 epoch 1", "model 0 epoch 1"}) ==
        "model 1 epoch 1 loss: 1, model 0 epoch 1 loss: 1");
  CHECK_FALSE(told({"a0:0 epoch 1", "a0:1 epoch 1", "a0:0 epoch 2"}).empty());
  CHECK_FALSE(told({"2026-11-28 00:00:01 [0ank 0] epoch 1", "2026-11-28 00:00:02 [1ank 1] epoch 1",
                    "2026-11-28 00:00:03 [0ank 0] epoch 2"})
                  .empty());
  CHECK(told({"epoch 1", "epoch 1", "epoch 2", "epoch 2"}) == "epoch 2 loss: 1, epoch 2 loss: 1");
}

TEST_CASE("Lines that come twice with their epoch behind the metric are told, and no others",
          "[unit][plain]") {
  const auto told_of = [](const std::vector<std::string>& lines) {
    InterleavedLines interleaved;
    std::string all;
    for (const std::string& text : lines) {
      if (const auto two = interleaved.take(closing_line(text, "loss").value(), text)) {
        all += two->first;
      }
    }
    return all;
  };
  const auto of = [](const std::string& epoch) { return "{'loss': 0.5, 'epoch': " + epoch + "}"; };
  CHECK(told_of({of("1.0"), of("1.0"), of("2.0"), of("2.0")}) == of("2.0"));
  CHECK(told_of({of("1"), of("1"), of("2"), of("2")}) == of("2"));
  CHECK(told_of({of("1.0"), of("1.0"), of("2.0"), of("3.0"), of("4.0")}).empty());
  CHECK(told_of({"loss: 0.5", "loss: 0.5", "loss: 0.4", "loss: 0.4"}).empty());
}

TEST_CASE("Counters that count are not told", "[unit][plain]") {
  CHECK(told({"epoch 1 step 0", "epoch 1 step 5", "epoch 2 step 0", "epoch 2 step 5"}) == "");
  CHECK(told({"fold 0 epoch 1", "fold 0 epoch 2", "fold 1 epoch 1", "fold 1 epoch 2"}) == "");
  CHECK(told({"epoch 1/3", "epoch 2/3", "epoch 3/3", "epoch 1/3", "epoch 2/3"}) == "");
  CHECK(told({"epoch 1 [0/60 (0%)]", "epoch 1 [30/60 (50%)]", "epoch 2 [0/60 (0%)]"}) == "");
  CHECK(told({"epoch 1 mem 300", "epoch 1 mem 200", "epoch 2 mem 100"}) == "");
  CHECK(told({"epoch 1 step 1 mem 9", "epoch 1 step 2 mem 9", "epoch 2 step 1 mem 10"}) == "");
  CHECK(told({"epoch 1", "epoch 0", "epoch 1"}) == "");
  CHECK(told({"epoch 1", "epoch 1", "epoch 2", "epoch 3"}) == "");
  CHECK(told({"lr 1", "lr 1", "lr 1", "lr 1"}) == "");
}
