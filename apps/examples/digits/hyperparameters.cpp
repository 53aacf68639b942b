// Checks a config, key by key.
#include "apps/examples/digits/hyperparameters.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "apps/examples/digits/digits.h"

namespace digits {
namespace {

using tune::Json;

constexpr std::int64_t max_units = 4096;
constexpr std::int64_t max_seed = std::int64_t{1} << 53;  // every integer up to here is a double

[[noreturn]] void refuse(const std::string& key, const Json& value, const std::string& expected) {
  throw std::invalid_argument("config key \"" + key + "\" is " + value.dump() + ": expected " +
                              expected);
}

double to_double(const Json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

// In each comparison below NaN, and so whatever is no number, is outside.

std::int64_t integer(const std::string& key, const Json& value, std::int64_t low,
                     std::int64_t high) {
  const double number = to_double(value);
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high)) ||
      number != std::floor(number))
    refuse(key, value, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return static_cast<std::int64_t>(number);
}

double positive(const std::string& key, const Json& value) {
  const double number = to_double(value);
  if (!(number > 0 && std::isfinite(number))) refuse(key, value, "a number above 0");
  return number;
}

double not_negative(const std::string& key, const Json& value) {
  const double number = to_double(value);
  if (!(number >= 0 && std::isfinite(number))) refuse(key, value, "a number of 0 or more");
  return number;
}

double below_one(const std::string& key, const Json& value) {
  const double number = to_double(value);
  if (!(number >= 0 && number < 1)) refuse(key, value, "a number from 0 to 1, 1 excluded");
  return number;
}

Activation activation(const std::string& key, const Json& value) {
  if (value == "relu") return Activation::relu;
  if (value == "tanh") return Activation::tanh;
  refuse(key, value, "\"relu\" or \"tanh\"");
}

}  // namespace

Hyperparameters parse_hyperparameters(const Json& config) {
  if (!config.is_object())
    throw std::invalid_argument("the config is " + config.dump() + ": expected an object");
  Hyperparameters parsed;
  for (const auto& [key, value] : config.items()) {
    if (key == "learning_rate")
      parsed.learning_rate = positive(key, value);
    else if (key == "momentum")
      parsed.momentum = below_one(key, value);
    else if (key == "weight_decay")
      parsed.weight_decay = not_negative(key, value);
    else if (key == "hidden")
      parsed.hidden = static_cast<int>(integer(key, value, 1, max_units));
    else if (key == "hidden2")
      parsed.hidden2 = static_cast<int>(integer(key, value, 0, max_units));
    else if (key == "batch_size")
      parsed.batch_size = static_cast<int>(integer(key, value, 1, image_count));
    else if (key == "activation")
      parsed.activation = activation(key, value);
    else if (key == "seed")
      parsed.seed = integer(key, value, 0, max_seed);
    else if (key == "split_seed")
      parsed.split_seed = integer(key, value, 0, max_seed);
    else
      refuse(key, value,
             "only learning_rate, momentum, weight_decay, hidden, hidden2, batch_size, "
             "activation, seed or split_seed");
  }
  return parsed;
}

}  // namespace digits
