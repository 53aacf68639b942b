// Tests of the digits example's data, model and training, by calling them.
// Knows no driver and no process.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "apps/examples/digits/digits_trainable.h"
#include "tests/support/catch.h"

using namespace digits;
using tune::Json;

namespace {

// Over 98 % with each of several seeds, so that rounding on another machine cannot fail a test.
const Json good_config = {
    {"learning_rate", 0.2}, {"momentum", 0.9}, {"hidden", 128}, {"batch_size", 32}};

std::string refusal(const Json& config) {
  try {
    DigitsTrainable().setup(config);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

// The largest difference between backpropagation and central differences, relative to the largest
// slope.
double gradient_error(const std::vector<int>& sizes, Activation activation) {
  Random random(5);
  Mlp model(sizes, activation, random);
  Eigen::MatrixXd inputs(sizes.front(), 6);
  for (Eigen::Index i = 0; i < inputs.size(); ++i) inputs.data()[i] = random.uniform(-1, 1);
  // Biases of 0 would leave their part of the forward pass untested.
  for (Eigen::Index i = 0; i < model.parameters().size(); ++i)
    model.parameters()[i] += random.uniform(-0.1, 0.1);
  std::vector<int> labels(6);
  for (int& label : labels) label = static_cast<int>(random.below(sizes.back()));

  Eigen::VectorXd gradient;
  model.loss_and_gradient(inputs, labels, gradient);
  Eigen::VectorXd differences(gradient.size());
  constexpr double step = 1e-6;
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    double& parameter = model.parameters()[i];
    const double original = parameter;
    parameter = original + step;
    const double above = model.evaluate(inputs, labels).loss;
    parameter = original - step;
    const double below = model.evaluate(inputs, labels).loss;
    parameter = original;
    differences[i] = (above - below) / (2 * step);
  }
  CHECK(gradient.cwiseAbs().maxCoeff() > 0.01);
  return (gradient - differences).cwiseAbs().maxCoeff() / gradient.cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("The data set has all 1,797 images with the published number of each digit",
          "[digits][data]") {
  const DataSet data = load_digits();
  REQUIRE(data.images.rows() == 64);
  REQUIRE(data.images.cols() == 1797);
  std::vector<int> counts(class_count);
  for (int label : data.labels) ++counts.at(label);
  CHECK(counts == std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("The images have the ink of the original file, from 0 to 16", "[digits][data]") {
  const Eigen::MatrixXd pixels = load_digits().images * darkest_pixel;
  CHECK(pixels.minCoeff() == 0);
  CHECK(pixels.maxCoeff() == 16);
  CHECK(pixels.sum() == 561718);
  Eigen::VectorXd top_rows_of_first(16);
  top_rows_of_first << 0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0;
  CHECK(pixels.col(0).head(16) == top_rows_of_first);
}

TEST_CASE("A split puts each image into exactly one part", "[digits][data]") {
  const Split split = split_quarter(image_count, 3);
  CHECK(split.validation.size() == 449);
  std::vector<int> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  std::sort(all.begin(), all.end());
  std::vector<int> expected(image_count);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(all == expected);
}

TEST_CASE("A split depends on its seed and on nothing else", "[digits][data]") {
  CHECK(split_quarter(image_count, 3).validation == split_quarter(image_count, 3).validation);
  CHECK(split_quarter(image_count, 3).validation != split_quarter(image_count, 4).validation);
}

TEST_CASE("The generator gives SplitMix64's published numbers", "[digits][random]") {
  Random random(1234567);
  CHECK(random.next() == 6457827717110365317u);
  CHECK(random.next() == 3203168211198807973u);
  CHECK(random.next() == 9817491932198370423u);
}

TEST_CASE("A generator made from another's state goes on where that one is", "[digits][random]") {
  Random random(9);
  random.next();
  Random other(random.state());
  CHECK(other.next() == random.next());
}

TEST_CASE("Backpropagation agrees with finite differences", "[digits][mlp]") {
  for (const Activation activation : {Activation::relu, Activation::tanh}) {
    CHECK(gradient_error({5, 7, 4}, activation) < 1e-6);
    CHECK(gradient_error({5, 7, 3, 4}, activation) < 1e-6);
  }
}

TEST_CASE("The loss of equal scores is the logarithm of the number of classes", "[digits][mlp]") {
  Random random(1);
  Mlp model({3, 2, 10}, Activation::tanh, random);
  model.parameters().setZero();
  const Evaluation evaluation = model.evaluate(Eigen::MatrixXd::Ones(3, 2), {0, 9});
  CHECK(evaluation.loss == Approx(std::log(10.0)));
  CHECK(evaluation.accuracy == 0);
}

TEST_CASE("The loss stays finite for scores whose exponential is not", "[digits][mlp]") {
  Random random(1);
  Mlp model({1, 1, 2}, Activation::relu, random);
  model.parameters() << 1, 0, 1000, -1000, 0, 0;
  Eigen::VectorXd gradient;
  CHECK(model.loss_and_gradient(Eigen::MatrixXd::Ones(1, 1), {1}, gradient) == Approx(2000));
  CHECK(gradient.allFinite());
}

TEST_CASE("A model full of NaN is right about nothing", "[digits][mlp]") {
  for (const Activation activation : {Activation::relu, Activation::tanh}) {
    Random random(1);
    Mlp model({3, 2, 2}, activation, random);
    model.parameters().setConstant(std::numeric_limits<double>::quiet_NaN());
    const Evaluation evaluation = model.evaluate(Eigen::MatrixXd::Ones(3, 2), {0, 1});
    CHECK(std::isnan(evaluation.loss));
    CHECK(evaluation.accuracy == 0);
  }
}

TEST_CASE("A good config reads more than 97 % of unseen digits", "[digits][training][minutes]") {
  DigitsTrainable trainable;
  trainable.setup(good_config);
  double accuracy = 0;
  for (int epoch = 0; epoch < 40; ++epoch) accuracy = trainable.step()["val_accuracy"];
  CHECK(accuracy > 0.97);
}

TEST_CASE("Two hidden layers learn too", "[digits][training]") {
  DigitsTrainable trainable;
  trainable.setup({{"learning_rate", 0.1}, {"hidden", 32}, {"hidden2", 32}});
  double accuracy = 0;
  for (int epoch = 0; epoch < 15; ++epoch) accuracy = trainable.step()["val_accuracy"];
  CHECK(accuracy > 0.95);
}

TEST_CASE("Exactly the new bests above 97 % ask for a checkpoint", "[digits][training]") {
  DigitsTrainable trainable;
  trainable.setup(good_config);
  double best = 0;
  int asked = 0;
  int bests_below = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    const Json result = trainable.step();
    const double accuracy = result["val_accuracy"];
    CHECK(result.contains("should_checkpoint") == (accuracy > best && accuracy > 0.97));
    asked += result.contains("should_checkpoint");
    bests_below += accuracy > best && accuracy <= 0.97;
    best = std::max(best, accuracy);
  }
  CHECK(asked > 0);
  CHECK(asked < 30);
  CHECK(bests_below > 0);
}

TEST_CASE("A learning rate that is far too high ends in NaN losses, not in a crash",
          "[digits][training]") {
  DigitsTrainable trainable;
  trainable.setup({{"learning_rate", 1e200}, {"hidden", 16}});
  Json result;
  for (int epoch = 0; epoch < 3; ++epoch) result = trainable.step();
  CHECK(std::isnan(result["val_loss"].get<double>()));
  CHECK(result["val_accuracy"] == 0);
}

TEST_CASE("Each hyperparameter changes what is learnt", "[digits][training]") {
  const Json base = {{"hidden", 16}};
  const auto first_result = [&](Json config) {
    DigitsTrainable trainable;
    trainable.setup(config);
    return trainable.step();
  };
  const Json expected = first_result(base);
  CHECK(first_result(base) == expected);
  const Json changes = {{"learning_rate", 0.2}, {"momentum", 0.5}, {"weight_decay", 0.01},
                        {"hidden", 17},         {"hidden2", 8},    {"batch_size", 31},
                        {"activation", "tanh"}, {"seed", 1},       {"split_seed", 2}};
  for (const auto& [key, value] : changes.items()) {
    Json config = base;
    config[key] = value;
    CAPTURE(key);
    CHECK(first_result(config) != expected);
  }
}

TEST_CASE("A bad config value is refused with key, value and what was expected",
          "[digits][config]") {
  CHECK(refusal({{"learning_rate", 0}}) ==
        "config key \"learning_rate\" is 0: expected a number above 0");
  CHECK(refusal({{"activation", "gelu"}}) ==
        "config key \"activation\" is \"gelu\": expected \"relu\" or \"tanh\"");
  CHECK(refusal({{"batch_size", 0}}) ==
        "config key \"batch_size\" is 0: expected an integer from 1 to 1797");
  CHECK(refusal({{"momentum", 1}}) ==
        "config key \"momentum\" is 1: expected a number from 0 to 1, 1 excluded");
  CHECK(refusal({{"weight_decay", -1}}) ==
        "config key \"weight_decay\" is -1: expected a number of 0 or more");
  CHECK(refusal(Json::array()) == "the config is []: expected an object");
}

TEST_CASE("No key accepts a value out of its range, of another type, or of no number",
          "[digits][config]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Json bad = {
      {"learning_rate", {-1, nan, infinity, "0.1", nullptr, true, Json::array({0.1})}},
      {"momentum", {-0.1, 1.5, nan, "0.9"}},
      {"weight_decay", {-1e-9, nan, infinity, "0"}},
      {"hidden", {0, 4097, 16.5, "16", nan, -1}},
      {"hidden2", {-1, 4097, 0.5, nullptr}},
      {"batch_size", {1798, 1.5, false}},
      {"activation", {"RELU", 0, nullptr}},
      {"seed", {-1, 0.5, 1e300, "1"}},
      {"split_seed", {-1, 0.5, nan}},
      {"learning_rat", {0.1}}};
  for (const auto& [key, values] : bad.items()) {
    for (const Json& value : values) {
      CAPTURE(key, value.dump());
      CHECK_THAT(refusal({{key, value}}),
                 Catch::Matchers::StartsWith("config key \"" + key + "\" is " + value.dump() +
                                             ": expected "));
    }
  }
}

TEST_CASE("A whole number written with a point is an integer", "[digits][config]") {
  CHECK(refusal({{"hidden", 32.0}, {"batch_size", 16.0}}) == "accepted");
}
