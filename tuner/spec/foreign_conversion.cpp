// Converts one parsed form of another tool into a domain: bounds, steps, logarithms, distributions.
#include "tuner/spec/foreign_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tuner/space/domain.h"

namespace tune::foreign {

namespace {

/// One form with its arguments, on its way to what it is here.
class Conversion {
 public:
  Conversion(const Row& row, Arguments arguments) : row_(row), arguments_(std::move(arguments)) {
    form_.tool = row.tool;
    form_.name = row.name;
  }

  /// Nothing: its arguments are not those of such a form.
  std::optional<ForeignForm> form() {
    if (row_.draws == Draws::none) return none(row_.why_none);
    return is_converted() ? std::optional(form_) : std::nullopt;
  }

 private:
  static constexpr std::size_t most_listed = 50;

  bool has(const char* role) const { return arguments_.contains(role); }
  const Json& at(const char* role) const { return arguments_.at(role); }
  bool has_numbers(std::initializer_list<const char*> roles) const {
    return std::all_of(roles.begin(), roles.end(),
                       [&](const char* role) { return has(role) && at(role).is_number(); });
  }
  double number(const char* role) const { return at(role).get<double>(); }
  bool is_log() const { return has("log") && at("log") == true; }
  bool is_step() const { return has("q") && at("q").is_number() && number("q") > 0; }

  bool write(const Json& domain, std::string note = "") {
    // What is not right there is not right here.
    std::vector<Problem> problems;
    const bool is_domain = parse_domain(domain, "", problems).has_value() && problems.empty();
    form_.domain = is_domain ? domain : Json{{"uniform", {"LOWER", "UPPER"}}};
    form_.note = std::move(note);
    return true;
  }

  /// An expression over a hyperparameter of its own.
  bool write_over(const std::string& expression, const char* name, const Json& domain) {
    form_.domain = Json{{"expr", expression}};
    form_.beside = name;
    form_.beside_domain = domain;
    return true;
  }

  std::optional<ForeignForm> none(const std::string& why) {
    form_.domain.reset();
    form_.note = why;
    return form_;
  }

  static std::string text(const Json& number) { return number.dump(); }

  bool is_converted() {
    switch (row_.draws) {
      case Draws::real:
      case Draws::log:
        return has_numbers({"lower", "upper"}) && real(row_.draws == Draws::log || is_log());
      case Draws::exponents:
      case Draws::negated:
        return has_numbers({"lower", "upper"}) && exponential(row_.draws == Draws::negated);
      case Draws::whole:
      case Draws::whole_below:
        return has_numbers({"lower", "upper"}) && whole();
      case Draws::rounded:
      case Draws::rounded_log:
      case Draws::rounded_exp:
        return has_numbers({"lower", "upper"}) && rounded();
      case Draws::spaced:
      case Draws::spaced_log:
        return has_numbers({"lower", "upper", "size"}) && spaced();
      case Draws::reversed_log:
        return has_numbers({"lower", "upper"}) &&
               write_over("1 - z", "z",
                          {{"loguniform", {1 - number("upper"), 1 - number("lower")}}});
      case Draws::normal:
      case Draws::rounded_normal:
      case Draws::log_normal:
      case Draws::rounded_log_normal:
        return has_numbers({"mean", "sd"}) && bell_shaped();
      case Draws::choice:
      case Draws::ordered:
      case Draws::weighted:
        return has("values") && at("values").is_array() && !at("values").empty() && chosen();
      case Draws::truth:
        return write({{"choice", {true, false}}});
      case Draws::constant:
        if (!has("value")) return false;
        form_.domain = at("value");
        return true;
      case Draws::none:
        break;
    }
    return false;
  }

  bool real(bool log) {
    if (!is_step()) return write({{log ? "loguniform" : "uniform", {at("lower"), at("upper")}}});
    return log ? factors() : stepped("quniform");
  }

  bool exponential(bool negated) {
    const double lower = negated ? -number("upper") : number("lower");
    const double upper = negated ? -number("lower") : number("upper");
    return write({{"loguniform", {std::exp(lower), std::exp(upper)}}});
  }

  static bool is_multiple(double value, double q) {
    constexpr double tolerance = 1e-9;
    return std::abs(value / q - std::round(value / q)) <= tolerance;
  }

  /// From the lower bound on in steps of q, up to the upper one.
  bool stepped(const char* domain) {
    const double q = number("q"), lower = number("lower");
    const double count = std::floor((number("upper") - lower) / q + 1e-9);
    if (!(count >= 1)) return write({{domain, {at("lower"), at("upper"), at("q")}}});
    const bool ends_there = is_multiple(number("upper") - lower, q);
    const bool is_whole = at("lower").is_number_integer() && at("q").is_number_integer();
    const auto value = [&](double i) {
      return is_whole ? Json(at("lower").get<std::int64_t>() +
                             static_cast<std::int64_t>(i) * at("q").get<std::int64_t>())
                      : Json(std::stod(text_of(lower + i * q)));
    };
    if (is_multiple(lower, q)) {
      const Json last = ends_there ? at("upper") : value(count);
      return write({{domain, {at("lower"), last, at("q")}}},
                   ends_there ? "" : "its last step is " + text(last));
    }
    if (count >= most_listed) {
      return write_over(text(at("lower")) + " + " + text(at("q")) + " * n", "n",
                        {{"randint", {0, static_cast<std::int64_t>(count) + 1}}});
    }
    Json values = Json::array();
    for (double i = 0; i <= count; ++i) values.push_back(value(i));
    return write({{"choice", values}});
  }

  /// Twelve digits, so that 0.1 + 2 * 0.1 is 0.3.
  static std::string text_of(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.12g", value);
    return buffer;
  }

  /// With a logarithmic scale a step is a factor (Keras Tuner).
  bool factors() {
    Json values = Json::array();
    double value = number("lower");
    for (; value <= number("upper") * (1 + 1e-9) && values.size() < most_listed;
         value *= number("q")) {
      values.push_back(row_.draws == Draws::whole ? Json(static_cast<std::int64_t>(value))
                                                  : Json(std::stod(text_of(value))));
      if (!(number("q") > 1) || !(value > 0)) break;
    }
    return write({{"choice", values}});
  }

  bool whole() {
    const Json &lower = at("lower"), &upper = at("upper");
    const bool is_below = row_.draws == Draws::whole_below;
    const bool fits = lower.is_number_integer() && upper.is_number_integer() &&
                      upper < std::numeric_limits<std::int64_t>::max();
    if (!fits) return write({{is_log() ? "loguniform" : "uniform", {lower, upper}}});
    const Json end = upper.get<std::int64_t>() + (is_below ? 0 : 1);
    if (!is_step() || at("q") == 1) {
      return write({{is_log() ? "lograndint" : "randint", {lower, end}}});
    }
    return is_log() ? factors() : stepped("qrandint");
  }

  bool rounded() {
    const bool is_exponent = row_.draws == Draws::rounded_exp;
    const char* const domain = row_.draws == Draws::rounded ? "quniform" : "qloguniform";
    // W&B takes 1 for it.
    const Json q = is_step() ? at("q") : Json(1);
    const auto rounded_to = [&](const char* role) -> Json {
      const double bound = is_exponent ? std::exp(number(role)) : number(role);
      if (!is_exponent && is_multiple(bound, q.get<double>())) return at(role);
      const double multiple = std::round(bound / q.get<double>()) * q.get<double>();
      return q.is_number_integer() ? Json(static_cast<std::int64_t>(multiple))
                                   : Json(std::stod(text_of(multiple)));
    };
    return write(
        {{domain, {rounded_to("lower"), rounded_to("upper"), q}}},
        std::string("in ") + row_.tool +
            " a bound is rounded to from one side alone, here it has a whole step's share");
  }

  bool spaced() {
    const double size = number("size");
    if (!(size >= 2) || size != std::floor(size)) return false;
    const double lower = number("lower"), upper = number("upper");
    const bool is_log = row_.draws == Draws::spaced_log;
    if (size > static_cast<double>(most_listed)) {
      const std::string last = text(Json(static_cast<std::int64_t>(size) - 1));
      const std::string first = text(at("lower")), end = text(at("upper"));
      return write_over(is_log ? first + " * pow(" + end + " / " + first + ", n / " + last + ")"
                               : first + " + (" + end + " - " + first + ") * n / " + last,
                        "n", {{"randint", {0, static_cast<std::int64_t>(size)}}});
    }
    Json values = Json::array();
    for (double i = 0; i < size; ++i) {
      const double part = i / (size - 1);
      values.push_back(std::stod(text_of(is_log ? lower * std::pow(upper / lower, part)
                                                : lower + (upper - lower) * part)));
    }
    return write({{"choice", values}});
  }

  bool bell_shaped() {
    const Json normal = {{"randn", {at("mean"), at("sd")}}};
    const std::string q = is_step() ? text(at("q")) : "1";
    switch (row_.draws) {
      case Draws::normal:
        return write(normal);
      case Draws::rounded_normal:
        return write({{"qrandn", {at("mean"), at("sd"), is_step() ? at("q") : Json(1)}}});
      case Draws::log_normal:
        return write_over("exp(z)", "z", normal);
      default:
        return write_over(q + " * round(exp(z) / " + q + ")", "z", normal);
    }
  }

  bool chosen() {
    const Json domain = {{"choice", at("values")}};
    if (has("weights")) {
      return write(domain,
                   "there are no probabilities here: each value is equally likely without a prior, "
                   "and one that is "
                   "listed twice comes twice as often where nothing is learnt");
    }
    if (row_.draws == Draws::ordered) return write(domain, "the order of the values is not used");
    return write(domain);
  }

  const Row& row_;
  const Arguments arguments_;
  ForeignForm form_;
};

}  // namespace

std::optional<ForeignForm> converted(const Row* row, Arguments arguments) {
  return row != nullptr ? Conversion(*row, std::move(arguments)).form() : std::nullopt;
}

}  // namespace tune::foreign
