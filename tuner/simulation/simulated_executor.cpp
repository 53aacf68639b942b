// The event queue (a heap by time, then by order of arrival) and the commands of the protocol over
// it.
#include "tuner/simulation/simulated_executor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

void SimulatedExecutor::at(Seconds time, Wakeup wakeup) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(wakeup));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(wakeup);
  }
  queue_.push_back({time, order_++, slot});
  std::push_heap(queue_.begin(), queue_.end());
}

Wakeup SimulatedExecutor::take_next() {
  std::pop_heap(queue_.begin(), queue_.end());
  const std::uint32_t slot = queue_.back().slot;
  queue_.pop_back();
  free_slots_.push_back(slot);
  return std::move(slots_[slot]);
}

void SimulatedExecutor::launch(LaunchId launch, LaunchSpec) {
  if (program_.cannot_launch) {
    after(program_.launch_s,
          LaunchFailed{launch, "cannot run the simulated program", program_.is_trials_fault});
    return;
  }
  children_[launch] = {};
  const auto pid = 1000 + static_cast<std::int64_t>(launch);
  after(program_.launch_s / 2, Launched{launch, pid, 1});
  protocol::Hello hello;
  hello.api = program_.is_function ? protocol::Api::function_api : protocol::Api::class_api;
  hello.can_reset = program_.can_reset;
  hello.can_save = program_.can_save;
  hello.can_stay = program_.can_stay;
  hello.can_save_at_start = !program_.is_function;
  after(program_.launch_s, Greeted{launch, hello});
}

void SimulatedExecutor::send(LaunchId launch, const protocol::Command& command) {
  const auto child = children_.find(launch);
  if (child == children_.end() || child->second.hangs) return;
  if (const auto* start_command = std::get_if<protocol::Start>(&command)) {
    start(launch, *start_command);
  } else if (std::holds_alternative<protocol::Step>(command)) {
    step(launch);
  } else if (const auto* save_command = std::get_if<protocol::Save>(&command)) {
    save(launch, save_command->directory);
  } else if (program_.can_stay && std::get<protocol::Stop>(command).stay != protocol::Stay::no) {
    after(program_.exit_s, Reported{.launch = launch, .done = true, .stays = true});
  } else if (program_.runs_to_end && !std::exchange(child->second.is_at_end, true)) {
    after(program_.exit_s, RanToEnd{launch});
  } else {
    exit(launch, 0, 0, program_.exit_s);
  }
}

void SimulatedExecutor::start(LaunchId launch, const protocol::Start& start) {
  SimulatedRun& run = children_.at(launch);
  if (start.reset && program_.refuses_reset) {
    run = {};
    return;
  }
  run = {.trial_id = start.trial_id, .config = start.config, .iteration = 0, .state = nullptr};
  if (!start.checkpoint) return;
  try {
    const Json saved = Json::parse(storage_.read(*start.checkpoint));
    run.iteration = saved.is_number() ? saved : saved.at("iteration");
    if (saved.is_object()) run.state = saved.at("state");
  } catch (const Error& error) {
    after(0, Faulted{launch, error.what()});
  } catch (const Json::exception&) {
    after(0, Faulted{launch, *start.checkpoint + " was not saved by a simulated program"});
  }
}

void SimulatedExecutor::step(LaunchId launch) {
  SimulatedRun& run = children_.at(launch);
  if (run.trial_id.empty()) return after(0, Refused{launch});
  ++run.iteration;
  SimulatedStep step = program_.step(run);
  ensure(step.takes_s >= 0, "no step of a simulated program ends before it begins");
  run.hangs = step.hangs;
  if (step.hangs) return;
  if (step.exits || step.dies_of) {
    exit(launch, step.exits.value_or(0), step.dies_of.value_or(0), step.takes_s);
  } else if (step.faults) {
    after(step.takes_s, Faulted{launch, *step.faults});
  } else {
    after(step.takes_s, Reported{.launch = launch,
                                 .metrics = std::move(step.metrics),
                                 .done = step.done,
                                 .should_checkpoint = step.should_checkpoint,
                                 .can_save = program_.can_save,
                                 .checkpoint = std::move(step.hands_over)});
  }
}

void SimulatedExecutor::save(LaunchId launch, const std::string& directory) {
  if (children_.at(launch).trial_id.empty()) return after(0, Refused{launch});
  std::optional<std::string> error;
  if (program_.save_error) error = program_.save_error();
  if (!error) {
    const SimulatedRun& run = children_.at(launch);
    try {
      Json saved = run.iteration;
      if (!run.state.is_null()) saved = {{"iteration", run.iteration}, {"state", run.state}};
      storage_.write(directory, saved.dump());
    } catch (const Error& failed) {
      error = failed.what();
    }
  }
  if (!program_.hangs_in_save)
    after(program_.save_s, SaveAnswered{.launch = launch, .error = error});
}

void SimulatedExecutor::exit(LaunchId launch, int code, int signal, Seconds after_s) {
  after(after_s, Disconnected{launch});
  after(after_s, Exited{launch, code, signal});
}

void SimulatedExecutor::signal(LaunchId launch, int signal) {
  if (children_.contains(launch)) exit(launch, 0, signal, program_.exit_s);
}

/// What a child that is gone would still have said is never heard.
bool SimulatedExecutor::is_heard(const Wakeup& wakeup) const {
  return std::visit(
      [this](const auto& what) {
        if constexpr (requires { what.launch; }) {
          using Kind = std::decay_t<decltype(what)>;
          return std::is_same_v<Kind, LaunchFailed> || std::is_same_v<Kind, Lost> ||
                 children_.contains(what.launch);
        } else {
          return true;
        }
      },
      wakeup);
}

Seconds SimulatedExecutor::next_event() {
  while (!queue_.empty() && !is_heard(slots_[queue_.front().slot])) take_next();
  return queue_.empty() ? std::numeric_limits<Seconds>::infinity() : queue_.front().time;
}

void SimulatedExecutor::delay_all(Seconds by_s) {
  for (Due& due : queue_) due.time += by_s;
}

void SimulatedExecutor::wait(Seconds deadline, std::vector<Wakeup>& wakeups) {
  // Of an I/O pool without threads: what has followed is due now, and what is due now comes with
  // it.
  if (std::exchange(woken_, false)) deadline = clock_.time;
  const Seconds next = std::min(deadline, next_event());
  if (next == std::numeric_limits<Seconds>::infinity()) {
    throw machine_error(
        "the simulation stands still: all trials that run hang, and no timeout ends them");
  }
  clock_.time = std::max(clock_.time, next);
  while (next_event() <= clock_.time) {
    wakeups.push_back(take_next());
    if (const auto* exited = std::get_if<Exited>(&wakeups.back())) children_.erase(exited->launch);
    if (const auto* lost = std::get_if<Lost>(&wakeups.back())) children_.erase(lost->launch);
  }
}

}  // namespace tune
