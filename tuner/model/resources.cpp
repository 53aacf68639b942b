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

std::optional<std::string> ResourcePool::impossible(const Resources& request) const {
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
  return nearest;
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

std::optional<Allocation> ResourcePool::acquire(const Resources& request) {
  // First what mostly is the reason, as it is asked each time that something may have come free.
  const auto has_room = [&](const Node& node) {
    return !node.is_lost && std::all_of(request.begin(), request.end(), [&](const auto& wanted) {
      const auto& [name, amount] = wanted;
      return amount <= 0 ||
             amount_of(node.used, name) + amount <= amount_of(node.totals, name) + tolerance;
    });
  };
  if (nodes_.size() == 1) {
    return has_room(nodes_.front()) ? acquire(nodes_.front(), request) : std::nullopt;
  }
  std::vector<std::pair<double, std::size_t>> by_room;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (has_room(nodes_[i])) by_room.emplace_back(-free_part(nodes_[i]), i);
  }
  std::sort(by_room.begin(), by_room.end());
  for (const auto& [room, place] : by_room) {
    if (auto allocation = acquire(nodes_[place], request)) {
      allocation->node = static_cast<int>(place);
      return allocation;
    }
  }
  return std::nullopt;
}

std::optional<Allocation> ResourcePool::acquire(Node& node, const Resources& request) {
  if (!objection(node, request, false).empty()) return std::nullopt;
  Allocation allocation;
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
  Node& node = nodes_.at(static_cast<std::size_t>(allocation.node));
  if (node.is_lost) return false;
  for (const auto& [name, amount] : allocation.amounts) {
    if (amount_of(node.used, name) + amount > amount_of(node.totals, name) + tolerance) {
      return false;
    }
  }
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
