#include "tests/support/fake_executor.h"

#include <algorithm>
#include <csignal>

namespace tune {

namespace {
constexpr Seconds instant_s = 1e-4;
}

void FakeExecutor::at(Seconds time, Wakeup wakeup) {
  pending_.push({time, order_++, std::move(wakeup)});
}

void FakeExecutor::launch(LaunchId launch, LaunchSpec spec) {
  specs.push_back(std::move(spec));
  ++launches;
  if (program_.cannot_launch) {
    at(clock_.time + instant_s, LaunchFailed{launch, "cannot run 'fake'"});
    return;
  }
  children_[launch] = {};
  most_live = std::max(most_live, children_.size());
  const auto pid = 1000 + static_cast<std::int64_t>(launch);
  at(clock_.time + instant_s, Launched{launch, pid, 1});
  protocol::Hello hello;
  hello.pid = pid;
  hello.api = program_.is_function ? protocol::Api::function_api : protocol::Api::class_api;
  hello.can_reset = program_.can_reset;
  at(clock_.time + 2 * instant_s, Greeted{launch, hello});
}

void FakeExecutor::send(LaunchId launch, const protocol::Command& command) {
  if (!children_.contains(launch)) return;
  if (const auto* start_command = std::get_if<protocol::Start>(&command)) {
    start(launch, *start_command);
  } else if (std::holds_alternative<protocol::Step>(command)) {
    step(launch);
  } else if (const auto* save_command = std::get_if<protocol::Save>(&command)) {
    save(launch, save_command->directory);
  } else {
    exit(launch, 0, 0, instant_s);
  }
}

void FakeExecutor::start(LaunchId launch, const protocol::Start& start) {
  Child& child = children_.at(launch);
  if (start.reset) {
    protocol::Hello hello;
    hello.reset_refused = program_.refuses_reset;
    hello.can_reset = !program_.refuses_reset;
    at(clock_.time + instant_s, Greeted{launch, hello});
    if (program_.refuses_reset) return;
  }
  child.config = start.config;
  child.iteration = 0;
  child.started = true;
  if (start.checkpoint) child.iteration = std::stoll(files_.read(*start.checkpoint + "/state"));
}

void FakeExecutor::step(LaunchId launch) {
  Child& child = children_.at(launch);
  const FakeStep result = program_.step(child.config, ++child.iteration);
  const Seconds when = clock_.time + result.takes_s;
  if (result.hangs) return;
  if (result.exits || result.dies_of) {
    exit(launch, result.exits.value_or(0), result.dies_of.value_or(0), result.takes_s);
  } else if (result.faults) {
    at(when, Faulted{launch, *result.faults});
  } else {
    Reported reported{launch, {}, result.done, result.should_checkpoint, result.hands_over};
    if (!result.metrics.empty()) reported.metrics = parse_metrics(result.metrics);
    at(when, std::move(reported));
  }
}

void FakeExecutor::save(LaunchId launch, const std::string& directory) {
  std::optional<std::string> error;
  if (program_.save_error) error = program_.save_error();
  if (!error) {
    try {
      files_.open_append(directory + "/state")
          ->append(std::to_string(children_.at(launch).iteration));
    } catch (const Error& failed) {
      error = failed.what();
    }
  }
  if (!program_.hangs_in_save) at(clock_.time + instant_s, SaveAnswered{launch, error});
}

void FakeExecutor::exit(LaunchId launch, int code, int signal, Seconds after) {
  at(clock_.time + after, Disconnected{launch});
  at(clock_.time + after, Exited{launch, code, signal});
}

void FakeExecutor::signal(LaunchId launch, int signal) {
  if (children_.contains(launch)) exit(launch, 0, signal, instant_s);
}

bool FakeExecutor::is_live(const Wakeup& wakeup) const {
  return std::visit(
      [this](const auto& what) {
        if constexpr (requires { what.launch; }) {
          return std::is_same_v<std::decay_t<decltype(what)>, LaunchFailed> ||
                 children_.contains(what.launch);
        } else {
          return true;
        }
      },
      wakeup);
}

void FakeExecutor::stand_still() {
  std::vector<Pending> later;
  for (; !pending_.empty(); pending_.pop()) later.push_back(pending_.top());
  for (auto& what : later) {
    what.time += freeze_->second;
    pending_.push(std::move(what));
  }
  clock_.time = std::max(clock_.time, freeze_->first) + freeze_->second;
  freeze_.reset();
}

void FakeExecutor::wait(Seconds deadline, std::vector<Wakeup>& wakeups) {
  if (std::exchange(woken_, false)) deadline = clock_.time;  // what is due now comes with it
  // What a dead child would still have said is never heard.
  while (!pending_.empty() && !is_live(pending_.top().wakeup)) pending_.pop();
  const Seconds next = pending_.empty() ? deadline : std::min(deadline, pending_.top().time);
  ensure(next < 1e15, "something will happen: the loop waits for a reason");
  if (freeze_ && next > freeze_->first) return stand_still();
  clock_.time = std::max(clock_.time, next);
  while (!pending_.empty() && pending_.top().time <= clock_.time) {
    Wakeup wakeup = pending_.top().wakeup;
    pending_.pop();
    if (!is_live(wakeup)) continue;
    if (const auto* exited = std::get_if<Exited>(&wakeup)) children_.erase(exited->launch);
    wakeups.push_back(std::move(wakeup));
  }
}

}  // namespace tune
