// Parses and validates the answers of a policy program: bytes become typed answers, or a sentence
// that says what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainable/protocol.h"
#include "trainable/values.h"
#include "tuner/base/json_limits.h"
#include "tuner/model/constraint.h"
#include "tuner/policy/scheduler.h"
#include "tuner/policy/searcher.h"
#include "tuner/space/search_space.h"

namespace tune {

/// Limits on a line's bytes and nesting, for every answer: a config, a saved state, an error. They
/// are checked before parsing, since deep values are read, copied and written by recursion. Readers
/// of snapshots take twice as many levels.
constexpr std::size_t most_answer_bytes = protocol::max_line_bytes;
constexpr std::size_t most_answer_levels = most_state_levels;

constexpr int policy_protocol_version = 1;

/// An invalid answer. what() continues after the program's name: "answered what is no JSON ...".
class BadAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A line that answers: a JSON object without "error".
struct Said {
  std::string line;
  Json fields;
};

/// Numbers the questions and matches answers to them. A line while no question is open is an error:
/// it would be taken for the answer to the next question, and all later answers would be off by
/// one.
class AnswerReader {
 public:
  /// What it says, in whatever pieces.
  void take(std::string_view bytes);

  /// A question begins; its number, which an answer may give back. BadAnswer if something was said
  /// unasked.
  std::uint64_t open();

  /// The answer to the open question, once its line is there; the question is closed then.
  /// BadAnswer if that line, or what is there behind it, is none.
  std::optional<Said> answer();

  /// The program has ended: BadAnswer if it left a whole line, which may say why.
  void hear_last() const;

  /// A new process begins: no question is open.
  void restart();

 private:
  std::optional<std::string> next_line();
  void refuse_rest(bool whole_lines_only) const;

  std::string unread_;
  std::size_t searched_ = 0;  ///< so much of it has no newline
  std::uint64_t questions_ = 0;
  bool is_open_ = false;
};

// What answers mean. All throw BadAnswer. A field that is null is not there.

/// To hello. It may say which version it speaks.
void greeting_in(const Said& said);

/// Json: what it gives of a config.
using SaidSuggestion = std::variant<Json, NothingNow, Exhausted>;
SaidSuggestion suggestion_in(const Said& said);

struct SaidDecision {
  Action action = Action::proceed;
  bool checkpoint = false;
  bool at_max = false;
  TrialId donor{};  ///< of an exploit
  Json config;      ///< the same: what it gives of one
  std::vector<Order> stops;
};
SaidDecision decision_in(const Said& said);
/// "stop": [{"trial": 3, "reason": "..."}], or one of them, or numbers alone.
std::vector<Order> stops_in(const Json& fields);

struct SaidVerdict {
  bool stop = false;
  std::optional<std::string> stop_all;
};
SaidVerdict verdict_in(const Said& said);

/// The state exactly as it was written: it may hold integers of more than 64 bits and NaN, which
/// the driver could not read, but the program needs.
std::string state_in(const Said& said);

/// The rules for the configs that a policy program gives.
struct ConfigRules {
  SearchSpace space;
  std::vector<Constraint> constraints;
  std::uint64_t seed = 0;
};

struct JudgedConfig {
  Suggestion config;
  std::string text;   ///< the config, as it is recorded
  std::string unfit;  ///< why it cannot be tried: a constraint, or a sentence; empty: it can
};
/// What is given, completed; `doing`: "suggested", for the sentence. BadAnswer if it is not of the
/// param space.
JudgedConfig judge_config(const Json& given, TrialId trial, const ConfigRules& rules,
                          const char* doing);

}  // namespace tune
