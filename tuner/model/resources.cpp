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

ResourcePool::ResourcePool(const Resources& totals) : totals_(totals) {
  for (const auto& [name, amount] : totals_) used_[name] = 0;
  const double devices = std::floor(amount_of(totals_, gpu) + tolerance);
  gpu_used_.resize(static_cast<std::size_t>(std::max(devices, 0.0)));
}

std::optional<std::string> ResourcePool::impossible(const Resources& request) const {
  std::string sentence;
  for (const auto& [name, amount] : request) {
    const double total = amount_of(totals_, name);
    std::string objection;
    if (name == gpu && amount > 1 && !is_whole(amount)) {
      objection = "more than one must be a whole number";
    } else if (amount > total + tolerance) {
      objection = total > 0 ? "there are " + show(total) + " in all" : "there is none";
    }
    if (objection.empty()) continue;
    sentence += (sentence.empty() ? "a trial takes " : ", and ") + show(amount) + " of '" + name +
                "', but " + objection;
  }
  return sentence.empty() ? std::nullopt : std::optional(sentence);
}

std::optional<Allocation> ResourcePool::acquire(const Resources& request) {
  // First what mostly is the reason, as it is asked each time that something may have come free.
  for (const auto& [name, amount] : request) {
    const bool fits = amount_of(used_, name) + amount <= amount_of(totals_, name) + tolerance;
    if (amount > 0 && !fits) return std::nullopt;
  }
  if (impossible(request)) return std::nullopt;
  Allocation allocation;
  const auto gpus = find_gpus(amount_of(request, gpu));
  if (!gpus) return std::nullopt;
  allocation.gpus = *gpus;
  for (const auto& [name, amount] : request) {
    if (amount <= 0) continue;
    allocation.amounts[name] = amount;
    used_[name] += amount;
  }
  for (const int device : allocation.gpus) {
    gpu_used_[device] += allocation.amounts[gpu] / static_cast<double>(allocation.gpus.size());
  }
  return allocation;
}

bool ResourcePool::acquire_again(const Allocation& allocation) {
  for (const auto& [name, amount] : allocation.amounts) {
    if (amount_of(used_, name) + amount > amount_of(totals_, name) + tolerance) return false;
  }
  const double share =
      amount_of(allocation.amounts, gpu) / std::max<double>(1, allocation.gpus.size());
  for (const int device : allocation.gpus) {
    if (gpu_used_[device] + share > 1 + tolerance) return false;
  }
  for (const auto& [name, amount] : allocation.amounts) used_[name] += amount;
  for (const int device : allocation.gpus) gpu_used_[device] += share;
  return true;
}

std::optional<std::vector<int>> ResourcePool::find_gpus(double amount) const {
  std::vector<int> devices;
  if (amount <= 0) return devices;
  const int count = static_cast<int>(gpu_used_.size());
  if (amount < 1 - tolerance) {
    int least_used = 0;
    for (int i = 1; i < count; ++i) {
      if (gpu_used_[i] < gpu_used_[least_used] - tolerance) least_used = i;
    }
    if (count == 0 || gpu_used_[least_used] + amount > 1 + tolerance) return std::nullopt;
    devices.push_back(least_used);
    return devices;
  }
  const auto wanted = static_cast<std::size_t>(std::round(amount));
  for (int i = 0; i < count && devices.size() < wanted; ++i) {
    if (gpu_used_[i] <= tolerance) devices.push_back(i);
  }
  return devices.size() == wanted ? std::optional(devices) : std::nullopt;
}

void ResourcePool::release(const Allocation& allocation) {
  for (const auto& [name, amount] : allocation.amounts) give_back(used_[name], amount);
  const double share =
      amount_of(allocation.amounts, gpu) / std::max<double>(1, allocation.gpus.size());
  for (const int device : allocation.gpus) give_back(gpu_used_[device], share);
}

Resources ResourcePool::used() const { return used_; }

}  // namespace tune
