// Attempts: steps that take far longer than others did. Nothing is done to them (trial_timeout_s
// is for that): it is said, with what their processes are at.
#include "tuner/run/trials/attempts.h"

namespace tune {

namespace {

constexpr double hang_factor = 20;           ///< so many times as long as usual
constexpr Seconds shortest_hang_s = 60;      ///< and at least so long
constexpr Seconds between_hang_looks_s = 5;  ///< two are needed to tell who computes
constexpr std::size_t least_own_steps = 3;

std::string whole_seconds(Seconds seconds) {
  return std::to_string(static_cast<long>(seconds)) + " s";
}

std::string shown_seconds(Seconds seconds) {
  if (seconds >= 10) return whole_seconds(seconds);
  std::string text = std::to_string(seconds);
  text.resize(text.find('.') + 3);
  return text + " s";
}

}  // namespace

void Attempts::note_step(Attempt& attempt) {
  attempt.hang.reset();
  const Seconds took_s = committer_.steady() - attempt.worker_group->told_at();
  if (!attempt.has_result) {
    first_steps_.add(took_s);
    return;
  }
  attempt.steps.add(took_s);
  steps_.add(took_s);
}

/// Of its first step with what comes before that, be it libraries that are loaded.
std::optional<Seconds> Attempts::usual_step_s(const Attempt& attempt) const {
  if (!attempt.has_result) return first_steps_.median();
  const auto own = attempt.steps.median(least_own_steps);
  return own ? own : steps_.median();
}

/// Steady time at which its step has taken far too long.
Seconds Attempts::due_of(const Attempt& attempt) const {
  const auto usual_s = usual_step_s(attempt);
  if (!attempt.life.is_training() || !usual_s) return never_s;
  return std::max(attempt.worker_group->told_at(), forgiven_at_) +
         std::max(shortest_hang_s, hang_factor * *usual_s);
}

Seconds Attempts::hangs_due() const {
  return look_ && !attempts_.empty() && lookers_ == 0 ? hangs_looked_for_ : never_s;
}

void Attempts::look_for_hangs() {
  const Seconds now = committer_.steady();
  if (hangs_due() > now) return;
  // What is begun from now on takes so long at least before it takes too long.
  hangs_looked_for_ = now + shortest_hang_s;
  for (auto& [id, attempt] : attempts_) {
    const Seconds due = due_of(attempt);
    if (due > now) {
      hangs_looked_for_ = std::min(hangs_looked_for_, due);
      continue;
    }
    if (!attempt.hang) {
      attempt.hang = Hang{.told_at = attempt.worker_group->told_at()};
    } else if (attempt.hang->seen && now < attempt.hang->seen_at + between_hang_looks_s) {
      hangs_looked_for_ = std::min(hangs_looked_for_, attempt.hang->seen_at + between_hang_looks_s);
      continue;
    }
    Hang& hang = *attempt.hang;
    std::vector<std::filesystem::path> logs;
    hang.names.clear();
    std::vector<std::int64_t> groups;
    for (const auto& late : attempt.worker_group->all_late()) {
      hang.names.push_back(late.name);
      groups.push_back(late.group);
      if (spec_.plain) logs.insert(logs.end(), late.logs.begin(), late.logs.end());
    }
    if (groups != hang.groups) hang.seen.reset();
    hang.groups = groups;
    ++lookers_;
    workers_.post(
        Lane::prompt,
        [look = look_, groups = std::move(groups), logs = std::move(logs)] {
          return look(groups, logs);
        },
        [this, id = id, told_at = hang.told_at](const ProcessesSeen& seen) {
          --lookers_;
          Attempt* const looked_at = find(id);
          const bool hangs =
              looked_at != nullptr && looked_at->hang && looked_at->hang->told_at == told_at;
          if (hangs) check_hang(*looked_at, seen);
        });
  }
}

void Attempts::check_hang(Attempt& attempt, const ProcessesSeen& seen) {
  const Seconds now = committer_.steady();
  Hang& hang = *attempt.hang;
  const Seconds patience_s =
      std::max(shortest_hang_s, hang_factor * usual_step_s(attempt).value_or(0));
  if (seen.silent_s && *seen.silent_s < patience_s) {
    // A program that prints, though no result, is alive.
    attempt.hang.reset();
    return;
  }
  const bool is_first = hang.state.empty();
  if (hang.seen) hang.state = state_of(hang.names, *hang.seen, seen, now - hang.seen_at);
  hang.seen = seen;
  hang.seen_at = now;
  if (hang.state.empty()) {
    hangs_looked_for_ = std::min(hangs_looked_for_, now + between_hang_looks_s);
  } else if (is_first) {
    callbacks_.notice(sentence_of(attempt));
  }
}

std::string Attempts::sentence_of(const Attempt& attempt) const {
  const Seconds lasted_s = committer_.steady() - attempt.hang->told_at;
  return to_string(attempt.trial) + " has been at iteration " +
         std::to_string(trial(attempt.trial).iteration + 1) + " for " + whole_seconds(lasted_s) +
         (attempt.has_result ? ", where its steps take " : ", where first steps take ") +
         shown_seconds(usual_step_s(attempt).value_or(0)) + ": " + attempt.hang->state;
}

std::vector<TrialHang> Attempts::hangs() const {
  std::vector<TrialHang> hanging;
  for (const auto& [id, attempt] : attempts_) {
    const bool is_known = attempt.hang && !attempt.hang->state.empty() && !attempt.life.is_ending();
    if (is_known) hanging.push_back({id, sentence_of(attempt)});
  }
  return hanging;
}

}  // namespace tune
