// Owns the groups and finds them by launch id; as their Transport, passes commands and signals on
// to the executor.
#include "tuner/run/workers/worker_groups.h"

#include <algorithm>
#include <csignal>
#include <iterator>

#include "tuner/base/error.h"

namespace tune {

WorkerGroup& WorkerGroups::open(Allocation allocation) {
  all_.emplace_back(static_cast<Transport&>(*this), timeouts_, std::move(allocation));
  places_.emplace(&all_.back(), std::prev(all_.end()));
  return all_.back();
}

WorkerGroup& WorkerGroups::adopt(Allocation allocation, const WorkerGroup::Adopted& adopted) {
  WorkerGroup& worker_group = open(std::move(allocation));
  for (const auto& process : adopted.processes) {
    processes_.emplace(process.launched.launch, Process{&worker_group, true});
  }
  worker_group.adopt(adopted);
  return worker_group;
}

void WorkerGroups::close(WorkerGroup& worker_group) {
  ensure(!worker_group.has_processes(), "a worker group ends with its processes");
  deadlines_.erase({worker_group.deadline(), &worker_group});
  const auto place = places_.find(&worker_group);
  all_.erase(place->second);
  places_.erase(place);
}

WorkerGroup* WorkerGroups::of(LaunchId launch) {
  const auto found = processes_.find(launch);
  return found == processes_.end() ? nullptr : found->second.worker_group;
}

bool WorkerGroups::any_lives() const {
  return std::any_of(all_.begin(), all_.end(), [](const WorkerGroup& each) {
    return each.has_processes() && each.state() != WorkerGroup::State::lost;
  });
}

Seconds WorkerGroups::deadline() const {
  return deadlines_.empty() ? never_s : deadlines_.begin()->first;
}

WorkerGroup* WorkerGroups::late() const {
  return deadline() <= clock_.steady() ? deadlines_.begin()->second : nullptr;
}

void WorkerGroups::extend_deadlines(Seconds seconds) {
  for (WorkerGroup& each : all_) each.extend_deadlines(seconds);
}

void WorkerGroups::abandon(Reactor& reactor, Seconds patience_s) {
  std::erase_if(processes_, [](const auto& entry) { return !entry.second.is_launched; });
  for (const auto& [id, process] : processes_) executor_.signal(id, SIGTERM);
  const Seconds deadline = clock_.steady() + patience_s;
  std::vector<Wakeup> wakeups;
  bool hurries = false;
  while (!processes_.empty() && !hurries && clock_.steady() < deadline) {
    wakeups.clear();
    reactor.wait(deadline, wakeups);
    for (const auto& wakeup : wakeups) {
      if (const auto* const exited = std::get_if<Exited>(&wakeup)) {
        forget(exited->launch);
      } else if (const auto* const failed = std::get_if<LaunchFailed>(&wakeup)) {
        forget(failed->launch);
      } else if (const auto* const lost = std::get_if<Lost>(&wakeup)) {
        forget(lost->launch);
      } else if (std::holds_alternative<Interrupted>(wakeup)) {
        hurries = true;
      }
    }
  }
  for (const auto& [id, process] : processes_) executor_.signal(id, SIGKILL);
}

LaunchId WorkerGroups::launch(WorkerGroup& worker_group, LaunchSpec spec) {
  const LaunchId id{++last_launch_};
  processes_.emplace(id, Process{&worker_group});
  after_write_.add([this, id, spec = std::move(spec)]() mutable {
    processes_.at(id).is_launched = true;
    executor_.launch(id, std::move(spec));
  });
  return id;
}

void WorkerGroups::send(LaunchId launch, protocol::Command command) {
  // What comes with each result is kept small.
  if (const auto* const step = std::get_if<protocol::Step>(&command)) {
    after_write_.add([this, launch, step = *step] { executor_.send(launch, step); });
    return;
  }
  after_write_.add(
      [this, launch, command = std::move(command)] { executor_.send(launch, command); });
}

void WorkerGroups::signal(LaunchId launch, int signal) {
  after_write_.add([this, launch, signal] { executor_.signal(launch, signal); });
}

void WorkerGroups::remind(WorkerGroup& worker_group, Seconds before) {
  deadlines_.erase({before, &worker_group});
  if (worker_group.deadline() != never_s) {
    deadlines_.insert({worker_group.deadline(), &worker_group});
  }
}

}  // namespace tune
