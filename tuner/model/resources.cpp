// Text forms of resources, and ResourcePool: amounts in use by name, and the used share of each
// GPU.
#include "tuner/model/resources.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/json_text.h"

namespace tune {

namespace {

/// Ten tenths are one, whatever binary fractions say.
constexpr double tolerance = 1e-9;

const std::string gpu = "gpu";

bool is_whole(double amount) { return std::abs(amount - std::round(amount)) <= tolerance; }

double amount_of(const Resources& resources, const std::string& name) {
  const auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

std::string show(double amount) {
  std::ostringstream text;
  text << amount;
  return text.str();
}

/// What so many of `workers` have of what all have.
Resources share_of(const Resources& all, int some, int workers) {
  Resources share = all;
  for (auto& [name, amount] : share) amount = amount * some / workers;
  return share;
}

/// Takes `amount` off and leaves no dust of rounding behind.
void give_back(double& used, double amount) {
  ensure(used - amount >= -tolerance, "no more resources are released than were acquired");
  used -= amount;
  if (std::abs(used) <= tolerance) used = 0;
}

}  // namespace

std::string numbers_of(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

std::string text_of_resources(const Resources& resources) {
  constexpr double many = 1e15;
  std::string text = "{";
  for (const auto& [name, amount] : resources) {
    if (text.size() > 1) text += ',';
    append_string(text, name);
    text += ':';
    if (amount > 0 && amount < many && std::floor(amount) == amount) {
      append_integer(text, static_cast<std::int64_t>(amount));
      text += ".0";
    } else {
      text += Json(amount).dump();
    }
  }
  text += '}';
  return text;
}

Resources resources_from_text(std::string_view text) {
  const Json json = parse_shallow(text);
  Resources resources;
  if (!json.is_object()) throw std::invalid_argument("resources that are no JSON object");
  for (const auto& [name, amount] : json.items()) {
    if (!amount.is_number() || !(amount.get<double>() >= 0)) {
      throw std::invalid_argument("an amount of resources that is no number from 0");
    }
    resources[name] = amount.get<double>();
  }
  return resources;
}

std::size_t NodeResources::device_count() const {
  return static_cast<std::size_t>(std::max(std::floor(amount_of(totals, gpu) + tolerance), 0.0));
}

std::vector<int> Allocation::gpus() const {
  std::vector<int> all;
  for (const NodeAllocation& each : nodes)
    all.insert(all.end(), each.gpus.begin(), each.gpus.end());
  return all;
}

ResourcePool::ResourcePool(const std::vector<NodeResources>& nodes) {
  for (const NodeResources& node : nodes) add_node(node.totals);
}

void ResourcePool::add_node(const Resources& totals) {
  Node node{.totals = totals};
  for (const auto& [name, amount] : totals) node.used[name] = 0;
  if (!nodes_.empty()) {
    node.first_gpu = nodes_.back().first_gpu + static_cast<int>(nodes_.back().gpu_used.size());
  }
  node.gpu_used.resize(NodeResources{.totals = totals}.device_count());
  nodes_.push_back(std::move(node));
}

bool ResourcePool::has_node() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.is_lost; });
}

std::optional<std::string> ResourcePool::impossible(const Resources& request, int workers) const {
  std::string nearest = "there is no node";
  std::size_t least = std::string::npos;
  const auto there =
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.is_lost; });
  for (const Node& node : nodes_) {
    if (node.is_lost) continue;
    std::string sentence = objection(node, request, there > 1);
    if (sentence.empty()) return std::nullopt;
    // One that lacks less says less.
    const auto lacks = static_cast<std::size_t>(std::count(sentence.begin(), sentence.end(), '\''));
    if (lacks >= least) continue;
    least = lacks;
    nearest = std::move(sentence);
  }
  if (workers == 1 || there < 2) return nearest;
  const Resources each = share_of(request, 1, workers);
  int most = 0;
  for (const Node& node : nodes_) {
    if (node.is_lost) continue;
    Node empty = node;
    for (auto& [name, amount] : empty.used) amount = 0;
    std::fill(empty.gpu_used.begin(), empty.gpu_used.end(), 0);
    most += most_workers(std::move(empty), each, workers);
  }
  if (most >= workers) return std::nullopt;
  if (most == 0) return nearest;
  return nearest + ", and of its " + std::to_string(workers) + " workers only " +
         std::to_string(most) + " fit on all nodes";
}

/// Why the node can never meet `request`; empty if it can.
std::string ResourcePool::objection(const Node& node, const Resources& request,
                                    bool is_one_of_many) {
  std::string sentence;
  for (const auto& [name, amount] : request) {
    const double total = amount_of(node.totals, name);
    std::string reason;
    if (name == gpu && amount > 1 && !is_whole(amount)) {
      reason = "more than one must be a whole number";
    } else if (amount > total + tolerance) {
      const std::string where = is_one_of_many ? " on one node" : " in all";
      reason = total > 0 ? "there are " + show(total) + where : "there is none";
    }
    if (reason.empty()) continue;
    sentence += (sentence.empty() ? "a trial takes " : ", and ") + show(amount) + " of '" + name +
                "', but " + reason;
  }
  return sentence;
}

std::optional<Allocation> ResourcePool::acquire(const Resources& request, int workers,
                                                Placement placement) {
  const bool may_split = workers > 1 && nodes_.size() > 1;
  if (!may_split || placement == Placement::pack) {
    if (auto whole = acquire_on_one(request)) {
      whole->workers = workers;
      Allocation allocation{.amounts = whole->amounts, .nodes = {}};
      allocation.nodes.push_back(*std::move(whole));
      return allocation;
    }
    if (!may_split) return std::nullopt;
  }
  const Resources each = share_of(request, 1, workers);
  const std::vector<int> counts =
      placement == Placement::pack ? pack(each, workers) : spread(each, workers);
  Allocation allocation{.amounts = request, .nodes = {}};
  std::erase_if(allocation.amounts, [](const auto& entry) { return entry.second <= 0; });
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    auto part = acquire(nodes_[i], share_of(request, counts[i], workers));
    ensure(part.has_value(), "what was seen to fit is there");
    part->node = static_cast<int>(i);
    part->workers = counts[i];
    allocation.nodes.push_back(*std::move(part));
  }
  return allocation.nodes.empty() ? std::nullopt : std::optional(std::move(allocation));
}

/// Mostly the reason why something does not fit, and asked each time that something may have come
/// free.
bool ResourcePool::has_room(const Node& node, const Resources& request) {
  return !node.is_lost && std::all_of(request.begin(), request.end(), [&](const auto& wanted) {
    const auto& [name, amount] = wanted;
    return amount <= 0 ||
           amount_of(node.used, name) + amount <= amount_of(node.totals, name) + tolerance;
  });
}

/// Those that are there, the one with the largest part free first.
std::vector<int> ResourcePool::nodes_by_room() const {
  std::vector<std::pair<double, int>> sorted;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_lost) sorted.emplace_back(-free_part(nodes_[i]), static_cast<int>(i));
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> places;
  places.reserve(sorted.size());
  for (const auto& [room, place] : sorted) places.push_back(place);
  return places;
}

std::optional<NodeAllocation> ResourcePool::acquire_on_one(const Resources& request) {
  if (nodes_.size() == 1) {
    return has_room(nodes_.front(), request) ? acquire(nodes_.front(), request) : std::nullopt;
  }
  for (const int place : nodes_by_room()) {
    Node& node = nodes_[static_cast<std::size_t>(place)];
    if (!has_room(node, request)) continue;
    if (auto allocation = acquire(node, request)) {
      allocation->node = place;
      return allocation;
    }
  }
  return std::nullopt;
}

/// So many workers have room on the node, `limit` at most.
int ResourcePool::most_workers(Node node, const Resources& each, int limit) {
  for (int count = limit; count > 0; --count) {
    const Resources share = share_of(each, count, 1);
    if (has_room(node, share) && acquire(node, share)) return count;
  }
  return 0;
}

/// How many workers each node gets, so that few nodes have some; empty if they do not fit.
std::vector<int> ResourcePool::pack(const Resources& each, int workers) const {
  std::vector<std::pair<int, int>> most;
  for (const int place : nodes_by_room()) {
    most.emplace_back(-most_workers(nodes_[static_cast<std::size_t>(place)], each, workers), place);
  }
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> counts(nodes_.size());
  for (const auto& [count, place] : most) {
    if (workers == 0) break;
    const auto at = static_cast<std::size_t>(place);
    counts[at] = most_workers(nodes_[at], each, std::min(workers, -count));
    workers -= counts[at];
  }
  return workers == 0 ? counts : std::vector<int>();
}

/// The same, so that many nodes have some.
std::vector<int> ResourcePool::spread(const Resources& each, int workers) const {
  std::vector<int> counts(nodes_.size());
  const std::vector<int> places = nodes_by_room();
  for (; workers > 0; --workers) {
    std::optional<std::size_t> best;
    for (const int place : places) {
      const auto at = static_cast<std::size_t>(place);
      if (best && counts[at] >= counts[*best]) continue;
      if (most_workers(nodes_[at], each, counts[at] + 1) == counts[at] + 1) best = at;
    }
    if (!best) return {};
    ++counts[*best];
  }
  return counts;
}

std::optional<NodeAllocation> ResourcePool::acquire(Node& node, const Resources& request) {
  if (!objection(node, request, false).empty()) return std::nullopt;
  NodeAllocation allocation;
  const auto gpus = find_gpus(node, amount_of(request, gpu));
  if (!gpus) return std::nullopt;
  for (const auto& [name, amount] : request) {
    if (amount <= 0) continue;
    allocation.amounts[name] = amount;
    node.used[name] += amount;
  }
  for (const int device : *gpus) {
    node.gpu_used[device] += allocation.amounts[gpu] / static_cast<double>(gpus->size());
    allocation.gpus.push_back(node.first_gpu + device);
  }
  return allocation;
}

bool ResourcePool::acquire_again(const Allocation& allocation) {
  std::size_t taken = 0;
  for (const NodeAllocation& each : allocation.nodes) {
    if (!acquire_again(nodes_.at(static_cast<std::size_t>(each.node)), each)) break;
    ++taken;
  }
  if (taken == allocation.nodes.size()) return true;
  for (std::size_t i = 0; i < taken; ++i) release(allocation.nodes[i]);
  return false;
}

bool ResourcePool::acquire_again(Node& node, const NodeAllocation& allocation) {
  if (!has_room(node, allocation.amounts)) return false;
  const double share =
      amount_of(allocation.amounts, gpu) / std::max<double>(1, allocation.gpus.size());
  for (const int device : allocation.gpus) {
    if (node.gpu_used[device - node.first_gpu] + share > 1 + tolerance) return false;
  }
  for (const auto& [name, amount] : allocation.amounts) node.used[name] += amount;
  for (const int device : allocation.gpus) node.gpu_used[device - node.first_gpu] += share;
  return true;
}

std::optional<std::vector<int>> ResourcePool::find_gpus(const Node& node, double amount) {
  std::vector<int> devices;
  if (amount <= 0) return devices;
  const std::vector<double>& used = node.gpu_used;
  const int count = static_cast<int>(used.size());
  if (amount < 1 - tolerance) {
    int least_used = 0;
    for (int i = 1; i < count; ++i) {
      if (used[i] < used[least_used] - tolerance) least_used = i;
    }
    if (count == 0 || used[least_used] + amount > 1 + tolerance) return std::nullopt;
    devices.push_back(least_used);
    return devices;
  }
  const auto wanted = static_cast<std::size_t>(std::round(amount));
  for (int i = 0; i < count && devices.size() < wanted; ++i) {
    if (used[i] <= tolerance) devices.push_back(i);
  }
  return devices.size() == wanted ? std::optional(devices) : std::nullopt;
}

/// Of what it has least of.
double ResourcePool::free_part(const Node& node) {
  double part = 1;
  for (const auto& [name, total] : node.totals) {
    if (total > 0) part = std::min(part, 1 - amount_of(node.used, name) / total);
  }
  return part;
}

void ResourcePool::release(const Allocation& allocation) {
  for (const NodeAllocation& each : allocation.nodes) release(each);
}

void ResourcePool::release(const NodeAllocation& allocation) {
  Node& node = nodes_.at(static_cast<std::size_t>(allocation.node));
  for (const auto& [name, amount] : allocation.amounts) give_back(node.used[name], amount);
  const double share =
      amount_of(allocation.amounts, gpu) / std::max<double>(1, allocation.gpus.size());
  for (const int device : allocation.gpus) {
    give_back(node.gpu_used[device - node.first_gpu], share);
  }
}

Resources ResourcePool::used() const {
  Resources sum;
  for (const Node& node : nodes_) {
    if (node.is_lost) continue;
    for (const auto& [name, amount] : node.used) sum[name] += amount;
  }
  return sum;
}

}  // namespace tune
