// The turn of the event loop, launches, deadlines after a suspend, and the stages of the shutdown
// up to its record (loop_end.cpp).
#include "tuner/run/loop.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/spec/resume_changes.h"

namespace tune {

namespace {

/// A driver that wakes so much later than it wanted to was stopped, or its machine was.
constexpr Seconds oversleep_s = 5;

}  // namespace

Loop::Loop(const ExperimentSpec& spec, LoopOptions options, EventCommitter& committer,
           Policies& policies, Executor& executor, Reactor& reactor, Workers& workers,
           CheckpointManager& checkpoint_manager, Snapshots& snapshots, CallbackList& callbacks)
    : spec_(spec),
      options_(std::move(options)),
      launch_(options_.launch),
      committer_(committer),
      policies_(policies),
      reactor_(reactor),
      workers_(workers),
      checkpoint_manager_(checkpoint_manager),
      snapshots_(snapshots),
      callbacks_(callbacks),
      circuit_breaker_(spec.failure_config.max_failures_in_a_row,
                       committer.experiment().results() > 0),
      next_(committer, policies, spec.resume_from_checkpoint.string(), options_.only,
            [this] { carry_out_orders(); }),
      attempts_({.spec = spec_,
                 .launch = launch_,
                 .committer = committer,
                 .policies = policies,
                 .workers = workers,
                 .checkpoint_manager = checkpoint_manager,
                 .callbacks = callbacks,
                 .after_write = after_write_,
                 .circuit_breaker = circuit_breaker_,
                 .next = next_,
                 .shutdown = shutdown_,
                 .memory = options_.memory,
                 .look = options_.look},
                executor,
                options_.nodes.empty() && options_.supply == nullptr
                    ? ResourcePool(options_.resources)
                    : ResourcePool(std::vector<NodeResources>())),
      control_handler_(*this) {
  for (const NodeResources& node : options_.nodes) {
    launch_.add_node(node);
    attempts_.add_node(node.totals);
  }
}

LoopEnd Loop::run() {
  try {
    return drive();
  } catch (const Error& error) {
    if (!committer_.has_failed()) {
      end_by_fault(error.what());
      throw;
    }
    callbacks_.notice("the journal cannot be written, all trials are ended");
    attempts_.abandon(reactor_);
    throw JournalFailed(std::string(error.what()) +
                        "; the run was ended, because nothing of it could be remembered any more");
  } catch (const std::exception& error) {  // a plugin's policy knows no Error
    const Error fault =
        machine_error(std::string("a policy, or the driver itself, failed: ") + error.what() +
                      "; the run was ended, and what was recorded before is kept");
    end_by_fault(fault.what());
    throw fault;
  }
}

LoopEnd Loop::drive() {
  woke_at_ = committer_.steady();
  // Before what processes have said meanwhile: callbacks that write files first take from them what
  // is not of the trial's present attempt.
  begin_step();
  attempts_.adopt(options_.adoption);
  check_stop_all();
  fill();
  tell_demand();
  act();
  end_step();
  while (!is_finished()) turn();
  LoopEnd end;
  if (shutdown_.kind == ShutdownState::Kind::interrupted) {
    end = {shutdown_.gives_up ? LoopEnd::Kind::given_up : LoopEnd::Kind::interrupted,
           shutdown_.reason};
  } else if (shutdown_) {
    end = {shutdown_.raises ? LoopEnd::Kind::raised : LoopEnd::Kind::stopped, shutdown_.reason};
  } else {
    for (const auto& sentence : next_.what_waits()) callbacks_.notice(sentence);
  }
  finish(end);
  return end;
}

void Loop::turn() {
  wakeups_.clear();
  const Seconds wanted = next_deadline();
  reactor_.wait(wanted, wakeups_);
  const Seconds now_awake = committer_.steady();
  const bool overslept = now_awake - std::max(wanted, woke_at_) > oversleep_s;
  // When it fell asleep is not known: soon after it was last seen awake, in a trial's favour.
  if (overslept) extend_deadlines(now_awake - woke_at_);
  woke_at_ = now_awake;
  begin_step();
  for (auto& wakeup : wakeups_) {
    std::visit([this](auto& what) { on(what); }, wakeup);
  }
  workers_.run_completions();
  attempts_.look_at_deadlines();
  if (wind_down_deadline_ <= committer_.steady()) end_by_force(WorkerGroup::StopLevel::sigterm);
  look_at_failures();
  if (const std::string reason = checkpoint_manager_.look_at_mirror();
      !reason.empty() && !shutdown_) {
    interrupt(reason);
  }
  check_stop_all();
  fill();
  tell_demand();
  tell_what_is_awaited();
  // The end waits for what workers do, and a snapshot would be the longest of it by far.
  if (attempts_.all().empty() && (next_.nothing_left() || shutdown_)) snapshots_.stop();
  act();
  end_step();
}

void Loop::begin_step() {
  callbacks_.call("on_step_begin",
                  [this](Callback& callback) { callback.on_step_begin(committer_.experiment()); });
}

void Loop::end_step() {
  callbacks_.call("on_step_end",
                  [this](Callback& callback) { callback.on_step_end(committer_.experiment()); });
}

/// Ends the turn: what was committed is written, then what follows from it is done; if a thread has
/// to write, in a later turn.
void Loop::act() {
  committer_.write();
  snapshots_.turn();
  committer_.sync_if_due();
  after_write_.end_turn(committer_.experiment().last_event(), committer_.written());
  callbacks_.deliver();
}

bool Loop::is_finished() const {
  const bool leaves_work = shutdown_.kind == ShutdownState::Kind::interrupted;
  return attempts_.all().empty() && !attempts_.any_lives() &&
         (workers_.outstanding() == 0 || leaves_work) && (next_.nothing_left() || shutdown_);
}

Seconds Loop::next_deadline() const {
  const Seconds steady = committer_.steady();
  Seconds deadline = std::min({committer_.deadline(), snapshots_.deadline(), wind_down_deadline_,
                               steady + options_.tick_s, attempts_.deadline()});
  if (shutdown_) return deadline;
  if (options_.disk != nullptr) deadline = std::min(deadline, options_.disk->deadline());
  if (next_.retry_at() != never_s) {
    deadline = std::min(deadline, steady + next_.retry_at() - committer_.now());
  }
  if (spec_.time_budget_s) {
    // What is left comes first: of two large numbers the sum is rounded, and a virtual clock that
    // has come to a deadline right before the end would stand there for ever.
    deadline = std::min(deadline, steady + (*spec_.time_budget_s - committer_.running_s()));
  }
  return std::min(deadline, circuit_breaker_.deadline());
}

/// Time in which this process did not run is nobody's silence: the trials may have been stopped
/// with it (a frozen container, a suspended job).
void Loop::extend_deadlines(Seconds overslept_s) {
  callbacks_.notice("this driver did not run for " +
                    std::to_string(static_cast<long>(overslept_s)) +
                    " s; that is not counted against its trials");
  wind_down_deadline_ += overslept_s;
  attempts_.extend_deadlines(overslept_s);
}

void Loop::fill() {
  next_.forget_last_look();
  if (!shutdown_) {
    carry_out_orders();
    while (start_next()) {
    }
    next_.look_ahead();
  }
  if (next_.nothing_left() || shutdown_) attempts_.dismiss_idle();
}

/// Starts one more trial; false if there is none, or nothing to run it on.
bool Loop::start_next() {
  obstacle_ = Obstacle::failures;
  if (!circuit_breaker_.allows_launch(committer_.steady())) return false;
  obstacle_ = Obstacle::slot;
  Attempts::Slot slot = attempts_.find_slot();
  if (!slot) {
    // Whether anything is left to run nobody else finds out while there is no node.
    const bool looks = options_.supply != nullptr && attempts_.all().empty();
    if (looks && !next_.choose(false)) obstacle_ = Obstacle::choice;
    return false;
  }
  const auto chosen = next_.choose(!attempts_.all().empty());
  obstacle_ = chosen ? Obstacle::disk : Obstacle::choice;
  const bool has_space = options_.disk == nullptr || !chosen || options_.disk->allows_launch();
  if (!chosen || !has_space) {
    attempts_.give_back(slot);
    return false;
  }
  obstacle_ = Obstacle::slot;
  return attempts_.start(*chosen, std::move(slot));
}

std::string Loop::waits_for() const {
  if (shutdown_) {
    const char* const what =
        can_keep_state(spec_) ? "what runs to be saved (" : "what runs to end (";
    return attempts_.all().empty() ? "" : what + shutdown_.reason + ")";
  }
  switch (obstacle_) {
    case Obstacle::failures:
      return circuit_breaker_.waits_for(committer_.steady());
    case Obstacle::slot: {
      const bool is_idle = options_.supply != nullptr && attempts_.all().empty();
      const std::string awaited = is_idle ? options_.supply->awaited() : "";
      return awaited.empty() ? attempts_.place_awaited() : awaited;
    }
    case Obstacle::choice:
      return next_.waits_for();
    case Obstacle::disk:
      return options_.disk != nullptr ? options_.disk->waits_for() : "";
  }
  return "";
}

/// Those that would run if there was room for them.
std::size_t Loop::waiting_trials() const {
  if (shutdown_ || obstacle_ == Obstacle::choice) return 0;
  const std::size_t running = attempts_.all().size();
  const std::size_t waiting = std::max<std::size_t>(next_.waiting(), running == 0 ? 1 : 0);
  const auto limit = spec_.max_concurrent_trials;
  if (!limit) return waiting;
  return std::min(waiting, std::max(static_cast<std::size_t>(*limit), running) - running);
}

void Loop::tell_demand() {
  constexpr Seconds period_s = 0.2;  // it takes a look at all that runs
  if (options_.supply == nullptr || committer_.steady() < told_demand_at_ + period_s) return;
  told_demand_at_ = committer_.steady();
  NodeDemand demand = attempts_.node_use();
  demand.waiting = waiting_trials();
  demand.longest_save_s = committer_.experiment().saves().max_save_s;
  demand.per_trial = spec_.resources_per_trial;
  demand.workers = spec_.workers ? spec_.workers->count : 1;
  options_.supply->want(demand);
  if (shutdown_ || obstacle_ != Obstacle::slot || !attempts_.all().empty()) return;
  const std::string exhausted = options_.supply->exhausted();
  if (exhausted.empty()) return;
  interrupt(exhausted);
  shutdown_.gives_up = true;
}

/// That all places are taken by trials that run is as it should be.
void Loop::tell_what_is_awaited() {
  constexpr Seconds period_s = 1;  // it may take a look at all trials that wait
  const auto [obstacle, told_at] = told_waits_of_;
  if (obstacle == obstacle_ && committer_.steady() < told_at + period_s) return;
  told_waits_of_ = {obstacle_, committer_.steady()};
  const bool is_usual = obstacle_ == Obstacle::slot && !attempts_.all().empty();
  tell_what_hangs();
  const std::string what = is_usual && !shutdown_ ? "" : waits_for();
  if (what == told_waits_) return;
  told_waits_ = what;
  callbacks_.call("on_waits", [&](Callback& callback) { callback.on_waits(what); });
}

void Loop::tell_what_hangs() {
  std::vector<TrialId> trials;
  for (const TrialHang& hang : attempts_.hangs()) trials.push_back(hang.trial);
  if (trials == told_hangs_) return;
  told_hangs_ = std::move(trials);
  callbacks_.call("on_hangs", [this](Callback& callback) { callback.on_hangs(told_hangs_); });
}

/// What the scheduler wants of trials that have not reported just now.
void Loop::carry_out_orders() {
  const Experiment& experiment = committer_.experiment();
  std::optional<TrialId> late;
  while (auto order = policies_.order()) {
    const TrialId id = order->trial;
    if (index_of(id) >= experiment.trials().size()) {
      throw scheduler_fault("an order for " + to_string(id) + ", which there is not");
    }
    const TrialState state = experiment.trial(id).state;
    const bool comes_too_late = is_final(state) || (state == TrialState::running && order->exploit);
    if (comes_too_late) {
      // Whoever has ended need not be stopped: others may wait behind it. Else asked again next
      // turn.
      if (order->exploit || late == id) break;
      late = id;
      policies_.scheduler->on_order(experiment.trial(id));
      continue;
    }
    if (order->exploit) {
      attempts_.exploit(id, std::move(*order->exploit));
    } else {
      attempts_.stop(id, order->reason, EndedBy::scheduler);
    }
  }
}

/// What is wrong with the machine is no trial's fault; what is wrong with a trial may end the run.
void Loop::look_at_failures() {
  for (const auto& sentence : circuit_breaker_.take_notices()) callbacks_.notice(sentence);
  if (const std::string failure = attempts_.take_failure(); !failure.empty() && !shutdown_) {
    if (spec_.failure_config.fail_fast == FailFast::raise) {
      committer_.commit(StopRequested{failure, true});
      shutdown_ = {ShutdownState::Kind::stopping, failure, true};
      end_by_force(WorkerGroup::StopLevel::sigterm);
    } else {
      request_stop(failure);
    }
  }
  if (circuit_breaker_.given_up() && !shutdown_) {
    interrupt(*circuit_breaker_.given_up());
    shutdown_.gives_up = true;
  }
  for (const TrialId id : circuit_breaker_.take_blameless()) {
    if (committer_.experiment().trial(id).state == TrialState::error)
      checkpoint_manager_.requeue({id, false});
  }
}

void Loop::check_stop_all() {
  if (shutdown_ || policies_.stopper == nullptr) return;
  const auto reason = policies_.stopper->should_stop_all(committer_.running_s());
  if (reason) request_stop(*reason);
}

void Loop::request_stop(const std::string& reason) {
  if (shutdown_) return;
  committer_.commit(StopRequested{reason, true});
  callbacks_.notice("the experiment is ending: " + reason +
                    (attempts_.all().empty() ? ""
                     : can_keep_state(spec_) ? "; what runs is saved with its next result"
                                             : "; what runs ends with its next result"));
  wind_down({ShutdownState::Kind::stopping, reason}, spec_.last_result_grace_s);
}

void Loop::interrupt(const std::string& reason) {
  if (!attempts_.all().empty()) {
    const bool can_save = can_keep_state(spec_);
    callbacks_.notice(
        reason + ": " + count_of(attempts_.all().size(), "running trial is", "running trials are") +
        (can_save ? " asked for a last save"
                  : " ended with the next result; the program has no checkpoints "
                    "(${checkpoint_dir}), so what has not finished begins anew at a resume") +
        "; an interrupt from now on leaves at once");
  }
  wind_down({ShutdownState::Kind::interrupted, reason}, options_.interrupt_grace_s);
}

void Loop::hold(TrialId trial) {
  committer_.commit(TrialHeld{trial});
  attempts_.pause(trial);
}

void Loop::release(TrialId trial) {
  committer_.commit(TrialHeld{trial, true});
  next_.delay(trial, committer_.experiment().trial(trial).not_before);
}

TrialId Loop::add(const Json& config) {
  if (!options_.complete_config) throw user_error("no trial can be added to this experiment");
  if (next_.runs_named_trials()) {
    throw user_error("this session runs named trials only (tune resume --trial)");
  }
  const TrialId id{static_cast<std::uint32_t>(committer_.experiment().trials().size())};
  next_.add(options_.complete_config(config, id), true);
  tell_total();
  return id;
}

std::string Loop::change(const Json& fields) {
  if (!options_.change_spec) throw user_error("nothing of the spec can change while this runs");
  ExperimentSpec changed = options_.change_spec(spec_, fields);
  const std::string sentence = sentence_of_changes(spec_, changed);
  if (sentence.empty()) return "nothing changes: that is how it is";
  committer_.commit(SpecChanged{fields.dump()});
  spec_ = std::move(changed);
  callbacks_.notice(sentence + " (tune set)");
  tell_total();
  return sentence;
}

void Loop::tell_total() {
  after_write_.add([this, total = policies_.total_trials(committer_.experiment())] {
    callbacks_.call("on_total", [total](Callback& callback) { callback.on_total(total); });
  });
}

void Loop::wind_down(ShutdownState shutdown, Seconds grace_s) {
  shutdown_ = std::move(shutdown);
  wind_down_deadline_ = committer_.steady() + grace_s;
  attempts_.let_go();
}

void Loop::end_by_force(WorkerGroup::StopLevel stop_level) {
  wind_down_deadline_ = never_s;
  attempts_.end_all(stop_level);
}

void Loop::on(const Interrupted& wakeup) {
  const Interrupt meant = interrupts_.feed(wakeup.signal, committer_.steady());
  if (meant == Interrupt::second) {
    end_by_force(WorkerGroup::StopLevel::sigkill);
  } else if (meant == Interrupt::first && shutdown_.kind != ShutdownState::Kind::interrupted) {
    interrupt("received SIG" + std::string(sigabbrev_np(wakeup.signal)));
  }
}

void Loop::on(const ControlAsked& wakeup) {
  answer(wakeup.id, control_handler_.handle(wakeup.request));
}

void Loop::on(const NodeJoined& wakeup) {
  if (wakeup.instead_of) awaited_nodes_.erase(*wakeup.instead_of);
  launch_.add_node(wakeup.node);
  attempts_.add_node(wakeup.node.totals);
  callbacks_.notice("node " + wakeup.node.name + " has joined");
}

void Loop::on(const NodeLost& wakeup) {
  const bool was_awaited = awaited_nodes_.erase(wakeup.node) > 0;
  if (wakeup.is_awaited) awaited_nodes_.insert(wakeup.node);
  attempts_.lose_node(wakeup.node);
  callbacks_.notice(wakeup.reason +
                    (was_awaited || wakeup.is_planned ? ""
                     : wakeup.is_awaited
                         ? "; its agent is started again, and what ran there goes on from its last "
                           "checkpoint"
                         : "; what ran there goes on elsewhere from its last checkpoint"));
  if (!awaited_nodes_.empty() || shutdown_ || options_.supply != nullptr) return;
  const std::string why = attempts_.why_nothing_fits();
  if (why.empty()) return;
  interrupt(attempts_.has_node() ? "trials fit no node that is left: " + why
                                 : "no node is left that trials could run on");
  shutdown_.gives_up = true;
}

void Loop::on(const NodeEnding& wakeup) {
  if (!wakeup.reason.empty()) callbacks_.notice(wakeup.reason);
  attempts_.vacate(wakeup.node, wakeup.has_no_time);
}

void Loop::answer(ControlId id, ControlAnswer answer) {
  after_write_.add([this, id, answer = std::move(answer)] { reactor_.answer(id, answer); });
}

}  // namespace tune
