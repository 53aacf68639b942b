// A policy that is a program: a process that is told what happens and asked what follows, a line of
// JSON each. Started when it is first needed, and again when it dies: then it is told once more.
// Knows no policy. docs/policies.md has the messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"
#include "tuner/core/clock.h"
#include "tuner/exec/process.h"
#include "tuner/files/file_descriptor.h"

namespace tune {

/// One thread at a time. Throws Error when the program cannot be started, dies again and again,
/// does not answer in time, or answers what makes no sense: with a sentence that names it.
class PolicyHost {
 public:
  struct Options {
    std::vector<std::string> command;
    Json hello;              ///< what it is told first
    Seconds patience_s = 0;  ///< for an answer, and for its start
  };
  explicit PolicyHost(Options options);
  /// Kills it, with its group.
  ~PolicyHost();

  /// What needs no answer goes out with the next question.
  void tell(const Json& message);
  /// Its answer: an object without "error".
  Json ask(const Json& message);

  /// Its state, after all that it was told.
  Json save();
  /// Of another one that said it in `save`.
  void load(const Json& state);

  /// "the searcher's program 'mine.py:Mine'", by its last word; for sentences.
  const std::string& name() const { return name_; }
  [[noreturn]] void complain(const std::string& what) const;

 private:
  struct Running;
  /// A message that it would have to hear again, and whether it answers.
  struct Said {
    std::string line;
    bool is_asked = false;
  };

  void start();
  Json exchange(const std::string& line);
  Json ask_running(const std::string& line);
  void send(std::string_view bytes);
  std::string receive();
  [[noreturn]] void fail(std::string what);
  std::string last_words() const;

  Options options_;
  std::string name_;
  std::optional<Process> process_;
  FileDescriptor socket_;
  FileDescriptor output_;  ///< what it prints
  std::string unread_;
  std::string outbox_;
  std::string state_;       ///< it was loaded with this; empty: nothing
  std::vector<Said> said_;  ///< since then
  int deaths_ = 0;          ///< since the last answer to something new
};

}  // namespace tune
