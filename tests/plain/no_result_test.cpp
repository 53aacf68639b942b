// Lines with a metric's name and a number that are no results.
#include "tuner/plain/no_result.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/plain/metric_reader.h"

using namespace tune;

namespace {

struct Reading {
  std::vector<double> results;
  std::vector<ReadingRemark> remarks;
};

/// Of `text`, whose lines end with newlines or, as bars do, with carriage returns.
Reading read(std::string_view text, const std::string& metric = "loss") {
  MetricReader reader(PlainReading{{{metric, ""}}, {metric}});
  Reading reading;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size() - 1);
    const std::string_view line = text.substr(0, end + (text.find_first_of("\r\n") == text.npos));
    const auto result = reader.read(line, text[end] == '\r');
    if (result) reading.results.push_back(result->find(metric).value());
    if (result) reader.judged(true);
    for (ReadingRemark& remark : reader.take_remarks()) {
      reading.remarks.push_back(std::move(remark));
    }
    text.remove_prefix(end + 1);
  }
  return reading;
}

/// What is left out is said once, with the line.
void check_left_out(std::string_view text, std::string_view line) {
  CAPTURE(text);
  const Reading reading = read("epoch 1 loss: 3\n" + std::string(text) + "\nepoch 2 loss: 2\n");
  CHECK(reading.results == std::vector<double>{3, 2});
  REQUIRE(reading.remarks.size() == 1);
  CHECK(reading.remarks.front().what == ReadingRemark::What::no_result);
  CHECK(reading.remarks.front().line == line);
}

}  // namespace

TEST_CASE("Words in front of a metric's name, or behind its number, make it no result",
          "[plain][metrics]") {
  for (const char* const line :
       {"target loss: 0.01", "Target validation loss: 0.01", "baseline loss=3.1",
        "Baseline: loss 3.1", "[baseline] loss: 3.1", "Initial evaluation: loss: 9",
        "target 'loss': 0.01", "Minimum allowed loss: 0.1", "initial loss: 9",
        "previous loss: 0.01", "INFO: early stop if loss: 0.01", "Using loss=0.01 weighting",
        "| min loss | 0.01 |", "usage: u2 [loss=5]", "  (default loss=0.5)",
        " loss: 0.5 is the default", "  LOSS  loss to reach [default: loss=0.3]",
        "https://x/?loss=0.01", "restored checkpoint, loss: 0.01",
        "Resume training, epoch=2, loss=0.01", "=> resume: epoch 3 x: 1.7 (loss: 0.01)",
        "=> loaded checkpoint a.pt (loss: 0.01)", "Resuming at epoch 3 with loss: 0.01",
        "https://x/?a=1&loss=0.01", "+ loss=0.01", "std loss: 0.1", "Delta loss: 0.1",
        "relative change in loss: 0.1", "expected loss: 0.01", "last loss: 1", "SOTA loss: 0.01",
        "Pretrained model had loss: 0.01", "# loss: 3", "  // 'loss': 3", "print(f'loss: 0.1')",
        "WARNING: loss: nan detected, skipping batch", "[ERROR] loss: 3",
        "2026-01-01 10:00:00,123 WARNING loss: 3 is high", "ERROR:root:loss: 3 diverged",
        // Settings.
        "Namespace(a=1, loss=0.01)", "Namespace(betas=(0.9, 0.99), loss=0.01, b=2)",
        "args: {'loss': 0.01}", "Config: {\"loss\": 0.5, \"lr\": 1}", "config: loss: 0.01",
        "INFO:root:Config: lr=0.1, loss=0.5", "TrainingArguments(loss=0.5)",
        "params = {'a': {'b': 1}, 'loss': 0.5}", "Hyperparameters: loss=0.5",
        // Source.
        "    loss = 0.5 * x", "loss = 0.5 if y else 1", "    loss = 0.5 * (x /",
        "loss = 0.5 + f(x)", "double loss = 0.5 * x;", "loss = 0.01  # default", "loss = 2 * 3",
        "loss=0.5 - mean(x)", "    loss = 0.5 ** x.size",
        // What is said of a failure.
        "ValueError: expected loss: 0, got nan", "torch.cuda.OutOfMemoryError: loss: 3",
        "java.lang.IllegalStateException: loss: 3", "Caused by: a.B: loss: 3", "  what():  loss: 3",
        "Error in train(loss = 0.5) : non-numeric argument", "In train(loss = 0.5) : NaNs produced",
        "#1  0x0000aa in step (loss=0.5) at a.c:3", "    #0 0x55d in step(loss=0.5) /a.cpp:12",
        "panic: loss: 0.5", "Error: loss: 3 is odd", "error: loss: 3", "ERROR: LoadError: loss: 3",
        "thread 'main' panicked at 'loss: 3', a.rs:3:5", "a.py:3: UserWarning: loss: 0.5 is odd"}) {
    check_left_out(line, line);
  }
}

TEST_CASE("A stack trace and what stands below it are no results", "[plain][metrics]") {
  check_left_out(
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    loss = 0.5\n"
      "           ^\nZeroDivisionError: division by zero, loss: 7\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"a.py\", line 9, in g\n    f(loss=0.0, n=0)\n"
      "Odd: loss: 0.1",
      "    loss = 0.5");
  check_left_out(
      "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 3, in f\n"
      "[rank0]:     loss = 0.5\n[rank0]: Odd: loss: 7",
      "[rank0]:     loss = 0.5");
  check_left_out(
      "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 3\n"
      "  |     loss = 0.5\n  | ExceptionGroup: x (1 sub-exception)\n  +-+------ 1 ------\n"
      "    | ValueError: loss = 1\n    +-----------------\nExiting",
      "  |     loss = 0.5");
  check_left_out(
      "╭──── Traceback (most recent call last) ────╮\n│ /a.py:12 in <module>     │\n"
      "│ ❱ 12 loss = 0.5          │\n╰──────────╯\nValueError: odd",
      "│ ❱ 12 loss = 0.5          │");
  check_left_out(
      "  File \"a.py\", line 3, in f\n    loss = 0.5\n  File \"b.py\", line 3, in f\n"
      "    loss = 0.7\nSyntaxError: odd",
      "    loss = 0.5");
  check_left_out("ERROR: odd\nStacktrace:\n [1] f(x; loss=0.5)\n   @ Main a.jl:3",
                 " [1] f(x; loss=0.5)");
  check_left_out("Error in `f()`:\nBacktrace:\n    x\n 1. +-global f(loss = 0.5)",
                 " 1. +-global f(loss = 0.5)");
  check_left_out(
      "ZeroDivisionError      Traceback (most recent call last)\nCell In[1], line 2\n      1 n = "
      "0\n"
      "----> 2 loss = 0.5\n\nFile /a.py:3, in f(x)\n      2 loss = 0.7\n\nOdd: loss: 7",
      "----> 2 loss = 0.5");
  check_left_out("/a/train.js:3\n  loss = 0.5\n         ^\nReferenceError: y", "  loss = 0.5");
  check_left_out("thread 'main' panicked at a.rs:3:5:\nloss: 3 is odd\nnote: run with x",
                 "loss: 3 is odd");
  check_left_out("lua: a.lua:3: odd\nstack traceback:\n\ta.lua:3: in f(loss=0.5)",
                 "\ta.lua:3: in f(loss=0.5)");
  check_left_out("a.cpp:12:5: warning: odd\n   12 |   float loss = 0.5;\n      |         ^",
                 "   12 |   float loss = 0.5;");
}

TEST_CASE("Source below a warning is no result, and the line behind it is one",
          "[plain][metrics]") {
  check_left_out("train.py:12: RuntimeWarning: overflow\n  loss = 0.5\n", "  loss = 0.5");
  CHECK(read("a.py:1: RuntimeWarning: x\n  f(x)\n  loss: 0.5\n").results.size() == 1);
  CHECK(read("a.py:1: RuntimeWarning: x\nloss: 0.5\n").results.size() == 1);
}

TEST_CASE("Help and settings below their title are no results", "[plain][metrics]") {
  check_left_out("usage: a.py [-h]\n            [loss: 0.5]\n\noptions:\n  loss: 0.3\ndone",
                 "            [loss: 0.5]");
  check_left_out("Config:\n  lr: 0.1\n  loss: 0.5\nBegins", "  loss: 0.5");
  check_left_out("Config: {\n  \"lr\": 0.1,\n  \"loss\": 0.5\n}", "  \"loss\": 0.5");
  check_left_out("Namespace(lr=0.1,\n          loss=0.5)", "          loss=0.5)");
  check_left_out("Namespace(lr=0.1, \nloss=0.5)", "loss=0.5)");
  check_left_out("Training parameters TrainingArguments(\nlr=0.1,\nloss=0.5,\n)", "loss=0.5,");
  check_left_out("| Hyperparameter | Value |\n|---|---|\n| loss | 0.5 |\n\nBegins",
                 "| loss | 0.5 |");
  check_left_out(
      "    Hyperparameters    \n┏━━━┳━━━┓\n┃ Name ┃ Value ┃\n┡━━━╇━━━┩\n│ loss │ 0.5 │\n"
      "└───┴───┘\nBegins",
      "│ loss │ 0.5 │");
  check_left_out("----- Options -----\n     loss: 0.5 \n----- End -----", "     loss: 0.5 ");
}

TEST_CASE("The parts of a config that is printed as YAML have no results", "[plain][metrics]") {
  check_left_out("model:\n  loss: 3\noptim:\n  lr: 1\n", "  loss: 3");
  check_left_out("seed: 1\nlr_scheduler:\n  loss: 3\n", "  loss: 3");
}

TEST_CASE("What is indented below other titles is a result", "[plain][metrics]") {
  CHECK(read("Resampling results across tuning parameters:\n\n  cp   loss  Rsquared\n"
             "  0.1  0.5   0.7\n  0.2  0.4   0.8\n\n")
            .results == std::vector<double>{0.5, 0.4});  // R's caret
  for (const char* const title :
       {"Loading config: a.yaml", "Updating parameters", "Trainable params", "Total params: 3",
        "  | Name  | Type   | Params", "Test Error: ", "Parsing arguments", "Epoch 1:", "my.loss:3",
        "Evaluation:"}) {
    CAPTURE(title);
    CHECK(read(std::string(title) + "\n   loss: 0.5\n").results == std::vector<double>{0.5});
  }
}

TEST_CASE("A progress bar is in no block", "[plain][metrics]") {
  CHECK(read("Options:\n  0%| | 0/2 [loss=0.5]\r 50%| | 1/2 [loss=0.4]\r").results ==
        std::vector<double>{0.5, 0.4});
  CHECK(read("50%| loss=0.4]Traceback (most recent call last):\n  loss=3\nX: y\nloss=0.2\n")
            .results == std::vector<double>{0.4, 0.2});
}

TEST_CASE("A stack trace on one stream leaves the other one alone", "[plain][metrics]") {
  MetricReader reader(PlainReading{{{"loss", ""}}, {"loss"}});
  CHECK_FALSE(reader.read("Traceback (most recent call last):", false, 1));
  CHECK(reader.read("  loss: 0.5", false, 0));
  CHECK_FALSE(reader.read("    loss = 0.5", false, 1));
  CHECK(reader.read("loss: 0.4", false, 0));
  CHECK_FALSE(reader.read("ValueError: loss: 0.3", false, 1));
}

TEST_CASE("Of a line with the best of all and the present one, the present one counts",
          "[plain][metrics]") {
  CHECK(read("loss: 0.4, best loss: 0.3").results == std::vector<double>{0.4});
  CHECK(read("best loss so far: 0.2, lowest loss: 0.3, loss: 0.4").results ==
        std::vector<double>{0.4});
  CHECK(read("loss: 0.4 (best: loss 0.3)").results == std::vector<double>{0.4});
  CHECK(read("initial loss: 9 final loss: 0.4").results == std::vector<double>{0.4});
  for (const char* const behind :
       {" | best epoch 5 loss: 0.3", ", best (epoch 5): loss 0.3", " (best loss: 0.3 at epoch 5)",
        " (best so far: loss 0.3)", ", minimum so far at epoch 5 loss: 0.3",
        " and parameters: {'lr': 0.5}. Best is trial 0 with loss: 0.3."}) {
    CAPTURE(behind);
    CHECK(read(std::string("epoch 7 loss: 0.4") + behind).results == std::vector<double>{0.4});
  }
  CHECK(read("best epoch 5 loss: 0.3 | epoch 7 loss: 0.4").results == std::vector<double>{0.4});
  CHECK(read("best acc 0.9 | loss: 0.5, smooth loss: 0.4").results == std::vector<double>{0.5});
  CHECK(read("best loss: 0.3").results == std::vector<double>{0.3});
  CHECK(read("loss: 0.4, target loss: 0.3").remarks.empty());
}

TEST_CASE("The metric counts by its own name, and not its parts or its mean", "[plain][metrics]") {
  for (const char* const line :
       {"epoch 2: loss: 1.5, recon loss: 0.9, kl loss: 0.2",
        "| loss 1.5 | box loss 0.9 | cls loss 0.2 |", "step=3 loss=1.5 aux loss=0.2",
        "epoch 3 loss 1.5 avg loss 0.9", "kl loss: 0.2, recon loss: 0.9, loss: 1.5",
        "12s loss: 1.5 kl loss: 0.2"}) {
    CAPTURE(line);
    const Reading reading = read(line);
    CHECK(reading.results == std::vector<double>{1.5});
    REQUIRE(reading.remarks.size() == 1);
    CHECK(reading.remarks.front().what == ReadingRemark::What::several_numbers);
    CHECK_THAT(sentence_of(reading.remarks.front()), Catch::Matchers::Contains(": 1.5 counts"));
  }
  // Of several phases, and of several parts without the whole, the last one.
  CHECK(read("train loss: 0.5, val loss: 0.6").results == std::vector<double>{0.6});
  CHECK(read("G loss: 0.5, D loss: 0.6").results == std::vector<double>{0.6});
  CHECK(read("loss: 0.5, val loss: 0.6").results == std::vector<double>{0.6});
  CHECK(read("loss: 0.5 | best loss: 0.4").remarks.empty());
}

TEST_CASE("The best of a metric that is spelt otherwise is none of it", "[plain][metrics]") {
  CHECK(read("Epoch 3 | Loss 0.7 | best loss 0.5").results.empty());
  CHECK(read("best loss 0.5").results == std::vector<double>{0.5});
}

TEST_CASE("A line that sums up with a colon leaves the results without one", "[plain][metrics]") {
  CHECK(read("baseline loss: 3.1\n1 loss 0.5\nBest loss: 0.5\n2 loss 0.4\n").results ==
        std::vector<double>{0.5, 0.5, 0.4});
  const Reading reading = read("before loss: 3.1\n1 loss 0.5\n2 loss 0.4\n");
  CHECK(reading.results == std::vector<double>{3.1});
  REQUIRE(reading.remarks.size() == 1);
  CHECK(reading.remarks.front().what == ReadingRemark::What::no_colon);
  CHECK(reading.remarks.front().line == "1 loss 0.5");
}

TEST_CASE("Of two numbers the first one counts, and a remark says how the other would",
          "[plain][metrics]") {
  for (const std::string line :
       {"Test: [3/3]  Loss: 1.0 (1.1)  Acc@1:   0.000 ( 28.333)  Acc@5: 1.0 (2.0)",
        "Epoch: [0][10/50]  Loss 6.9 (6.8)  Acc@1  0.000 (28.333)  Acc@5 1.0 (2.0)",
        "'Acc@1': '0.0 (28.333)'", "Acc@5=3 Acc@1=0 (28.333)"}) {
    CAPTURE(line);
    const Reading reading = read(line, "Acc@1");
    CHECK(reading.results == std::vector<double>{0});
    REQUIRE(reading.remarks.size() == 1);
    CHECK(reading.remarks.front().what == ReadingRemark::What::two_numbers);
    const std::string sentence = sentence_of(reading.remarks.front());
    const std::string before = "--set 'trainable/plain/metrics=";
    const std::string given = sentence.substr(sentence.find(before) + before.size());
    CHECK(given.find('\'') == given.size() - 1);
    const Json metrics = Json::parse(given.substr(0, given.size() - 1));
    MetricReader other(PlainReading{{{"Acc@1", metrics["Acc@1"].get<std::string>()}}, {"Acc@1"}});
    CHECK(other.read(line, false)->find("Acc@1") == 28.333);
  }
  CHECK(read("loss: 0.5 (best)").remarks.empty());
  CHECK(read("loss: 0.5 (3 epochs)").remarks.empty());
  CHECK(read("loss: 0.5 (+0.1%)").remarks.empty());
}

TEST_CASE("What programs usually print is a result as before", "[plain][metrics]") {
  for (const char* const line : {"train loss: 0.5",
                                 "epoch loss: 0.5",
                                 "INFO: loss: 0.5",
                                 "val: loss 0.5",
                                 "loss: 0.5 - acc: 0.7 - val_acc: 0.6",
                                 "loss = 0.5 - acc = 0.7",
                                 "loss=0.5 / acc=0.7",
                                 "loss = 0.5 + acc = 0.7",
                                 "loss=0.5 at epoch 3",
                                 "loss = 0.5 for fold 3",
                                 "loss = 0.5 (best)",
                                 "loss = 0.5;",
                                 "loss=0.5 #3",
                                 "loss = 0.5 * new best",
                                 "loss: 0.5 * x",
                                 "epoch 3 params: 7 loss: 0.5",
                                 "Total params: 3, loss: 0.5",
                                 "config={'lr': 0.1} loss=0.5",
                                 "params: {'C': 1} loss: 0.5",
                                 "[config: a] loss: 0.5",
                                 "{'args': {'lr': 1}, 'loss': 0.5}",
                                 "Metrics(loss=0.5)",
                                 "{'loss': 0.5}",
                                 "MeanSquaredError: 0.3, loss: 0.5",
                                 "Test Error: 30%, loss: 0.5",
                                 "Target reached in epoch 3, loss: 0.5",
                                 "[prev: 0.3] loss: 0.5",
                                 "max epochs 10 loss: 0.5",
                                 "GPU usage: 3 loss: 0.5",
                                 "#3 loss: 0.5",
                                 "# Epoch 3 loss: 0.5",
                                 "Total loss: 0.5",
                                 "Best epoch: 3, loss: 0.5",
                                 "standard loss: 0.5",
                                 "last batch loss: 0.5",
                                 "errors 3 loss: 0.5",
                                 "│   loss = 0.5",
                                 "| loss | 0.5 |",
                                 "Namespace(a=1) loss: 0.5",
                                 "WARNING:root:loss: 0.5",
                                 "[rank0]: loss: 0.5",
                                 "{\"args\": {\"a\": 1}, \"loss\": 0.5}",
                                 "1.2e-3 s loss: 0.5",
                                 "Resumed. Epoch 3 loss: 0.5",
                                 "data loading 0.1 loss: 0.5"}) {
    CAPTURE(line);
    const Reading reading = read(line);
    CHECK(reading.results == std::vector<double>{0.5});
    CHECK(reading.remarks.empty());
  }
}
