#include "callbacks/result_text.h"

#include <algorithm>

#include "trainable/values.h"
#include "tuner/core/json_text.h"

namespace tune {

namespace {

constexpr std::size_t date_field = 2;
constexpr std::size_t trial_field = 9;

void set_number(std::string& text, double value) {
  text.clear();
  append_number(text, value);
}

void set_optional(std::string& text, const std::optional<double>& value) {
  text.clear();
  if (value) append_number(text, *value);
}

/// The inside of `text`, an object, without the braces and the space next to them.
std::string_view members(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  const auto trim = [&](std::string_view inside) {
    while (!inside.empty() && is_space(inside.front())) inside.remove_prefix(1);
    while (!inside.empty() && is_space(inside.back())) inside.remove_suffix(1);
    return inside;
  };
  text = trim(text);
  return trim(text.substr(1, text.size() - 2));
}

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
}

MetricsShape shape_of(std::string_view metrics) {
  MetricsShape shape;
  std::size_t depth = 0;
  std::size_t lists = 0;
  std::size_t keys = 0;
  std::size_t objects = 0;
  bool is_in_driver_field = false;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const char c = metrics[i];
    const bool ends_member = depth == 1 && lists == 0 && (c == ',' || c == '}');
    if (ends_member && is_in_driver_field) shape.driver_fields.back().second = i;
    if (ends_member) is_in_driver_field = false;
    if (c == '{') {
      ++depth;
      ++objects;
    } else if (c == '}') {
      --depth;
    } else if (c == '[') {
      shape.has_lists = true;
      ++lists;
    } else if (c == ']') {
      --lists;
    } else if (c == '"') {
      const std::size_t start = i + 1;
      bool escapes = false;
      for (++i; i < metrics.size() && metrics[i] != '"'; ++i) {
        if (metrics[i] != '\\') continue;
        escapes = true;
        ++i;
      }
      auto next = i + 1;
      while (next < metrics.size() && (metrics[next] == ' ' || metrics[next] == '\t')) ++next;
      if (next >= metrics.size() || metrics[next] != ':') continue;
      ++keys;
      if (depth != 1 || lists > 0) continue;
      std::string unescaped;
      std::string_view key = metrics.substr(start, i - start);
      if (escapes) {
        const Json parsed = Json::parse(metrics.substr(start - 1, i + 2 - start), nullptr, false);
        if (parsed.is_string()) key = unescaped = parsed.get<std::string>();
      }
      is_in_driver_field = is_driver_field(key);
      if (is_in_driver_field) shape.driver_fields.emplace_back(start - 1, start - 1);
    }
  }
  shape.values = keys + 1 - objects;
  return shape;
}

void append_json_row(std::string& out, const DriverFields& fields, const Result& result) {
  std::string own_text;
  std::string_view text = result.metrics.text;
  if (const auto shape = shape_of(text); !shape.driver_fields.empty()) {
    std::size_t from = 0;
    for (const auto& [begin, end] : shape.driver_fields) {
      own_text.append(text.substr(from, begin - from));
      from = text[end] == ',' ? end + 1 : end;
    }
    text = own_text.append(text.substr(from));
  }
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
  auto inside = members(text);
  if (inside.ends_with(',')) inside.remove_suffix(1);  // of one that is taken out behind it
  if (!inside.empty()) out.append(",").append(inside);
  out += "}\n";
}

}  // namespace tune
