// Notes commands and events by launch, within bounds.
#include "tuner/execution/kept_launch.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace tune {

namespace {

/// Those that have ended are few at a time between an end and its record.
constexpr std::size_t most_ended = 256;
/// Whoever says more without having been asked is about to be ended for it.
constexpr std::size_t most_said = 16;
/// The driver copies no more of them at one time.
constexpr std::size_t most_found = 16;

void on(KeptLaunch& kept, const Launched& event) { kept.started = event; }
void on(KeptLaunch& kept, const Greeted& event) { kept.hello = event.hello; }
void on(KeptLaunch&, const LaunchAdvisory&) {}

void on(KeptLaunch& kept, const CheckpointFound& event) {
  std::erase_if(kept.found,
                [&](const CheckpointFound& other) { return other.files.name == event.files.name; });
  if (kept.found.size() >= most_found) kept.found.erase(kept.found.begin());
  kept.found.push_back(event);
}

template <class Event>
void on(KeptLaunch& kept, const Event& event) {
  constexpr bool is_end = std::is_same_v<Event, Exited> || std::is_same_v<Event, LaunchFailed> ||
                          std::is_same_v<Event, Lost>;
  if constexpr (std::is_same_v<Event, Reported>) kept.is_done = event.done;
  if (is_end || kept.since.size() < most_said) kept.since.emplace_back(event);
  kept.has_ended = kept.has_ended || is_end;
}

}  // namespace

void note(KeptLaunch& kept, const LaunchEvent& event) {
  std::visit([&kept](const auto& what) { on(kept, what); }, event);
}

void KeptLaunches::launch(LaunchId launch, const LaunchSpec& spec) {
  entries_[launch].kept = {.launch = launch, .spec = spec};
}

void KeptLaunches::send(LaunchId launch, const protocol::Command& command, Seconds now) {
  const auto found = entries_.find(launch);
  if (found == entries_.end()) return;
  KeptLaunch& kept = found->second.kept;
  found->second.told_at = now;
  kept.since.clear();
  if (const auto* const start = std::get_if<protocol::Start>(&command)) {
    kept.trial = start->trial_id;
    kept.attempt = start->attempt;
    kept.told = KeptLaunch::Told::start;
    kept.is_done = false;
    kept.found.clear();
    if (!start->reset) return;
    kept.spec.stdout_path = start->stdout_log;
    kept.spec.stderr_path = start->stderr_log;
    kept.started.stderr_begin = 0;
  } else if (const auto* const step = std::get_if<protocol::Step>(&command)) {
    kept.told = KeptLaunch::Told::step;
    kept.iteration = step->iteration;
    kept.is_done = false;
  } else if (const auto* const save = std::get_if<protocol::Save>(&command)) {
    kept.told = KeptLaunch::Told::save;
    kept.iteration = save->iteration;
    kept.directory = save->directory;
  } else {
    kept.told = KeptLaunch::Told::stop;
  }
}

void KeptLaunches::signal(LaunchId launch) {
  const auto found = entries_.find(launch);
  if (found != entries_.end()) found->second.kept.told = KeptLaunch::Told::stop;
}

void KeptLaunches::note(const LaunchEvent& event) {
  const LaunchId launch = std::visit([](const auto& what) { return what.launch; }, event);
  const auto found = entries_.find(launch);
  if (found == entries_.end()) return;
  tune::note(found->second.kept, event);
  if (!found->second.kept.has_ended) return;
  ended_.push_back(launch);
  if (ended_.size() <= most_ended) return;
  entries_.erase(ended_.front());
  ended_.pop_front();
}

std::vector<KeptLaunch> KeptLaunches::all(Seconds now) const {
  std::vector<KeptLaunch> all;
  for (const auto& [launch, entry] : entries_) {
    all.push_back(entry.kept);
    all.back().told_for_s = now - entry.told_at;
  }
  return all;
}

}  // namespace tune
