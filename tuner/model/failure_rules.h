// Which failures are worth another try: rules over what is known about a failed attempt. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tune {

/// A failure matches if all conditions that are given hold.
struct FailureRule {
  std::string name;  ///< "out_of_memory" or "lost_device": known patterns; then nothing else is set
  std::optional<int> exit_code;
  std::optional<int> signal;
  /// RE2's syntax; ^ and $ match at lines. Looked for in what the program said last.
  std::optional<std::string> stderr_pattern;

  bool operator==(const FailureRule&) const = default;
};

/// The names that a rule may have.
const std::vector<std::string>& failure_rule_names();

/// What is wrong with a pattern, from its reader; empty if nothing.
std::string complaint_about_pattern(const std::string& pattern);

/// What is known about a failed attempt.
struct FailureFacts {
  std::optional<int> exit_code;  ///< if it exited by itself
  std::optional<int> signal;     ///< if one killed it that the driver has not sent
  std::string said;              ///< the last lines of its stderr, and why it failed
};

/// The first line of why something failed, without what is each trial's own: where its files lie,
/// and numbers, as those of processes.
std::string kind_of_failure(const std::string& reason);

/// Whose fault a failure is.
enum class Blame {
  unknown,
  config,   ///< the config explains it: another one would not have failed so
  machine,  ///< any config would have failed
};

/// Decides by the rules of the spec's failure_config. Thread-safe: calls may run side by side.
class FailureJudge {
 public:
  /// The patterns are good ones. `retry_on` nothing: every failure may be retried.
  FailureJudge(const std::optional<std::vector<FailureRule>>& retry_on,
               const std::vector<FailureRule>& never_retry_on);
  ~FailureJudge();

  /// Why the failure must not be retried, with the rule that decides; nothing if it may be.
  std::optional<std::string> objection(const FailureFacts& facts) const;

  /// By what the program said last: out of memory and a match of never_retry_on are the config's
  /// fault; a lost device and storage that is full or gone are the machine's.
  Blame blame(const FailureFacts& facts) const;

 private:
  struct Compiled;
  std::optional<std::string> never(const FailureFacts& facts) const;
  static std::vector<Compiled> compile(const std::vector<FailureRule>& rules);

  std::optional<std::vector<Compiled>> retry_on_;
  std::vector<Compiled> never_retry_on_;
  std::vector<Compiled> of_config_, of_machine_;
};

}  // namespace tune
