// Attempts: how they end.
#include "tuner/base/error.h"
#include "tuner/disk/log_limit.h"
#include "tuner/model/paths.h"
#include "tuner/run/trials/attempts.h"
#include "tuner/run/trials/diagnosis.h"

namespace tune {

namespace {

/// What whoever is paused and comes back with less needs, behind a sentence that says so.
std::string way_to_save(const ExperimentSpec& spec) {
  if (!spec.plain) {
    return ": a trial that is paused must be able to save (a function by report(metrics, "
           "save=...))";
  }
  if (!spec.plain->checkpoints) {
    return ": a program that is paused must save, and say where: ${checkpoint_dir} "
           "(docs/plain.md)";
  }
  return " that is whole: a file that is written under another name and then renamed is whole at "
         "once, and so is a directory with a new \"complete\"; what is written in its place again "
         "and again, only once it rests (docs/plain.md)";
}

bool is_on(const Allocation& allocation, int node) {
  return std::any_of(allocation.nodes.begin(), allocation.nodes.end(),
                     [node](const NodeAllocation& each) { return each.node == node; });
}

}  // namespace

void Attempts::end(Attempt& attempt, Outcome outcome, const std::string& reason) {
  end(attempt, Ending{outcome, reason});
}

/// Decides how the attempt ends and gets its processes out of the way. May erase the attempt.
void Attempts::end(Attempt& attempt, Ending ending, AttemptEvent by) {
  if (attempt.life.is_ending()) return;
  const bool is_at_fault = ending.outcome == Outcome::failed;
  if (is_at_fault && attempt.is_warm && !attempt.has_result) {
    // What was wrong with it may have come of the waiting.
    ending = {Outcome::interrupted,
              "its process, which was kept while it was paused, did not go on: " + ending.reason};
    callbacks_.notice(to_string(attempt.trial) +
                      " begins again from its checkpoint: " + ending.reason);
  }
  using State = WorkerGroup::State;
  WorkerGroup& worker_group = *attempt.worker_group;
  const State state = worker_group.state();
  const bool has_begun = state != State::launching;
  const auto reuse = spec_.reuse_processes;
  const bool goes_away = is_at_fault || ending.outcome == Outcome::interrupted || shutdown_;
  const bool is_free = state == State::ready && !goes_away;
  attempt.ending = std::move(ending);
  const bool is_kept = state == State::ready && may_keep(attempt, attempt.ending->outcome);
  attempt.life.apply(is_kept ? AttemptEvent::keep_warm : by);
  if (is_kept || (is_free && worker_group.can_reset() && reuse.value_or(false))) {
    worker_group.keep_idle();
  } else if (is_free && worker_group.can_stay() && !spec_.workers && reuse.value_or(true)) {
    // What it does on its way out of the training is done before its trial has ended.
    worker_group.offer(reuse ? protocol::Stay::if_possible : protocol::Stay::if_clean);
  } else {
    worker_group.leave(is_at_fault || !has_begun ? WorkerGroup::StopLevel::sigterm
                                                 : WorkerGroup::StopLevel::request);
  }
  try_to_close(attempt);
}

void Attempts::stop(TrialId id, const std::string& reason, EndedBy by) {
  Attempt* const attempt = find(id);
  const auto donor = trial(id).donor;
  committer_.commit(TrialStopRequested{id, reason, by});
  if (attempt == nullptr) {
    give_up(id);
    checkpoint_manager_.apply_retention(id);
    checkpoint_manager_.release(id, donor);
    tell("on_trial_complete",
         [this, id](Callback& callback) { callback.on_trial_complete(trial(id)); });
    return;
  }
  attempt->stop_asked = reason;
  if (!attempt->has_result) {
    // In the middle of its work: nothing that another trial could take over.
    attempt->worker_group->leave(WorkerGroup::StopLevel::request);
    end(*attempt, Outcome::completed, reason);
  } else if (attempt->life.is_blocked()) {
    carry_out(*attempt);
  } else if (!attempt->life.is_ending()) {
    attempt->worker_group->shorten_deadline(spec_.stop_grace_s);
  }
}

void Attempts::pause(TrialId id) {
  Attempt* const attempt = find(id);
  if (attempt == nullptr) give_up(id);
  if (attempt == nullptr || attempt->life.is_ending()) return;
  if (!attempt->has_result && !attempt->life.is_training()) {
    end(*attempt, Outcome::interrupted, std::string(paused_by_user));
  } else if (attempt->life.is_blocked()) {
    carry_out(*attempt);
  }
}

/// Records the end once its processes are out of the way and its checkpoints are committed.
void Attempts::try_to_close(Attempt& attempt) {
  if (!attempt.life.is_ending() || attempt.pending_work > 0) return;
  if (attempt.life.state() == AttemptState::awaiting_shutdown) {
    if (attempt.awaits_until > committer_.steady() && !shutdown_) return;
    attempt.life.apply(AttemptEvent::wait_over);
  }
  const WorkerGroup& worker_group = *attempt.worker_group;
  const bool is_out_of_the_way = !worker_group.has_processes() ||
                                 worker_group.state() == WorkerGroup::State::idle ||
                                 worker_group.state() == WorkerGroup::State::lost;
  if (!is_out_of_the_way) return;
  const bool is_examined = attempt.life.state() == AttemptState::examined;
  if (attempt.ending->outcome == Outcome::failed && !is_examined) {
    look_into_failure(attempt);
  } else {
    close(attempt);
  }
}

/// What the program itself said last is mostly what the user wants to know, and decides whether it
/// is worth another try.
void Attempts::look_into_failure(Attempt& attempt) {
  // It may have failed before it had a log.
  auto log = attempt.worker_group->log();
  if (log.empty()) {
    const auto own = paths::trial(launch_.experiment_dir, attempt.trial);
    log = spec_.merge_output ? paths::standard_output(own) : paths::standard_error(own);
  }
  attempt.life.apply(AttemptEvent::examine);
  FailureFacts facts = std::move(attempt.failure);
  facts.said = attempt.ending->reason;
  ++attempt.pending_work;
  workers_.post(
      Lane::prompt,
      [this, log, begin = attempt.worker_group->log_begin(), facts = std::move(facts),
       launched_at = committer_.now() - (committer_.steady() - attempt.began_at)] {
        return look_into(judge_, log, begin, facts, launched_at);
      },
      [this, id = attempt.trial, log](LogDiagnosis diagnosis) {
        Attempt& failed = must_find(id);
        --failed.pending_work;
        failed.life.apply(AttemptEvent::examined);
        if (diagnosis.is_disk_full) {
          blame_disk(failed);
        } else {
          diagnosis.takes_pairs = diagnosis.takes_pairs && spec_.plain.has_value();
          add(*failed.ending, std::move(diagnosis), log);
        }
        try_to_close(failed);
      });
}

/// What a program prints is lost then, too: nobody knows how it has fared.
void Attempts::blame_disk(Attempt& attempt) {
  Ending& ending = *attempt.ending;
  ending.outcome = Outcome::interrupted;
  ending.reason = "the disk is full; on its way " + ending.reason;
  ending.blame = Blame::machine;
  circuit_breaker_.on_launch_failed(attempt.trial, "the disk is full", committer_.steady());
}

void Attempts::close(Attempt& attempt) {
  const TrialId id = attempt.trial;
  look_for_stall(attempt);
  look_for_lost_nodes(attempt);
  look_for_short_jobs(attempt);
  const AttemptEnded ended =
      end_record(attempt, trial(id), spec_.failure_config, shutdown_, committer_.now());
  if (ended.outcome == Outcome::failed) committer_.require_place();
  // Its processes are out of the way, so nobody writes there any more.
  if (!attempt.save.directory.empty()) {
    checkpoint_manager_.discard({id, attempt.save.checkpoint.index}, attempt.number);
  }
  if (attempt.has_result) advice_.on_close(id, attempt.began_at);
  const auto [owner, restored] = attempt.source.checkpoint;
  const auto donor = trial(id).donor;
  const Seconds began_at = attempt.began_at;
  const Blame blame = attempt.ending->blame;
  const std::optional<int> node = only_node(attempt);
  const bool never_began =
      !attempt.has_result && (ended.outcome == Outcome::failed || attempt.was_unfit_to_start);
  WorkerGroup& worker_group = *attempt.worker_group;
  const bool keeps = attempt.life.state() == AttemptState::keeping_warm;
  attempt.life.apply(AttemptEvent::close);
  if (!keeps) put_away(worker_group);
  attempts_.erase(id);
  limit_logs({id});
  committer_.commit(ended);
  if (keeps) keep(id, worker_group);
  if (ended.retry) next_.delay(id, ended.not_before);
  if (restored != 0) checkpoint_manager_.unpin(owner, restored);
  checkpoint_manager_.apply_retention(id);
  checkpoint_manager_.release(id, donor);
  tell_end(id, ended);
  if (trial(id).held) {
    callbacks_.notice(to_string(id) + " is paused by hand at iteration " +
                      std::to_string(trial(id).iteration) +
                      (can_keep_state(spec_) ? "" : "; it has no checkpoint, and will begin anew"));
  }
  advice_.on_end(id, ended.outcome);
  if (is_final(trial(id).state)) stalls_.erase(id);
  const bool has_failed = ended.outcome == Outcome::failed;
  if (has_failed) {
    circuit_breaker_.on_failure(id, ended.reason, blame, began_at, committer_.steady());
  } else {
    circuit_breaker_.on_end(id);
  }
  if (node && never_began) judge_node(*node, id, ended.reason, blame, began_at);
  if (!has_failed) return;
  if (spec_.failure_config.fail_fast == FailFast::no) return;
  if (failure_.empty()) failure_ = to_string(id) + " failed (fail_fast): " + *trial(id).error;
}

/// The node that it runs on; nothing: there is one machine, or its workers are on several nodes,
/// and which of them is to blame nobody knows.
std::optional<int> Attempts::only_node(const Attempt& attempt) const {
  const auto& nodes = attempt.worker_group->allocation().nodes;
  if (launch_.nodes.empty() || nodes.size() != 1) return std::nullopt;
  return nodes.front().node;
}

/// Of a trial that has failed there before its first result. Once the node is left out, what runs
/// there goes on, and what has failed there gets another try elsewhere.
void Attempts::judge_node(int node, TrialId trial, const std::string& reason, Blame blame,
                          Seconds began_at) {
  using Verdict = NodeHealth::Verdict;
  const Verdict verdict = node_health_.on_failure(node, trial, reason, blame, began_at);
  if (verdict == Verdict::is_left_out) circuit_breaker_.forgive({trial});
  if (verdict != Verdict::left_out) return;
  resources_.lose_node(node);
  circuit_breaker_.forgive(node_health_.failed_on(node));
  dismiss_idle_on(node);
  callbacks_.notice("node " + name_of(node) +
                    " gets no more trials: " + std::to_string(NodeHealth::most_failures_in_a_row) +
                    " in a row have failed there before their first result, the last: " +
                    reason.substr(0, reason.find('\n')));
}

/// Processes that wait for another trial would bring it there.
void Attempts::dismiss_idle_on(int node) {
  std::vector<WorkerGroup*> others;
  for (WorkerGroup* const idle : std::exchange(idle_, {})) {
    if (is_on(idle->allocation(), node)) {
      idle->leave(WorkerGroup::StopLevel::request);
    } else {
      others.push_back(idle);
    }
  }
  idle_ = std::move(others);
}

void Attempts::vacate(int node, bool has_no_time) {
  vacated_.insert(node);
  resources_.lose_node(node);
  node_health_.lose_node(node);
  dismiss_idle_on(node);
  for (const TrialId id : kept_.trials()) {
    if (is_on(kept_.find(id)->held, node)) give_up(id);
  }
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    Attempt& attempt = (at++)->second;  // ending one may erase it
    if (is_on(attempt.worker_group->allocation(), node)) leave_node(attempt, has_no_time);
  }
}

void Attempts::leave_node(Attempt& attempt, bool has_no_time) {
  attempt.leaves_node = true;
  if (attempt.life.state() == AttemptState::awaiting_shutdown) {
    // Whoever ends the node's job has told the trial, too, and that came first.
    attempt.ending = Ending{Outcome::interrupted, std::string(node_ends)};
    attempt.awaits_until = committer_.steady();
    return try_to_close(attempt);
  }
  if (attempt.life.is_ending()) return;
  const bool has_begun = attempt.has_result || attempt.life.is_training();
  if (has_no_time || !has_begun) {
    end(attempt, Outcome::interrupted, std::string(node_ends));
  } else if (attempt.life.is_blocked()) {
    carry_out(attempt);
  }
}

NodeDemand Attempts::node_use() const {
  NodeDemand use;
  use.running.resize(launch_.nodes.size());
  use.is_given_up.resize(launch_.nodes.size());
  for (const auto& [id, attempt] : attempts_) {
    for (const NodeAllocation& each : attempt.worker_group->allocation().nodes) {
      ++use.running.at(static_cast<std::size_t>(each.node));
    }
  }
  for (const int node : vacated_) use.is_given_up.at(static_cast<std::size_t>(node)) = true;
  return use;
}

void Attempts::lose_node(int node) {
  resources_.lose_node(node);
  node_health_.lose_node(node);
  if (!resources_.impossible(spec_.resources_per_trial, workers())) return;
  // Better a doubtful node than none.
  for (const int each : node_health_.take_back()) {
    resources_.take_back_node(each);
    callbacks_.notice("node " + name_of(each) +
                      " gets trials again, since they do not fit what is left");
  }
}

std::string Attempts::why_nothing_fits() const {
  return resources_.impossible(spec_.resources_per_trial, workers()).value_or("");
}

std::vector<std::string> Attempts::left_out() const {
  std::vector<std::string> sentences;
  for (const auto& [node, last_error] : node_health_.left_out()) {
    sentences.push_back(name_of(node) + ": " + last_error);
  }
  return sentences;
}

/// Between pauses that save nothing a trial trains the same iterations again: that is said, and
/// has an end.
void Attempts::look_for_stall(Attempt& attempt) {
  constexpr int often = 3, too_often = 8;
  const Trial& of = trial(attempt.trial);
  if (attempt.ending->outcome != Outcome::paused || attempt.stop_asked) return;
  Stall& stall = stalls_[of.id];
  if (of.iteration > stall.reached || of.lineage.size() != stall.clonings) {
    stall = {of.iteration, of.lineage.size(), 0};
    return;
  }
  if (++stall.times < often) return;
  const auto [owner, checkpoint] = committer_.experiment().restore_point(of.id);
  const std::int64_t from = checkpoint != nullptr ? checkpoint->iteration : 0;
  const std::string sentence = "it has been paused at iteration " + std::to_string(of.iteration) +
                               " once more and goes on from iteration " + std::to_string(from) +
                               ", since its pauses save nothing" + way_to_save(spec_);
  if (stall.times >= too_often && from < of.iteration && !of.held) {
    attempt.ending = Ending{.outcome = Outcome::failed,
                            .reason = "it gets no further: " + sentence,
                            .no_retry = "it would be thrown back again"};
  } else if (!std::exchange(has_named_stall_, true)) {
    callbacks_.notice(to_string(of.id) + " gets no further: " + sentence);
  }
}

void Attempts::let_go() {
  for (const TrialId id : std::exchange(awaiting_, {})) {
    if (Attempt* const attempt = find(id)) try_to_close(*attempt);
  }
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    Attempt& attempt = (at++)->second;  // ending one may erase it
    if (!attempt.has_result && !attempt.life.is_training()) {
      end(attempt, Outcome::interrupted, shutdown_.why_attempts_end());
    } else if (attempt.life.is_blocked()) {
      carry_out(attempt);
    }
  }
}

void Attempts::look_at_awaiting() {
  while (!awaiting_.empty()) {
    Attempt* const attempt = find(awaiting_.front());
    if (attempt != nullptr && attempt->awaits_until > committer_.steady()) return;
    awaiting_.pop_front();
    if (attempt != nullptr) try_to_close(*attempt);
  }
}

/// Whoever prints without an end must not fill the disk.
void Attempts::look_at_logs() {
  if (logs_due() > committer_.steady()) return;
  std::vector<TrialId> trials;
  for (const auto& [id, attempt] : attempts_) trials.push_back(id);
  logs_looked_at_ = committer_.steady();
  limit_logs(trials);
}

void Attempts::limit_logs(const std::vector<TrialId>& trials) {
  if (!spec_.max_log_bytes || cannot_limit_logs_) return;
  std::vector<std::filesystem::path> logs;
  for (const TrialId id : trials) {
    const auto own = paths::trial(launch_.experiment_dir, id);
    for (int rank = 0; rank < (spec_.workers ? spec_.workers->count : 1); ++rank) {
      logs.push_back(paths::standard_output(own, rank));
      if (!spec_.merge_output) logs.push_back(paths::standard_error(own, rank));
    }
  }
  ++log_lookers_;
  workers_.post(
      Lane::deletions,
      [logs = std::move(logs), most_bytes = *spec_.max_log_bytes]() -> std::string {
        try {
          for (const auto& log : logs) (void)limit_log(log, most_bytes);
          return "";
        } catch (const Error& error) {
          return error.what();
        }
      },
      [this](const std::string& trouble) {
        --log_lookers_;
        logs_looked_at_ = committer_.steady();
        if (trouble.empty() || std::exchange(cannot_limit_logs_, true)) return;
        callbacks_.notice("max_log_bytes is not kept: " + trouble);
      });
}

Seconds Attempts::logs_due() const {
  constexpr Seconds period_s = 1;
  const bool is_wanted =
      spec_.max_log_bytes && !attempts_.empty() && log_lookers_ == 0 && !cannot_limit_logs_;
  return is_wanted ? logs_looked_at_ + period_s : never_s;
}

Seconds Attempts::shutdown_due() const {
  if (awaiting_.empty()) return never_s;
  const auto attempt = attempts_.find(awaiting_.front());
  return attempt == attempts_.end() ? committer_.steady() : attempt->second.awaits_until;
}

void Attempts::end_all(WorkerGroup::StopLevel stop_level) {
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    end((at++)->second, Outcome::interrupted, shutdown_.why_attempts_end());  // may erase it
  }
  for (WorkerGroup& each : worker_groups_.all()) each.leave(stop_level);
}

void Attempts::dismiss_idle() {
  for (WorkerGroup* const idle : std::exchange(idle_, {}))
    idle->leave(WorkerGroup::StopLevel::request);
  for (const TrialId trial : kept_.trials()) give_up(trial);
}

/// What its processes held is free once they are gone; idle ones wait for another trial with it,
/// and what cannot be ended keeps it.
void Attempts::put_away(WorkerGroup& worker_group) {
  worker_group.trial.reset();
  if (worker_group.state() == WorkerGroup::State::idle) {
    idle_.push_back(&worker_group);
  } else if (!worker_group.has_processes()) {
    resources_.release(worker_group.allocation());
    worker_groups_.close(worker_group);
  }
}

void Attempts::tell_end(TrialId id, const AttemptEnded& ended) {
  if (ended.outcome == Outcome::failed) {
    if (ended.retry) {
      tell("on_trial_recover", [this, id](Callback& c) { c.on_trial_recover(trial(id)); });
    } else {
      tell("on_trial_error", [this, id](Callback& c) { c.on_trial_error(trial(id)); });
    }
  } else if (trial(id).state == TrialState::terminated) {
    tell("on_trial_complete", [this, id](Callback& c) { c.on_trial_complete(trial(id)); });
    advice_.on_complete(trial(id));
  }
}

Attempt* Attempts::find(TrialId trial) {
  const auto found = attempts_.find(trial);
  return found == attempts_.end() ? nullptr : &found->second;
}

Attempt& Attempts::must_find(TrialId trial) {
  Attempt* const attempt = find(trial);
  ensure(attempt != nullptr, "an attempt does not end before the work that it has pending");
  return *attempt;
}

void Attempts::tell(const char* hook_name, std::function<void(Callback&)> hook) {
  after_write_.add([this, hook_name, hook = std::move(hook)] { callbacks_.call(hook_name, hook); });
}

}  // namespace tune
