// What a policy's program says, judged where it enters: bytes become answers, or a sentence about
// what is wrong with them.
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

/// So much a line may have, and so deeply it may be nested, whatever it answers: a config, a saved
/// state, an error. Counted before it is parsed, since deep values are read, copied and written by
/// recursion. Whoever reads a snapshot takes twice as many levels.
constexpr std::size_t most_answer_bytes = protocol::max_line_bytes;
constexpr std::size_t most_answer_levels = most_state_levels;

constexpr int policy_protocol_version = 1;

/// Not what it was to say. what() goes on after the program's name: "answered what is no JSON ...".
class BadAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A line that answers: a JSON object without "error".
struct Said {
  std::string line;
  Json fields;
};

/// Gives out numbers for questions, and takes what is said for answers. Whatever is said while no
/// question is open is a fault: it would pass for the answer to the next one, and all that follow
/// would be one off.
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

  /// It will say nothing more: BadAnswer if what it said last is a line, and so says why.
  void hear_last() const;

  /// Another process begins, which was asked nothing.
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

/// The state as it was written, to the letter: integers of more than 64 bits and NaN are nothing
/// that the driver could read, and everything to who wrote them.
std::string state_in(const Said& said);

/// What every config of a program is judged by.
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
