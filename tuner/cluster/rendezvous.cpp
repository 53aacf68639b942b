// MASTER_PORT of ranks on other nodes.
#include "tuner/cluster/rendezvous.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tune {

bool Rendezvous::admit(LaunchId launch, LaunchSpec& spec) {
  constexpr std::string_view variable = "MASTER_PORT=";
  const auto is_it = [&](const std::string& text) { return text.starts_with(variable); };
  // The user's.
  if (std::any_of(spec.environment.begin(), spec.environment.end(), is_it)) return true;
  const LaunchId first = *spec.rank->first;
  const auto port = ports_.find(first);
  if (port == ports_.end()) {
    waiting_[first].emplace_back(launch, std::move(spec));
    return false;
  }
  spec.own_environment.push_back(std::string(variable) + std::to_string(port->second));
  return true;
}

std::vector<std::pair<LaunchId, LaunchSpec>> Rendezvous::open(LaunchId first, std::uint16_t port) {
  if (port != 0) ports_.emplace(first, port);
  auto waiting = waiting_.extract(first);
  if (waiting.empty()) return {};
  return std::move(waiting.mapped());
}

std::vector<LaunchId> Rendezvous::close(LaunchId first) {
  ports_.erase(first);
  std::vector<LaunchId> ranks;
  const auto waiting = waiting_.extract(first);
  if (waiting.empty()) return ranks;
  for (const auto& [rank, spec] : waiting.mapped()) ranks.push_back(rank);
  return ranks;
}

bool Rendezvous::withdraw(LaunchId launch) {
  return std::any_of(waiting_.begin(), waiting_.end(), [launch](auto& waiting) {
    return std::erase_if(waiting.second,
                         [launch](const auto& each) { return each.first == launch; }) > 0;
  });
}

}  // namespace tune
