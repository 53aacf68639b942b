// The param space: how each hyperparameter is drawn, parsed from JSON, and drawing from it.
// How samples and grids are counted is the business of searchers/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/math/random.h"
#include "tuner/model/constraint.h"
#include "tuner/space/domain.h"
#include "tuner/space/space_tree.h"

namespace tune {

/// What SearchSpace::Draw answers, drawn at random from `domain`, which is not a grid or
/// expression.
Json draw_leaf(const Domain& domain, Random& random);

/// A parsed and checked param space.
class SearchSpace {
 public:
  SearchSpace() = default;  ///< of the empty object

  /// Appends everything that is wrong to `problems`, with pointers that start with `pointer`.
  /// Rules: docs/spec.md, "Param space".
  static SearchSpace parse(const Json& json, const std::string& pointer,
                           std::vector<Problem>& problems);

  const Json& json() const { return json_; }

  /// Number of grid points, at most 2^63; 1 without grids. A grid nested in a grid counts per
  /// value, a grid value that `preset` fixes counts once.
  std::uint64_t grid_size(const Json& preset = nullptr) const;
  bool has_grid() const { return tree_.has_grid; }

  /// The number of different configs, counting each grid point; nothing if there are endlessly
  /// many, or more than 2^63.
  std::optional<std::uint64_t> size() const;

  /// The config at `grid_point` (0 <= grid_point < grid_size(preset); the first grid by pointer
  /// order varies fastest), all else drawn from `random` in pointer order; expressions evaluated
  /// last. `preset`: values that are fixed instead of drawn (an object that mirrors the space;
  /// `points_to_evaluate`); check_preset must have found nothing wrong with it.
  /// An expression without a value (it divides by zero, or needs a name that this config lacks)
  /// leaves NaN in its place: `why_unfit` says so, and nobody may try such a config.
  Json sample(std::uint64_t grid_point, Random& random, const Json& preset = nullptr) const;

  /// What can be drawn, for searchers that model it. A leaf's number is its place here.
  const std::vector<SpaceLeaf>& leaves() const { return tree_.leaves; }

  /// Answers with the value of a leaf: a number in its domain, or for a Choice the index of a
  /// value. Asked in pointer order, only for leaves that the config has.
  using Draw = std::function<Json(std::size_t leaf)>;
  /// As `sample`, with the caller's way of drawing.
  Json assemble(std::uint64_t grid_point, const Draw& draw, const Json& preset = nullptr) const;

  /// What is wrong with an expression of `config`, which comes from `assemble`, as a sentence;
  /// nothing if all of them have values.
  std::optional<std::string> without_value(const Json& config) const;
  bool has_expressions() const { return !tree_.formulas.empty(); }

  /// `config`, of which somebody has changed values, with its expressions evaluated anew; NaN where
  /// one has no value, as in `sample`. Whoever changes a config asks this, and then `why_unfit`.
  Json evaluated(Json config) const;

  /// Whether configs have the value of an expression at `pointer`, and never a drawn one.
  bool is_expression(const std::string& pointer) const;

  /// The inverse of `assemble`: by leaf, what must have been drawn for `config` (for a Choice the
  /// index of a value); null for leaves that it does not have.
  std::vector<Json> leaf_values(const Json& config) const;

  /// Whether what a dotted name in an expression ("model.layers.0") stands for is a number in some
  /// config; nothing if the space has no such name.
  std::optional<bool> has_number(const std::string& name) const { return find_number(tree_, name); }

  /// A constraint in which the names that this space has are hyperparameters, all others metrics.
  /// Throws std::invalid_argument.
  Constraint constraint(const std::string& text) const {
    return Constraint(text, [this](const std::string& name) { return has_number(name); });
  }

  /// "lr=0.0012,hidden=32": the drawn values of `config`, pointers shortened to their last part
  /// where that is unique, floats with 4 significant digits; at most 100 characters.
  std::string tag(const Json& config) const;

  /// Whether every value is a grid or fixed, so that sampling twice gives the same configs.
  bool is_deterministic() const { return tree_.leaves.empty(); }

  /// The parts of `preset` that are unknown to the space or outside of their domain, as sentences
  /// with pointers into `preset`. A preset may leave out anything. It may give the values of
  /// expressions beside what they are calculated from, so that a whole config of this space is a
  /// preset; they are evaluated anew all the same.
  std::vector<Problem> check_preset(const Json& preset) const;

 private:
  Json json_ = Json::object();
  SpaceTree tree_;
};

/// Why nobody can try `config`, as a sentence: an expression of the space has no value in it, or it
/// breaks one of `constraints` that are about configs alone. Nothing: it can be tried. All that
/// makes configs asks this, and makes another one.
std::optional<std::string> why_unfit(const SearchSpace& space,
                                     const std::vector<Constraint>& constraints,
                                     const Json& config);

/// Whether `why_unfit` can have an answer.
bool has_unfit(const SearchSpace& space, const std::vector<Constraint>& constraints);

/// That every config was unfit, the last one for that reason; `place`: "in the grid".
std::string all_unfit(const SearchSpace& space, const std::vector<Constraint>& constraints,
                      const std::string& place, const std::string& last_reason);

}  // namespace tune
