// The table of functions and how each is calculated; the constants.
#include "tuner/base/expression_functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tuner/base/wide_sum.h"

namespace tune {

namespace {

using Arguments = std::vector<ExactNumber>;
using Form = ExpressionFunction::Form;

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

/// A function of doubles, which a whole number reaches as one.
template <double (*calculate)(double)>
ExactNumber of_double(const Arguments& arguments) {
  const ExactNumber x = arguments[0].as_double();
  const double value = calculate(x.value());
  return x.is_rounded() ? ExactNumber::rounded(value) : ExactNumber(value);
}

template <double (*rounds)(double)>
ExactNumber without_fraction(const Arguments& arguments) {
  return arguments[0].without_fraction(rounds);
}

ExactNumber atan2_of(const Arguments& arguments) {
  const ExactNumber y = arguments[0].as_double(), x = arguments[1].as_double();
  const double value = std::atan2(y.value(), x.value());
  return x.is_rounded() || y.is_rounded() ? ExactNumber::rounded(value) : ExactNumber(value);
}

ExactNumber sum_of(const Arguments& arguments) {
  ExactNumber sum = arguments[0];
  for (std::size_t i = 1; i < arguments.size(); ++i) sum = sum + arguments[i];
  return sum;
}

ExactNumber average_of(const Arguments& arguments) {
  const ExactNumber sum = sum_of(arguments);
  const auto is_finite = [](const ExactNumber& each) { return std::isfinite(each.value()); };
  if (!is_finite(sum) && std::all_of(arguments.begin(), arguments.end(), is_finite)) {
    WideSum wide;
    for (const ExactNumber& each : arguments) wide.add(each.value());
    return ExactNumber::rounded(wide.average_of(static_cast<double>(arguments.size())));
  }
  return sum / ExactNumber::of_whole(static_cast<Int128>(arguments.size()));
}

bool is_nan(const ExactNumber& number) { return std::isnan(number.value()); }

ExactNumber min_of(const Arguments& arguments) {
  const auto nan = std::find_if(arguments.begin(), arguments.end(), is_nan);
  return nan != arguments.end() ? *nan : *std::min_element(arguments.begin(), arguments.end());
}

ExactNumber max_of(const Arguments& arguments) {
  const auto nan = std::find_if(arguments.begin(), arguments.end(), is_nan);
  return nan != arguments.end() ? *nan : *std::max_element(arguments.begin(), arguments.end());
}

ExactNumber sign_of(const Arguments& arguments) {
  const double x = arguments[0].value();
  return ExactNumber::of_whole(x > 0 ? 1 : x < 0 ? -1 : 0);
}

constexpr ExpressionFunction functions[] = {
    {"abs", 1, 1, Form::as_arguments,
     [](const Arguments& x) { return x[0].is_negative() ? -x[0] : x[0]; }},
    {"acos", 1, 1, Form::fraction, of_double<std::acos>},
    {"acosh", 1, 1, Form::fraction, of_double<std::acosh>},
    {"asin", 1, 1, Form::fraction, of_double<std::asin>},
    {"asinh", 1, 1, Form::fraction, of_double<std::asinh>},
    {"atan", 1, 1, Form::fraction, of_double<std::atan>},
    {"atan2", 2, 2, Form::fraction, atan2_of},
    {"atanh", 1, 1, Form::fraction, of_double<std::atanh>},
    {"avg", 1, any_number, Form::fraction, average_of},
    {"cbrt", 1, 1, Form::fraction, of_double<std::cbrt>},
    {"ceil", 1, 1, Form::whole, without_fraction<std::ceil>},
    {"cos", 1, 1, Form::fraction, of_double<std::cos>},
    {"cosh", 1, 1, Form::fraction, of_double<std::cosh>},
    {"exp", 1, 1, Form::fraction, of_double<std::exp>},
    {"floor", 1, 1, Form::whole, without_fraction<std::floor>},
    {"int", 1, 1, Form::whole, without_fraction<std::trunc>},
    {"ln", 1, 1, Form::fraction, of_double<std::log>},
    {"log", 1, 1, Form::fraction, of_double<std::log>},
    {"log10", 1, 1, Form::fraction, of_double<std::log10>},
    {"log2", 1, 1, Form::fraction, of_double<std::log2>},
    {"max", 1, any_number, Form::as_arguments, max_of},
    {"min", 1, any_number, Form::as_arguments, min_of},
    {"pow", 2, 2, Form::fraction, [](const Arguments& x) { return power(x[0], x[1]); }},
    {"rint", 1, 1, Form::whole, without_fraction<std::rint>},
    {"round", 1, 1, Form::whole, without_fraction<std::round>},
    {"sign", 1, 1, Form::whole, sign_of},
    {"sin", 1, 1, Form::fraction, of_double<std::sin>},
    {"sinh", 1, 1, Form::fraction, of_double<std::sinh>},
    {"sqrt", 1, 1, Form::fraction, of_double<std::sqrt>},
    {"sum", 1, any_number, Form::as_arguments, sum_of},
    {"tan", 1, 1, Form::fraction, of_double<std::tan>},
    {"tanh", 1, 1, Form::fraction, of_double<std::tanh>},
};

}  // namespace

const ExpressionFunction* find_function(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(functions), std::end(functions),
                   [name](const ExpressionFunction& function) { return function.name == name; });
  return found == std::end(functions) ? nullptr : found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const ExpressionFunction& function : functions) names.emplace_back(function.name);
  return names;
}

std::optional<double> find_constant(std::string_view name) {
  if (name == "_pi") return std::numbers::pi;
  if (name == "_e") return std::numbers::e;
  return std::nullopt;
}

}  // namespace tune
