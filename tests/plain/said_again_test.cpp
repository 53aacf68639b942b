#include "tuner/plain/said_again.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/plain/named_number.h"

namespace tune {
namespace {

using Kind = SaidAgain::Kind;

using Lines = std::vector<std::pair<std::size_t, std::string>>;

/// Which of the lines, each with its stream, are results: "r", echoes: "e", summaries: "s", of
/// another kind: "o"; the last line is the program's last. `counted`: the phase that counts, if it
/// is known; `earlier`: lines of earlier launches.
std::string judged(const Lines& lines, std::optional<Phase> counted = {},
                   const Lines& earlier = {}) {
  KnownKinds known{counted};
  SaidAgain again(known);
  std::string kinds;
  const auto judge = [&](std::size_t stream, const std::string& line) {
    again.see(stream, line);
    const auto value = number_behind(line, "val_loss", NumberForm::colon);
    if (!value) return;
    const auto [kind, held] = again.judge(stream, line, closing_line(line, "val_loss"), {*value});
    for (const bool counts : held) kinds[kinds.find('h')] = counts ? 'r' : 'o';
    kinds += "rhoes"[static_cast<std::size_t>(kind)];
  };
  for (const auto& [stream, line] : earlier) judge(stream, line);
  again.begin_launch();
  kinds.clear();
  for (const auto& [stream, line] : lines) judge(stream, line);
  const bool are_odd = again.kinds().has_odd();
  for (const bool counts : again.kinds().settle_at_end()) {
    kinds[kinds.find('h')] = counts ? 'r' : are_odd ? 's' : 'o';
  }
  return kinds;
}

TEST_CASE("Lines of two phases on two streams are no repetition, however close their numbers are",
          "[unit][plain]") {
  CHECK(judged({{0, "val_loss: 6.011"},
                {1, "test val_loss: 6.012"},
                {0, "val_loss: 6.021"},
                {1, "test val_loss: 6.022"},
                {0, "val_loss: 6.031"}}) == "roror");
}

TEST_CASE("What a program says on both of its streams counts once", "[unit][plain]") {
  CHECK(judged({{0, "1 val_loss: 0.5"},
                {1, "INFO val_loss=0.5"},
                {0, "2 val_loss: 0.4"},
                {1, "INFO val_loss=0.4"}}) == "rere");
  CHECK(judged({{1, "INFO val_loss=0.5"},
                {0, "1 val_loss: 0.5"},
                {1, "INFO val_loss=0.4"},
                {0, "2 val_loss: 0.4"}}) == "rere");
  CHECK(judged({{0, "1 val_loss: 0.5"},
                {0, "2 val_loss: 0.4"},
                {0, "3 val_loss: 0.3"},
                {1, "INFO val_loss=0.50012"},
                {1, "INFO val_loss=0.40008"},
                {1, "INFO val_loss=0.30001"}}) == "rrreee");
}

TEST_CASE("A value that stays the same is a result each time", "[unit][plain]") {
  CHECK(judged({{0, "1 val_loss: 0.5"}, {0, "2 val_loss: 0.5"}, {0, "3 val_loss: 0.5"}}) == "rrr");
  CHECK(judged({{0, "1 val_loss: 0.5"},
                {1, "x val_loss: 0.5"},
                {0, "2 val_loss: 0.5"},
                {1, "x val_loss: 0.5"}}) == "rere");
}

TEST_CASE("Results on one stream and others on the other all count", "[unit][plain]") {
  CHECK(judged({{0, "1 val_loss: 0.5"},
                {1, "2 val_loss: 0.4"},
                {0, "3 val_loss: 0.3"},
                {1, "4 val_loss: 0.2"}}) == "rrrr");
}

TEST_CASE("A line that sums up is no result", "[unit][plain]") {
  const std::vector<std::pair<std::size_t, std::string>> epochs = {
      {0, "Epoch 9/11 - val_loss: 0.3"},
      {0, "Epoch 10/11 - val_loss: 0.1"},
      {0, "Epoch 11/11 - val_loss: 0.2"}};
  for (const char* const line :
       {"Best val_loss: 0.1", "best val_loss: 0.1001", "Overall, val_loss: 0.1",
        "Lowest val_loss: 0.1", "Training done in 3 s, val_loss: 0.1",
        "Training complete. val_loss: 0.2", "val_loss: 0.1 (best)", "Final val_loss: 0.2",
        "Average val_loss=0.15"}) {
    CAPTURE(line);
    auto lines = epochs;
    lines.emplace_back(0, line);
    CHECK(judged(lines) == "rrrs");
  }
}

TEST_CASE("A line that sums up may have more digits than the results", "[unit][plain]") {
  CHECK(judged({{0, "Epoch 1 val_loss: 0.041"},
                {0, "Epoch 2 val_loss: 0.017"},
                {0, "Best val_loss: 0.016608"}}) == "rrs");
  CHECK(judged({{0, "Epoch 1 val_loss: 12"},
                {0, "Epoch 2 val_loss: 7"},
                {0, "Best val_loss: 6.6123"}}) == "rrs");
  CHECK(judged({{0, "Epoch 1 val_loss: 0.041"},
                {0, "Epoch 2 val_loss: 0.017"},
                {0, "Best val_loss: 0.0164"}}) == "rrs");
  CHECK(judged({{0, "1 val_loss: 0.109"}, {1, "INFO val_loss: 0.109432"}}) == "re");
  CHECK(judged({{0, "1 val_loss: 0.5"}, {1, "INFO val_loss: 0.53"}}) == "rr");
  CHECK(judged({{0, "1 val_loss: inf"}, {1, "2 val_loss: 0.5"}}) == "rr");
}

TEST_CASE("The best result of the trial that it is a copy of is none of its own", "[unit][plain]") {
  KnownKinds known;
  const auto judge = [&](const std::string& line, bool knows) {
    SaidAgain again(known);
    if (knows) again.know({0.2, 0.9});
    for (const double value : {0.5, 0.4}) {
      const std::string epoch = "Epoch 7 val_loss: " + std::to_string(value);
      again.judge(0, epoch, closing_line(epoch, "val_loss"), {value});
    }
    const double value = *number_behind(line, "val_loss", NumberForm::colon);
    return again.judge(0, line, closing_line(line, "val_loss"), {value}).kind;
  };
  CHECK(judge("Best val_loss: 0.2", true) == Kind::summary);
  CHECK(judge("Best val_loss: 0.2", false) == Kind::held);
  CHECK(judge("New best! Epoch 9 val_loss: 0.1", true) == Kind::result);
}

TEST_CASE("A line that sums up is told apart, whatever numbers and units the results begin with",
          "[unit][plain]") {
  CHECK(judged({{0, "[4/8] loss 0.9 lr 0.0001 val_loss: 0.3"},
                {0, "[5/8] loss nan lr 9e-05 val_loss: nan"},
                {0, "[6/8] loss inf lr 1.#IND00 val_loss: nan"},
                {0, "Finished. val_loss: 0.3"}}) == "rrrs");
  CHECK(judged({{0, "1/3 - 950us/step - val_loss: 0.3"},
                {0, "2/3 - 1ms/step - val_loss: 0.2"},
                {0, "3/3 - 12.5it/s - val_loss: 0.1"},
                {0, "Best val_loss: 0.1"}}) == "rrrs");
  CHECK(judged({{0, "info nano val_loss: 0.3"}, {0, "other val_loss: 0.2"}}) == "rr");
  CHECK(closing_line("info nano 3 val_loss: 0.3", "val_loss")->beginning == "info nano ");
}

TEST_CASE("What is measured after the training is no result, whatever its value", "[unit][plain]") {
  for (const char* const value : {"0.01", "0.25", "0.9"}) {
    for (const char* const begin :
         {"Final test ", "Final ", "Test: ", "Test | ", "[TEST] 3/3: ", "Test set: Average ",
          "Total ", "CV ", "Best epoch: 2, ", "2026-01-01 best iteration is 3: "}) {
      const std::string line = std::string(begin) + "val_loss: " + value;
      CAPTURE(line);
      CHECK(
          judged({{0, "Epoch 1/2 - val_loss: 0.3"}, {0, "Epoch 2/2 - val_loss: 0.2"}, {0, line}}) ==
          "rrs");
      // With several lines an epoch, too.
      CHECK(judged({{0, "1 train val_loss: 0.5"},
                    {0, "1 val_loss: 0.3"},
                    {0, "2 train val_loss: 0.4"},
                    {0, "2 val_loss: 0.2"},
                    {0, line}})
                .substr(0, 4) == "oror");
    }
  }
}

TEST_CASE("A program that measures by a test each time has results", "[unit][plain]") {
  CHECK(judged({{0, "pretrain 1 test val_loss: 0.3"},
                {0, "pretrain 2 test val_loss: 0.2"},
                {0, "finetune 1 test val_loss: 0.1"},
                {0, "finetune 2 test val_loss: 0.1"}}) == "rrrr");
}

TEST_CASE("Of lines of training and of validation one sort counts, whatever their values",
          "[unit][plain]") {
  const auto epochs = [](const std::string& training, const std::string& other, double value) {
    std::vector<std::pair<std::size_t, std::string>> lines;
    for (int epoch = 1; epoch < 4; ++epoch) {
      const std::string count = std::to_string(epoch);
      lines.emplace_back(0, training + count + " val_loss: 0.55");
      lines.emplace_back(0, other + count + " val_loss: " + std::to_string(value + epoch));
    }
    return lines;
  };
  for (const double value : {-0.45, -0.46, 0.9}) {
    CAPTURE(value);
    CHECK(judged(epochs("Training Results - Epoch: ", "Validation Results - Epoch: ", value)) ==
          "ororor");  // Ignite
    CHECK(judged(epochs("INFO | train | epoch ", "INFO | valid | epoch ", value)) == "ororor");
    CHECK(judged(epochs("train ", "val ", value)) == "ororor");
    CHECK(judged(epochs("train ", "test ", value)) == "ororor");
    CHECK(judged(epochs("val ", "train ", value)) == "rororo");
    CHECK(judged(epochs("test ", "train ", value)) == "rororo");
    CHECK(judged(epochs("val ", "test ", value)) == "rororo");
    CHECK(judged(epochs("Epoch ", "Round ", value)) == "rrrrrr");
  }
}

TEST_CASE("Where lines of training come alone they are the results, from the first one",
          "[unit][plain]") {
  CHECK(judged({{0, "train 1 val_loss: 0.5"}}) == "r");
  CHECK(judged({{0, "train 1 val_loss: 0.5"}, {0, "train 2 val_loss: 0.4"}}) == "rr");
  CHECK(judged({{0, "train 1 val_loss: 0.5"},
                {0, "train 2 val_loss: 0.4"},
                {0, "Validation: val_loss: 0.3"}}) == "rro");
  CHECK(judged({{0, "train 1 val_loss: 0.5"}, {1, "INFO train val_loss: 0.5"}}) == "re");
  CHECK(closing_line("Train Loss: 0.1 | Val. Loss: 0.2 | Val. Acc: 0.3", "Acc")->phase ==
        Phase::validation);
  for (const char* const line : {"training_iteration: 1 val_loss: 0.5", "test-x: 1, val_loss: 0.5",
                                 "data/train val_loss: 0.5", "x val_loss: 0.5, train 1"}) {
    CHECK(closing_line(line, "val_loss")->phase == Phase::unnamed);
  }
}

TEST_CASE("Another trial of the program knows which lines count", "[unit][plain]") {
  CHECK(judged({{0, "train 1 val_loss: 0.5"}, {0, "val 1 val_loss: 0.4"}}, Phase::validation) ==
        "or");
  CHECK(judged({{0, "train 1 val_loss: 0.5"}, {0, "val 1 val_loss: 0.4"}}, Phase::training) ==
        "ro");
  KnownKinds known;
  SaidAgain again(known);
  const std::string line = "train 1 val_loss: 0.5";
  CHECK(again.judge(0, line, closing_line(line, "val_loss"), {0.5}).kind == Kind::held);
  CHECK(again.judge(0, line, closing_line(line, "val_loss"), {0.4}).held == std::vector{true});
  CHECK(known.counted == Phase::training);
}

TEST_CASE("Lines that have the metric alone are the results, not those with a word for a phase",
          "[unit][plain]") {
  const auto epochs = [](const std::string& first, const std::string& second) {
    Lines lines;
    for (int epoch = 1; epoch < 5; ++epoch) {
      lines.emplace_back(0, first + "val_loss: 0.5" + std::to_string(epoch));
      lines.emplace_back(0, second + "val_loss: 0.3" + std::to_string(epoch));
    }
    return judged(lines);
  };
  for (const char* const named : {"Test ", "Validation ", "train ", "Epoch 1 - test "}) {
    CAPTURE(named);
    const auto with_o = [](std::string kinds) {
      std::replace(kinds.begin(), kinds.end(), 's', 'o');
      return kinds;
    };
    CHECK(with_o(epochs("Epoch 1: ", named)) == "rorororo");
    CHECK(with_o(epochs(named, "Epoch 1: ")) == "orororor");
  }
}

TEST_CASE("A single line without a word for a phase chooses nothing", "[unit][plain]") {
  // One that stands first has counted when it came, in all trials alike.
  const Lines lines = {{0, "Before: val_loss: 2.3"}, {0, "train val_loss: 0.5"},
                       {0, "valid val_loss: 0.4"},   {0, "train val_loss: 0.3"},
                       {0, "valid val_loss: 0.2"},   {0, "train val_loss: 0.1"},
                       {0, "valid val_loss: 0.1"}};
  CHECK(judged(lines) == "rororor");
  CHECK(judged(lines, Phase::validation) == "rororor");
  // A validation before the training is none of its epochs.
  CHECK(judged({{0, "Validation before: val_loss: 2.3"},
                {0, "Epoch 1: val_loss: 0.5"},
                {0, "Epoch 2: val_loss: 0.4"}}) == "orr");
}

TEST_CASE("What earlier launches of a trial have printed tells of its last words",
          "[unit][plain]") {
  const Lines epochs = {{0, "Epoch 1 val_loss: 0.3"}, {0, "Epoch 2 val_loss: 0.2"}};
  CHECK(judged({{0, "Best val_loss: 0.2"}}, {}, epochs) == "s");
  CHECK(judged({{0, "Test: val_loss: 0.9"}}, {}, epochs) == "s");
  CHECK(judged({{0, "Epoch 3 val_loss: 0.1"}, {0, "Final val_loss: 0.1"}}, {}, epochs) == "rs");
  CHECK(judged({{0, "train val_loss: 0.3"}, {0, "val val_loss: 0.4"}}, {},
               {{0, "train val_loss: 0.3"}, {0, "val val_loss: 0.4"}}) == "or");
  CHECK(judged({{0, "Best val_loss: 0.2"}}) == "r");
  // What one stream has not repeated, and what waited, is forgotten.
  CHECK(judged({{1, "Epoch 2 val_loss: 0.2"}}, {}, epochs) == "r");
  CHECK(judged({{0, "Epoch 1 val_loss: 0.3"}}, {}, {{0, "train val_loss: 0.3"}}) == "r");
  // All of one stream is looked at before the other.
  Lines many;
  for (std::size_t stream = 0; stream < 2; ++stream) {
    for (int i = 0; i < 50; ++i) {
      many.emplace_back(stream, std::string(stream == 0 ? "" : "INFO ") +
                                    "val_loss: " + std::to_string(5.0 / (i + 1)));
    }
  }
  CHECK(judged({{0, "Best val_loss: 0.1"}}, {}, many) == "s");
}

TEST_CASE("What stands below a title that says it sums up is no result", "[unit][plain]") {
  for (const char* const title :
       {"Early stopping, best iteration is:", "Did not meet early stopping. Best iteration is:",
        "Stopping. Best iteration:"}) {
    CAPTURE(title);
    CHECK(judged({{0, "[1]\tval_loss: 0.95"},
                  {0, "[2]\tval_loss: 0.85"},
                  {0, "[3]\tval_loss: 0.86"},
                  {0, title},
                  {0, "[2]\tval_loss: 0.85"}}) == "rrrs");  // LightGBM, XGBoost
    CHECK(judged({{0, "[1]\tval_loss: 0.95"}, {0, title}, {0, "[1]\tval_loss: 0.95"}}) == "rs");
  }
  CHECK(judged({{0, "{'val_loss': 0.70035, 'epoch': 1.0}"},
                {0, "***** eval metrics *****"},
                {0, "  epoch = 1.0"},
                {0, "  val_loss = 0.7004"}}) == "rs");  // Hugging Face
  CHECK(judged({{0, "{'val_loss': 0.7, 'epoch': 1.0}"},
                {0, "***** test results *****"},
                {0, "  val_loss = 0.2"},
                {0, "val_loss = 0.6"}}) == "rsr");
}

TEST_CASE("Below other titles, or below one each time, are results", "[unit][plain]") {
  const auto epochs = [](const std::string& title) {
    return judged({{0, "epoch 1 val_loss: 0.5"},
                   {0, title},
                   {0, "  epoch 2 val_loss: 0.4"},
                   {0, title},
                   {0, "  epoch 3 val_loss: 0.45"}});
  };
  CHECK(epochs("New best model:") == "rrr");
  CHECK(epochs("Best model saved to a:b.pt") == "rrr");
  CHECK(epochs("***** Running Evaluation *****") == "rrr");
  CHECK(epochs("--------") == "rrr");
  CHECK(judged({{0, "***** Eval results *****"},
                {0, "  val_loss = 0.7"},
                {0, "***** Eval results *****"},
                {0, "  val_loss = 0.7"}}) == "rr");
}

TEST_CASE("A line that may be a result is one", "[unit][plain]") {
  const std::vector<std::pair<std::size_t, std::string>> epochs = {{0, "epoch 1 val_loss: 0.3"},
                                                                   {0, "epoch 2 val_loss: 0.2"}};
  for (const char* const line : {"epoch 3 val_loss: 0.2 (best)", "New best! epoch 3 val_loss: 0.1",
                                 "INFO epoch 3 val_loss: 0.1", "epoch 3 val_loss: 0.1 time: 3 s"}) {
    CAPTURE(line);
    auto lines = epochs;
    lines.emplace_back(0, line);
    CHECK(judged(lines) == "rrr");
  }
  // Who prints in several ways is not judged.
  CHECK(judged({{0, "a val_loss: 0.3"}, {0, "b val_loss: 0.2"}, {0, "best val_loss: 0.2"}}) ==
        "rrr");
}

TEST_CASE("A last line of another form than the results is none, whatever its value",
          "[unit][plain]") {
  const auto after = [](const Lines& rows, const char* line) {
    Lines lines = rows;
    lines.emplace_back(0, line);
    return judged(lines);
  };
  const Lines epochs = {{0, "epoch 1: val_loss=0.3 lr=0.1"}, {0, "epoch 2: val_loss=0.2 lr=0.1"}};
  for (const char* const line :
       {"RESULT val_loss=0.01", "Held-out val_loss=0.01", "val_loss: 0.01", "{\"val_loss\": 0.01}",
        "wandb:  val_loss: 0.01", "finetune 1 val_loss: 0.01", "epoch: 3, val_loss: 0.1 params: 9",
        "RESULT epoch 2: val_loss=0.01"}) {
    CAPTURE(line);
    CHECK(after(epochs, line) == "rrs");
  }
  const Lines logged = {{0, "INFO:x:val_loss = 0.3, step = 1"},
                        {0, "INFO:x:val_loss = 0.2, step = 2"}};
  CHECK(after(logged, "INFO:x:Saving dict for step 2: step = 2, val_loss = 0.1") == "rrs");
  // JSON lines, the last one with another object.
  const Lines objects = {{0, R"({"val_loss": 0.3, "epoch": 1})"},
                         {0, R"({"val_loss": 0.2, "epoch": 2})"}};
  CHECK(after(objects, R"({"val_loss": 0.1, "params": 9})") == "rrs");
  CHECK(after(objects, R"({"val_loss": 0.1, "epoch": 3, "best": 1})") == "rrr");
  CHECK(after(objects, R"({"val_loss": 0.1})") == "rrr");
  // Several of them, and one that comes again.
  CHECK(judged({{0, "epoch 1 val_loss: 0.3"},
                {0, "epoch 2 val_loss: 0.2"},
                {0, "RESULT val_loss: 0.1"},
                {0, "Held-out val_loss: 0.1"}}) == "rrss");
  CHECK(judged({{0, "epoch 1 val_loss: 0.3"},
                {0, "epoch 2 val_loss: 0.2"},
                {0, "Fold 1 val_loss: 0.15"},
                {0, "epoch 1 val_loss: 0.4"},
                {0, "epoch 2 val_loss: 0.1"},
                {0, "Fold 2 val_loss: 0.09"}}) == "rrrrrr");
  CHECK(judged({{0, "epoch 1 val_loss: 0.3"},
                {0, "epoch 2 val_loss: 0.2"},
                {0, "Fold 1 val_loss: 0.15"},
                {0, "Fold 2 val_loss: 0.09"}}) == "rrrr");
  // What tells a time has other words at another time.
  CHECK(judged({{0, "epoch 1 eta 1 h 2 min 5 s val_loss: 0.3"},
                {0, "epoch 2 eta 1 min 5 s val_loss: 0.2"},
                {0, "epoch 3 eta 5 s val_loss: 0.1"}}) == "rrr");
  // Who has another form each time has none.
  Lines words;
  for (const char* const word : {"a", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}) {
    words.emplace_back(0, std::string(word) + " val_loss: 0.3");
  }
  CHECK(judged(words) == std::string(words.size(), 'r'));
  // A table's rows have no name in front of the number.
  KnownKinds known;
  SaidAgain again(known);
  for (const double value : {0.3, 0.2}) {
    CHECK(again.judge(0, "1 0.5", row_of_table(), {value}).kind == Kind::result);
  }
  CHECK(again.judge(0, "val_loss: 0.1", closing_line("val_loss: 0.1", "val_loss"), {0.1}).kind ==
        Kind::held);
}

TEST_CASE("Once lines have come twice, what bars show is no result", "[unit][plain]") {
  KnownKinds known;
  const auto judged_in = [&](const std::vector<std::string>& lines) {
    SaidAgain again(known);
    std::string kinds;
    double value = 9;
    for (const std::string& line : lines) {
      const auto [kind, held] =
          again.judge(0, line, closing_line(line, "val_loss"), {value -= 0.25});
      for (const bool counts : held) kinds[kinds.find('h')] = counts ? 'r' : 's';
      kinds += "rhoes"[static_cast<std::size_t>(kind)];
    }
    return kinds;
  };
  const std::string bar = "Epoch 1: 50%|## | 1/2, val_loss=0.7", line = "epoch 1 val_loss: 0.5";
  CHECK(judged_in({bar, bar, bar}) == "rrr");
  CHECK_FALSE(known.has_lines);
  CHECK(judged_in({bar, bar, line, bar, line, bar, bar, line}) == "rrrrroor");
  CHECK(known.has_lines);
  // A bar's phase tells nothing of lines.
  known = {};
  const std::string training = "Training: 50%|## | 1/2, val_loss=0.7";
  CHECK(judged_in({training, training, line, training, line, training, line}) == "rrrrror");
  known = {};
  CHECK(judged_in({bar, bar, line, bar, line}) == "rrrrr");
  // So does a bar's that has none.
  known = {};
  const std::string validation = "epoch 1 train_loss 0.3 val val_loss: 0.5";
  CHECK(judged_in({bar, validation, bar, validation, bar, validation, validation, validation}) ==
        "rrrrorrr");
  CHECK(judged_in({bar, validation, bar, validation, bar, validation}) == "ororor");
  known = {};
  CHECK(judged_in({bar, bar, line, bar, line}) == "rrrrr");
  // So it is in all trials of the program.
  CHECK(judged_in({bar, bar, line, bar, line}) == "ooror");
}

TEST_CASE("A restored program that prints all numbers of its checkpoint has evaluated that",
          "[unit][plain]") {
  const auto judge = [](const char* first, const char* restored) {
    return judge_first(parse_metrics(first), parse_metrics(restored));
  };
  constexpr const char* checkpoint = R"({"loss": 0.3117, "acc": 0.95, "time_this_iter_s": 3})";
  CHECK(judge(R"({"loss": 0.3117, "acc": 0.95})", checkpoint) == FirstResult::evaluated);
  CHECK(judge(R"({"loss": 0.3117, "acc": 0.96})", checkpoint) == FirstResult::trained);
  CHECK(judge(R"({"loss": 0.3117, "f1": 0.5})", checkpoint) == FirstResult::trained);
  // An epoch that has not made it better is as likely.
  CHECK(judge(R"({"acc": 0.95})", checkpoint) == FirstResult::unclear);
  CHECK(judge(R"({"acc": 0.025})", R"({"acc": 0.0250})") == FirstResult::unclear);
  CHECK(judge(R"({"acc": 12345})", R"({"acc": 12345})") == FirstResult::evaluated);
}

}  // namespace
}  // namespace tune
