// Lines as programs print them, and the numbers in them.
#include "tuner/plain/metric_reader.h"

#include <array>
#include <cmath>

#include "tests/support/catch.h"
#include "tuner/plain/named_number.h"
#include "tuner/plain/seen_names.h"

using namespace tune;

namespace {

MetricReader reader(std::vector<PlainMetric> metrics, std::vector<std::string> closing) {
  return MetricReader(PlainReading{std::move(metrics), std::move(closing)});
}

/// "KIND: LINE", each.
std::string remarks_of(MetricReader& reader) {
  constexpr std::array kinds = {"cut",         "no result",       "no colon",
                                "two numbers", "several numbers", "other table",
                                "lost row",    "doubtful row"};
  std::string text;
  for (const ReadingRemark& remark : reader.take_remarks()) {
    if (!text.empty()) text += "; ";
    text += kinds.at(static_cast<std::size_t>(remark.what)) + (": " + remark.line);
  }
  return text;
}

}  // namespace

TEST_CASE("A metric is found by its name in the lines that libraries print", "[plain][metrics]") {
  struct Sample {
    const char* line;
    const char* name;
    double value;
  };
  const Sample samples[] = {
      {"[3]\ttrain-rmse:0.61234\teval-rmse:0.70012", "eval-rmse", 0.70012},             // XGBoost
      {"[3]\ttrain-rmse:0.61234\teval-rmse:0.70012", "train-rmse", 0.61234},            //
      {"[10]\tvalid_0's binary_logloss: 0.512", "binary_logloss", 0.512},               // LightGBM
      {"7:\tlearn: 0.5812\ttest: 0.6012\tbest: 0.59 (5)\ttotal: 3ms", "test", 0.6012},  // CatBoost
      {"32/32 - 0s - 3ms/step - loss: 0.31 - val_loss: 0.42", "val_loss", 0.42},        // Keras 3
      {"32/32 - 0s - 3ms/step - loss: 0.31 - val_loss: 0.42", "loss", 0.31},
      {"Epoch 3: 45%|####| 45/100 [00:01<00:02, 40it/s, loss=2.5e-1]", "loss", 0.25},  // tqdm
      {"{'eval_loss': 0.3117, 'eval_runtime': 1.2, 'epoch': 1.0}", "eval_loss", 0.3117},
      {"{'eval_loss': '0.3117', 'epoch': '1'}", "eval_loss", 0.3117},  // Hugging Face 4 and 5
      {"[tune-metric]: {\"loss\": 0.5, \"st_worker_iter\": 0}", "loss", 0.5},  // Syne Tune
      {"Validation-accuracy=0.912", "Validation-accuracy", 0.912},             // Katib
      {"loss = -1.5E+3, acc = .5", "loss", -1500},
      {"loss: +3", "loss", 3},
      {"loss:0.1 then loss:0.2", "loss", 0.2},
      {"step 250: train loss 2.1, val loss 4.09", "val loss", 4.09},  // nanoGPT
      {"Test: [10/100] Acc@1 18.75 (20.12) Acc@5 43.75", "Acc@1", 18.75},
      {"| end of epoch 1 | valid loss 5.27 | valid ppl 194.21", "valid ppl", 194.21},
      {"|    ep_rew_mean     | 22.3     |", "ep_rew_mean", 22.3},  // Stable-Baselines3
      {"│         test_acc          │    0.9175000190734863     │", "test_acc",
       0.9175000190734863},  // Lightning
      {"{'loss': tensor(0.25, device='cuda:0', grad_fn=<X>), 'n': 3}", "loss", 0.25},
      {"loss=np.float64(0.25)", "loss", 0.25},
      {"loss: Array(0.25, dtype=float32)", "loss", 0.25},
      {"global_step=97, episodic_return=[13.]", "episodic_return", 13},
      {"loss: array([-2.5e-1])", "loss", -0.25},
      {"epoch 3 reward 200", "reward", 200},
      {"loss: tf.Tensor(0.5, shape=(), dtype=float32)", "loss", 0.5},
      {"loss\u00a0: 0.5", "loss", 0.5},
      {"loss:\u00a00.5", "loss", 0.5},
      {"loss:\u20090.5", "loss", 0.5},
      {"loss: \u22120.5", "loss", -0.5},
      {R"({"loss": "0.5", "name": "3 x"})", "loss", 0.5},
  };
  for (const Sample& sample : samples) {
    INFO(sample.line);
    const auto result = reader({{sample.name, ""}}, {sample.name}).read(sample.line, false);
    REQUIRE(result);
    CHECK(result->find(sample.name) == sample.value);
  }
}

TEST_CASE("What only looks like a metric is none", "[plain][metrics]") {
  for (const char* const line : {"val_loss: 0.3",
                                 "train/loss: 0.3",
                                 "val-loss=0.3",
                                 "my.loss: 1",
                                 "loss",
                                 "loss:",
                                 "loss 3",
                                 "loss: 3/100",
                                 "loss: 12ms",
                                 "loss: 1,234.5",
                                 "loss: 1.2.3",
                                 "loss: 12:30",
                                 "loss: 2024-01-02",
                                 "loss: none",
                                 "losses: 3",
                                 "loss: -",
                                 "Loss: 3",
                                 "loss: [1, 2]",
                                 "loss: [0.5",
                                 "loss: sum(0.5)",
                                 "loss: tensor(0.5, 0.6)",
                                 "loss: tensor(tensor)",
                                 "loss: [[[[[[1]]]]]]"}) {
    INFO(line);
    CHECK_FALSE(number_behind(line, "loss", NumberForm::colon));
  }
  for (const char* const line : {"loss 3 times", "loss 0.5ms", "loss 1,234", "loss 3/4", "loss",
                                 "loss is 0.5", "loss0.5", "| loss | 0.5 of 3 |", "loss: 0.5"}) {
    INFO(line);
    CHECK_FALSE(number_behind(line, "loss", NumberForm::blank));
  }
}

TEST_CASE("A threshold in the name of another metric is no value of this one", "[plain][metrics]") {
  struct Sample {
    const char* line;
    const char* name;
    double value;
  };
  const Sample samples[] = {
      {"Epoch 1: mAP@0.5: 0.6, mAP@0.5:0.95: 0.4", "mAP@0.5", 0.6},
      {"Epoch 1: mAP@0.5: 0.6, mAP@0.5:0.95: 0.4", "mAP@0.5:0.95", 0.4},
      {"mAP@0.5=0.6 mAP@0.5:0.95=0.4", "mAP@0.5", 0.6},
      {"mAP@0.5:0.6 mAP@0.5:0.95:0.4", "mAP@0.5", 0.6},
      {"{'mAP@0.5': 0.6, 'mAP@0.5:0.95': 0.4}", "mAP@0.5", 0.6},
      {"mAP@.5 0.6 mAP@.5:.95 0.4", "mAP@.5", 0.6},
      {"| mAP@0.5 | 0.6 | mAP@0.5:0.95 | 0.4 |", "mAP@0.5", 0.6},
      {"IoU: 0.6, IoU=0.75: 0.4", "IoU", 0.6},
      // What stands behind a value is no other name's.
      {"loss=0.5:  12%|#2        | 12/100 [00:01<00:09]", "loss", 0.5},
      {"loss=0.5: 12it [00:01, 9.1it/s]", "loss", 0.5},
      {"loss:0.5: 3 batches", "loss", 0.5},
      {"loss: 0.5: 0.25 s", "loss", 0.5},
      {"loss:0.5 0.6", "loss", 0.5},
      {"P@0.5:0.61 R@0.5:0.72", "P@0.5", 0.61},
  };
  for (const Sample& sample : samples) {
    CAPTURE(sample.line, sample.name);
    const auto result = reader({{sample.name, ""}}, {sample.name}).read(sample.line, false);
    REQUIRE(result);
    CHECK(result->find(sample.name) == sample.value);
  }
  const auto header = "   P    R  mAP@.5  mAP@.5:.95: 100%|####| 4/4 [00:01<00:00]";
  CHECK_FALSE(reader({{"mAP@.5", ""}}, {"mAP@.5"}).read(header, true));
}

TEST_CASE("A number that goes on in a way that is not read is none, and said once",
          "[plain][metrics]") {
  for (const char* const line :
       {"loss: 1'000",     "loss: 1_000",      "loss: 1,000",         "loss: 1 000",
        "loss: -12 500.5", "loss: 1\u202f000", "loss: 1\u00a0000",    "loss: 1’000",
        "loss: 1·5",       "loss: 0,53",       "loss: 1.000.000",     "loss: 10^3",
        "loss: 10**3",     "loss: 10⁻³",       "loss: 1.5*10^3",      "loss: 1.5 × 10^3",
        "loss: 1.5·10³",   "loss: '1'000'",    "loss: tensor(1'000)", "loss: 0.5 then loss: 1'000",
        "loss 1,000",      "loss 1.5 x 10^3",  "| loss | 1 000 |"}) {
    INFO(line);
    auto of = reader({{"loss", ""}}, {"loss"});
    CHECK_FALSE(of.read(line, false));
    CHECK(remarks_of(of) == "cut: " + std::string(line));
    CHECK_FALSE(of.read(line, false));
    CHECK(remarks_of(of).empty());
  }
  auto row = reader({{"loss", ""}}, {"loss"});
  for (const char* const line : {"epoch  loss", "1  1'000"}) CHECK_FALSE(row.read(line, false));
  CHECK(remarks_of(row) == "cut: 1  1'000");
  auto by_expression = reader({{"loss", "Loss ([0-9,.]+)"}}, {"loss"});
  CHECK_FALSE(by_expression.read("Loss 1,000", false));
  CHECK(remarks_of(by_expression) == "cut: Loss 1,000");
}

TEST_CASE("A number ends where another thing begins", "[plain][metrics]") {
  for (const char* const line :
       {"loss: 12 acc: 500", "loss: 12 50 3", "loss: 12 5000", "loss: 0.12 500", "loss: 12\t500",
        "loss: 12  500", "loss: 1200 500", "loss: 12, 500", "loss: 12 * 3", "{'loss': '12'}",
        "loss: 12%", "loss: 12±3", "loss: 12*", "loss: 12│500", "**loss: 12**",
        "loss: 12 (best)"}) {
    INFO(line);
    auto of = reader({{"loss", ""}}, {"loss"});
    CHECK(of.read(line, false));
    CHECK(remarks_of(of).empty());
  }
  for (const char* const line : {"loss: 12ms", "loss: 3/100", "loss: 12:30", "acc: 1'000"}) {
    INFO(line);
    auto of = reader({{"loss", ""}}, {"loss"});
    CHECK_FALSE(of.read(line, false));
    CHECK(remarks_of(of).empty());
  }
}

TEST_CASE("Once a metric has stood before a colon, what stands behind a blank is prose",
          "[plain][metrics]") {
  auto of = reader({{"loss", ""}}, {"loss"});
  CHECK(of.read("loss 0.5", false));
  CHECK(of.read("loss: 0.4", false));
  of.judged(true);
  CHECK_FALSE(of.read("no better than loss 0.4", false));
}

TEST_CASE("A line with a colon that is no result leaves the results without one",
          "[plain][metrics]") {
  auto of = reader({{"loss", ""}}, {"loss"});
  for (int epoch = 0; epoch < 3; ++epoch) {
    CHECK(of.read("epoch loss 0.5", false));
    of.judged(true);
    CHECK(of.read("-> new best model saved (loss: 0.5)", false));
    of.judged(false);
  }
}

TEST_CASE("A line with a colon that lacks one of several metrics leaves the results without one",
          "[plain][metrics]") {
  const std::vector<std::string> closing =
      GENERATE(std::vector<std::string>{"loss", "acc"}, std::vector<std::string>{"acc", "loss"});
  auto both = reader({{"loss", {}}, {"acc", {}}}, closing);
  std::string found;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (const std::string end : {"1 | acc 61", "2 | acc 71"}) {
      const auto metrics = both.read("epoch 1 | loss 0." + std::to_string(epoch) + end, false);
      REQUIRE(metrics);
      both.judged(true);
      found += std::to_string(std::lround(100 * *metrics->find("loss"))) + " " +
               std::to_string(std::lround(*metrics->find("acc"))) + ", ";
    }
    CHECK_FALSE(both.read("Test set: Average loss: 0.99 | Accuracy: 81", false));
  }
  CHECK(found == "11 61, 12 71, 21 61, 22 71, 31 61, 32 71, ");
}

/// "13 24 ": the loss and the accuracy of each result of `epochs` times these lines, in which "{}"
/// is the epoch.
std::string results_of(MetricReader& both, const std::vector<std::string>& lines, int epochs = 2) {
  std::string results;
  const auto note = [&](const Metrics& metrics) {
    for (const char* const name : {"loss", "acc"}) {
      results += std::to_string(std::lround(metrics.find(name).value()));
    }
    results += ' ';
  };
  const auto note_late = [&](bool is_end) {
    for (const auto& late : both.take_late(is_end)) note(late.metrics.value());
  };
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (std::string line : lines) {
      for (auto at = line.find("{}"); at != line.npos; at = line.find("{}")) {
        line.replace(at, 2, std::to_string(epoch));
      }
      const auto metrics = both.read(line, false);
      note_late(false);
      if (metrics) note(*metrics);
      both.judged(true);
    }
  }
  note_late(true);
  return results;
}

TEST_CASE("A result has no numbers of the training and of a test", "[plain][metrics]") {
  struct Sample {
    std::vector<std::string> epoch;  ///< each loss of the training is 1, of a test 2; acc 3 and 4
    const char* results;
  };
  const Sample samples[] = {
      {{"train loss: 1", "test loss: 2", "train acc: 3", "test acc: 4"}, "24 24 "},
      {{"train loss: 1 acc: 3", "test loss: 2", "test acc: 4"}, "13 24 13 24 "},
      {{"train loss: 1 acc: 3", "test acc: 4", "test loss: 2"}, "13 24 13 24 "},
      {{"train loss: 1", "train acc: 3", "test acc: 4"}, "13 13 "},
      {{"train loss: 1", "test loss: 2", "test acc: 4"}, "24 24 "},
      {{"loss: 1", "test loss: 2", "test acc: 4"}, "24 24 "},
      // One that comes in one phase alone.
      {{"train loss: 1", "test acc: 4"}, "14 14 "},
      {{"test acc: 4", "train loss: 1"}, "14 14 "},
      {{"train loss: 1", "test loss: 2", "acc: 4"}, "24 24 "},
      {{"train loss: 1", "acc: 3"}, "13 13 "},
      // What is not closed, as it lacks the other one, is no part of a line that has both.
      {{"test loss: 2", "loss: 1 acc: 3", "done"}, "13 13 "},
      {{"loss: 1 acc: 3", "test acc: 4"}, "13 13 "},
  };
  for (const Sample& sample : samples) {
    CAPTURE(sample.epoch);
    auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
    CHECK(results_of(both, sample.epoch) == sample.results);
  }
}

TEST_CASE("A result has no numbers of two epochs, in whichever order a program prints its lines",
          "[plain][metrics]") {
  // Each number is its epoch; where a metric comes twice an epoch, one of both.
  const std::vector<std::string> kinds =
      GENERATE(std::vector<std::string>{"loss: {}", "acc: {}"},
               std::vector<std::string>{"train loss: {}", "val acc: {}"},
               std::vector<std::string>{"loss: {}", "acc: {}", "val acc: {}"},
               std::vector<std::string>{"train loss: {}", "train acc: {}", "val acc: {}"},
               std::vector<std::string>{"train loss: {}", "val loss: {}", "acc: {}"},
               std::vector<std::string>{"train loss: {}", "val loss: {}", "test acc: {}"},
               std::vector<std::string>{"loss: {}", "acc: {}", "val acc: {}", "test acc: {}"},
               std::vector<std::string>{"loss: {}", "val loss: {}", "acc: {}", "val acc: {}"});
  std::vector<std::size_t> order(kinds.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<std::string> lines;
    for (const std::size_t i : order) lines.push_back(kinds[i]);
    CAPTURE(lines);
    auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
    CHECK(results_of(both, lines, 5) == "11 22 33 44 55 ");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("The phase that counts of each metric is known to the trials behind",
          "[plain][metrics]") {
  CountedPhases counted;
  const PlainReading reading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}};
  MetricReader first(reading, counted);
  CHECK(results_of(first, {"val acc: 9", "loss: {}", "acc: {}"}) == "11 22 ");
  MetricReader second(reading, counted);
  CHECK_FALSE(second.read("val acc: 9", false));
  CHECK(second.has_closing());
  CHECK_FALSE(second.read("loss: 1", false));
  CHECK_FALSE(second.read("Validation", false));
  CHECK_FALSE(second.has_closing());
  CHECK(second.read("acc: 1", false));
  CHECK(second.joined_phase() == Phase::unnamed);
}

TEST_CASE("A check before the training is no part of the first epoch's result",
          "[plain][metrics]") {
  struct Sample {
    std::vector<std::string> first;
    std::vector<std::string> epoch;
  };
  const Sample samples[] = {
      {{"acc: 0"}, {"train loss: {}", "val acc: {}"}},
      {{"epoch 0: acc: 0"}, {"epoch {}: loss: {}", "epoch {}: acc: {}"}},
      {{"epoch 0: val acc: 0"}, {"epoch {}: loss: {}", "epoch {}: val acc: {}"}},
      {{"{\"epoch\": 0, \"acc\": 0}"},
       {"{\"epoch\": {}, \"loss\": {}}", "{\"epoch\": {}, \"acc\": {}}"}},
  };
  for (const Sample& sample : samples) {
    CAPTURE(sample.epoch);
    auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
    for (const std::string& line : sample.first) CHECK_FALSE(both.read(line, false));
    CHECK(results_of(both, sample.epoch, 3) == "11 22 33 ");
  }
}

TEST_CASE("Who waits for the phase that counts hears of it from a trial beside it",
          "[plain][metrics]") {
  CountedPhases counted;
  const PlainReading reading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}};
  MetricReader first(reading, counted), second(reading, counted);
  for (MetricReader* const each : {&first, &second}) {
    CHECK_FALSE(each->read("val loss: 1", false));
    CHECK_FALSE(each->read("val acc: 1", false));
  }
  CHECK(results_of(first, {"val loss: 2", "val acc: 2"}, 1) == "11 22 ");
  CHECK(results_of(second, {"val loss: 2", "val acc: 2"}, 1) == "11 22 ");
}

TEST_CASE("Lines of an epoch between which others repeat are all of their epoch",
          "[plain][metrics]") {
  CountedPhases counted;
  const PlainReading reading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}};
  MetricReader both(reading, counted);
  std::string found;
  const auto note = [&](const Metrics& metrics) { found += metrics.text + " "; };
  for (int epoch = 1; epoch <= 9; ++epoch) {
    const std::string begin = "epoch " + std::to_string(epoch) + ": val ";
    const std::string end = ": " + std::to_string(epoch);
    for (const std::string& line :
         {epoch % 3 == 0 ? begin + "acc" + end : "", begin + "loss" + end}) {
      const auto metrics = both.read(line, false);
      for (const auto& late : both.take_late()) note(*late.metrics);
      if (metrics) note(*metrics);
    }
  }
  CHECK(found == R"({"acc":3.0,"loss":3.0} {"acc":6.0,"loss":6.0} {"acc":9.0,"loss":9.0} )");
}

TEST_CASE("A check of one phase before the training mixes no phases", "[plain][metrics]") {
  auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
  for (const char* const line : {"epoch 0: val acc: 9", "epoch 0: val loss: 9"}) {
    CHECK_FALSE(both.read(line, false));
  }
  const std::vector<std::string> epoch = {"epoch {}: loss: {}", "epoch {}: val acc: 9",
                                          "epoch {}: acc: {}", "epoch {}: val loss: 9"};
  CHECK(results_of(both, epoch, 4) == "11 22 33 44 ");
}

TEST_CASE("The best so far is no part of a result of several metrics", "[plain][metrics]") {
  auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
  CHECK(results_of(both, {"loss: {}", "acc: {}", "Best acc: 9"}, 3) == "11 22 33 ");
  CHECK_FALSE(both.read("loss: 4", false));
  CHECK_FALSE(both.read("Best acc: 9", false));
  CHECK(both.read("acc: 4", false)->find("acc") == 4.0);
}

TEST_CASE("A bar's running values are in no result of several metrics that lines have",
          "[plain][metrics]") {
  const PlainReading reading{{{"loss", ""}, {"acc", ""}}, {"loss", "acc"}};
  std::vector<std::string> epoch = {"acc: {}", "bar", "loss: {}"};
  do {
    CAPTURE(epoch);
    // The first trial has to find out, and the one behind it knows.
    CountedPhases known;
    for (int trial = 0; trial < 2; ++trial) {
      MetricReader both(reading, known);
      std::string found;
      const auto note = [&](const Metrics& metrics) { found += metrics.text + " "; };
      for (int number = 1; number <= 4; ++number) {
        for (std::string line : epoch) {
          const bool is_bar = line == "bar";
          if (is_bar) line = "Train: 100%|####| 4/4 [00:01<00:00, 3.2it/s, acc=9]";
          if (const auto at = line.find("{}"); at != line.npos) {
            line.replace(at, 2, std::to_string(number));
          }
          const auto metrics = both.read(line, is_bar);
          for (const auto& late : both.take_late()) note(*late.metrics);
          if (metrics) note(*metrics);
        }
      }
      CHECK(found == R"({"acc":1.0,"loss":1.0} {"acc":2.0,"loss":2.0} )"
                     R"({"acc":3.0,"loss":3.0} {"acc":4.0,"loss":4.0} )");
    }
  } while (std::next_permutation(epoch.begin(), epoch.end()));
}

TEST_CASE("A single check in a phase of its own keeps no results back", "[plain][metrics]") {
  auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
  CHECK_FALSE(both.read("epoch 0: acc: 0", false));
  std::size_t results = 0;
  for (int epoch = 1; epoch <= 6; ++epoch) {
    const std::string begin = "epoch " + std::to_string(epoch);
    CHECK_FALSE(both.read(begin + ": loss: " + std::to_string(epoch), false));
    const auto metrics = both.read(begin + ": val acc: " + std::to_string(epoch), false);
    results += both.take_late().size();
    if (!metrics) continue;
    ++results;
    CHECK(metrics->find("loss") == metrics->find("acc"));
  }
  CHECK(results == 6);
}

TEST_CASE("Metrics of which one comes more seldom have a result with each of that",
          "[plain][metrics]") {
  auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
  const std::vector<std::string> epoch = {"train loss: 7", "train loss: 8", "train loss: {}",
                                          "val acc: {}"};
  CHECK(results_of(both, epoch, 3) == "11 22 33 ");
  auto tested = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
  const std::vector<std::string> three = {"train loss: 7", "train loss: 8", "test acc: {}",
                                          "train loss: 9", "test loss: {}"};
  CHECK(results_of(tested, three, 3) == "11 22 33 ");
}

TEST_CASE("An evaluation that takes longer than an epoch has the result of its own",
          "[plain][metrics]") {
  for (const bool is_seldom : {false, true}) {
    auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
    std::string found;
    for (int epoch = 1; epoch <= 9; ++epoch) {
      const std::string now = std::to_string(epoch), before = std::to_string(epoch - 1);
      std::vector<std::string> lines = {"epoch " + now + ": loss " + now};
      if (epoch > 1 && !(is_seldom && epoch % 2 == 0)) {
        lines.push_back("epoch " + before + ": acc " + before);
      }
      for (const std::string& line : lines) {
        const auto metrics = both.read(line, false);
        CHECK(both.take_late().empty());
        if (!metrics) continue;
        CHECK(metrics->find("loss") == metrics->find("acc"));
        found += std::to_string(std::lround(*metrics->find("acc"))) + " ";
      }
    }
    CHECK(found == (is_seldom ? "2 4 6 8 " : "1 2 3 4 5 6 7 8 "));
    CHECK(both.times_waiting() == 0);
    CHECK_FALSE(both.read("epoch 8: acc 8", false));  // said once more
  }
}

TEST_CASE("Of a program whose epochs are one, what is there at its end is a result",
          "[plain][metrics]") {
  for (const std::vector<std::string>& lines :
       {std::vector<std::string>{"train loss: 1", "val loss: 2", "val acc: 4"},
        std::vector<std::string>{"val acc: 4", "val loss: 2", "train loss: 1"}}) {
    auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
    CHECK(results_of(both, lines, 1) == "24 ");
  }
}

TEST_CASE("Numbers of two phases that wait are closed by no line without a metric",
          "[plain][metrics]") {
  auto both = reader({{"loss", {}}, {"acc", {}}}, {"loss", "acc"});
  for (const char* const line : {"train loss: 3", "test acc: 4", "train loss: 3", "saved"}) {
    CAPTURE(line);
    CHECK_FALSE(both.read(line, false));
    CHECK(both.take_late().empty());
  }
  CHECK(both.read("test acc: 5", false)->find("acc") == 5.0);
}

TEST_CASE("A row of numbers is read below its row of names", "[plain][metrics]") {
  struct Sample {
    std::vector<const char*> lines;
    std::optional<double> value;
  };
  const Sample samples[] = {
      {{"epoch,train_loss,loss", "1,0.9,0.8"}, 0.8},
      {{"epoch  train_loss  loss  accuracy  time", "0  0.7  0.65  0.8  00:12"}, 0.65},  // fastai
      {{"┃ Epoch ┃ loss ┃ val ┃", "├───┼───┼───┤", "│ 1 │ -0.5 │ 0.6 │"}, -0.5},        // rich
      {{"| step | loss |", "|------|------|", "| 10 | 2e-3 |"}, 2e-3},
      {{"a\tloss", "1\t2"}, 2},
      {{"epoch,loss", "1,", "2,0.5"}, 0.5},
      {{"epoch,loss", "1,-inf"}, -INFINITY},
      {{"loss", "0.5"}, 0.5},
      {{"loss", "----", "0.5", "0.4"}, 0.4},
      {{"loss", "Epoch", "3"}, std::nullopt},
      {{"loss", "so, what", "3"}, std::nullopt},
      {{"epoch,loss", "1,2,3"}, std::nullopt},      // another table
      {{"epoch,loss", "1,12ms"}, std::nullopt},     // not a number
      {{"using loss mse", "1 2 x"}, std::nullopt},  // prose
      {{"epoch,loss", "so, what"}, std::nullopt},   //
      {{"epoch,my_loss", "1,0.5"}, std::nullopt},   // another name
  };
  for (const Sample& sample : samples) {
    INFO(sample.lines.front());
    auto of = reader({{"loss", ""}}, {"loss"});
    std::optional<Metrics> result;
    for (const char* const line : sample.lines) result = of.read(line, false);
    CHECK(result.has_value() == sample.value.has_value());
    if (result) CHECK(result->find("loss") == sample.value);
  }
}

TEST_CASE("A row that does not go on with the table is another table's", "[plain][metrics]") {
  const auto column_of = [](const std::vector<const char*>& lines) {
    auto of = reader({{"acc", ""}}, {"acc"});
    std::string column;
    for (const char* const line : lines) {
      if (const auto result = of.read(line, false)) {
        if (!column.empty()) column += ' ';
        column += std::to_string(*result->find("acc")).substr(0, 4);
      }
    }
    const std::string remarks = remarks_of(of);
    return remarks.empty() ? column : column + "; " + remarks;
  };
  // A matrix behind the table, with a title or none; numbers with another separator.
  for (const char* const title : {"Confusion matrix:", "", "Done", "=== class report ==="}) {
    CAPTURE(title);
    CHECK(column_of({"epoch loss acc", "0 0.5 0.11", "1 0.4 0.22", title, "90 5 5", "4 88 8",
                     "3 6 91"}) == "0.11 0.22; other table: 90 5 5");
  }
  CHECK(column_of({"epoch,acc", "0,0.11", "Importances:", "12,3"}) == "0.11; other table: 12,3");
  // In between; the table goes on.
  CHECK(column_of({"epoch loss acc", "0 0.5 0.11", "Recall per class:", "0.7 0.8 0.9", "1 0.4 0.22",
                   "Saved", "2 0.4 0.33"}) ==
        "0.11 0.22 0.33; other table: 0.7 0.8 0.9; doubtful row: 1 0.4 0.22");
  CHECK(column_of({"loss acc", "0.5 0.11", "weights", "10 20", "0.4 0.22"}) ==
        "0.11 0.22; other table: 10 20; doubtful row: 0.4 0.22");
  // Names of as many columns: its rows, also one that may be either table's.
  CHECK(column_of({"epoch loss acc", "0 0.5 0.11", "class prec rec", "0 0.7 0.8", "1 0.7 0.8",
                   "1 0.4 0.22", "class prec rec", "0 0.7 0.8", "1 0.7 0.8", "2 0.3 0.33"}) ==
        "0.11 0.22; other table: 0 0.7 0.8; lost row: 1 0.7 0.8; doubtful row: 1 0.4 0.22");
  CHECK(column_of({"epoch loss acc", "1 0.9 0.11", "2 0.8 0.22", "class prec rec", "0 0.5 0.6",
                   "1 0.7 0.8", "3 0.7 0.33", "4 0.6 0.44"}) ==
        "0.11 0.22 0.33 0.44; other table: 0 0.5 0.6; doubtful row: 3 0.7 0.33");
  CHECK(column_of({"loss acc", "0.5 0.11", "prec rec", "0.7 0.8"}) == "0.11; other table: 0.7 0.8");
  // Messages leave it alone, also of as many words.
  CHECK(column_of({"epoch loss acc", "0 0.5 0.11", "Saving model now", "1 0.4 0.22", "Saved",
                   "Learning rate down", "2 0.3 0.33"}) ==
        "0.11 0.22 0.33; doubtful row: 1 0.4 0.22");
  CHECK(column_of({"step acc", "0 0.11", "Saved", "100 0.22", "Saved", "200 0.33"}) ==
        "0.11 0.22 0.33");
  CHECK(column_of({"epoch step acc", "0 0 0.11", "Saved", "0 100 0.22", "Saved", "1 0 0.33"}) ==
        "0.11 0.22 0.33");
  CHECK(column_of({"loss acc", "0.5 0.11", "Saved", "0.4 0.22", "Model saved to x", "0.3 1"}) ==
        "0.11 0.22 1.00; doubtful row: 0.4 0.22");
  CHECK(column_of({"|epoch|acc |", "|-----|----|", "|0    |0.11|", "|-----|----|",
                   "|1    |0.22|"}) == "0.11 0.22");
  // Those that stood together are gone on with by the very next one, which is said below a title.
  CHECK(column_of({"epoch acc", "1 0.11", "2 0.22", "weights by feature:", "4 0.5", "9 0.6"}) ==
        "0.11 0.22; other table: 4 0.5");
  CHECK(column_of({"epoch acc", "1 0.11", "2 0.22", "weights by feature:", "3 0.33", "9 0.6"}) ==
        "0.11 0.22 0.33; doubtful row: 3 0.33; other table: 9 0.6");
  CHECK(column_of({"epoch loss acc f1", "1 0.5 0.11 1.5", "2 0.5 0.22 1.5", "  precision recall f1",
                   "", "7 0.6 0.33 0.7", "3 0.5 0.44 1.5"}) ==
        "0.11 0.22 0.44; other table: 7 0.6 0.33 0.7; doubtful row: 3 0.5 0.44 1.5");
  CHECK(column_of({"epoch acc", "1 0.11", "2 0.22", "", "7 0.33", "3 0.44"}) ==
        "0.11 0.22 0.44; other table: 7 0.33");
  CHECK(column_of({"time acc", "0.5 0.11", "1.0 0.22", "mean x y", "7.0 0.33"}) ==
        "0.11 0.22 0.33; doubtful row: 7.0 0.33");
  // Right behind it, or below a line that is no title: what does not count as the rows before is
  // said, and so is a first step that may be any.
  CHECK(column_of({"epoch acc", "0 0.11", "0 0.6", "1 0.7", "1 0.22"}) ==
        "0.11 0.60 0.70 0.22; doubtful row: 0 0.6");
  CHECK(column_of({"epoch acc", "1 0.11", "Accuracy of each of the classes", "3 0.6", "7 0.7"}) ==
        "0.11 0.60 0.70; doubtful row: 3 0.6");
  CHECK(column_of({"epoch acc", "1 0.11", "prec rec", "3 0.6"}) ==
        "0.11 0.60; doubtful row: 3 0.6");
  CHECK(column_of({"step acc", "10 0.11", "Saved it", "20 0.22", "Saved the model now",
                   "30 0.33"}) == "0.11 0.22 0.33; doubtful row: 20 0.22");
  CHECK(column_of({"step acc", "10 0.11", "Saved", "20 0.22", "Saved", "30 0.33", "Saved",
                   "35 1"}) == "0.11 0.22 0.33 1.00; doubtful row: 35 1");
  CHECK(column_of({"class acc", "0 0.9", "", "epoch acc", "0 0.11", "1 0.22"}) ==
        "0.90 0.11 0.22; doubtful row: 0 0.11");
  // Its names again, and other numbers than before.
  CHECK(column_of({"epoch acc", "0 0.11", "fold two", "epoch acc", "0 0.22", "1 0"}) ==
        "0.11 0.22 0.00");
}

TEST_CASE("NaN and infinities are numbers, as any language writes them", "[plain][metrics]") {
  CHECK(std::isnan(number_behind("loss: nan", "loss", NumberForm::colon).value()));
  CHECK(std::isnan(number_behind("loss=NaN,", "loss", NumberForm::colon).value()));
  CHECK(number_behind("loss: -inf", "loss", NumberForm::colon) == -INFINITY);
  CHECK(number_behind("loss: Infinity", "loss", NumberForm::colon) == INFINITY);
  CHECK(number_behind("loss: -1e400", "loss", NumberForm::colon) == -INFINITY);
  // Too small for a double is not too large.
  for (const char* const line : {"loss: -1e-400", "loss = -0.5e-999,"}) {
    const auto number = number_behind(line, "loss", NumberForm::colon);
    REQUIRE(number);
    CHECK(*number == 0);
    CHECK(std::signbit(*number));
  }
  const auto result = reader({{"loss", ""}}, {"loss"}).read("loss: nan", false);
  REQUIRE(result);
  CHECK(result->text == R"({"loss":"NaN"})");
}

TEST_CASE("The metric's line closes a result, with what came since the last one",
          "[plain][metrics]") {
  auto of = reader({{"loss", ""}, {"lr", ""}}, {"loss"});
  CHECK_FALSE(of.read("lr: 0.1", false));
  CHECK_FALSE(of.read("nothing", false));
  CHECK(of.read("loss: 2", false)->text == R"({"loss":2.0,"lr":0.1})");
  CHECK(of.read("loss: 3", false)->text == R"({"loss":3.0})");
}

TEST_CASE("Several metrics on lines of their own close one result", "[plain][metrics]") {
  auto of = reader({{"loss", ""}, {"acc", ""}}, {"loss", "acc"});
  CHECK_FALSE(of.read("loss: 2", false));
  CHECK(of.read("acc: 0.5", false)->text == R"({"acc":0.5,"loss":2.0})");
  CHECK_FALSE(of.read("acc: 0.6", false));
}

TEST_CASE("A line that ends with a JSON object gives all its numbers", "[plain][metrics]") {
  auto of = reader({{"val/loss", ""}}, {"val/loss"});
  const auto result = of.read(R"(INFO {"val": {"loss": 0.5}, "epoch": 3, "name": "x"} )", false);
  REQUIRE(result);
  CHECK(result->find("val/loss") == 0.5);
  CHECK(result->find("epoch") == 3);
  CHECK_FALSE(of.read("{\"val\": {\"loss\": }", false));
  CHECK(of.read(R"({"val": {"loss": NaN}})", false));
  CHECK_FALSE(of.read(R"({"val": {"loss": true}})", false));  // no number
}

TEST_CASE("Of a name that stands twice in a JSON object the last number counts",
          "[plain][metrics]") {
  auto of = reader({{"loss", ""}}, {"loss"});
  const auto result = of.read(
      R"({"step": 30, "loss": 5, "loss": 4, "acc": 0.5, "acc": "x", "a": {"b": 1}, "a/b": 2})",
      false);
  REQUIRE(result);
  CHECK(result->find("step") == 30);
  CHECK(result->find("loss") == 4);
  CHECK(result->find("acc") == 0.5);
  CHECK(result->find("a/b") == 2);
  // Whichever is written first.
  CHECK(of.read(R"({"loss": 4, "a/b": 2, "a": {"b": 1, "b": 3}})", false)->find("a/b") == 3);
  CHECK(of.read(R"({"loss": 3, "l": [{"loss": 9}, 7], "c": {"d": [1]}, "e": {"f": 1}})", false)
            ->text == R"({"e/f":1.0,"loss":3.0})");
}

TEST_CASE("An expression finds what has no name", "[plain][metrics]") {
  auto of = reader({{"acc", R"(Accuracy: (\d+)/10000)"}, {"epoch", R"(^Epoch (\d+))"}}, {"acc"});
  CHECK_FALSE(of.read("Epoch 3", false));
  const auto result = of.read("Test: Accuracy: 9834/10000 (98%)", false);
  REQUIRE(result);
  CHECK(result->find("acc") == 9834);
  CHECK(result->find("epoch") == 3);
  CHECK(complaint_about_expression("(a)") == "");
  CHECK(complaint_about_expression("(") != "");
  CHECK(complaint_about_expression("a").starts_with("it has 0 groups"));
  CHECK(complaint_about_expression("(a)(b)").starts_with("it has 2 groups"));
}

TEST_CASE("A bar that is drawn again says nothing new until its number changes",
          "[plain][metrics]") {
  auto of = reader({{"loss", ""}}, {"loss"});
  CHECK(of.read("1/3 loss=0.5", true));
  CHECK_FALSE(of.read("2/3 loss=0.5", true));
  CHECK(of.read("3/3 loss=0.4", true));
  CHECK_FALSE(of.read("3/3 loss=0.4", true));
  CHECK(of.read("loss=0.4", false));
}

TEST_CASE("What a bar has said counts once, though a newline ends its last drawing",
          "[unit][plain]") {
  auto of = reader({{"loss", ""}}, {"loss"});
  CHECK(of.read("Epoch 0: 100%|#| 8/8 [1it/s, loss=0.5]", true, 1));
  CHECK_FALSE(of.read("Epoch 1:  88%|#| 7/8 [2it/s, loss=0.5]", true, 1));
  CHECK_FALSE(of.read("Epoch 1: 100%|#| 8/8 [2it/s, loss=0.5]", false, 1));  // another bar opens
  CHECK_FALSE(of.read("Validation:  33%|#| 1/3", true, 1));
  CHECK_FALSE(of.read("Epoch 1: 100%|#| 8/8 [2it/s, loss=0.5]", true, 1));
  CHECK(of.read("Epoch 1: 100%|#| 8/8 [2it/s, loss=0.4]", true, 1));
  CHECK_FALSE(of.read("Epoch 1: 100%|#| 8/8 [3it/s, loss=0.4]", false, 1));  // it closes
}

TEST_CASE("A bar without a percentage has said its value before a newline ends it",
          "[unit][plain]") {
  auto of = reader({{"loss", ""}}, {"loss"});
  for (const char* const title : {"Epoch 1/2 ", "Epoch 2/2 "}) {
    const std::string begin = title;
    CHECK(of.read(begin + "1/3 [=..] loss: 0.5", true));
    CHECK_FALSE(of.read(begin + "2/3 [==.] loss: 0.5", true));
    CHECK_FALSE(of.read(begin + "3/3 [===] loss: 0.5", false));
  }
  CHECK(of.read("Epoch 2/2 done [3/3] loss: 0.5", false));
}

TEST_CASE("A new bar, or a line, that comes to the value of the one before counts",
          "[unit][plain]") {
  auto bars = reader({{"loss", ""}}, {"loss"});
  for (const char* const title : {"Epoch 0", "Epoch 1", "Epoch 2"}) {
    CHECK_FALSE(bars.read(std::string(title) + ":   0%| | 0/8", true));
    CHECK(bars.read(std::string(title) + ": 100%|#| 8/8 [loss=0.5]", true));
    CHECK_FALSE(bars.read(std::string(title) + ": 100%|#| 8/8 [loss=0.5]", false));
  }
  auto lines = reader({{"loss", ""}}, {"loss"});
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(lines.read("4/8 [##  ]", true));
    CHECK(lines.read("8/8 [####] loss: 0.5", false));
  }
}

namespace {

/// The results of lines that end with newlines or, as bars do, with carriage returns, and of the
/// program's end behind them.
std::vector<double> losses_of(std::string_view text) {
  auto of = reader({{"loss", ""}, {"acc", ""}}, {"loss"});
  std::vector<double> losses;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    if (const auto result = of.read(text.substr(0, end), text[end] == '\r', 1)) {
      losses.push_back(result->find("loss").value());
    }
    text.remove_prefix(end + 1);
  }
  if (const auto result = of.finish()) losses.push_back(result->metrics.find("loss").value());
  return losses;
}

/// Epochs as Lightning draws them, all in one line: the value of the one before stands in the bar
/// until there is another. `validates`: a bar of its own is drawn in these epochs. `end`: behind an
/// epoch's last drawing.
std::string drawn(const std::vector<const char*>& losses, const std::string& validates = "",
                  char end = '\r') {
  std::string text, shown;
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
    const std::string title = "Epoch " + std::to_string(epoch) + ":";
    text += title + "   0%| | 0/8 [v_num=3" + shown + "]\r";
    text += title + "  50%|# | 4/8 [2it/s, v_num=3" + shown + "]\r";
    text += title + " 100%|##| 8/8 [2it/s, v_num=3" + shown + "]\r";
    if (!validates.empty() && validates[epoch] == 'v') text += "Validation:  50%|# | 1/2\r";
    shown = std::string(", loss=") + losses[epoch];
    text += title + " 100%|##| 8/8 [2it/s, v_num=3" + shown + "]" + end;
  }
  text.back() = '\n';
  return text;
}

}  // namespace

TEST_CASE("An epoch whose bar shows the value of the one before has a result of its own",
          "[unit][plain]") {
  using Losses = std::vector<double>;
  CHECK(losses_of(drawn({"0.1", "0.1", "0.1", "0.1"})) == Losses{0.1, 0.1, 0.1, 0.1});
  CHECK(losses_of(drawn({"0.3", "0.2", "0.2", "0.1"})) == Losses{0.3, 0.2, 0.2, 0.1});
  CHECK(losses_of(drawn({"0.3", "0.2", "0.1"})) == Losses{0.3, 0.2, 0.1});
  CHECK(losses_of(drawn({"nan", "nan", "nan"})).size() == 3);
  // A line an epoch: the next bar shows the old value first.
  for (const char* const validates : {"", "vvvv"}) {
    CHECK(losses_of(drawn({"0.3", "0.2", "0.2", "0.1"}, validates, '\n')) ==
          Losses{0.3, 0.2, 0.2, 0.1});
    CHECK(losses_of(drawn({"0.4", "0.3", "0.2", "0.1"}, validates, '\n')) ==
          Losses{0.4, 0.3, 0.2, 0.1});
  }
  // From the ninth to the tenth, and so on.
  CHECK(losses_of(drawn(std::vector<const char*>(101, "0.1"))).size() == 101);
  // One that is cut off has none.
  std::string begun = drawn({"0.1"});
  begun.back() = '\r';
  begun += "Epoch 1:   0%| | 0/8 [loss=0.1]\r";
  CHECK(losses_of(begun + "Epoch 1:  50%|# | 4/8 [2it/s, loss=0.1]\n") == Losses{0.1});
}

TEST_CASE("An epoch with the value of the one before has the other numbers of its own",
          "[unit][plain]") {
  auto of = reader({{"loss", ""}, {"training_iteration", "Epoch (\\d+)"}}, {"loss"});
  for (int epoch = 1; epoch < 5; ++epoch) {
    const std::string title = "Epoch " + std::to_string(epoch) + ":";
    const auto before = of.read(title + "   0%| | 0/8 [loss=0.5]", true);
    REQUIRE(before.has_value() == (epoch != 2));
    if (epoch > 2) CHECK(before->find("training_iteration") == epoch - 1);
    CHECK(of.read(title + " 100%|##| 8/8 [loss=0.5]", true).has_value() == false);
  }
  const auto last = of.finish();
  REQUIRE(last);
  CHECK(last->metrics.find("training_iteration") == 4);
  // Where a bar shows the result of an epoch only as the next one begins.
  using Losses = std::vector<double>;
  CHECK(losses_of("Epoch 1:   0%| | 0/8 [loss=0.5]\rEpoch 2:   0%| | 0/8 [loss=0.5]\r"
                  "Epoch 3:   0%| | 0/8 [loss=0.4]\rEpoch 4:   0%| | 0/8 [loss=0.4]\r"
                  "Epoch 5:   0%| | 0/8 [loss=0.4]\r") == Losses{0.5, 0.4, 0.4, 0.4});
}

TEST_CASE("Where results come behind a validation's bar, an epoch without one has none",
          "[unit][plain]") {
  using Losses = std::vector<double>;
  CHECK(losses_of(drawn({"0.3", "0.3", "0.3"}, "vvv")) == Losses{0.3, 0.3, 0.3});
  CHECK(losses_of(drawn({"0.3", "0.3", "0.2", "0.2", "0.2", "0.2"}, "v.v.v.")) ==
        Losses{0.3, 0.2, 0.2});
}

TEST_CASE("Below its title an epoch's bar has one result, the one of all steps", "[unit][plain]") {
  using Losses = std::vector<double>;
  // Keras 2, not on a terminal.
  CHECK(losses_of("Epoch 1/2\n 1/20 [>...] - ETA: 0s - loss: 1.1\n 2/20 [=>..] - ETA: 0s - loss: "
                  "2.7\n20/20 [====] - 0s 5ms/step - loss: 2.5\n"
                  "Epoch 2/2\n 1/20 [>...] - ETA: 0s - loss: 0.9\n20/20 [====] - ETA: 0s - loss: "
                  "2.5\n20/20 [====] - 0s 5ms/step - loss: 2.5 - acc: 0.5\n"
                  " 1/4 [>...] - ETA: 0s - loss: 0.3\n4/4 [====] - 0s - loss: 0.4\n") ==
        Losses{2.5, 2.5});
  // Keras 3; the last lines are of evaluate().
  CHECK(losses_of("Epoch 1/2\n1/3 ━━ 2s 1s/step - loss: 3.7\b\b\b\b\r3/3 ━━ 2s 326ms/step - loss: "
                  "3.5\b\b\b\b\r3/3 ━━ 2s 326ms/step - loss: 3.5 - acc: 0.7\nEpoch 2/2\n"
                  "1/3 ━━ 0s 36ms/step - loss: 2.8\b\b\b\b\r3/3 ━━ 0s 52ms/step - loss: 3.5 - acc: "
                  "0.8\n1/4 ━━ 0s - loss: 2.1\b\b\b\b\r4/4 ━━ 0s 19ms/step - loss: 2.8\n") ==
        Losses{3.5, 3.5});
  // Of two last drawings the last one, which has what the metric has come to.
  CHECK(losses_of("Epoch 1/2\n1/3 ━━ 2s - loss: 3.7\r3/3 ━━ 2s - loss: 3.5\r3/3 ━━ 2s - loss: 3.4\n"
                  "Epoch 2/2\n3/3 ━━ 0s - loss: 2.5\r3/3 ━━ 0s - loss: 2.4\n") == Losses{3.4, 2.4});
  // Of unknown length.
  CHECK(losses_of("Epoch 1/2\n      1/Unknown - 0s - loss: 0.9\n      2/Unknown - 0s - loss: 0.8\n"
                  "2/2 [==] - 0s - loss: 0.8\n") == Losses{0.8});
  // A line each epoch; no steps; and without a title.
  CHECK(losses_of("Epoch 1/2\n20/20 - 0s - loss: 0.5\nEpoch 2/2\n20/20 - 0s - loss: 0.5\n") ==
        Losses{0.5, 0.5});
  CHECK(losses_of("Epoch 1/1\n-----\nloss: 0.5 [ 64/600]\nloss: 0.4 [128/600]\n") ==
        Losses{0.5, 0.4});
  CHECK(losses_of("1/20 [>...] loss: 0.5\n2/20 [=>..] loss: 0.4\n") == Losses{0.5, 0.4});
}

TEST_CASE("Where no line has all steps of an epoch, its last one counts once the next begins",
          "[unit][plain]") {
  using Losses = std::vector<double>;
  CHECK(losses_of("Epoch 1/2\n0/9 loss: 0.9\n5/9 loss: 0.8\nEpoch 2/2\n0/9 loss: 0.7\n"
                  "5/9 loss: 0.6\n") == Losses{0.8, 0.6});
  auto of = reader({{"loss", ""}, {"training_iteration", "^Epoch (\\d+)"}}, {"loss"});
  for (const char* const line : {"Epoch 1/2", "1/2 - loss: 0.9"}) CHECK_FALSE(of.read(line, false));
  CHECK(of.read("2/2 - loss: 0.8", false)->text == R"({"loss":0.8,"training_iteration":1.0})");
}

TEST_CASE("An epoch whose steps are all drawn twice has the validation of its own, or none",
          "[unit][plain]") {
  auto of = reader({{"loss", ""}, {"lr", ""}, {"val_loss", ""}}, {"loss"});
  std::string texts;
  const auto read = [&](const char* line) {
    if (const auto result = of.read(line, false)) texts += result->text;
  };
  for (const char* const line : {"lr: 0.1", "Epoch 1/4", "1/8 - loss: 1.2", "8/8 - loss: 1.0",
                                 "8/8 - loss: 1.0 - val_loss: 3.0", "lr: 0.2", "Epoch 2/4",
                                 "8/8 - loss: 0.9", "8/8 - loss: 0.9 - val_loss: 2.0", "Epoch 3/4",
                                 "8/8 - loss: 0.8", "lr: 0.4", "Epoch 4/4", "8/8 - loss: 0.7"}) {
    read(line);
  }
  CHECK(texts ==
        R"({"loss":1.0,"lr":0.1,"val_loss":3.0}{"loss":0.9,"lr":0.2,"val_loss":2.0}{"loss":0.8})");
  const auto last = of.finish();
  REQUIRE(last);
  CHECK(last->metrics.text == R"({"loss":0.7,"lr":0.4})");
}

TEST_CASE("A line that has not ended may close a result if it has the metric with a number",
          "[unit][plain]") {
  const auto by_name = reader({{"loss", ""}, {"lr", ""}}, {"loss"});
  CHECK(by_name.may_close("Epoch 3: 100%|##| 8/8 [loss=0.5"));
  for (const char* const line : {"", "Saving ...", "lr=0.5", "val_loss=0.5", "the loss is"}) {
    CAPTURE(line);
    CHECK_FALSE(by_name.may_close(line));
  }
  const auto by_expression = reader({{"loss", "Loss is ([0-9.]+)"}}, {"loss"});
  CHECK(by_expression.may_close("Loss is 0.5"));
  CHECK_FALSE(by_expression.may_close("loss: 0.5"));
}

TEST_CASE("What earlier launches have printed tells how the metric stands, and no more",
          "[unit][plain]") {
  auto of = reader({{"loss", ""}, {"lr", ""}}, {"loss"});
  for (const char* const line :
       {"epoch 1: loss: 0.5", "lr: 0.1", "Traceback (most recent call last):", "Epoch 2/3",
        "loss,acc", "1/8 - loss: 0.4", "a loss 0.4"}) {
    if (of.read(line, false)) of.judged(true);
  }
  of.begin_launch();
  CHECK_FALSE(of.read("batch 1 loss 0.9", false));
  CHECK(remarks_of(of) == "no colon: batch 1 loss 0.9");
  CHECK(of.read("  epoch 2: loss: 0.5", false)->text == R"({"loss":0.5})");
  CHECK_FALSE(of.read("0.25,0.5", false));
}

TEST_CASE("Of a metric with an expression each drawing counts", "[unit][plain]") {
  auto of = reader({{"loss", "loss: ([0-9.]+)"}}, {"loss"});
  CHECK_FALSE(of.read("Epoch 1/2", false));
  CHECK(of.read("1/3 - loss: 0.5", false));
  CHECK(of.read("2/3 - loss: 0.4", false));
}

TEST_CASE("Names with numbers behind them are found for whoever spelt one wrong",
          "[plain][metrics]") {
  CHECK(names_in("epoch: 3 'val_loss': 0.5\nlr=1e-3 time 12:30 a: b --x=2", 10) ==
        std::vector<std::string>{"epoch", "val_loss", "lr", "x"});
  CHECK(names_in("train.py:10: UserWarning: no\n| ep_rew | 3.5 |", 10) ==
        std::vector<std::string>{"ep_rew"});
  const std::vector<std::string> awaited = {"val_loss"};
  using Names = std::vector<std::string>;
  CHECK(names_in("epoch 1 | Val Loss: 0.5 | Loss: 0.6", 9, awaited) == Names{"Val Loss", "Loss"});
  CHECK(names_in("step 5: train loss 0.9, val loss 0.8\nstep 6: val loss 0.7", 9, awaited) ==
        Names{"val loss"});
  CHECK(names_in("validation loss = 0.5, lr 0.1", 9, awaited) == Names{"validation loss", "loss"});
  CHECK(names_in("val loss after 3 epochs 0.5", 9, awaited).empty());
  CHECK(names_in("val_loss: 0.5", 9, awaited) == Names{"val_loss"});
  CHECK(names_in("a:1 b:2 c:3", 2) == std::vector<std::string>{"a", "b"});
  CHECK(names_in("a:1\n{\"avg\": {\"loss\": 0.5}}\n{\"avg\": {\"loss\": 0.4}}\n", 9) ==
        std::vector<std::string>{"avg/loss", "a"});
}

TEST_CASE(
    "The expression that is proposed for a line finds the metric's number there, and in the "
    "next",
    "[plain][metrics]") {
  struct Sample {
    const char* metric;
    const char* line;
    const char* next;
    double value;
  };
  const Sample samples[] = {
      {"score", "Epoch 3: score is 12.5 (best)", "Epoch 14: score is 9e-3 (best)", 9e-3},
      {"val", "val (mean) -0.5", "val (mean)   -17", -17},
      {"größe", "größe «x» 3", "größe «x» 4", 4},
      {"f1", "fold[2] F1 \\ 0.75 \"", "fold[13] F1 \\ 0.5 \"", 0.5},
      {"time", "Time 12", "Time 13", 13},
      {"accuracy", "Accuracy of the net on the 10000 test images: 76.4 %",
       "Accuracy of the net on the 10000 test images: 80.5 %", 80.5},
      {"accuracy", "accuracy after epoch 3: 0.76", "accuracy after epoch 14: 0.8", 0.8},
      {"accuracy", "accuracy (epoch 3): 0.76", "accuracy (epoch 4): 0.8", 0.8},
      {"accuracy", "accuracy at step 300 = 0.76", "accuracy at step 400 = 0.8", 0.8},
      {"map", "mAP@[.5:.95] = 0.76", "mAP@[.5:.95] = 0.8", 0.8},
      {"val_loss", "val_loss @ 3: 0.53", "val_loss @ 4: 0.5", 0.5},
      {"val_loss", "val_loss[3] 0.5, val_loss[4]: 0.53", "val_loss[5] 0.5, val_loss[6]: 0.25",
       0.25},
      {"score", "score is \u22120.5", "score is \u22120.25", -0.25},
      {"score", "score is \u22120.5", "score is 0.25", 0.25},
      {"val_accuracy", "val acc is 0.5 after 3.25s", "val acc is 0.75 after 1.5s", 0.75},
      {"loss", "aaaaaaaaaaaaaaaaaaaaaaaaa|loss|->2", "1 aaaaaaaaaaaaaaaaaaaaaaaaa|loss|->3", 3},
      {"end", "a very long line that goes on and on, and says at its very end that it is 5",
       "another line that says at its very end that it is 6", 6},
  };
  for (const Sample& sample : samples) {
    CAPTURE(sample.line);
    const std::string expression = expression_for(sample.line, sample.metric).text;
    CAPTURE(expression);
    REQUIRE(complaint_about_expression(expression) == "");
    auto of = reader({{"m", expression}}, {"m"});
    CHECK(of.read(sample.line, false));
    const auto next = of.read(sample.next, false);
    REQUIRE(next);
    CHECK(next->find("m") == sample.value);
  }
}

TEST_CASE("An expression that is proposed reads no longer name, and is of a whole one",
          "[plain][metrics]") {
  for (const std::string_view line :
       {"val_loss=0.3 loss=0.5", "a=1,train/mean_absolute_loss_epoch=7,val/mean_absolute_loss=0.5",
        "train_loss_step=0.30,train_loss_of_the_whole_epoch=0.5", "val/loss=3, loss=0.5"}) {
    const std::string expression = expression_for(line, "loss").text;
    CAPTURE(line, expression);
    auto of = reader({{"m", expression}}, {"m"});
    const auto found = of.read(line, false);
    REQUIRE(found);
    CHECK(found->find("m") == 0.5);
    CHECK_FALSE(of.read("x_" + std::string(line.substr(line.find_last_of(" ,") + 1)), false));
  }
}

TEST_CASE("A kind of lines is meant by the words before the metric, or by an expression",
          "[plain][metrics]") {
  CHECK(way_to_name("Test loss: 0.6", "loss", 0) == "Test loss");
  CHECK(way_to_name("val Loss: 0.79 Acc: 0.64", "Acc", 0) == "");
  const auto proposed = expression_from("val Loss: 0.79 Acc: 0.64", "Acc", 0);
  CHECK(proposed.number == "0.64");
  auto of = reader({{"Acc", proposed.text}}, {"Acc"});
  CHECK_FALSE(of.read("train Loss: 0.79 Acc: 0.64", false));
  const auto found = of.read("val Loss: -1e-05 Acc: 0.65", false);
  REQUIRE(found);
  CHECK(found->find("Acc") == 0.65);
}

TEST_CASE("No expression is proposed for a number that other words stand before",
          "[plain][metrics]") {
  for (const char* const line :
       {"", "no number", "1 2 3", "12:30", "loss is \u20130.5", "loss: \u20140.5", "loss is 1'000",
        "loss is 1,000.5", "time 0.5s", "loss in epoch 3 of 5, time: 0.05s",
        "epoch 1/12 acc 0.5 time: 0.05s", "loss50  loss50-95): 100%|###", "x: A,loss50,loss75",
        "loss after epoch 3"}) {
    CAPTURE(line);
    CHECK(expression_for(line, "loss").text == "");
  }
}

TEST_CASE("A whole number that a double would round is kept as it was printed",
          "[plain][metrics]") {
  const auto text_of = [](const std::string& line) {
    MetricReader of = reader({{"loss", ""}, {"n", ""}}, {"loss"});
    return Json::parse(of.read(line, false)->text)["n"].dump();
  };
  CHECK(text_of("loss: 1 n: 9007199254740993") == "9007199254740993");
  CHECK(text_of("n: -9007199254740993 loss: 1") == "-9007199254740993");
  CHECK(text_of("m: 9007199254740992 n: 9007199254740993 loss: 1") == "9007199254740993");
  CHECK(text_of("n=18446744073709551615, loss=1") == "18446744073709551615");
  CHECK(text_of(R"({"loss": 1, "n": 9007199254740993})") == "9007199254740993");
  CHECK(text_of("loss: 1 n: 7") == "7.0");
  MetricReader by_expression = reader({{"n", "steps ([0-9]+)"}}, {"n"});
  CHECK(Json::parse(by_expression.read("at steps 9007199254740993", false)->text)["n"].dump() ==
        "9007199254740993");
}
