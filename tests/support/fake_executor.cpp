#include "tests/support/fake_executor.h"

#include <algorithm>
#include <iterator>

namespace tune {

namespace {

constexpr Seconds instant_s = 1e-4;

SimulatedProgram simulated(FakeProgram fake) {
  SimulatedProgram program;
  program.step = [step = std::move(fake.step)](SimulatedRun& run) {
    FakeStep done = step(run.config, run.iteration);
    SimulatedStep simulated{.takes_s = done.takes_s,
                            .done = done.done,
                            .should_checkpoint = done.should_checkpoint,
                            .hands_over = std::move(done.hands_over),
                            .exits = done.exits,
                            .dies_of = done.dies_of,
                            .faults = std::move(done.faults),
                            .hangs = done.hangs};
    if (!done.metrics.empty()) simulated.metrics = parse_metrics(done.metrics);
    return simulated;
  };
  program.launch_s = 2 * instant_s;
  program.save_s = instant_s;
  program.exit_s = fake.exit_s;
  program.is_function = fake.is_function;
  program.can_save = fake.can_save;
  program.can_reset = fake.can_reset;
  program.can_stay = fake.can_stay;
  program.runs_to_end = fake.runs_to_end;
  program.cannot_launch = fake.cannot_launch;
  program.is_trials_fault = fake.is_trials_fault;
  program.refuses_reset = fake.refuses_reset;
  program.hangs_in_save = fake.hangs_in_save;
  program.save_error = std::move(fake.save_error);
  return program;
}

}  // namespace

FakeExecutor::FakeExecutor(VirtualClock& clock, FileSystem& files, FakeProgram program)
    : StateFiles(files),
      SimulatedExecutor(clock, static_cast<StateFiles&>(*this), simulated(std::move(program))),
      clock_(clock) {}

void FakeExecutor::launch(LaunchId launch, LaunchSpec spec) {
  count_use();
  specs.push_back(spec);
  ++launches;
  if (std::count(lost_nodes_.begin(), lost_nodes_.end(), spec.node) > 0) {
    return at(clock_.time, Lost{launch, "its node is lost"});
  }
  while (!becomes_bad.empty() && becomes_bad.front().first <= clock_.time) {
    const int node = becomes_bad.front().second;
    becomes_bad.erase(becomes_bad.begin());
    if (node < 0) bad_nodes.clear();
    if (node >= 0) bad_nodes.insert(node);
  }
  if (bad_nodes.contains(-1 - spec.node)) {
    return at(clock_.time + instant_s, LaunchFailed{launch, "there is no python3 there"});
  }
  if (bad_nodes.contains(spec.node)) {
    at(clock_.time + 4 * instant_s, Exited{.launch = launch, .exit_code = 1});
  }
  nodes_.emplace_back(launch, spec.node);
  kept_.launch(launch, spec);
  SimulatedExecutor::launch(launch, std::move(spec));
  most_live = std::max(most_live, live());
}

void FakeExecutor::send(LaunchId launch, const protocol::Command& command) {
  count_use();
  kept_.send(launch, command, clock_.time);
  SimulatedExecutor::send(launch, command);
}

void FakeExecutor::signal(LaunchId launch, int signal) {
  count_use();
  kept_.signal(launch);
  SimulatedExecutor::signal(launch, signal);
}

void FakeExecutor::count_use() {
  if (uses_left_ > 0 && --uses_left_ == 0) throw DriverDies();
}

void FakeExecutor::note(const std::vector<Wakeup>& wakeups) {
  for (const Wakeup& wakeup : wakeups) {
    std::visit(
        [this](const auto& what) {
          if constexpr (std::is_constructible_v<LaunchEvent, decltype(what)>) kept_.note(what);
        },
        wakeup);
  }
}

void FakeExecutor::keep_only(const std::set<LaunchId>& adopted) {
  for (const KeptLaunch& each : kept()) {
    if (!adopted.contains(each.launch)) at(clock_.time, Lost{each.launch, "it was ended"});
  }
  // Nobody hears that.
  std::vector<Wakeup> unheard;
  SimulatedExecutor::wait(clock_.time, unheard);
  note(unheard);
}

void FakeExecutor::wait(Seconds deadline, std::vector<Wakeup>& wakeups) {
  ++waits;
  count_use();
  if (dies_at_ != never_s && !is_woken() && std::min(deadline, next_event()) >= dies_at_) {
    clock_.time = std::max(clock_.time, dies_at_);
    dies_at_ = never_s;
    throw DriverDies();
  }
  std::vector<Wakeup> happened;
  wait_for_events(deadline, happened);
  note(happened);
  count_use();
  std::move(happened.begin(), happened.end(), std::back_inserter(wakeups));
}

void FakeExecutor::wait_for_events(Seconds deadline, std::vector<Wakeup>& wakeups) {
  if (!freeze_ || std::min(deadline, next_event()) <= freeze_->first) {
    SimulatedExecutor::wait(deadline, wakeups);
    for (const Wakeup& wakeup : wakeups) {
      const auto* const lost = std::get_if<NodeLost>(&wakeup);
      if (lost == nullptr) continue;
      lost_nodes_.push_back(lost->node);
      for (const auto& [launch, node] : nodes_) {
        if (node == lost->node && is_live(launch)) at(clock_.time, Lost{launch, lost->reason});
      }
    }
    return;
  }
  delay_all(freeze_->second);
  clock_.time = std::max(clock_.time, freeze_->first) + freeze_->second;
  freeze_.reset();
}

}  // namespace tune
