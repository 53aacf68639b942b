// Lines as programs print them, and the numbers in them.
#include "tuner/plain/metric_reader.h"

#include <cmath>

#include "tests/support/catch.h"

using namespace tune;

namespace {

MetricReader reader(std::vector<PlainMetric> metrics, std::vector<std::string> closing) {
  return MetricReader(PlainReading{std::move(metrics), std::move(closing)});
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
  };
  for (const Sample& sample : samples) {
    INFO(sample.line);
    const auto result = reader({{sample.name, ""}}, {sample.name}).read(sample.line, false);
    REQUIRE(result);
    CHECK(result->find(sample.name) == sample.value);
  }
}

TEST_CASE("What only looks like a metric is none", "[plain][metrics]") {
  for (const char* const line :
       {"val_loss: 0.3", "train/loss: 0.3", "val-loss=0.3", "my.loss: 1", "loss", "loss:", "loss 3",
        "loss: 3/100", "loss: 12ms", "loss: 1,234.5", "loss: 1.2.3", "loss: 12:30",
        "loss: 2024-01-02", "loss: none", "losses: 3", "loss: -", "Loss: 3"}) {
    INFO(line);
    CHECK_FALSE(number_behind(line, "loss"));
  }
}

TEST_CASE("NaN and infinities are numbers, as any language writes them", "[plain][metrics]") {
  CHECK(std::isnan(number_behind("loss: nan", "loss").value()));
  CHECK(std::isnan(number_behind("loss=NaN,", "loss").value()));
  CHECK(number_behind("loss: -inf", "loss") == -INFINITY);
  CHECK(number_behind("loss: Infinity", "loss") == INFINITY);
  CHECK(number_behind("loss: -1e400", "loss") == -INFINITY);
  // Too small for a double is not too large.
  for (const char* const line : {"loss: -1e-400", "loss = -0.5e-999,"}) {
    const auto number = number_behind(line, "loss");
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

TEST_CASE("Names with numbers behind them are found for whoever spelt one wrong",
          "[plain][metrics]") {
  CHECK(names_in("epoch: 3 'val_loss': 0.5\nlr=1e-3 time 12:30 a: b --x=2", 10) ==
        std::vector<std::string>{"epoch", "val_loss", "lr", "x"});
  CHECK(names_in("a:1 b:2 c:3", 2) == std::vector<std::string>{"a", "b"});
}
