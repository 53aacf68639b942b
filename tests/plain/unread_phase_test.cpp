// Words for a phase that choose no lines.
#include "tuner/plain/unread_phase.h"

#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// What is told of a program that prints `epoch` four times, "USUAL, OTHER"; lines with "loss" are
/// its results.
std::string told_of(const std::vector<std::string>& first, const std::vector<std::string>& epoch) {
  UnreadPhase phases;
  std::string told;
  const auto print = [&](const std::string& line) {
    const auto closing = closing_line(line, "loss");
    if (!closing) {
      phases.see(line);
    } else if (const auto two = phases.take(*closing, line)) {
      told += two->usual + ", " + two->other;
    }
  };
  for (const std::string& line : first) print(line);
  for (int i = 0; i < 4; ++i) {
    for (const std::string& line : epoch) print(line);
  }
  return told;
}

}  // namespace

TEST_CASE("Results of two phases that other lines name are told once", "[plain]") {
  CHECK(told_of({}, {"Training", "loss: 0.9", "Validation", "loss: 0.5"}) ==
        "'loss: 0.5' below 'Validation', 'loss: 0.9' below 'Training'");
  CHECK(told_of({}, {"Epoch 1", "-----", "loss: 0.9", "Test Error:", "loss: 0.5"}) ==
        "'loss: 0.5' below 'Test Error:', 'loss: 0.9'");
  CHECK(told_of({}, {"loss: 0.9 (train)", "loss: 0.5 (val)"}) ==
        "'loss: 0.5 (val)', 'loss: 0.9 (train)'");
  CHECK(told_of({}, {R"({"loss": 0.9, "split": "train"})", R"({"loss": 0.5, "split": "val"})"}) !=
        "");
}

TEST_CASE("Results of one phase, or of phases that their lines name in front, are told by none",
          "[plain]") {
  CHECK(told_of({"Training"}, {"loss: 0.9"}) == "");
  CHECK(told_of({"Reading the test data"}, {"Epoch 1", "loss: 0.9"}) == "");
  CHECK(told_of({}, {"Training", "12 batches", "Validation", "loss: 0.5"}) == "");
  CHECK(told_of({}, {"train loss: 0.9", "val loss: 0.5"}) == "");
  CHECK(told_of({}, {"loss: 0.9, val acc: 0.5"}) == "");
}
