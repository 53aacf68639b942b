// Flattens a result's JSON (simdjson) into named doubles, with limits on names, depth and size, and
// makes its numbers readable for every JSON reader.
#include "tuner/model/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "trainable/protocol.h"
#include "tuner/base/decimal.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/model/metrics_dom.h"

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

static_assert(most_metric_levels == protocol::max_depth - 1, "the message's own level is one");
static_assert(most_config_levels == protocol::max_depth - 1, "the message's own level is one");
static_assert(most_config_bytes < protocol::max_line_bytes);

/// Up to here reading the whole takes no longer than looking for a reason not to.
constexpr std::size_t long_metrics_bytes = 64 * 1024;

/// Buffers of longer texts take many times their length, and are not worth keeping.
constexpr std::size_t kept_parser_bytes = 1 << 20;

simdjson::dom::parser new_parser(std::size_t levels) {
  simdjson::dom::parser parser;
  // simdjson counts one more than there are brackets.
  ensure(parser.allocate(4096, levels + 1) == simdjson::SUCCESS, "a parser can be made");
  return parser;
}

/// This thread's parser of so many levels.
template <std::size_t levels>
simdjson::dom::parser& parser_of() {
  thread_local simdjson::dom::parser parser = new_parser(levels);
  if (parser.capacity() > kept_parser_bytes) parser = new_parser(levels);
  return parser;
}

/// Finds a name that comes twice, in time that grows with the number of names only. Keeps its
/// memory.
class NamesSeen {
 public:
  void clear() {
    text_.clear();
    ends_.assign(1, 0);
    table_.clear();
  }
  std::size_t size() const { return ends_.size() - 1; }

  /// False if it was there.
  bool insert(std::string_view name) {
    if (size() >= few && table_.size() < 2 * (size() + 1)) grow();
    if (table_.empty()) {
      for (std::size_t i = 0; i < size(); ++i) {
        if (this->name(i) == name) return false;
      }
    } else {
      std::uint32_t& place = find(name);
      if (place != free) return false;
      place = static_cast<std::uint32_t>(size());
    }
    text_ += name;
    ends_.push_back(text_.size());
    return true;
  }

 private:
  static constexpr std::size_t few = 16;  ///< are compared one by one
  static constexpr std::uint32_t free = 0xffffffff;

  std::string_view name(std::size_t i) const {
    return std::string_view(text_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

  /// Where it stands in the table, or would.
  std::uint32_t& find(std::string_view name) {
    std::size_t at = std::hash<std::string_view>()(name) % table_.size();
    while (table_[at] != free && this->name(table_[at]) != name) at = (at + 1) % table_.size();
    return table_[at];
  }

  void grow() {
    table_.assign(4 * (size() + 1), free);
    for (std::uint32_t i = 0; i < size(); ++i) find(name(i)) = i;
  }

  std::string text_;               ///< all names, one behind the other
  std::vector<std::size_t> ends_;  ///< of each in `text_`, after a 0
  std::vector<std::uint32_t> table_;
};

std::invalid_argument too_many_names() {
  return std::invalid_argument("there are more than " + std::to_string(most_metric_names) +
                               " names in it; a list counts as one");
}

/// Whether what begins like this has too many names, found without reading all of it: strings
/// outside of lists that a colon follows.
bool has_too_many_names(std::string_view json) {
  std::size_t names = 0, lists = 0;
  for (std::size_t i = 0; i < json.size() && names <= most_metric_names; ++i) {
    if (json[i] == '[') ++lists;
    if (json[i] == ']' && lists > 0) --lists;
    if (json[i] != '"') continue;
    for (++i; i < json.size() && json[i] != '"'; ++i) {
      if (json[i] == '\\') ++i;
    }
    if (lists > 0) continue;
    const std::size_t next = json.find_first_not_of(" \t\r\n", i + 1);
    if (next != json.npos && json[next] == ':') ++names;
  }
  return names > most_metric_names;
}

/// Takes numbers out of an object, under names like "val/loss".
class Flattener {
 public:
  /// `seen`: of metrics that come in; they are held to what `parse_metrics` promises.
  Flattener(Metrics& metrics, NamesSeen* seen) : metrics_(metrics), seen_(seen) {}

  void take(simdjson::dom::object object) {
    const std::size_t length = path_.size();
    for (const auto [key, value] : object) {
      path_ += key;
      if (seen_ != nullptr) check();
      if (value.is_object()) {
        path_ += '/';
        take(simdjson::dom::object(value));
      } else if (const auto number = number_in(value)) {
        metrics_.numbers.push_back({path_, *number});
      } else {
        metrics_.has_others = true;
      }
      path_.resize(length);
    }
  }

 private:
  void check() {
    if (seen_->size() >= most_metric_names) throw too_many_names();
    if (!seen_->insert(path_)) throw std::invalid_argument("'" + path_ + "' is in it twice");
  }

  Metrics& metrics_;
  NamesSeen* seen_;
  std::string path_;
};

/// `number` as every reader takes it: a whole one that 64 bits may not hold with an exponent, and
/// one beyond all doubles as the text "Infinity". What is no number stays.
std::string readable_number(const std::string& number) {
  constexpr std::size_t digits_of_64_bits = 18;  // surely
  const Decimal decimal = read_decimal(number);
  if (decimal.length != number.size()) return number;
  if (decimal.is_rounded_away) {
    if (decimal.value == 0) return number[0] == '-' ? "-0.0" : "0.0";
    return number[0] == '-' ? "\"-Infinity\"" : "\"Infinity\"";
  }
  const bool is_whole = number.find_first_of(".eE") == number.npos;
  if (!is_whole || number.size() <= digits_of_64_bits) return number;
  const auto fits = [&number]<class Whole>(Whole whole) {
    return std::from_chars(number.data(), number.data() + number.size(), whole).ec == std::errc();
  };
  return fits(std::int64_t()) || fits(std::uint64_t()) ? number : number + "e0";
}

/// `json` with its numbers so that every reader takes them for fractions.
std::string with_readable_numbers(std::string_view json) {
  std::string out;
  out.reserve(json.size() + 16);
  for (std::size_t i = 0; i < json.size();) {
    std::size_t end = i + 1;
    if (json[i] == '"') {
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, json.size());
      out += json.substr(i, end - i);
    } else if (json[i] == '-' || (json[i] >= '0' && json[i] <= '9')) {
      end = std::min(json.find_first_not_of("+-.0123456789eE", i), json.size());
      out += readable_number(std::string(json.substr(i, end - i)));
    } else {
      out += json[i];
    }
    i = end;
  }
  return out;
}

void put_in_one_line(std::string& text) {
  if (text.find('\n') == text.npos && text.find('\r') == text.npos) return;
  // Inside of strings they are escaped.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

/// A number that simdjson does not take: later versions have a code of its own for whole ones that
/// are too long.
template <class Code>
bool is_number_error(Code error) {
  if constexpr (requires { Code::BIGINT_ERROR; }) {
    if (error == Code::BIGINT_ERROR) return true;
  }
  return error == Code::NUMBER_ERROR;
}

}  // namespace

void flatten(simdjson::dom::object object, Metrics& metrics) {
  metrics.numbers.reserve(metrics.numbers.size() + object.size());
  Flattener(metrics, nullptr).take(object);
}

simdjson::simdjson_result<simdjson::dom::object> parse_record(std::string_view text) {
  auto& parser = parser_of<most_file_levels>();
  const auto root = parser.parse(text.data(), text.size());
  if (!is_number_error(root.error())) return root.get_object();
  return parser.parse(with_readable_numbers(text)).get_object();
}

std::optional<double> Metrics::find(std::string_view name) const {
  for (const auto& metric : numbers) {
    if (metric.name == name) return metric.value;
  }
  return std::nullopt;
}

namespace {

/// The whole number in `object` under a name like "val/loss"; nothing if there is none.
std::optional<Int128> whole_in(simdjson::dom::object object, std::string_view name) {
  for (const auto [key, value] : object) {
    if (!name.starts_with(key)) continue;
    const std::string_view rest = name.substr(key.size());
    if (rest.empty() && value.is_int64()) return std::int64_t(value);
    if (rest.empty() && value.is_uint64()) return std::uint64_t(value);
    if (!rest.starts_with('/') || !value.is_object()) continue;
    if (const auto found = whole_in(simdjson::dom::object(value), rest.substr(1))) return found;
  }
  return std::nullopt;
}

}  // namespace

ExactNumber Metrics::exact(const Metric& metric) const {
  constexpr double largest_exact = 0x1p53;
  if (!(std::abs(metric.value) >= largest_exact)) return metric.value;
  simdjson::dom::object object;
  if (parse_record(text).get(object) != simdjson::SUCCESS) return metric.value;
  const auto whole = whole_in(object, metric.name);
  return whole ? ExactNumber::of_whole(*whole) : ExactNumber(metric.value);
}

std::optional<ExactNumber> Metrics::find_exact(std::string_view name) const {
  for (const Metric& metric : numbers) {
    if (metric.name == name) return exact(metric);
  }
  return std::nullopt;
}

Metrics parse_metrics(std::string_view text) {
  // What is so long that it might have them is to hold nobody up before it is refused.
  if (text.size() > long_metrics_bytes && has_too_many_names(text)) throw too_many_names();
  auto& parser = parser_of<most_metric_levels>();
  simdjson::dom::element root;
  Metrics metrics;
  metrics.text.assign(text);
  put_in_one_line(metrics.text);
  auto error = parser.parse(metrics.text).get(root);
  if (error == simdjson::TAPE_ERROR || error == simdjson::N_ATOM_ERROR || is_number_error(error)) {
    metrics.text = quote_non_finite(metrics.text);
    error = parser.parse(metrics.text).get(root);
  }
  if (is_number_error(error)) {
    metrics.text = with_readable_numbers(metrics.text);
    error = parser.parse(metrics.text).get(root);
  }
  if (error != simdjson::SUCCESS) {
    throw std::invalid_argument(std::string("not JSON: ") + simdjson::error_message(error));
  }
  if (!root.is_object()) throw std::invalid_argument("metrics must be a JSON object");
  thread_local NamesSeen seen;
  seen.clear();
  metrics.numbers.reserve(simdjson::dom::object(root).size());
  Flattener(metrics, &seen).take(simdjson::dom::object(root));
  return metrics;
}

static_assert(most_metric_bytes == protocol::max_line_bytes);

Metrics with_workers(Metrics metrics, const std::vector<std::pair<int, Metrics>>& workers) {
  std::string others;
  for (const auto& [rank, of_rank] : workers) {
    if (of_rank.text == "{}") continue;
    others += (others.empty() ? "\"" : ",\"") + std::to_string(rank) + "\":" + of_rank.text;
  }
  if (others.empty()) return metrics;
  std::string text = std::move(metrics.text);
  const std::string fault = "with those of the other ranks under 'workers': ";
  if (text.size() + others.size() > most_metric_bytes) {
    throw std::invalid_argument(fault + "they are more than 16 MiB of text");
  }
  const std::size_t end = text.rfind('}');
  const bool is_empty = text.find('"') == text.npos;
  text.resize(end);
  text += (is_empty ? "\"workers\":{" : ",\"workers\":{") + others + "}}";
  try {
    return parse_metrics(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fault + error.what());
  }
}

Metrics read_metrics(std::string_view text) {
  Metrics metrics;
  metrics.text.assign(text);
  simdjson::dom::object object;
  if (const auto error = parse_record(metrics.text).get(object)) {
    throw std::invalid_argument(std::string("no JSON object: ") + simdjson::error_message(error));
  }
  flatten(object, metrics);
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
