// What a trial needs and what there is: pure accounting, no detection (execution/local does that).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// Amounts by name: "cpu", "gpu" or any name the user made up. Fractions are allowed.
using Resources = std::map<std::string, double>;

/// JSON text like {"cpu":2.0}, and back; std::invalid_argument if it is something else.
std::string text_of_resources(const Resources& resources);
Resources resources_from_text(std::string_view text);

/// "0,1".
std::string numbers_of(const std::vector<int>& gpus);

/// A machine that trials run on, and what it has.
struct NodeResources {
  std::string name;
  Resources totals;
  std::vector<std::string> gpus;  ///< by device, what CUDA_VISIBLE_DEVICES calls it there
  std::string address = {};       ///< by which other nodes reach it; empty: not known

  /// As many as `totals` says.
  std::size_t device_count() const;
};

/// What a running trial holds of one node.
struct NodeAllocation {
  int node = 0;
  int workers = 1;  ///< of its workers, so many run there
  Resources amounts;
  std::vector<int> gpus;  ///< indices into the pool's devices; a fractional gpu shares one device
};

/// What a running trial holds: of one node, or for its workers of several, in the order of ranks.
struct Allocation {
  Resources amounts;  ///< of all nodes, as they were asked for
  std::vector<NodeAllocation> nodes;

  std::vector<int> gpus() const;
};

/// Where the workers of a trial go.
enum class Placement {
  pack,    ///< on one node, or else on as few as have room
  spread,  ///< on as many as have room
};

/// Hands out resources of one or more nodes. A request of a trial with workers may be met by
/// several nodes, each with the share of some of the workers; any other one is met by one node: of
/// those that have room the one with the largest part free. The devices of all nodes are numbered
/// through, in their order. "gpu" is kept per device: a request below 1 gets a share of the device
/// that is used the least, a whole-number request takes free devices. Requests for more than one
/// gpu must be whole numbers. Amounts are compared with a tolerance of 1e-9.
class ResourcePool {
 public:
  /// One node.
  explicit ResourcePool(const Resources& totals) { add_node(totals); }
  /// To begin with; without any nothing is possible.
  explicit ResourcePool(const std::vector<NodeResources>& nodes);

  void add_node(const Resources& totals);
  /// Nothing of it is given any more.
  void lose_node(int node) { nodes_.at(static_cast<std::size_t>(node)).is_lost = true; }
  /// It is, again.
  void take_back_node(int node) { nodes_.at(static_cast<std::size_t>(node)).is_lost = false; }
  bool has_node() const;

  /// Why `request` can never be met, as one sentence with name, wanted and total; nothing if it
  /// can. A name that the totals lack counts as 0 there. Of several nodes the one counts that comes
  /// nearest.
  std::optional<std::string> impossible(const Resources& request, int workers = 1) const;

  /// Nothing if `request` does not fit beside what is in use, and then nothing is taken. Each of
  /// `workers` has an equal share of it.
  std::optional<Allocation> acquire(const Resources& request, int workers = 1,
                                    Placement placement = Placement::pack);
  /// Takes the devices and amounts of a released `allocation` again; false if they are not free.
  bool acquire_again(const Allocation& allocation);
  void release(const Allocation& allocation);

  /// Of all nodes together that are there.
  Resources used() const;

 private:
  struct Node {
    Resources totals;
    Resources used;
    int first_gpu = 0;
    std::vector<double> gpu_used;  ///< by device, 0..1
    bool is_lost = false;
  };

  static std::string objection(const Node& node, const Resources& request, bool is_one_of_many);
  static bool has_room(const Node& node, const Resources& request);
  static std::optional<NodeAllocation> acquire(Node& node, const Resources& request);
  static std::optional<std::vector<int>> find_gpus(const Node& node, double amount);
  static double free_part(const Node& node);
  static bool acquire_again(Node& node, const NodeAllocation& allocation);
  void release(const NodeAllocation& allocation);

  std::vector<int> nodes_by_room() const;
  std::optional<NodeAllocation> acquire_on_one(const Resources& request);
  static int most_workers(Node node, const Resources& each, int limit);
  std::vector<int> pack(const Resources& each, int workers) const;
  std::vector<int> spread(const Resources& each, int workers) const;

  std::vector<Node> nodes_;
};

}  // namespace tune
