// Judges an exit by code, signal, OOM kills, the end of the log and the user's rules; the pause
// before a retry doubles.
#include "tuner/run/trials/diagnosis.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

#include "tuner/disk/log_tail.h"

namespace tune {

namespace {

/// A trainable's own message may bring a trace below its first line.
void add_to_first_line(std::string& text, const std::string& more) {
  text.insert(std::min(text.find('\n'), text.size()), more);
}

/// The kernel says how many it has killed, and not whom.
std::string about_memory(const WorkerGroup::Gone& gone) {
  if (gone.memory_kills == 0) return "";
  return "; while it ran, the kernel killed " +
         (gone.memory_kills == 1 ? "a process" : std::to_string(gone.memory_kills) + " processes") +
         " because memory ran out";
}

}  // namespace

std::string machines_fault(const WorkerGroup::Gone& gone) {
  return gone.obstacle.empty() ? gone.reason : gone.obstacle;
}

bool is_machines_fault(const WorkerGroup::Gone& gone, bool has_result) {
  if (gone.how == WorkerGroup::Gone::How::not_launched) return !gone.is_trials_fault;
  const bool has_failed =
      gone.how != WorkerGroup::Gone::How::exited || gone.signal != 0 || gone.exit_code != 0;
  return has_failed && !has_result && !gone.obstacle.empty();
}

Ending ending_of(const WorkerGroup::Gone& gone, bool has_result, FailureFacts& facts) {
  using How = WorkerGroup::Gone::How;
  if (is_machines_fault(gone, has_result)) {
    return {
        .outcome = Outcome::interrupted, .reason = machines_fault(gone), .blame = Blame::machine};
  }
  if (gone.how == How::lost || gone.how == How::not_launched) {
    return {.outcome = Outcome::failed, .reason = gone.reason, .blame = Blame::machine};
  }
  if (gone.how == How::node_lost) {
    return {.outcome = Outcome::interrupted,
            .reason = "lost_node: " + gone.reason,
            .blame = Blame::machine};
  }
  if (gone.how == How::failed) return {Outcome::failed, gone.reason};
  const Blame blame = is_ended_from_outside(gone) ? Blame::machine : Blame::unknown;
  if (gone.signal != 0) {
    facts.signal = gone.signal;
    return {.outcome = Outcome::failed,
            .reason = gone.who + " was killed by signal " + std::to_string(gone.signal) + " (" +
                      strsignal(gone.signal) + ")" + about_memory(gone),
            .blame = blame};
  }
  if (gone.exit_code != 0) {
    facts.exit_code = gone.exit_code;
    return {.outcome = Outcome::failed,
            .reason = gone.who + " exited with code " + std::to_string(gone.exit_code) +
                      about_memory(gone),
            .blame = blame};
  }
  if (has_result) return {Outcome::completed, ""};
  return {Outcome::failed,
          gone.was_told ? gone.who + " exited with code 0 before it reported a result"
                        : gone.who +
                              " exited with code 0 before it said hello: if it only prints its "
                              "metrics, write ${args} at the end of its command, as behind '--' "
                              "in: python3 train.py '${args}', or put \"plain\": {} beside that "
                              "(docs/plain.md); else it must speak the protocol of "
                              "docs/protocol.md"};
}

bool is_ended_from_outside(const WorkerGroup::Gone& gone) {
  constexpr int shell_adds = 128;
  if (gone.how != WorkerGroup::Gone::How::exited) return false;
  const int signal = gone.signal != 0 ? gone.signal : gone.exit_code - shell_adds;
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

namespace {

/// What is left there may be less than any file takes.
bool is_full(const std::filesystem::path& directory) {
  constexpr std::uintmax_t block_bytes = 4096;
  std::error_code unknown;
  const auto space = std::filesystem::space(directory, unknown);
  return !unknown && space.available < block_bytes;
}

std::filesystem::path stdout_beside(const std::filesystem::path& log) {
  constexpr std::string_view ours = "stderr";
  std::string name = log.filename().string();
  if (name.starts_with(ours)) name.replace(0, ours.size(), "stdout");
  return log.parent_path() / name;
}

/// What an earlier attempt has written there says nothing of this one.
bool is_written_since(const std::filesystem::path& log, Seconds launched_at) {
  struct stat status {};
  return ::stat(log.c_str(), &status) == 0 &&
         static_cast<Seconds>(status.st_mtim.tv_sec) >= std::floor(launched_at);
}

/// Many programs say why they give up where they say all else.
ErrorLine reason_on_stdout(const std::filesystem::path& log, const ErrorLine& on_stderr) {
  const std::string tail = log_tail(log, 0);
  const ErrorLine said = error_line(tail);
  if (!on_stderr.text.empty() || said.is_error) {
    return said.is_error && !on_stderr.is_error ? said : ErrorLine();
  }
  const std::string usage = usage_line(tail);
  return usage.empty() ? said : ErrorLine{usage};
}

/// What programs say that take KEY=VALUE and were given an option.
bool wants_pairs(const std::string& tail) {
  constexpr std::string_view words[] = {"--hydra-help", "verride '--", "ey '--", "ey: --",
                                        "ey \"--"};
  return std::any_of(std::begin(words), std::end(words), [&tail](std::string_view word) {
    return tail.find(word) != std::string::npos;
  });
}

}  // namespace

LogDiagnosis look_into(const FailureJudge& judge, const std::filesystem::path& log,
                       std::uint64_t begin, FailureFacts facts, Seconds launched_at) {
  const std::string tail = log_tail(log, begin);
  facts.said = tail + "\n" + facts.said;
  LogDiagnosis diagnosis{error_line(tail), judge.objection(facts), judge.blame(facts),
                         is_full(log.parent_path())};
  const auto out = stdout_beside(log);
  const bool has_said = out != log && is_written_since(out, launched_at);
  diagnosis.takes_pairs = wants_pairs(tail);
  diagnosis.is_on_stdout_alone = has_said && tail.empty() && !log_tail(out, 0).empty();
  if (facts.exit_code.value_or(0) != 0 && has_said) {
    diagnosis.said_on_stdout = reason_on_stdout(out, diagnosis.said);
  }
  return diagnosis;
}

void add(Ending& ending, LogDiagnosis diagnosis, const std::filesystem::path& log) {
  ending.no_retry = std::move(diagnosis.no_retry);
  if (ending.blame == Blame::unknown) ending.blame = diagnosis.blame;
  const std::string first_line = ending.reason.substr(0, ending.reason.find('\n'));
  const bool is_on_stdout = !diagnosis.said_on_stdout.text.empty();
  const ErrorLine& said = is_on_stdout ? diagnosis.said_on_stdout : diagnosis.said;
  const bool says_more = !said.text.empty() && said.text.find(first_line) == std::string::npos;
  const std::string stream = is_on_stdout ? "stdout" : "stderr";
  const std::string from =
      said.is_last ? "; the last line of its " + stream + ": " : "; its " + stream + " says: ";
  const auto place = is_on_stdout || diagnosis.is_on_stdout_alone ? stdout_beside(log) : log;
  const std::string advice = diagnosis.takes_pairs
                                 ? "; a program that takes KEY=VALUE is given its config by "
                                   "'${args_no_hyphens}' behind \"--\" (docs/plain.md)"
                                 : "";
  add_to_first_line(ending.reason,
                    (says_more ? from + said.text : "") + advice + "; see " + place.string());
}

AttemptEnded end_record(const Attempt& attempt, const Trial& trial, const FailureConfig& config,
                        const ShutdownState& shutdown, Seconds now) {
  AttemptEnded ended{attempt.trial, attempt.number, attempt.ending->outcome,
                     attempt.ending->reason};
  ended.by = attempt.ended_by;
  if (attempt.stop_asked && ended.outcome == Outcome::paused) ended.outcome = Outcome::completed;
  if (attempt.stop_asked && ended.outcome == Outcome::failed) {
    // What it has reported is all that was wanted of it, however it goes.
    ended.outcome = Outcome::completed;
    ended.reason = *attempt.stop_asked + "; on its way " + ended.reason;
  }
  if (shutdown.kind == ShutdownState::Kind::interrupted && ended.outcome == Outcome::failed) {
    ended.outcome = Outcome::interrupted;
    ended.reason = shutdown.why_attempts_end() + "; on its way " + ended.reason;
  }
  ended.of_machine = ended.outcome == Outcome::failed && attempt.ending->blame == Blame::machine;
  const bool is_retried = !shutdown.raises && ended.outcome == Outcome::failed &&
                          config.fail_fast == FailFast::no &&
                          (config.max_failures < 0 || trial.failures < config.max_failures);
  if (!is_retried) return ended;
  if (attempt.ending->no_retry) {
    add_to_first_line(ended.reason, "; not retried: " + *attempt.ending->no_retry);
    return ended;
  }
  // 1, 2, 4 ... 60 s: what is wrong with a machine is rarely over at once.
  const int doublings = std::min(trial.failures, 6);
  ended.retry = true;
  ended.not_before = now + std::min(60.0, static_cast<double>(1 << doublings));
  return ended;
}

}  // namespace tune
