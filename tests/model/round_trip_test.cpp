// What is accepted from outside can be read back: metrics, configs, states, texts, with everything
// that JSON and bytes can be. Wild values go through each boundary into a record and a snapshot,
// and out again.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "trainable/protocol.h"
#include "tuner/base/json_limits.h"
#include "tuner/math/random.h"
#include "tuner/model/event.h"
#include "tuner/model/experiment.h"

using namespace tune;

namespace {

/// Texts of JSON, most of them valid, none of them tame.
class Wild {
 public:
  explicit Wild(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_.below(n); }

  std::string number() {
    static const std::vector<std::string> some = {"0",
                                                  "-0",
                                                  "-0.0",
                                                  "1",
                                                  "-1",
                                                  "0.1",
                                                  "1e-7",
                                                  "1E+2",
                                                  "5e-324",
                                                  "2.2250738585072014e-308",
                                                  "1e-400",
                                                  "1.7976931348623157e308",
                                                  "-1.7976931348623157e308",
                                                  "1e308",
                                                  "1e309",
                                                  "-1e999",
                                                  "9007199254740993",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "9223372036854775808",
                                                  "18446744073709551615",
                                                  "18446744073709551616",
                                                  "-9223372036854775809",
                                                  "123456789012345678901234567890",
                                                  "0.30000000000000004",
                                                  "3.14159265358979323846264338327950288",
                                                  "NaN",
                                                  "Infinity",
                                                  "-Infinity",
                                                  "\"NaN\"",
                                                  "\"Infinity\"",
                                                  "\"-Infinity\"",
                                                  "01",
                                                  "1.",
                                                  ".5",
                                                  "+1",
                                                  "0x10",
                                                  "true",
                                                  "false",
                                                  "null"};
    if (below(3) == 0) return some[below(some.size())];
    std::string digits = Json(std::bit_cast<double>(bits() & 0xbfffffffffffffff)).dump();
    return digits == "null" ? "1" : digits;
  }

  /// In quotes.
  std::string text() {
    static const std::vector<std::string> some = {"a",
                                                  "b",
                                                  "loss",
                                                  "metrics",
                                                  "config",
                                                  "/",
                                                  "a/b",
                                                  " ",
                                                  "",
                                                  "\\u0000",
                                                  "\\u0061",
                                                  "\\n",
                                                  "\\\"",
                                                  "\\\\",
                                                  "\\/",
                                                  "\\ud83d\\ude00",
                                                  "\\ud800",
                                                  "\\udc00",
                                                  "\\ud800\\ud800",
                                                  "\\x",
                                                  "\xc3\xa9",
                                                  "\xe2\x80\xa8",
                                                  "\xf0\x9f\x98\x80",
                                                  "\xed\xa0\x80",
                                                  "\xff",
                                                  "\xc0\x80",
                                                  "\x7f",
                                                  "\x01",
                                                  "\"metrics\\\":",
                                                  "}",
                                                  "{",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "'",
                                                  "\xef\xbb\xbf"};
    std::string body;
    for (std::size_t n = below(4); n > 0; --n) {
      // Mostly harmless, or all would be refused for the same reasons.
      body += some[below(below(6) == 0 ? some.size() : 8)];
    }
    if (below(200) == 0) body.append(below(100'000), 'x');
    return '"' + body + '"';
  }

  std::string blank() {
    static const std::vector<std::string> some = {" ", "\n", "\r\n", "\t", "  "};
    return below(8) == 0 ? some[below(some.size())] : "";
  }

  std::string value(int levels) {
    switch (levels > 0 ? below(8) : 0) {
      case 5:
        return text();
      case 6:
        return list(levels);
      case 7:
        return object(levels);
      default:
        return number();
    }
  }

  std::string list(int levels) {
    std::string out = "[";
    for (std::size_t n = below(4); n > 0; --n) {
      out += value(levels - 1) + blank() + (n > 1 ? "," : "");
    }
    return out + "]";
  }

  std::string object(int levels) {
    std::string out = "{" + blank();
    const std::size_t members = below(100) == 0 ? below(300) : below(6);
    for (std::size_t n = members; n > 0; --n) {
      out += members > 6 ? "\"m" + std::to_string(n) + "\"" : text();
      out += blank() + ":" + blank() + value(levels - 1) + blank() + (n > 1 ? "," : "");
    }
    return out + "}";
  }

  /// Something in so many levels.
  std::string nested(std::size_t levels) {
    const bool lists = below(2) == 0;
    std::string out = "{\"deep\":";
    std::string end = "}";
    for (std::size_t i = 1; i < levels; ++i) {
      out += lists ? "[" : "{\"a\":";
      end += lists ? "]" : "}";
    }
    return out + (lists && levels > 1 ? "" : number()) + end;
  }

  std::string any_object() { return below(6) == 0 ? nested(1 + below(80)) : object(6); }

  std::string bytes() {
    std::string out;
    for (std::size_t n = below(20); n > 0; --n) out += static_cast<char>(below(256));
    return out;
  }

 private:
  std::uint64_t bits() { return random_.below(std::numeric_limits<std::uint64_t>::max()); }
  Random random_;
};

bool is_same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void require_same(const Metrics& a, const Metrics& b) {
  REQUIRE(a.text == b.text);
  REQUIRE(a.numbers.size() == b.numbers.size());
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    REQUIRE(a.numbers[i].name == b.numbers[i].name);
    REQUIRE(is_same(a.numbers[i].value, b.numbers[i].value));
  }
}

std::string line_of(const Event& event) {
  std::string text;
  append_json(text, event);
  return text;
}

/// What another reader makes of the text: the last of two equal keys, under names like "a/b".
void flatten(const Json& json, const std::string& prefix, std::map<std::string, double>& numbers) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      flatten(value, prefix + key + "/", numbers);
    } else if (const auto number = decode_number(value)) {
      numbers[prefix + key] = *number;
    }
  }
}

/// An experiment with one trial that runs.
class Running {
 public:
  explicit Running(const std::string& config) {
    apply(SessionStarted{"host", 1, "0.1.0"});
    apply(TrialAdded{TrialId{0}, config, "", ""});
    apply(AttemptStarted{TrialId{0}, 1, 0, {}});
  }

  void apply(EventBody body) {
    const Event event{experiment_.last_event() + 1, 1700000000.125, std::move(body)};
    experiment_.apply(parse_event(line_of(event)));
  }

  /// Into a snapshot and out again.
  void require_kept() const {
    Experiment read;
    std::string line;
    experiment_.append_trial(line, TrialId{0});
    REQUIRE(line.find('\n') == std::string::npos);
    CAPTURE(line);
    REQUIRE(Json::accept(line));
    read.load_trial(line);
    read.load_totals(experiment_.save_totals({}));
    REQUIRE(read.save() == experiment_.save());
    const Trial& trial = read.trial(TrialId{0});
    REQUIRE(trial.config.text() == experiment_.trial(TrialId{0}).config.text());
    REQUIRE(trial.last_metrics.text() == experiment_.trial(TrialId{0}).last_metrics.text());
  }

  const Experiment& experiment() const { return experiment_; }

 private:
  Experiment experiment_;
};

}  // namespace

TEST_CASE("Metrics that are accepted can be read back from records and snapshots, with one meaning",
          "[round_trip][property]") {
  int accepted = 0;
  int refused = 0;
  std::size_t deepest = 0;
  for (std::uint64_t seed = 0; seed < 6'000; seed += test::stride) {
    CAPTURE(seed);
    Wild wild(seed);
    const std::string sent = wild.any_object();
    Metrics metrics;
    try {
      metrics = parse_metrics(sent);
    } catch (const std::invalid_argument&) {
      ++refused;
      continue;
    }
    ++accepted;
    deepest = std::max(deepest, levels_of(metrics.text));
    REQUIRE(metrics.text.find_first_of("\r\n") == std::string::npos);
    // Others read it too, and find the same.
    std::map<std::string, double> numbers;
    const Json json = Json::parse(metrics.text);
    flatten(json, "", numbers);
    REQUIRE(numbers.size() == metrics.numbers.size());
    for (const auto& [name, value] : metrics.numbers) {
      REQUIRE(numbers.contains(name));
      // "-0" is a whole number to one reader and a fraction to the other.
      REQUIRE((numbers[name] == value || is_same(numbers[name], value)));
    }
    require_same(parse_metrics(metrics.text), metrics);

    Result result;
    result.training_iteration = 1;
    result.timestamp = 1700000000.125;
    result.metrics = metrics;
    const Event event{4, 1700000000.125, ResultReported{TrialId{0}, 1, result, {}}};
    const std::string line = line_of(event);
    const Event read = parse_event(line);
    require_same(std::get<ResultReported>(read.body).result.metrics, metrics);
    REQUIRE(line_of(read) == line);
    Running running("{}");
    running.apply(event.body);
    running.require_kept();
    for (const auto& [name, value] : metrics.numbers) {
      const auto* const summary = running.experiment().trial(TrialId{0}).summary(name);
      REQUIRE(summary != nullptr);
      REQUIRE(is_same(summary->last, value));
    }
  }
  // Both happen, and the limit is reached.
  CHECK(accepted > 2'000 / test::stride);
  CHECK(refused > 500 / test::stride);
  CHECK(deepest == most_metric_levels);
}

TEST_CASE("A config that is accepted can be read back and be sent to a trainable",
          "[round_trip][property]") {
  int accepted = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 3'000; seed += test::stride) {
    CAPTURE(seed);
    Wild wild(seed);
    Json config = Json::parse(wild.any_object(), nullptr, false);
    if (config.is_discarded()) continue;
    // What JSON text cannot say, a plugin can.
    if (wild.below(8) == 0) config["bytes"] = wild.bytes();
    if (wild.below(8) == 0) config["n"] = std::numeric_limits<double>::quiet_NaN();
    if (wild.below(50) == 0) config = Json::array({config});
    std::string text;
    try {
      text = config_text(config);
    } catch (const std::invalid_argument&) {
      ++refused;
      continue;
    }
    ++accepted;
    protocol::Start start;
    start.config = Json::parse(text);
    const auto sent = protocol::parse_command(protocol::format(protocol::Command{start}));
    REQUIRE(std::get<protocol::Start>(sent).config == start.config);
    Running running(text);
    REQUIRE(running.experiment().trial(TrialId{0}).config.text() == text);
    running.require_kept();
    // As a clone's.
    REQUIRE_FALSE(running.experiment().objection(TrialId{0}, {TrialId{0}, text, ""}) ==
                  "its config is no JSON object: " + text);
    running.apply(AttemptEnded{TrialId{0}, 1, Outcome::paused, ""});
    running.apply(TrialExploited{TrialId{0}, {TrialId{0}, text, wild.bytes()}});
    running.require_kept();
  }
  CHECK(accepted > 1'000 / test::stride);
  CHECK(refused > 100 / test::stride);
}

TEST_CASE("A config that could not be read back is refused with a reason", "[round_trip]") {
  const auto refusal = [](const Json& config) -> std::string {
    try {
      config_text(config);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const auto nested = [](std::size_t levels) {
    Json config = 1;
    for (std::size_t i = 0; i < levels; ++i) config = Json{{"a", config}};
    return config;
  };
  CHECK(refusal(nested(63)).empty());
  CHECK(refusal(nested(64)) == "it is nested deeper than 63 levels");
  CHECK(refusal(Json::array()) == "it is no JSON object");
  CHECK(refusal({{"a", "\xff"}}) == "it holds text that is not UTF-8");
  CHECK(refusal({{"a", std::string(9 << 20, 'x')}}).find("it has 9437") == 0);
  Running running("{}");
  running.apply(AttemptEnded{TrialId{0}, 1, Outcome::paused, ""});
  const std::string deep = nested(64).dump();
  CHECK(running.experiment().objection(TrialId{0}, {TrialId{0}, deep, ""}) ==
        "its config is nested deeper than 63 levels");
}

TEST_CASE("A callback's state that is accepted can be read back", "[round_trip][property]") {
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    CAPTURE(seed);
    Wild wild(seed);
    const std::string sent = wild.below(3) == 0 ? wild.nested(1 + wild.below(600)) : wild.object(6);
    const Json state = Json::parse(sent, nullptr, false);
    if (state.is_discarded()) continue;
    std::string text;
    try {
      text = state_text(state);
    } catch (const std::invalid_argument&) {
      REQUIRE(levels_of(sent) > most_state_levels);
      continue;
    }
    const Event read = parse_event(line_of({1, 1, CallbackSaved{wild.bytes(), text}}));
    REQUIRE(Json::parse(std::get<CallbackSaved>(read.body).state) == state);
  }
}

TEST_CASE("Texts of any bytes, wherever they stand, are read back as they were written",
          "[round_trip][property]") {
  for (std::uint64_t seed = 0; seed < 3'000; seed += test::stride) {
    CAPTURE(seed);
    Wild wild(seed);
    const auto text = [&wild] { return wild.bytes(); };
    const std::vector<EventBody> bodies = {
        SessionStarted{text(), 1, text()},
        TrialAdded{TrialId{0}, "{}", text(), text()},
        CheckpointFailed{TrialId{0}, 1, text()},
        CheckpointDamaged{TrialId{0}, 1, text()},
        AttemptEnded{TrialId{0}, 1, Outcome::failed, text()},
        StopRequested{text()},
        TrialStopRequested{TrialId{0}, text()},
        TrialExploited{TrialId{0}, {TrialId{0}, text(), text()}},
        CallbackSaved{text(), "{}"},
        SessionEnded{text()},
    };
    for (const auto& body : bodies) {
      const std::string line = line_of({1, 1, body});
      REQUIRE(line.find('\n') == std::string::npos);
      REQUIRE(Json::accept(line));
      REQUIRE(line_of(parse_event(line)) == line);
    }
    Running running("{}");
    running.apply(AttemptEnded{TrialId{0}, 1, Outcome::failed, text()});
    running.require_kept();
  }
}

TEST_CASE("A snapshot's whole numbers beyond 64 bits, as they were once written, are read",
          "[round_trip]") {
  Running running("{}");
  Result result;
  result.training_iteration = 1;
  result.metrics = parse_metrics(R"({"loss":23456789012345678901})");
  running.apply(ResultReported{TrialId{0}, 1, result, {}});
  running.require_kept();
  std::string line;
  running.experiment().append_trial(line, TrialId{0});
  const std::string now = "2.345678901234568e+19";
  const std::string once = "23456789012345680000";
  for (auto at = line.find(now); at != std::string::npos; at = line.find(now)) {
    line.replace(at, now.size(), once);
  }
  REQUIRE(line.find(once) != std::string::npos);
  Experiment read;
  read.load_trial(line);
  CHECK(read.trial(TrialId{0}).summary("loss")->max == 2.345678901234568e19);
}

TEST_CASE("Every number reads back as the same one", "[round_trip][property]") {
  Wild wild(1);
  for (int i = 0; i < 20'000; i += test::stride) {
    std::uint64_t bits = 0;
    for (int k = 0; k < 8; ++k) bits = bits << 8 | wild.below(256);
    const auto value = std::bit_cast<double>(bits);
    const double whole =
        std::floor(std::ldexp(static_cast<double>(bits), static_cast<int>(bits % 40) - 20));
    for (const double number : {value, whole, -whole, -0.0}) {
      const Event event{1, 1, AttemptEnded{TrialId{0}, 1, Outcome::failed, "", true, number}};
      const auto read = std::get<AttemptEnded>(parse_event(line_of(event)).body);
      if (number == 0) continue;  // left out
      REQUIRE(is_same(read.not_before, number));
    }
    Checkpoint checkpoint;
    checkpoint.score = i % 2 == 0 ? -0.0 : value;
    const Event event{1, 1, CheckpointCommitted{TrialId{0}, checkpoint}};
    const auto read = std::get<CheckpointCommitted>(parse_event(line_of(event)).body);
    REQUIRE(is_same(read.checkpoint.score, checkpoint.score));
  }
}
