// The table of domains; parsing with problems, drawing, rounding to steps, counting and membership
// for each kind.
#include "tuner/space/domain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string_view>

#include "tuner/base/error.h"
#include "tuner/base/expression.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/whole_number.h"

namespace tune {

namespace {

enum class Kind { uniform, normal, integer, list, expr };

struct Form {
  std::string_view name;
  Kind kind;
  bool log = false;
  bool quantised = false;
  bool seed = false;
};

constexpr std::array<Form, 14> forms{{{"uniform", Kind::uniform},
                                      {"quniform", Kind::uniform, false, true},
                                      {"loguniform", Kind::uniform, true},
                                      {"qloguniform", Kind::uniform, true, true},
                                      {"randn", Kind::normal},
                                      {"qrandn", Kind::normal, false, true},
                                      {"randint", Kind::integer},
                                      {"qrandint", Kind::integer, false, true},
                                      {"lograndint", Kind::integer, true},
                                      {"qlograndint", Kind::integer, true, true},
                                      {"randseed", Kind::integer, false, false, true},
                                      {"choice", Kind::list},
                                      {"grid_search", Kind::list},
                                      {"expr", Kind::expr}}};

const Form* find_form(const std::string& name) {
  const auto found =
      std::find_if(forms.begin(), forms.end(), [&](const Form& form) { return form.name == name; });
  return found == forms.end() ? nullptr : &*found;
}

/// The first and the last of the values, in units of q. The upper bound is one of them only where q
/// is above 1.
std::int64_t first_step(const Integer& domain) {
  return domain.lower / domain.q + (domain.lower % domain.q > 0 ? 1 : 0);
}
std::int64_t last_step(const Integer& domain) {
  if (domain.q == 1) return domain.upper - 1;
  return domain.upper / domain.q - (domain.upper % domain.q < 0 ? 1 : 0);
}

/// Whether logarithms from `lower` to `upper` are as good as evenly spread: numbers are equally
/// likely but for a millionth. The logarithms themselves have too few digits to tell such
/// neighbours apart.
bool is_narrow(double lower, double upper) { return lower > 0 && upper - lower <= 0x1p-20 * lower; }

/// Reads the arguments of one domain and collects what is wrong with them.
class Reader {
 public:
  Reader(const Form& form, const Json& arguments, const std::string& pointer,
         std::vector<Problem>& problems)
      : form_(form),
        name_(form.name),
        arguments_(arguments),
        pointer_(append_pointer(pointer, name_)),
        problems_(problems),
        problems_before_(problems.size()) {}

  std::optional<Domain> read() {
    Domain domain;
    if (form_.kind == Kind::list) {
      domain = read_list();
    } else if (form_.kind == Kind::expr) {
      domain = read_expr();
    } else {
      read_numbers();
      if (!good()) return std::nullopt;
      if (form_.kind == Kind::uniform) domain = read_uniform();
      if (form_.kind == Kind::normal) domain = read_normal();
      if (form_.kind == Kind::integer) domain = read_integer();
    }
    return good() ? std::optional(std::move(domain)) : std::nullopt;
  }

 private:
  bool good() const { return problems_.size() == problems_before_; }

  void complain(const std::string& needs) { complain_at(pointer_, needs); }

  void complain_at(std::string pointer, const std::string& needs) {
    problems_.push_back({std::move(pointer), "'" + name_ + "' " + needs});
  }

  /// "needs `bound`, got <argument>" unless `holds`.
  void require(bool holds, const std::string& bound, std::size_t argument) {
    if (!holds) complain("needs " + bound + ", got " + shorten(*numbers_[argument]));
  }

  Domain read_list() {
    std::vector<Json> values;
    if (!arguments_.is_array()) {
      complain("needs a list of values, got " + shorten(arguments_));
    } else if (arguments_.empty()) {
      complain("needs at least one value, got an empty list");
    } else {
      values.assign(arguments_.begin(), arguments_.end());
    }
    if (form_.name == "choice") return Choice{std::move(values)};
    return GridSearch{std::move(values)};
  }

  Domain read_expr() {
    if (!arguments_.is_string()) {
      complain("needs a string, got " + shorten(arguments_));
      return Expr{};
    }
    const auto text = arguments_.get<std::string>();
    try {
      Expression{text};
    } catch (const std::invalid_argument& error) {
      problems_.push_back({pointer_, error.what()});
    }
    return Expr{text};
  }

  std::vector<std::string> parameters() const {
    std::vector<std::string> names{"lower", "upper"};
    if (form_.kind == Kind::normal) names = {"mean", "sd"};
    if (form_.quantised) names.push_back("q");
    return names;
  }

  /// Fills `numbers_`, one for each parameter, all of them finite numbers.
  void read_numbers() {
    const std::vector<std::string> names = parameters();
    std::string wanted = names[0];
    for (std::size_t i = 1; i < names.size(); ++i) wanted += ", " + names[i];
    if (arguments_.is_object()) {
      read_named(names);
    } else if (!arguments_.is_array()) {
      complain("needs [" + wanted + "], got " + shorten(arguments_));
    } else if (arguments_.size() != names.size()) {
      complain("needs " + std::to_string(names.size()) + " numbers [" + wanted + "], got " +
               std::to_string(arguments_.size()));
    } else {
      for (std::size_t i = 0; i < names.size(); ++i) {
        add_number(names[i], arguments_[i], std::to_string(i));
      }
    }
  }

  void read_named(const std::vector<std::string>& names) {
    for (const auto& [key, unused] : arguments_.items()) {
      if (key == "prior") {
        complain_at(append_pointer(pointer_, key),
                    "takes its prior beside it: {\"" + name_ + "\": ..., \"prior\": ...}");
      } else if (std::find(names.begin(), names.end(), key) == names.end()) {
        complain_at(append_pointer(pointer_, key),
                    "has an " + unknown_name("argument", key, names));
      }
    }
    for (const std::string& name : names) {
      const auto found = arguments_.find(name);
      if (found == arguments_.end()) {
        complain("needs '" + name + "'");
      } else {
        add_number(name, *found, name);
      }
    }
  }

  void add_number(const std::string& name, const Json& value, const std::string& key) {
    numbers_.push_back(&value);
    const std::string pointer = append_pointer(pointer_, key);
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      complain_at(pointer, "needs a number for '" + name + "', got " + shorten(value));
    } else if (form_.kind == Kind::integer && !whole_number<std::int64_t>(value)) {
      complain_at(pointer, "needs a whole number for '" + name + "', got " + shorten(value));
    }
  }

  double real(std::size_t i) const { return i < numbers_.size() ? numbers_[i]->get<double>() : 0; }

  void check_bounds(bool ordered, bool positive) {
    if (!ordered) {
      complain("needs lower < upper, got " + shorten(*numbers_[0]) + " and " +
               shorten(*numbers_[1]));
    }
    if (form_.log) require(positive, "lower > 0", 0);
  }

  Domain read_uniform() {
    const Uniform domain{real(0), real(1), real(2), form_.log && !is_narrow(real(0), real(1))};
    check_bounds(domain.lower<domain.upper, domain.lower> 0);
    if (!std::isfinite(domain.upper - domain.lower)) complain("needs a finite upper - lower");
    if (!form_.quantised) return domain;
    require(domain.q > 0, "q > 0", 2);
    for (const std::size_t i : {0, 1}) {
      constexpr double tolerance = 1e-6;
      const double steps = real(i) / domain.q;
      if (domain.q > 0 && !(std::abs(steps - std::round(steps)) <= tolerance)) {
        complain("needs bounds that are multiples of q = " + shorten(*numbers_[2]) + ", got " +
                 shorten(*numbers_[i]));
      }
    }
    return domain;
  }

  Domain read_normal() {
    const Normal domain{real(0), real(1), real(2)};
    require(domain.sd > 0, "sd > 0", 1);
    if (form_.quantised) require(domain.q > 0, "q > 0", 2);
    return domain;
  }

  Domain read_integer() {
    Integer domain{*whole_number<std::int64_t>(*numbers_[0]),
                   *whole_number<std::int64_t>(*numbers_[1]), 1,
                   form_.log && !is_narrow(real(0), real(1))};
    domain.is_seed = form_.seed;
    check_bounds(domain.lower<domain.upper, domain.lower> 0);
    if (!form_.quantised) return domain;
    domain.q = *whole_number<std::int64_t>(*numbers_[2]);
    require(domain.q >= 1, "q >= 1", 2);
    if (good() && first_step(domain) > last_step(domain)) {
      complain("needs a multiple of q = " + shorten(*numbers_[2]) + " from " +
               shorten(*numbers_[0]) + " to " + shorten(*numbers_[1]));
    }
    return domain;
  }

  const Form& form_;
  const std::string name_;
  const Json& arguments_;
  const std::string pointer_;
  std::vector<Problem>& problems_;
  const std::size_t problems_before_;
  std::vector<const Json*> numbers_;
};

/// The multiple of q that is nearest to `value`; 0.3, not 0.30000000000000004, for q = 0.1; 0, not
/// -0.
double round_to(double value, double q) {
  const double steps = std::round(value / q);
  const double inverse = std::round(1 / q);
  const bool has_inverse = q < 1 && std::abs(inverse * q - 1) <= 1e-12;
  return (has_inverse ? steps / inverse : steps * q) + 0.0;
}

bool is_multiple(double value, double q) {
  return std::abs(value - round_to(value, q)) <= 1e-9 * std::max(std::abs(value), q);
}

/// Uniform in its logarithm, in [lower, upper).
double draw_log(double lower, double upper, Random& random) {
  const double value = std::exp(random.uniform(std::log(lower), std::log(upper)));
  return std::clamp(value, lower, std::nextafter(upper, lower));
}

/// How many values there are; nothing: endlessly many, or more than a double can count.
std::optional<std::uint64_t> count_steps(const Uniform& domain) {
  if (domain.q == 0) return std::nullopt;
  const double steps = std::round((domain.upper - domain.lower) / domain.q);
  return steps < 0x1p53 ? std::optional(static_cast<std::uint64_t>(steps) + 1) : std::nullopt;
}

double at_step(const Uniform& domain, std::uint64_t step) {
  const double value = round_to(domain.lower + static_cast<double>(step) * domain.q, domain.q);
  return std::clamp(value, domain.lower, domain.upper);
}

Json draw_from(const Uniform& domain, Random& random) {
  const auto steps = domain.log ? std::nullopt : count_steps(domain);
  if (steps) return at_step(domain, random.below(*steps));
  const auto [lower, upper] = span_of(domain);
  const double value = domain.log ? draw_log(lower, upper, random) : random.uniform(lower, upper);
  if (domain.q == 0) return value;
  return std::clamp(round_to(value, domain.q), domain.lower, domain.upper);
}

Json draw_from(const Normal& domain, Random& random) {
  const double value = random.normal(domain.mean, domain.sd);
  return domain.q == 0 ? value : round_to(value, domain.q);
}

/// The multiple of q that is so many steps from 0, or the nearest one within the bounds.
std::int64_t at_step(const Integer& domain, double step) {
  const std::int64_t first = first_step(domain);
  const std::int64_t last = last_step(domain);
  // Beyond 2^53 a double may round past the bounds, and at 2^63 past the type.
  if (step <= static_cast<double>(first)) return first * domain.q;
  if (step >= static_cast<double>(last)) return last * domain.q;
  return static_cast<std::int64_t>(step) * domain.q;
}

Json draw_from(const Integer& domain, Random& random) {
  if (domain.log) {
    const auto [lower, upper] = span_of(domain);
    const double value = draw_log(lower, upper, random);
    const auto q = static_cast<double>(domain.q);
    return at_step(domain, domain.q == 1 ? std::floor(value) : std::round(value / q));
  }
  const std::int64_t first = first_step(domain);
  const std::int64_t last = last_step(domain);
  // Unsigned, because the width may exceed the signed type; it is never all of 2^64.
  const std::uint64_t count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  const std::uint64_t step = static_cast<std::uint64_t>(first) + random.below(count + 1);
  return static_cast<std::int64_t>(step) * domain.q;
}

Json draw_from(const Choice& domain, Random& random) {
  return domain.values[random.below(domain.values.size())];
}

Json draw_from(const GridSearch&, Random&) {
  ensure(false, "a grid is not drawn from");
  return nullptr;
}

Json draw_from(const Expr&, Random&) {
  ensure(false, "an expression is not drawn from");
  return nullptr;
}

Json nearest_in(const Uniform& domain, double number) {
  if (domain.q > 0) return std::clamp(round_to(number, domain.q), domain.lower, domain.upper);
  return std::clamp(number, domain.lower, domain.upper);
}

Json nearest_in(const Normal& domain, double number) {
  return domain.q == 0 ? number : round_to(number, domain.q);
}

Json nearest_in(const Integer& domain, double number) {
  return at_step(domain, std::round(number / static_cast<double>(domain.q)));
}

template <class Other>
Json nearest_in(const Other&, double) {
  ensure(false, "what is no number has no nearest one");
  return nullptr;
}

bool has(const Uniform& domain, const Json& value) {
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return number >= domain.lower && number <= domain.upper &&
         (domain.q == 0 || is_multiple(number, domain.q));
}

bool has(const Normal& domain, const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return false;
  return domain.q == 0 || is_multiple(value.get<double>(), domain.q);
}

bool has(const Integer& domain, const Json& value) {
  if (!value.is_number_integer()) return false;
  const auto number = whole_number<std::int64_t>(value);
  if (!number || *number < domain.lower) return false;
  if (domain.q == 1) return *number < domain.upper;
  return *number <= domain.upper && *number % domain.q == 0;
}

bool has(const Choice& domain, const Json& value) {
  return find_value(domain.values, value).has_value();
}
bool has(const GridSearch& domain, const Json& value) {
  return find_value(domain.values, value).has_value();
}
bool has(const Expr&, const Json&) { return false; }

/// The name of the domain that `key` misspells, if the value makes it likely that it does.
std::optional<std::string> misspelt(const std::string& key, const Json& value) {
  if (!value.is_array() || value.empty()) return std::nullopt;
  const bool numbers = std::all_of(value.begin(), value.end(),
                                   [](const Json& element) { return element.is_number(); });
  for (const Form& form : forms) {
    if (form.kind == Kind::expr || (form.kind != Kind::list && !numbers)) continue;
    if (edit_distance(key, form.name) == 1) return std::string(form.name);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& domain_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Form& form : forms) all.emplace_back(form.name);
    return all;
  }();
  return names;
}

std::optional<Domain> parse_domain(const Json& json, const std::string& pointer,
                                   std::vector<Problem>& problems) {
  if (!json.is_object()) return std::nullopt;
  for (const auto& [key, value] : json.items()) {
    const Form* form = find_form(key);
    const bool has_prior = json.size() == 2 && json.contains("prior");  // parse_prior's business
    if (form && (json.size() == 1 || has_prior)) {
      return Reader(*form, value, pointer, problems).read();
    }
    if (form) {
      problems.push_back(
          {pointer, "'" + key +
                        "' must be alone in its object, but for 'prior'; write {\"value\": {...}} "
                        "around an object that is meant as it is"});
      return std::nullopt;
    }
    if (json.size() > 1 && !has_prior) continue;
    if (const auto meant = misspelt(key, value)) {
      problems.push_back({append_pointer(pointer, key),
                          "unknown domain '" + key + "', did you mean '" + *meant +
                              "'? Write {\"value\": {...}} around an object that is meant as it "
                              "is"});
    }
  }
  return std::nullopt;
}

Json draw(const Domain& domain, Random& random) {
  return std::visit([&](const auto& d) { return draw_from(d, random); }, domain);
}

Json nearest(const Domain& domain, double number) {
  return std::visit([&](const auto& d) { return nearest_in(d, number); }, domain);
}

std::optional<std::uint64_t> count_values(const Domain& domain) {
  if (const auto* integer = std::get_if<Integer>(&domain)) {
    const auto first = first_step(*integer);
    const auto last = last_step(*integer);
    return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1;
  }
  const auto* const real = std::get_if<Uniform>(&domain);
  return real != nullptr ? count_steps(*real) : std::nullopt;
}

Json nth_value(const Domain& domain, std::uint64_t i) {
  if (const auto* integer = std::get_if<Integer>(&domain)) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first_step(*integer)) + i) *
           integer->q;
  }
  return at_step(std::get<Uniform>(domain), i);
}

Span span_of(const Uniform& domain) {
  const double half = domain.q / 2;
  return {domain.lower - half, domain.upper + half};
}

Span span_of(const Integer& domain) {
  const auto q = static_cast<double>(domain.q);
  if (domain.q == 1) {
    return {static_cast<double>(domain.lower), static_cast<double>(domain.upper)};
  }
  return {(static_cast<double>(first_step(domain)) - 0.5) * q,
          (static_cast<double>(last_step(domain)) + 0.5) * q};
}

std::optional<std::string> bounds_off_steps(const Domain& domain) {
  constexpr std::uint64_t most_listed = 20;
  const auto* const integer = std::get_if<Integer>(&domain);
  if (integer == nullptr || integer->q == 1) return std::nullopt;
  const auto [lower, upper, q, log, is_seed] = *integer;
  if (lower % q == 0 && upper % q == 0) return std::nullopt;
  const std::string name = log ? "qlograndint" : "qrandint";
  const Json drawn = {{name, {first_step(*integer) * q, last_step(*integer) * q, q}}};
  std::string sentence = "'" + name + "' draws multiples of q = " + std::to_string(q) +
                         ", so that its bounds must be multiples, got " + std::to_string(lower) +
                         " and " + std::to_string(upper) + ": between them, write " + drawn.dump();
  // Unsigned, because the width may exceed the signed type.
  const std::uint64_t steps =
      (static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower)) /
      static_cast<std::uint64_t>(q);
  Json listed = Json::array();
  for (std::uint64_t i = 0; i <= steps && steps < most_listed; ++i) {
    listed.push_back(lower + static_cast<std::int64_t>(i) * q);
  }
  sentence += "; from " + std::to_string(lower) + " on, ";
  if (!listed.empty()) return sentence + Json{{"choice", listed}}.dump();
  return sentence +
         Json{{"expr", std::to_string(lower) + " + " + std::to_string(q) + " * n"}}.dump() +
         " with \"n\": " + Json{{"randint", {0, steps + 1}}}.dump();
}

bool contains(const Domain& domain, const Json& value) {
  return std::visit([&](const auto& d) { return has(d, value); }, domain);
}

namespace {

/// -0 is 0.
void drop_signs_of_zeros(Json& value) {
  if (value.is_number_float() && value.get<double>() == 0) {
    value = 0.0;
  } else if (value.is_structured()) {
    for (Json& part : value) drop_signs_of_zeros(part);
  }
}

}  // namespace

std::string text_of_same(Json value) {
  drop_signs_of_zeros(value);
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_same(const Json& a, const Json& b) { return a == b && text_of_same(a) == text_of_same(b); }

std::optional<std::size_t> find_value(const std::vector<Json>& values, const Json& value) {
  auto found = std::find_if(values.begin(), values.end(),
                            [&](const Json& one) { return is_same(one, value); });
  if (found == values.end()) found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

std::string append_pointer(const std::string& pointer, const std::string& key) {
  return pointer + (Json::json_pointer() / key).to_string();
}

std::string shorten(const Json& value, std::size_t limit) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= limit) return text;
  std::size_t end = limit - 3;
  const auto is_inside_character = [&](std::size_t i) { return (text[i] & 0xC0) == 0x80; };
  while (end > 0 && is_inside_character(end)) --end;
  return text.substr(0, end) + "...";
}

}  // namespace tune
