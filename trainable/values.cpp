// Numbers that JSON cannot write, as strings and back.
#include "trainable/values.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace tune {
namespace {

void encode_in_place(Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number)) value = encode_number(number);
  } else if (value.is_structured()) {
    for (Json& element : value) encode_in_place(element);
  }
}

}  // namespace

Json encode_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

std::optional<double> decode_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return std::nullopt;
}

Json encode_numbers(Json value) {
  encode_in_place(value);
  return value;
}

}  // namespace tune
