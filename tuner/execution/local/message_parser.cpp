// simdjson on demand for the envelope, parse_metrics for what is in it.
#include "tuner/execution/local/message_parser.h"

#include <simdjson.h>

#include <stdexcept>

namespace tune {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t quoted_bytes = 100;
/// Of a trainable's error: it is kept for good, with the trial and in the journal.
constexpr std::size_t error_bytes = 64 * 1024;
constexpr std::size_t kept_line_bytes = 1024 * 1024;

static_assert(MessageParser::padding_bytes >= simdjson::SIMDJSON_PADDING);

/// Not the protocol; what() says in what way.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not JSON, so that a second reading with NaN in quotes may help.
class NotJson : public Violation {
 public:
  using Violation::Violation;
};

[[noreturn]] void refuse(simdjson::error_code error) {
  throw NotJson(std::string("not JSON (") + simdjson::error_message(error) + ")");
}

template <class T>
T checked(simdjson::simdjson_result<T> result) {
  T value;
  const auto error = std::move(result).get(value);
  if (error) refuse(error);
  return value;
}

/// At most `error_bytes` of it, cut between characters.
std::string shortened(std::string text) {
  if (text.size() <= error_bytes) return text;
  std::size_t end = error_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  const std::size_t left_out = text.size() - end;
  text.resize(end);
  return text + "... (" + std::to_string(left_out) + " more bytes)";
}

/// The value of one field, of the type that the protocol wants.
class Field {
 public:
  Field(std::string_view name, ondemand::value value) : name_(name), value_(value) {}

  std::string_view name() const { return name_; }

  // Null is a field that is not there, whichever it is.
  bool boolean() { return !is_null() && typed<bool>("true or false"); }

  std::optional<std::int64_t> integer() {
    if (is_null()) return std::nullopt;
    return typed<std::int64_t>("an integer");
  }

  std::optional<double> number() {
    if (is_null()) return std::nullopt;
    return typed<double>("a number");
  }

  std::optional<std::string> text() {
    if (is_null()) return std::nullopt;
    return std::string(typed<std::string_view>("a string"));
  }

  std::optional<Metrics> metrics() {
    if (is_null()) return std::nullopt;
    auto object = typed<ondemand::object>("an object or null");
    const auto raw = checked(object.raw_json());  // and the blanks behind it
    try {
      return parse_metrics(raw.substr(0, raw.rfind('}') + 1));
    } catch (const std::invalid_argument& error) {
      // They have been looked at with NaN in quotes already.
      throw Violation(std::string("\"metrics\": ") + error.what());
    }
  }

 private:
  /// A word that only begins like null is no JSON.
  bool is_null() {
    return checked(value_.type()) == ondemand::json_type::null && checked(value_.is_null());
  }

  template <class T>
  T typed(const char* expected) {
    T value;
    const auto error = value_.get(value);
    if (error == simdjson::INCORRECT_TYPE || error == simdjson::NUMBER_ERROR) {
      throw Violation("\"" + std::string(name_) + "\" must be " + expected);
    }
    if (error) refuse(error);
    return value;
  }

  std::string_view name_;
  ondemand::value value_;
};

/// simdjson 3.6 has an argument without a default here; others have none, or a default.
template <class Pair>
auto key_of(Pair& pair) {
  if constexpr (requires { pair.unescaped_key(false); }) {
    return pair.unescaped_key(false);
  } else {
    return pair.unescaped_key();
  }
}

/// Calls `take` with every field in turn, and so reads the message to its end.
template <class Take>
void for_each_field(ondemand::object& message, Take take) {
  for (auto result : message) {
    auto field = checked(std::move(result));
    const auto name = checked(key_of(field));
    Field named(name, field.value());
    take(named);
  }
}

Wakeup greeted(LaunchId launch, ondemand::object& message) {
  Greeted greeted{launch, {}};
  auto& hello = greeted.hello;
  std::optional<std::int64_t> spoken;
  for_each_field(message, [&](Field& field) {
    if (field.name() == "protocol") spoken = field.integer();
    if (field.name() == "can_reset") hello.can_reset = field.boolean();
    if (field.name() == "can_save") hello.can_save = field.boolean();
    if (field.name() == "can_save_at_start") hello.can_save_at_start = field.boolean();
    if (field.name() == "can_stay") hello.can_stay = field.boolean();
    if (field.name() == "api") {
      const auto api = field.text().value_or("class");
      if (api != "class" && api != "function") {
        throw Violation("\"api\" must be \"class\" or \"function\"");
      }
      hello.api = api == "class" ? protocol::Api::class_api : protocol::Api::function_api;
    }
  });
  if (!spoken) throw Violation("a \"hello\" without \"protocol\"");
  if (*spoken != protocol::version) {
    throw Violation("it speaks protocol " + std::to_string(*spoken) + ", and this driver speaks " +
                    std::to_string(protocol::version));
  }
  return greeted;
}

Wakeup reported(LaunchId launch, ondemand::object& message) {
  Reported reported{.launch = launch};
  for_each_field(message, [&](Field& field) {
    if (field.name() == "iteration") reported.iteration = field.integer();
    if (field.name() == "metrics") reported.metrics = field.metrics();
    if (field.name() == "done") reported.done = field.boolean();
    if (field.name() == "should_checkpoint") reported.should_checkpoint = field.boolean();
    if (field.name() == "can_save") reported.can_save = field.boolean();
    if (field.name() == "checkpoint") reported.checkpoint = field.text();
    if (field.name() == "load_s") reported.load_s = field.number();
    if (field.name() == "stays") reported.stays = field.boolean();
  });
  if (!reported.metrics && !reported.done) {
    throw Violation("a \"result\" with neither \"metrics\" nor \"done\"");
  }
  return reported;
}

Wakeup save_answered(LaunchId launch, ondemand::object& message) {
  SaveAnswered answer{.launch = launch, .error = {}};
  for_each_field(message, [&](Field& field) {
    if (field.name() == "iteration") answer.iteration = field.integer();
    if (field.name() == "error") answer.error = field.text();
    if (field.name() == "bytes") answer.bytes = field.integer();
    if (answer.bytes && *answer.bytes < 0) throw Violation("\"bytes\" must not be negative");
  });
  if (answer.error && answer.error->empty()) answer.error = "it gave no reason";
  if (answer.error) answer.error = shortened(std::move(*answer.error));
  return answer;
}

Wakeup refused(LaunchId launch, ondemand::object& message) {
  std::string reason;
  for_each_field(message, [&](Field& field) {
    if (field.name() == "reason") reason = field.text().value_or("");
  });
  return Refused{launch, shortened(std::move(reason))};
}

Wakeup failed(LaunchId launch, ondemand::object& message) {
  std::string text;
  std::string trace;
  for_each_field(message, [&](Field& field) {
    if (field.name() == "message") text = field.text().value_or("");
    if (field.name() == "trace") trace = field.text().value_or("");
  });
  if (text.empty()) text = "the trainable reported an error without a message";
  if (!trace.empty()) text.append("\n").append(trace);
  return Faulted{launch, shortened(std::move(text))};
}

Wakeup read_message(ondemand::parser& parser, LaunchId launch, std::string_view line) {
  auto document =
      checked(parser.iterate(line.data(), line.size(), line.size() + MessageParser::padding_bytes));
  ondemand::object message;
  if (const auto error = document.get_object().get(message)) {
    if (error == simdjson::INCORRECT_TYPE) throw Violation("not a JSON object");
    refuse(error);
  }
  std::string_view type;
  const auto error = message.find_field_unordered("type").get(type);
  if (error == simdjson::NO_SUCH_FIELD) throw Violation("a message without \"type\"");
  if (error == simdjson::INCORRECT_TYPE) throw Violation("\"type\" must be a string");
  if (error) refuse(error);
  if (const auto rewound = message.reset().error()) refuse(rewound);

  Wakeup wakeup = [&]() -> Wakeup {
    if (type == "result") return reported(launch, message);
    if (type == "saved") return save_answered(launch, message);
    if (type == "hello") return greeted(launch, message);
    if (type == "error") return failed(launch, message);
    if (type == "refused") return refused(launch, message);
    throw Violation("a message of unknown type");
  }();
  if (!document.current_location().error()) throw NotJson("more than one JSON value");
  return wakeup;
}

}  // namespace

struct MessageParser::Buffers {
  ondemand::parser parser;
};

MessageParser::MessageParser() : buffers_(std::make_unique<Buffers>()) {}
MessageParser::~MessageParser() = default;

Wakeup MessageParser::parse(LaunchId launch, std::string_view line) {
  const auto fault = [&](const Violation& violation) {
    return Faulted{launch, "not the protocol: " + std::string(violation.what()) + ", in " +
                               quote_beginning(line)};
  };
  try {
    if (line.size() > kept_line_bytes) {
      ondemand::parser once;
      return read_message(once, launch, line);
    }
    return read_message(buffers_->parser, launch, line);
  } catch (const NotJson& first) {
    std::string quoted = quote_non_finite(line);
    if (quoted == line) return fault(first);
    const std::size_t bytes = quoted.size();
    quoted.append(padding_bytes, ' ');
    try {
      ondemand::parser once;
      return read_message(once, launch, std::string_view(quoted).substr(0, bytes));
    } catch (const Violation& second) {
      return fault(second);
    }
  } catch (const Violation& violation) {
    return fault(violation);
  }
}

std::string quote_beginning(std::string_view line) {
  std::string text(line.substr(0, quoted_bytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return "'" + text + (line.size() > quoted_bytes ? "'..." : "'");
}

}  // namespace tune
