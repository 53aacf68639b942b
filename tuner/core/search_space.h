// The param space: how each hyperparameter is drawn, parsed from JSON, and drawing from it.
// Knows no searcher: how samples and grids are counted is searchers/'s business.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trainable/values.h"
#include "tuner/core/random.h"

namespace tune {

struct Uniform {
  double lower, upper, q = 0;
  bool log = false;
};  ///< q = 0: no rounding
struct Normal {
  double mean, sd, q = 0;
};
struct Integer {
  std::int64_t lower, upper, q = 1;
  bool log = false;
};  ///< upper exclusive
struct Choice {
  std::vector<Json> values;
};  ///< values may contain domains
struct GridSearch {
  std::vector<Json> values;
};  ///< values may contain domains
struct Expression {
  std::string text;
};  ///< over other values of the config

using Domain = std::variant<Uniform, Normal, Integer, Choice, GridSearch, Expression>;

/// Something wrong with a JSON document: where, as a JSON pointer, and what, as a sentence.
struct Problem {
  std::string pointer;
  std::string sentence;
  bool operator==(const Problem&) const = default;
};

/// The domain that the one-key object `json` stands for ({"uniform": [0, 1]}); nothing if it is a
/// plain value. What is wrong with it is appended to `problems` with `pointer` as its place.
std::optional<Domain> parse_domain(const Json& json, const std::string& pointer,
                                   std::vector<Problem>& problems);

/// One number, or a choice's index resolved to its value (which may contain further domains).
/// Not for GridSearch and Expression.
Json draw(const Domain& domain, Random& random);

/// Whether `value` could have been drawn from `domain`.
bool contains(const Domain& domain, const Json& value);

/// A parsed and checked param space.
class SearchSpace {
 public:
  SearchSpace() = default;  ///< of the empty object

  /// Appends everything that is wrong to `problems`, with pointers that start with `pointer`.
  /// Rules: docs/spec.md, "Param space".
  static SearchSpace parse(const Json& json, const std::string& pointer,
                           std::vector<Problem>& problems);

  const Json& json() const { return json_; }

  /// Number of grid points; 1 without grids. A grid nested in a grid counts per value.
  std::uint64_t grid_size() const;

  /// The config at `grid_point` (0 <= grid_point < grid_size(); the first grid by pointer order
  /// varies fastest), all else drawn from `random`; expressions evaluated last. `preset`: values
  /// that are fixed instead of drawn (an object that mirrors the space; `points_to_evaluate`).
  /// Throws std::invalid_argument if an expression cannot be evaluated.
  Json sample(std::uint64_t grid_point, Random& random, const Json& preset = nullptr) const;

  /// "lr=0.0012,hidden=32": the drawn values of `config`, pointers shortened to their last part
  /// where that is unique, floats with 4 significant digits; at most 100 characters.
  std::string tag(const Json& config) const;

  /// Whether every value is a grid or fixed, so that sampling twice gives the same configs.
  bool is_deterministic() const;

  /// The parts of `preset` that are unknown to the space or outside of their domain, as sentences.
  std::vector<Problem> check_preset(const Json& preset) const;

 private:
  Json json_ = Json::object();
};

}  // namespace tune
