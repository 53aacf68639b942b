// A policy that is a program: events and questions go to its process as lines of JSON. It is
// started when first needed, and again when it dies: then it gets its saved state and the events
// since. docs/policies.md has the messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/clock.h"
#include "tuner/host/policy_answer.h"
#include "tuner/host/policy_programs.h"
#include "tuner/process/helper_process.h"

namespace tune {

/// One thread at a time. Throws Error when the program cannot be started, dies again and again,
/// does not answer in time, or answers what makes no sense: with a sentence that names it.
class PolicyHost {
 public:
  struct Options {
    std::vector<std::string> command;
    Json hello;              ///< what it is told first
    Seconds patience_s = 0;  ///< for an answer, and for its start
    const PolicyPrograms* programs = nullptr;
  };
  /// The program ends with it, and all that it has started.
  explicit PolicyHost(Options options);

  /// What needs no answer goes out with the next question.
  void tell(const Json& message);
  /// Its answer, parsed by `judge`, which throws BadAnswer for an invalid one.
  template <class Judge>
  auto ask(const Json& question, const Judge& judge) {
    return accept([&] { return judge(ask(question)); });
  }
  /// Applies `judge` to an earlier answer.
  template <class Judge>
  auto accept(const Judge& judge) {
    try {
      return judge();
    } catch (const BadAnswer& bad) {
      fail(bad.what());
    }
  }

  /// Its state, after all that it was told: JSON text; empty if there is none.
  std::string save();
  /// Of another one that said it in `save`.
  void load(const std::string& state);

  /// Ends it, and throws an Error that says of it `what`, and what it printed last.
  [[noreturn]] void fail(std::string what);

 private:
  /// A message that it would have to hear again, and whether it answers.
  struct Told {
    std::string line;
    bool is_asked = false;
  };

  std::string kind() const;
  void start();
  Said ask(const Json& question);
  Said exchange(std::string_view told, const std::string& question);
  Said ask_running(const std::string& question);
  void send(std::string_view bytes);
  bool receive_some();
  Said receive();

  Options options_;
  std::string name_;  ///< "the searcher's program 'mine.py:Mine'", by its last word
  std::optional<SideProgram> program_;
  AnswerReader reader_;
  std::string outbox_;
  std::string state_;       ///< it was loaded with this; empty: nothing
  std::vector<Told> told_;  ///< since then
  int deaths_ = 0;          ///< since the last answer to something new
};

}  // namespace tune
