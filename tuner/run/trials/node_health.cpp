// Streaks of failures, by node.
#include "tuner/run/trials/node_health.h"

#include <algorithm>

namespace tune {

NodeHealth::Verdict NodeHealth::on_failure(int number, TrialId trial, const std::string& reason,
                                           Blame blame, Seconds began_at) {
  if (blame == Blame::config) return Verdict::open;
  constexpr std::size_t most_kinds = 1000;
  if (nodes_of_kind_.size() > most_kinds) nodes_of_kind_.clear();
  const std::string kind = kind_of_failure(reason);
  nodes_of_kind_[kind].insert(number);
  Node& node = at(number);
  if (node.state == State::left_out) {
    return nodes_of_kind_[kind].size() == 1 ? Verdict::is_left_out : Verdict::open;
  }
  const bool is_known = std::any_of(node.streak.begin(), node.streak.end(),
                                    [&](const Failure& each) { return each.trial == trial; });
  // A trial that was not even started says as much as another one would.
  if (is_known && blame != Blame::machine) return Verdict::open;
  node.streak_began_at = node.streak.empty() ? began_at : std::min(node.streak_began_at, began_at);
  node.streak.push_back({trial, kind});
  node.last_error = reason.substr(0, reason.find('\n'));
  // What another node has had, too, counts no more. The last node, which is never left out, may
  // fail for ever.
  std::erase_if(node.streak,
                [this](const Failure& each) { return nodes_of_kind_[each.kind].size() > 1; });
  if (node.streak.size() < most_failures_in_a_row) return Verdict::open;
  if (node.streak.size() > most_failures_in_a_row) node.streak.erase(node.streak.begin());
  const auto used = std::count_if(nodes_.begin(), nodes_.end(),
                                  [](const Node& each) { return each.state == State::used; });
  if (node.state != State::used || used < 2) return Verdict::open;
  node.state = State::left_out;
  return Verdict::left_out;
}

void NodeHealth::on_result(int number, Seconds began_at) {
  Node& node = at(number);
  if (!node.streak.empty() && began_at >= node.streak_began_at) node.streak.clear();
}

std::vector<int> NodeHealth::take_back() {
  std::vector<int> back;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != State::left_out) continue;
    nodes_[i] = {};
    back.push_back(static_cast<int>(i));
  }
  return back;
}

std::vector<NodeHealth::LeftOut> NodeHealth::left_out() const {
  std::vector<LeftOut> all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != State::left_out) continue;
    all.push_back({static_cast<int>(i), nodes_[i].last_error});
  }
  return all;
}

std::set<TrialId> NodeHealth::failed_on(int node) const {
  std::set<TrialId> trials;
  for (const Failure& each : nodes_.at(static_cast<std::size_t>(node)).streak) {
    trials.insert(each.trial);
  }
  return trials;
}

}  // namespace tune
