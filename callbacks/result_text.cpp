// Fills a result's driver fields in as text once, and splices them into the trainable's own JSON
// without parsing it.
#include "callbacks/result_text.h"

#include <algorithm>

#include "trainable/values.h"
#include "tuner/base/decimal.h"
#include "tuner/base/json_text.h"

namespace tune {

namespace {

constexpr std::size_t date_field = 2;
constexpr std::size_t trial_field = 9;

void set_number(std::string& text, double value) {
  text.clear();
  append_decimal(text, value);
}

void set_optional(std::string& text, const std::optional<double>& value) {
  text.clear();
  if (value) append_decimal(text, *value);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The inside of `text`, an object, without the braces and the space next to them.
std::string_view members(std::string_view text) {
  const auto trim = [](std::string_view inside) {
    while (!inside.empty() && is_space(inside.front())) inside.remove_prefix(1);
    while (!inside.empty() && is_space(inside.back())) inside.remove_suffix(1);
    return inside;
  };
  text = trim(text);
  return trim(text.substr(1, text.size() - 2));
}

/// Finds the next of a few bytes: most of a result's text are digits and letters, which nobody
/// wants to look at one by one.
class AnyOf {
 public:
  consteval explicit AnyOf(std::string_view bytes) {
    for (const char c : bytes) is_one_[static_cast<unsigned char>(c)] = true;
  }

  /// Its place from `from` on; the size of `text`, or more, where there is none.
  std::size_t next(std::string_view text, std::size_t from) const {
    while (from < text.size() && !is_one_[static_cast<unsigned char>(text[from])]) ++from;
    return from;
  }

 private:
  std::array<bool, 256> is_one_{};
};

constexpr AnyOf outside_strings("{}[],\"");
constexpr AnyOf in_strings("\"\\");

}  // namespace

bool is_driver_field(std::string_view name) {
  return std::find(driver_fields.begin(), driver_fields.end(), name) != driver_fields.end();
}

bool DriverFields::is_string(std::size_t field) {
  return field == date_field || field == trial_field;
}

void DriverFields::fill(TrialId trial, const Result& result) {
  texts_[0].clear();
  append_integer(texts_[0], result.training_iteration);
  set_number(texts_[1], result.timestamp);
  const auto second = static_cast<std::time_t>(result.timestamp);
  if (second != date_of_) {
    std::tm local{};
    localtime_r(&second, &local);
    char buffer[64];
    texts_[date_field].assign(buffer,
                              std::strftime(buffer, sizeof buffer, "%Y-%m-%d_%H-%M-%S", &local));
    date_of_ = second;
  }
  set_number(texts_[3], result.time_this_iter_s);
  set_number(texts_[4], result.time_total_s);
  set_number(texts_[5], result.time_since_restore);
  texts_[6].clear();
  append_integer(texts_[6], result.iterations_since_restore);
  set_optional(texts_[7], result.timesteps_total);
  set_optional(texts_[8], result.episodes_total);
  texts_[trial_field] = to_string(trial);
  texts_[10] = result.done ? "true" : "false";
  texts_[11] = result.iteration_is_guess ? "true" : "";
}

MemberPlaces driver_fields_in(std::string_view metrics) {
  MemberPlaces places;
  std::size_t depth = 0;  // of objects and lists
  bool is_in_one = false;
  for (std::size_t i = 0; (i = outside_strings.next(metrics, i)) < metrics.size(); ++i) {
    const char c = metrics[i];
    const bool ends_member = depth == 1 && (c == ',' || c == '}');
    if (ends_member && is_in_one) places.back().second = i;
    if (ends_member) is_in_one = false;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      const std::size_t start = i + 1;
      bool escapes = false;
      while ((i = in_strings.next(metrics, i + 1)) < metrics.size() && metrics[i] != '"') {
        escapes = true;
        ++i;
      }
      if (depth != 1) continue;
      auto next = i + 1;
      while (next < metrics.size() && is_space(metrics[next])) ++next;
      if (next >= metrics.size() || metrics[next] != ':') continue;
      std::string unescaped;
      std::string_view key = metrics.substr(start, i - start);
      if (escapes) {
        const Json parsed = Json::parse(metrics.substr(start - 1, i + 2 - start), nullptr, false);
        if (parsed.is_string()) key = unescaped = parsed.get<std::string>();
      }
      is_in_one = is_driver_field(key);
      if (is_in_one) places.emplace_back(start - 1, start - 1);
    }
  }
  return places;
}

void append_json_row(std::string& out, const DriverFields& fields, const Result& result) {
  out += '{';
  for (std::size_t i = 0; i < driver_fields.size(); ++i) {
    if (fields.text(i).empty()) continue;
    if (i > 0) out += ',';
    out.append("\"").append(driver_fields[i]).append("\":");
    if (DriverFields::is_string(i)) {
      out.append("\"").append(fields.text(i)).append("\"");
    } else {
      out += fields.text(i);
    }
  }
  out += ',';
  const std::size_t own = out.size();
  const std::string_view text = result.metrics.text;
  const std::string_view inside = members(text);
  auto from = static_cast<std::size_t>(inside.data() - text.data());
  const std::size_t end_of_inside = from + inside.size();
  for (const auto& [begin, end] : driver_fields_in(text)) {
    out.append(text.substr(from, begin - from));
    from = text[end] == ',' ? end + 1 : end;
  }
  if (from < end_of_inside) out.append(text.substr(from, end_of_inside - from));
  // Where the last one was left out, or all.
  while (out.size() >= own && (is_space(out.back()) || out.back() == ',')) out.pop_back();
  out += "}\n";
}

}  // namespace tune
