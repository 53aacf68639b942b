// Messages as lines of text, and commands out of them.
#include "trainable/protocol.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "trainable/json_levels.h"

namespace tune::protocol {
namespace {

constexpr std::string_view step_beginning = R"({"type":"step","iteration":)";
constexpr std::size_t longest_step_bytes = 64;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

std::string dump(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

/// True if `encode_numbers` would change `value`, which lies `depth` levels deep in its message.
/// Throws std::invalid_argument if something in it lies deeper than a message may go.
bool needs_encoding(const Json& value, int depth) {
  if (value.is_number_float()) return !std::isfinite(value.get<double>());
  if (!value.is_structured()) return false;
  if (depth > max_depth) {
    refuse("values are nested deeper than the " + std::to_string(max_depth) +
           " levels that a message may have");
  }
  bool needed = false;
  for (const Json& element : value) needed = needs_encoding(element, depth + 1) || needed;
  return needed;
}

/// One message being written, "type" first, so that a person finds it.
class Line {
 public:
  explicit Line(std::string_view type) : type_(type) {
    text_.append(R"({"type":")").append(type).append("\"");
  }

  Line& add(std::string_view name, const Json& value) {
    text_.append(",\"").append(name).append("\":");
    text_.append(needs_encoding(value, 2) ? dump(encode_numbers(value)) : dump(value));
    return *this;
  }

  /// Comes with each answer, so without a value in between.
  Line& add_integer(std::string_view name, std::int64_t value) {
    text_.append(",\"").append(name).append("\":").append(std::to_string(value));
    return *this;
  }

  std::string finish() {
    text_.append("}\n");
    if (text_.size() > max_line_bytes) {
      throw std::length_error("the message \"" + std::string(type_) + "\" has " +
                              std::to_string(text_.size()) + " bytes, and a line may have " +
                              std::to_string(max_line_bytes));
    }
    return std::move(text_);
  }

 private:
  std::string_view type_;
  std::string text_;
};

std::string line_of(const Start& start) {
  Line line(start.reset ? "reset" : "start");
  line.add("trial_id", start.trial_id)
      .add("trial_dir", start.trial_dir)
      .add("config", start.config)
      .add("checkpoint", start.checkpoint ? Json(*start.checkpoint) : Json())
      .add("iteration", start.iteration)
      .add("attempt", start.attempt)
      .add("resources", start.resources)
      .add("devices", start.devices)
      .add("stdout", start.stdout_log)
      .add("stderr", start.stderr_log)
      .add("rank", start.rank)
      .add("world_size", start.world_size)
      .add("local_rank", start.local_rank);
  return line.finish();
}

std::string line_of(const Step& step) {
  std::string line;
  line.reserve(longest_step_bytes);
  return line.append(step_beginning).append(std::to_string(step.iteration)).append("}\n");
}

std::string line_of(const Save& save) {
  return Line("save").add("directory", save.directory).add("iteration", save.iteration).finish();
}

std::string line_of(const Stop& stop) {
  Line line("stop");
  if (stop.stay != Stay::no) {
    line.add("may_stay", stop.stay == Stay::if_clean ? "if_clean" : "if_possible");
  }
  return line.finish();
}

std::string line_of(const Hello& hello) {
  Line line("hello");
  line.add("protocol", hello.protocol)
      .add("api", hello.api == Api::class_api ? "class" : "function")
      .add("can_reset", hello.can_reset);
  if (hello.can_save) line.add("can_save", true);
  if (hello.can_save_at_start) line.add("can_save_at_start", true);
  if (hello.can_stay) line.add("can_stay", true);
  return line.finish();
}

std::string line_of(const Result& result) {
  Line line("result");
  if (result.iteration) line.add_integer("iteration", *result.iteration);
  line.add("metrics", result.metrics);
  if (result.done) line.add("done", true);
  if (result.should_checkpoint) line.add("should_checkpoint", true);
  if (result.can_save) line.add("can_save", true);
  if (result.checkpoint) line.add("checkpoint", *result.checkpoint);
  if (result.load_s) line.add("load_s", *result.load_s);
  if (result.stays) line.add("stays", true);
  return line.finish();
}

std::string line_of(const Saved& saved) {
  Line line("saved");
  if (saved.iteration) line.add_integer("iteration", *saved.iteration);
  if (saved.error) line.add("error", *saved.error);
  if (saved.bytes) line.add_integer("bytes", *saved.bytes);
  return line.finish();
}

std::string line_of(const Refused& refused) {
  Line line("refused");
  if (!refused.reason.empty()) line.add("reason", refused.reason);
  return line.finish();
}

std::string line_of(const Failure& failure) {
  return Line("error").add("message", failure.message).add("trace", failure.trace).finish();
}

/// The fields of one command, with what to say when one is not as it should be.
class Fields {
 public:
  Fields(const Json& message, std::string_view type) : message_(message), type_(type) {}

  std::string text(const char* name) const {
    const auto field = message_.find(name);
    if (field == message_.end() || !field->is_string()) wrong(name, "a string");
    return field->get<std::string>();
  }

  std::optional<std::string> text_or_null(const char* name) const {
    if (is_absent(name)) return std::nullopt;
    const Json& field = message_.at(name);
    if (!field.is_string()) wrong(name, "a string or null");
    return field.get<std::string>();
  }

  Json object(const char* name) const {
    const auto field = message_.find(name);
    if (field == message_.end() || !field->is_object()) wrong(name, "an object");
    return *field;
  }

  Json object_or_null(const char* name) const {
    return is_absent(name) ? Json::object() : object(name);
  }

  std::vector<std::string> texts_or_null(const char* name) const {
    if (is_absent(name)) return {};
    const Json& field = message_.at(name);
    const auto is_text = [](const Json& each) { return each.is_string(); };
    if (!field.is_array() || !std::all_of(field.begin(), field.end(), is_text)) {
      wrong(name, "a list of strings");
    }
    return field.get<std::vector<std::string>>();
  }

  template <class Integer>
  Integer integer(const char* name, Integer least, Integer otherwise) const {
    if (is_absent(name)) return otherwise;
    const Json& field = message_.at(name);
    const auto value = field.is_number_integer() ? field.get<std::int64_t>() : -1;
    if (value < least || value > std::numeric_limits<Integer>::max()) {
      wrong(name, "an integer, " + std::to_string(least) + " or more");
    }
    return static_cast<Integer>(value);
  }

 private:
  /// Null means that a field is not there, everywhere.
  bool is_absent(const char* name) const {
    const auto field = message_.find(name);
    return field == message_.end() || field->is_null();
  }

  [[noreturn]] void wrong(const char* name, const std::string& expected) const {
    const auto field = message_.find(name);
    const std::string found =
        field == message_.end() ? "is missing" : "is " + dump(*field).substr(0, 80);
    refuse("in the command \"" + type_ + "\" the field \"" + name + "\" " + found +
           ", and it must be " + expected);
  }

  const Json& message_;
  std::string type_;
};

Start parse_start(const Fields& fields, bool reset) {
  Start start;
  start.reset = reset;
  start.trial_id = fields.text("trial_id");
  start.trial_dir = fields.text("trial_dir");
  start.config = fields.object("config");
  start.checkpoint = fields.text_or_null("checkpoint");
  start.iteration = fields.integer<std::int64_t>("iteration", 0, 0);
  start.attempt = fields.integer<int>("attempt", 1, 1);
  start.resources = fields.object_or_null("resources");
  start.devices = fields.texts_or_null("devices");
  start.stdout_log = fields.text_or_null("stdout").value_or("");
  start.stderr_log = fields.text_or_null("stderr").value_or("");
  start.rank = fields.integer<int>("rank", 0, 0);
  start.world_size = fields.integer<int>("world_size", 1, 1);
  start.local_rank = fields.integer<int>("local_rank", 0, 0);
  return start;
}

/// The command that comes most often, as the driver writes it, without a look for fields.
std::optional<Step> quick_step(std::string_view line) {
  if (!line.starts_with(step_beginning) || !line.ends_with('}')) return std::nullopt;
  const char* const begin = line.data() + step_beginning.size();
  const char* const end = line.data() + line.size() - 1;
  Step step;
  const auto [after, error] = std::from_chars(begin, end, step.iteration);
  if (error != std::errc() || after != end || step.iteration < 0) return std::nullopt;
  return step;
}

}  // namespace

std::string format(const Command& command) {
  return std::visit([](const auto& message) { return line_of(message); }, command);
}

std::string format(const Answer& answer) {
  return std::visit([](const auto& message) { return line_of(message); }, answer);
}

Command parse_command(std::string_view line) {
  if (const auto step = quick_step(line)) return *step;
  const std::string shown = "'" + std::string(line.substr(0, 80)) + "'";
  if (levels_of(line) > static_cast<std::size_t>(max_depth)) {
    refuse(shown + " is nested deeper than the " + std::to_string(max_depth) +
           " levels that a message may have");
  }
  const Json message = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded() || !message.is_object()) refuse(shown + " is not a JSON object");
  const auto type = message.find("type");
  if (type == message.end() || !type->is_string()) refuse(shown + " has no \"type\"");

  const std::string& name = type->get_ref<const std::string&>();
  const Fields fields(message, name);
  if (name == "start" || name == "reset") return parse_start(fields, name == "reset");
  const auto iteration = [&] { return fields.integer<std::int64_t>("iteration", 0, 0); };
  if (name == "step") return Step{iteration()};
  if (name == "save") return Save{fields.text("directory"), iteration()};
  if (name == "stop") {
    const std::string stay = fields.text_or_null("may_stay").value_or("");
    // A word of a newer driver's is no offer.
    return Stop{stay == "if_clean"      ? Stay::if_clean
                : stay == "if_possible" ? Stay::if_possible
                                        : Stay::no};
  }
  refuse("the type of " + shown + " is unknown: start, step, save, reset or stop was expected");
}

}  // namespace tune::protocol
