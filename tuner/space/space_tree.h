// A param space as a tree: parsed once, so that drawing a config reads no JSON rules again.
// Knows how the parts nest, but not how a config is drawn: search_space.h does.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/base/expression.h"
#include "tuner/space/domain.h"
#include "tuner/space/prior.h"

namespace tune {

/// A place where something is drawn.
struct SpaceLeaf {
  std::string pointer;       ///< in the config; two branches of a choice may share one
  Domain domain;             ///< Uniform, Normal, Integer or Choice
  std::string text;          ///< the domain as written, for messages
  bool conditional = false;  ///< below a value of a choice or grid: not in every config
  std::optional<UserPrior> prior = std::nullopt;
};

/// One part of a param space.
struct SpaceNode {
  struct Fixed {
    Json value;
  };
  struct Object {
    std::vector<std::pair<std::string, SpaceNode>> members;  ///< sorted by key
  };
  struct List {
    std::vector<SpaceNode> elements;
  };
  /// A Uniform, Normal or Integer.
  struct Number {
    std::size_t leaf;  ///< in SpaceTree::leaves
  };
  struct Branches {
    std::vector<SpaceNode> values;
    bool is_grid;
    std::size_t leaf;  ///< of a choice
    std::string text;  ///< as written, for messages
  };
  struct Formula {
    Expression expression;
    std::string pointer;  ///< of its value in the config
  };

  /// More points than can be counted.
  static constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();

  std::variant<Fixed, Object, List, Number, Branches, Formula> body = Fixed{};
  std::uint64_t grid_size = 1;  ///< of this part alone; `too_many` if above 2^63
};

struct SpaceTree {
  SpaceNode root{SpaceNode::Object{}, 1};
  std::vector<SpaceLeaf> leaves;  ///< in pointer order, a choice before what is in its values
  std::vector<Json::json_pointer> formulas;  ///< where in a config; some configs may lack them
  bool has_grid = false;
};

/// Appends everything that is wrong to `problems`, with pointers that start with `pointer`.
SpaceTree parse_space_tree(const Json& json, const std::string& pointer,
                           std::vector<Problem>& problems);

/// Products and sums of grid sizes that stick at `too_many` instead of going past 2^63.
std::uint64_t multiply_sizes(std::uint64_t a, std::uint64_t b);
std::uint64_t add_sizes(std::uint64_t a, std::uint64_t b);

/// Whether what the dotted `name` ("model.layers.0") stands for is a number in some config; nothing
/// if the space has no such name.
std::optional<bool> find_number(const SpaceTree& tree, const std::string& name);

}  // namespace tune
