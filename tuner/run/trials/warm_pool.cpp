// The set of idle processes with their measured memory, and the eviction order.
#include "tuner/run/trials/warm_pool.h"

#include <algorithm>
#include <unordered_map>

namespace tune {

namespace {

std::uint64_t all_of(const std::optional<MemoryMeter::Use>& use) {
  return use ? use->bytes + use->device_bytes : 0;
}

}  // namespace

void WarmPool::add(TrialId trial, Kept kept) {
  remove(trial);
  by_eviction_priority_.insert({kept.eviction_priority, trial});
  processes_ += kept.groups.size();
  kept_.emplace(trial, std::move(kept));
}

const WarmPool::Kept* WarmPool::find(TrialId trial) const {
  const auto found = kept_.find(trial);
  return found == kept_.end() ? nullptr : &found->second;
}

std::optional<TrialId> WarmPool::find(const WorkerGroup& worker_group) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& entry) {
    return entry.second.worker_group == &worker_group;
  });
  return found == kept_.end() ? std::nullopt : std::optional(found->first);
}

void WarmPool::remove(TrialId trial) {
  const auto found = kept_.find(trial);
  if (found == kept_.end()) return;
  by_eviction_priority_.erase({found->second.eviction_priority, trial});
  bytes_ -= all_of(found->second.use);
  processes_ -= found->second.groups.size();
  if (found->second.use) --measured_;
  kept_.erase(found);
}

std::vector<TrialId> WarmPool::trials() const {
  std::vector<TrialId> trials;
  for (const auto& [trial, kept] : kept_) trials.push_back(trial);
  return trials;
}

std::vector<std::int64_t> WarmPool::groups() const {
  std::vector<std::int64_t> groups;
  for (const auto& [trial, kept] : kept_) {
    groups.insert(groups.end(), kept.groups.begin(), kept.groups.end());
  }
  return groups;
}

void WarmPool::measured(const std::vector<std::int64_t>& groups,
                        const std::vector<MemoryMeter::Use>& uses, std::uint64_t available) {
  std::unordered_map<std::int64_t, MemoryMeter::Use> use_of;
  for (std::size_t i = 0; i < groups.size() && i < uses.size(); ++i) use_of[groups[i]] = uses[i];
  std::uint64_t main_bytes = 0;
  for (auto& [trial, kept] : kept_) {
    const auto is_measured = [&](std::int64_t group) { return use_of.contains(group); };
    if (!std::all_of(kept.groups.begin(), kept.groups.end(), is_measured)) continue;
    MemoryMeter::Use use;
    for (const std::int64_t group : kept.groups) {
      use.bytes += use_of[group].bytes;
      use.device_bytes += use_of[group].device_bytes;
    }
    bytes_ += all_of(use) - all_of(kept.use);
    if (!kept.use) ++measured_;
    kept.use = use;
    main_bytes += use.bytes;
  }
  // Of what would be free without them.
  constexpr std::uint64_t parts = 4;
  budget_ = (available + main_bytes) / parts;
}

std::optional<TrialId> WarmPool::next_to_evict(const std::optional<KeepPaused>& limit) const {
  if (kept_.empty()) return std::nullopt;
  const TrialId least = by_eviction_priority_.begin()->second;
  if (!limit) {
    // Nobody has said that it holds a device, which others need now.
    const auto holds_device = [](const auto& entry) {
      return entry.second.use && entry.second.use->device_bytes > 0;
    };
    const auto holder = std::find_if(kept_.begin(), kept_.end(), holds_device);
    if (holder != kept_.end()) return holder->first;
  }
  const bool too_many =
      processes_ > (limit ? limit->processes.value_or(processes_) : most_by_default);
  const auto most_bytes = limit ? limit->bytes : budget_;
  return too_many || (most_bytes && bytes_ > *most_bytes) ? std::optional(least) : std::nullopt;
}

}  // namespace tune
