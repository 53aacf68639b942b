// Sorts kept launches by trial and holds each trial's against its record.
#include "tuner/run/trials/adoption.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using Stage = Adoption::Stage;

bool is_unmonitored(const KeptLaunch& kept) {
  return kept.spec.plain && kept.spec.plain->is_unmonitored;
}

/// Nothing: it cannot go on from what is recorded.
std::optional<Stage> stage_of(const Trial& trial, const KeptLaunch& kept) {
  switch (kept.told) {
    case KeptLaunch::Told::start:
      return Stage::ready;
    case KeptLaunch::Told::step:
      if (kept.iteration <= trial.iteration) return Stage::ready;
      if (kept.iteration == trial.iteration + 1) return Stage::stepping;
      return std::nullopt;
    case KeptLaunch::Told::save: {
      const auto index =
          paths::parse_checkpoint_aside(std::filesystem::path(kept.directory).filename().native());
      if (!index || kept.iteration > trial.iteration) return std::nullopt;
      if (*index <= trial.saves || kept.iteration < trial.iteration) return Stage::ready;
      return Stage::saving;
    }
    case KeptLaunch::Told::nothing:
    case KeptLaunch::Told::stop:
      break;
  }
  return std::nullopt;
}

/// That was decided with the last result: it is another trial from now on.
bool is_exploiting(const Trial& trial) {
  return !trial.lineage.empty() && trial.lineage.back().started == 0;
}

std::optional<std::string> value_of(const std::vector<std::string>& environment,
                                    std::string_view name) {
  for (const std::string& variable : environment) {
    if (variable.size() <= name.size() || !variable.starts_with(name)) continue;
    if (variable[name.size()] == '=') return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

/// The devices of a node with these names, as the pool numbers them; nothing if one is not there.
std::optional<std::vector<int>> numbers_of_devices(const std::string& names, std::size_t node,
                                                   const std::vector<NodeResources>& nodes) {
  int first = 0;
  for (std::size_t i = 0; i < node; ++i) first += static_cast<int>(nodes[i].device_count());
  const auto& devices = nodes.at(node).gpus;
  std::vector<int> numbers;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const auto device = std::find(devices.begin(), devices.end(), names.substr(at, end - at));
    if (device == devices.end()) return std::nullopt;
    numbers.push_back(first + static_cast<int>(device - devices.begin()));
    at = end + 1;
  }
  return numbers;
}

/// What they were given, by what they were launched with; nothing if that is not to be seen.
std::optional<Allocation> allocation_of(const std::vector<KeptLaunch>& processes,
                                        const Trial& trial, const ExperimentSpec& spec,
                                        const std::vector<NodeResources>& nodes) {
  Allocation allocation;
  const KeptLaunch& first = processes.front();
  const Resources& own = trial.resources;
  allocation.amounts = own.empty() ? spec.resources_per_trial : own;
  if (!first.spec.rank) {
    const auto given = value_of(first.spec.own_environment, protocol::env_resources);
    if (!given) return std::nullopt;
    try {
      allocation.amounts = resources_from_text(*given);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  std::erase_if(allocation.amounts, [](const auto& amount) { return amount.second <= 0; });
  for (const KeptLaunch& each : processes) {
    if (!allocation.nodes.empty() && allocation.nodes.back().node == each.spec.node) {
      ++allocation.nodes.back().workers;
      continue;
    }
    const std::string names =
        value_of(each.spec.own_environment, "CUDA_VISIBLE_DEVICES").value_or("");
    auto gpus = numbers_of_devices(names, static_cast<std::size_t>(each.spec.node), nodes);
    if (!gpus || (gpus->empty() && allocation.amounts.contains("gpu"))) return std::nullopt;
    allocation.nodes.push_back({each.spec.node, 1, {}, *std::move(gpus)});
  }
  for (NodeAllocation& node : allocation.nodes) {
    node.amounts = allocation.amounts;
    for (auto& [name, amount] : node.amounts) {
      amount = amount * node.workers / static_cast<double>(processes.size());
    }
  }
  return allocation;
}

int rank_of(const KeptLaunch& kept) { return kept.spec.rank ? kept.spec.rank->rank : 0; }

std::optional<Adoption> adoption_of(const Trial& trial, std::vector<KeptLaunch> processes,
                                    const ExperimentSpec& spec,
                                    const std::vector<NodeResources>& nodes) {
  std::sort(processes.begin(), processes.end(),
            [](const KeptLaunch& a, const KeptLaunch& b) { return rank_of(a) < rank_of(b); });
  const int count = spec.workers ? spec.workers->count : 1;
  Adoption adoption{.trial = trial.id, .allocation = {}, .processes = {}};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const KeptLaunch& kept = processes[i];
    const bool is_in_place = kept.spec.rank.has_value() == spec.workers.has_value() &&
                             rank_of(kept) == static_cast<int>(i);
    if (!is_in_place || !kept.hello || kept.told == KeptLaunch::Told::nothing) return std::nullopt;
    if (is_unmonitored(kept)) continue;
    const auto stage = stage_of(trial, kept);
    if (!stage) return std::nullopt;
    // A step may follow on a save whose checkpoint is not committed yet.
    if (*stage == Stage::stepping || adoption.stage == Stage::ready) adoption.stage = *stage;
  }
  if (static_cast<int>(processes.size()) != count) return std::nullopt;
  adoption.processes = std::move(processes);
  const KeptLaunch& told = adoption.told();
  // Who says that it is done is not told to step.
  const bool cannot_go_on = is_exploiting(trial) || (told.is_done && !trial.stopping);
  if (adoption.stage == Stage::ready && cannot_go_on) return std::nullopt;
  if (adoption.stage == Stage::saving) {
    adoption.save_index =
        *paths::parse_checkpoint_aside(std::filesystem::path(told.directory).filename().native());
  }
  auto allocation = allocation_of(adoption.processes, trial, spec, nodes);
  if (!allocation) return std::nullopt;
  adoption.allocation = *std::move(allocation);
  return adoption;
}

}  // namespace

bool Adoption::is_told(const KeptLaunch& process) const {
  if (is_unmonitored(process) || stage == Stage::ready) return true;
  const KeptLaunch& one = told();
  return process.told == one.told && process.iteration == one.iteration;
}

const KeptLaunch& Adoption::told() const {
  const KeptLaunch* best = &processes.front();
  for (const KeptLaunch& each : processes) {
    if (is_unmonitored(each)) continue;
    const bool is_later = each.iteration > best->iteration ||
                          (each.iteration == best->iteration && each.told > best->told);
    if (is_later) best = &each;
  }
  return *best;
}

bool AdoptionPlan::is_adopted(TrialId trial) const {
  return std::any_of(adopted.begin(), adopted.end(),
                     [trial](const Adoption& each) { return each.trial == trial; });
}

std::set<LaunchId> AdoptionPlan::launches() const {
  std::set<LaunchId> launches;
  for (const Adoption& each : adopted) {
    for (const KeptLaunch& process : each.processes) launches.insert(process.launch);
  }
  return launches;
}

AdoptionPlan plan_adoption(const Experiment& experiment, const ExperimentSpec& spec,
                           const std::vector<NodeResources>& nodes, std::vector<KeptLaunch> kept,
                           const std::set<TrialId>& only) {
  AdoptionPlan plan;
  std::map<TrialId, std::vector<KeptLaunch>> by_trial;
  for (KeptLaunch& each : kept) {
    plan.last_launch = std::max(plan.last_launch, each.launch);
    const auto id = parse_trial_id(each.trial);
    const bool is_known =
        id && experiment.running().contains(*id) && experiment.trial(*id).attempt == each.attempt;
    if (is_known && (only.empty() || only.contains(*id))) by_trial[*id].push_back(std::move(each));
  }
  ResourcePool pool(nodes);
  for (auto& [id, processes] : by_trial) {
    auto adoption = adoption_of(experiment.trial(id), std::move(processes), spec, nodes);
    if (adoption && pool.acquire_again(adoption->allocation)) {
      plan.adopted.push_back(*std::move(adoption));
    }
  }
  return plan;
}

}  // namespace tune
