// Leases, launches by node, and what is handed over between drivers.
#include "tuner/cluster/node_table.h"

#include <algorithm>
#include <numeric>

#include "tuner/base/error.h"
#include "tuner/cluster/messages.h"

namespace tune {

NodeResources with_given(NodeResources node, const Resources& given) {
  const std::size_t found = node.gpus.size();
  for (const auto& [name, amount] : given) node.totals[name] = amount;
  const std::size_t devices = node.device_count();
  if (found > 0 && devices > found) {
    throw user_error(std::to_string(devices) + " gpus are given in resources, but node " +
                     node.name + " has only " + std::to_string(found));
  }
  for (std::size_t i = node.gpus.size(); i < devices; ++i) node.gpus.push_back(std::to_string(i));
  node.gpus.resize(devices);
  return node;
}

bool NodeTable::is_any_handing_over() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.is_handing_over; });
}

const NodeTable::Node* NodeTable::find(const std::string& name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return node.resources.name == name && (!node.is_lost || !node.launches.empty());
  });
  return found == nodes_.end() ? nullptr : &*found;
}

std::string NodeTable::refusal(const std::string& name) const {
  const Node* const other = find(name);
  if (other == nullptr) return "";
  return other->is_lost ? "what ran on node " + name + " under its last agent may run yet"
                        : "node " + name + " has an agent already";
}

std::size_t NodeTable::join(NodeResources resources, std::string proof, bool is_back, Seconds now) {
  ensure(refusal(resources.name).empty(), "a node has one agent");
  nodes_.push_back({.resources = std::move(resources),
                    .proof = std::move(proof),
                    .heard_at = now,
                    .is_handing_over = is_back});
  return nodes_.size() - 1;
}

std::vector<std::size_t> NodeTable::order_by(const std::vector<std::string>& names) {
  ensure(places_.empty(), "nodes have their order before anything is launched");
  const auto rank_of = [&](std::size_t place) {
    return std::find(names.begin(), names.end(), nodes_[place].resources.name) - names.begin();
  };
  std::vector<std::size_t> before(nodes_.size());
  std::iota(before.begin(), before.end(), std::size_t{0});
  std::stable_sort(before.begin(), before.end(), [&](std::size_t left, std::size_t right) {
    return rank_of(left) < rank_of(right);
  });
  std::vector<Node> ordered;
  for (const std::size_t place : before) ordered.push_back(std::move(nodes_[place]));
  nodes_ = std::move(ordered);
  return before;
}

void NodeTable::renew(std::size_t place, std::uint64_t number) {
  Node& node = nodes_.at(place);
  if (number != node.renewal + 1) throw WireError("a renewal out of its order");
  node.renewal = number;
}

bool NodeTable::is_silent(std::size_t place, Seconds now) const {
  return now > nodes_.at(place).heard_at + lease_s_;
}

void NodeTable::dismiss(std::size_t place, std::string reason) {
  nodes_.at(place).dismissed = std::move(reason);
}

void NodeTable::lose(std::size_t place, const std::string& reason) {
  Node& node = nodes_.at(place);
  ensure(!node.is_lost, "a node is lost once");
  node.is_lost = true;
  node.is_handing_over = false;
  node.why_lost = "node " + node.resources.name +
                  (node.dismissed.empty() ? " is lost: " + reason : " has left: " + node.dismissed);
}

void NodeTable::begin(std::size_t place, LaunchId launch) {
  nodes_.at(place).launches.insert(launch);
  places_.emplace(launch, place);
}

void NodeTable::end(LaunchId launch) {
  const auto found = places_.find(launch);
  if (found == places_.end()) return;
  nodes_[found->second].launches.erase(launch);
  places_.erase(found);
}

std::optional<std::size_t> NodeTable::place_of(LaunchId launch) const {
  const auto found = places_.find(launch);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

bool NodeTable::is_over(const Node& node, Seconds now) const {
  return node.is_lost && (node.has_ended || is_seen_dead_(node) ||
                          now >= node.heard_at + lease_s_ + after_lease_s_);
}

std::vector<LaunchId> NodeTable::take_lost(std::size_t place, Seconds now) {
  Node& node = nodes_.at(place);
  if (node.launches.empty() || !is_over(node, now)) return {};
  for (const LaunchId launch : node.launches) places_.erase(launch);
  const std::set<LaunchId> launches = std::exchange(node.launches, {});
  return {launches.begin(), launches.end()};
}

void NodeTable::keep(std::size_t place, KeptLaunch kept) {
  Node& node = nodes_.at(place);
  if (!node.is_handing_over) throw WireError("a launch that was kept, of nobody who is back");
  const LaunchId launch = kept.launch;
  node.kept.insert_or_assign(launch, std::move(kept));
}

bool NodeTable::note_kept(std::size_t place, LaunchId launch, const LaunchEvent& event) {
  Node& node = nodes_.at(place);
  const auto kept = node.kept.find(launch);
  if (kept == node.kept.end()) return false;
  note(kept->second, event);
  return true;
}

std::vector<KeptLaunch> NodeTable::kept() const {
  std::vector<KeptLaunch> kept;
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    for (const auto& [launch, each] : nodes_[place].kept) {
      kept.push_back(each);
      kept.back().spec.node = static_cast<int>(place);
    }
  }
  return kept;
}

std::vector<NodeTable::Placed> NodeTable::kept_besides(const std::set<LaunchId>& launches) const {
  std::vector<Placed> others;
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    for (const auto& [launch, each] : nodes_[place].kept) {
      if (!each.has_ended && !launches.contains(launch)) others.emplace_back(place, launch);
    }
  }
  return others;
}

bool NodeTable::has_kept_ended(const Placed& kept, Seconds now) const {
  const Node& node = nodes_.at(kept.first);
  return node.kept.at(kept.second).has_ended || is_over(node, now);
}

std::map<LaunchId, KeptLaunch> NodeTable::adopt(const std::set<LaunchId>& launches) {
  std::map<LaunchId, KeptLaunch> adopted;
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    for (auto& [launch, each] : std::exchange(nodes_[place].kept, {})) {
      if (!launches.contains(launch)) continue;
      if (!each.has_ended) begin(place, launch);
      adopted.emplace(launch, std::move(each));
    }
  }
  return adopted;
}

}  // namespace tune
