// What a driver knows of its nodes: which has an agent, what runs on each, and when what ran on a
// lost one runs no more for sure. Knows no connection, launcher or clock: times are handed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/execution/kept_launch.h"
#include "tuner/model/resources.h"

namespace tune {

/// What a node has where the user has said so: `given` instead of what its agent has found. Error
/// (user) if it lacks gpus for that.
NodeResources with_given(NodeResources node, const Resources& given);

/// A node has one agent, and is lost with it for ever: who joins from there later is another node,
/// and is admitted once nothing of the last one can run any more. All times are since boot.
class NodeTable {
 public:
  struct Node {
    NodeResources resources;
    std::string proof;             ///< its agent's file
    Seconds heard_at = 0;          ///< the last time that its agent was
    bool is_handing_over = false;  ///< its agent, which had another driver, says what it has kept
    bool is_lost = false;
    std::string why_lost = {};   ///< a phrase
    std::string dismissed = {};  ///< it was told to leave, since; a phrase
    /// Its agent has ended by itself and so has all that it ran.
    bool has_ended = false;
    std::uint64_t renewal = 0;         ///< the last one that was heard
    std::set<LaunchId> launches = {};  ///< that have not ended
    /// Of a driver before, until they are adopted: nothing of them is an event yet.
    std::map<LaunchId, KeptLaunch> kept = {};
  };
  /// A launch, and the place of its node.
  using Placed = std::pair<std::size_t, LaunchId>;

  /// An agent ends what it runs `after_lease_s` after its lease at the latest. `is_seen_dead`:
  /// whether a lost node's agent is known to run no more before that.
  NodeTable(Seconds lease_s, Seconds after_lease_s, std::function<bool(const Node&)> is_seen_dead)
      : lease_s_(lease_s), after_lease_s_(after_lease_s), is_seen_dead_(std::move(is_seen_dead)) {}

  /// Places are from 0, as Allocation numbers nodes.
  std::size_t size() const { return nodes_.size(); }
  const Node& at(std::size_t place) const { return nodes_.at(place); }
  bool is_any_handing_over() const;

  /// One of that name that has an agent, or whose trials may run yet.
  const Node* find(const std::string& name) const;
  /// Why no agent may join from there now, as a sentence; empty: one may.
  std::string refusal(const std::string& name) const;
  /// Of one that may join. Answers its place.
  std::size_t join(NodeResources resources, std::string proof, bool is_back, Seconds now);
  /// Gives places in the order of these names, others behind them as they came. Answers by place
  /// the one before. While nothing is launched.
  std::vector<std::size_t> order_by(const std::vector<std::string>& names);

  void hear(std::size_t place, Seconds now) { nodes_.at(place).heard_at = now; }
  /// Its agent asks for its lease to go on. Throws WireError.
  void renew(std::size_t place, std::uint64_t number);
  /// It has been silent for the whole of its lease.
  bool is_silent(std::size_t place, Seconds now) const;
  /// It is told to leave: its loss is planned.
  void dismiss(std::size_t place, std::string reason);
  void note_end(std::size_t place) { nodes_.at(place).has_ended = true; }
  void lose(std::size_t place, const std::string& reason);

  void begin(std::size_t place, LaunchId launch);
  void end(LaunchId launch);
  std::optional<std::size_t> place_of(LaunchId launch) const;
  /// What ran on a node that is lost has ended, or must have by its agent's lease.
  bool is_over(const Node& node, Seconds now) const;
  /// What ran on a lost node, once that is over: it is no launch any more.
  std::vector<LaunchId> take_lost(std::size_t place, Seconds now);

  // What agents of a driver that has died have kept, from their join until `adopt`.
  /// Throws WireError.
  void keep(std::size_t place, KeptLaunch kept);
  void handed_over(std::size_t place) { nodes_.at(place).is_handing_over = false; }
  /// Whether that is a kept launch; the event is noted there.
  bool note_kept(std::size_t place, LaunchId launch, const LaunchEvent& event);
  std::vector<KeptLaunch> kept() const;
  /// What has not ended of it, but for these.
  std::vector<Placed> kept_besides(const std::set<LaunchId>& launches) const;
  bool has_kept_ended(const Placed& kept, Seconds now) const;
  /// Of these, which are launches from now on unless they have ended; the others are forgotten.
  std::map<LaunchId, KeptLaunch> adopt(const std::set<LaunchId>& launches);

 private:
  const Seconds lease_s_;
  const Seconds after_lease_s_;
  const std::function<bool(const Node&)> is_seen_dead_;
  std::vector<Node> nodes_;
  std::unordered_map<LaunchId, std::size_t> places_;
};

}  // namespace tune
