#include "tuner/core/metrics.h"

#include <limits>
#include <stdexcept>

#include "trainable/protocol.h"
#include "tuner/core/error.h"
#include "tuner/core/metrics_dom.h"

namespace tune {

std::optional<double> number_in(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::INT64:
      return static_cast<double>(std::int64_t(element));
    case element_type::UINT64:
      return static_cast<double>(std::uint64_t(element));
    case element_type::DOUBLE:
      return double(element);
    case element_type::BOOL:
      return bool(element) ? 1.0 : 0.0;
    case element_type::STRING: {
      const std::string_view text(element);
      if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
      if (text == "Infinity") return std::numeric_limits<double>::infinity();
      if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

namespace {

void flatten_below(simdjson::dom::object object, std::string& prefix,
                   std::vector<Metric>& numbers) {
  for (const auto [key, value] : object) {
    const std::size_t length = prefix.size();
    if (value.is_object()) {
      prefix.append(key).push_back('/');
      flatten_below(simdjson::dom::object(value), prefix, numbers);
    } else if (const auto number = number_in(value)) {
      prefix.append(key);
      numbers.push_back({prefix, *number});
    }
    prefix.resize(length);
  }
}

}  // namespace

void flatten(simdjson::dom::object object, std::vector<Metric>& numbers) {
  numbers.reserve(numbers.size() + object.size());
  std::string prefix;
  flatten_below(object, prefix, numbers);
}

simdjson::dom::parser& json_parser() {
  // A record wraps metrics in one more level, and a message in one.
  constexpr std::size_t depth = protocol::max_depth + 2;
  thread_local simdjson::dom::parser parser = [] {
    simdjson::dom::parser fresh;
    ensure(fresh.allocate(4096, depth) == simdjson::SUCCESS, "a parser can be made");
    return fresh;
  }();
  return parser;
}

std::optional<double> Metrics::find(std::string_view name) const {
  for (const auto& metric : numbers) {
    if (metric.name == name) return metric.value;
  }
  return std::nullopt;
}

Metrics parse_metrics(std::string_view text) {
  auto& parser = json_parser();
  simdjson::dom::element root;
  Metrics metrics;
  metrics.text.assign(text);
  auto error = parser.parse(metrics.text).get(root);
  if (error == simdjson::TAPE_ERROR || error == simdjson::N_ATOM_ERROR ||
      error == simdjson::NUMBER_ERROR) {
    metrics.text = quote_non_finite(text);
    error = parser.parse(metrics.text).get(root);
  }
  if (error != simdjson::SUCCESS) {
    throw std::invalid_argument(std::string("not JSON: ") + simdjson::error_message(error));
  }
  if (!root.is_object()) throw std::invalid_argument("metrics must be a JSON object");
  flatten(simdjson::dom::object(root), metrics.numbers);
  return metrics;
}

std::string quote_non_finite(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\' && i + 1 < text.size()) out += text[i++];
      if (c == '"') in_string = false;
      out += text[i++];
      continue;
    }
    bool replaced = false;
    for (const std::string_view token : {"NaN", "Infinity", "-Infinity"}) {
      if (text.substr(i, token.size()) == token) {
        out.append("\"").append(token).append("\"");
        i += token.size();
        replaced = true;
        break;
      }
    }
    if (replaced) continue;
    in_string = c == '"';
    out += c;
    ++i;
  }
  return out;
}

}  // namespace tune
