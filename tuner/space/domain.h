// What one hyperparameter is drawn from: parsed from JSON, drawn, and tested for membership.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/problem.h"
#include "tuner/math/random.h"

namespace tune {

/// A real number in [lower, upper); if `log`, its logarithm is uniform (not set where `upper` is
/// above `lower` by no more than a part of 2^-20: there that is the same). With q > 0 both bounds
/// are multiples of q, and the number is one from the lower to the upper one, both included, each
/// equally likely; if `log`, as likely as a logarithm is to be nearest to it (`span_of`).
struct Uniform {
  double lower, upper, q = 0;
  bool log = false;
};

/// A real number without bounds, rounded to a multiple of q if q > 0.
struct Normal {
  double mean, sd, q = 0;
};

/// An integer in [lower, upper); if `log`, the rounded-down exponential of a uniform number (not
/// set where Uniform does not have it). With
/// q > 1 a multiple of q in [lower, upper], upper inclusive, all equally likely; if `log`, as
/// likely as a logarithm is to be nearest to it (`span_of`).
struct Integer {
  std::int64_t lower, upper, q = 1;
  bool log = false;
  /// A seed: searchers draw it, but do not learn from it, since its value means nothing.
  bool is_seed = false;
};

/// One of the values, each equally likely. Values may contain domains (a conditional space).
struct Choice {
  std::vector<Json> values;
};

/// All of the values, one after the other. Values may contain domains.
struct GridSearch {
  std::vector<Json> values;
};

/// Computed from other values of the config (tuner/base/expression.h).
struct Expr {
  std::string text;
};

using Domain = std::variant<Uniform, Normal, Integer, Choice, GridSearch, Expr>;

/// The domain that the one-key object `json` stands for ({"uniform": [0, 1]} or {"uniform":
/// {"lower": 0, "upper": 1}}), beside which there may be a "prior" (tuner/space/prior.h); nothing
/// if it is a plain value. What is wrong with it is appended to
/// `problems` with `pointer` as its place. Also wrong, because it is a slip far more often than it
/// is meant: a domain's name beside other keys, and a one-key object whose key is one edit away
/// from a domain's name and whose value is a list (of numbers, where the domain takes numbers).
/// Whoever means such an object writes {"value": {...}}.
std::optional<Domain> parse_domain(const Json& json, const std::string& pointer,
                                   std::vector<Problem>& problems);

/// "uniform", "choice" ...: the keys that parse_domain knows.
const std::vector<std::string>& domain_names();

/// One number, or a choice's value as written (it may contain further domains). Not for GridSearch
/// and Expr.
Json draw(const Domain& domain, Random& random);

/// The range of the number that a Uniform or Integer rounds: its bounds, and with steps half a step
/// beyond the first and the last of them, so that these are as likely as the others.
struct Span {
  double lower, upper;
};
Span span_of(const Uniform& domain);
Span span_of(const Integer& domain);

/// What is wrong with the bounds of a domain that was written a moment ago, as a sentence: they are
/// no multiples of q, so that neither of them is ever drawn. Recorded ones may have such bounds.
std::optional<std::string> bounds_off_steps(const Domain& domain);

/// The value of a Uniform, Normal or Integer that is nearest to `number`, which is finite.
Json nearest(const Domain& domain, double number);

/// How many numbers can be drawn from a Uniform, Normal or Integer; nothing: endlessly many.
std::optional<std::uint64_t> count_values(const Domain& domain);
/// Number i of them, from the smallest.
Json nth_value(const Domain& domain, std::uint64_t i);

/// Whether `value` could have been drawn from `domain`. The upper bound of a real number counts as
/// inside; values of Choice and GridSearch may be written as other equal numbers; nothing is drawn
/// from an Expr.
bool contains(const Domain& domain, const Json& value);

/// Whether two values are the same: equal as JSON text, but for the sign of a zero. So 1 and 1.0
/// differ, as they do for a program that gets them. All comparisons of configs use this: whether a
/// config is new, which value of a choice it has, in what trials differ.
bool is_same(const Json& a, const Json& b);
/// One text for all that are the same.
std::string text_of_same(Json value);

/// The place of `value` in `values`: of the one that is the same, or else of one that is equal, as
/// people write 1 where a list has 1.0.
std::optional<std::size_t> find_value(const std::vector<Json>& values, const Json& value);

/// "/a/b" and "c/d": "/a/b/c~1d" (RFC 6901).
std::string append_pointer(const std::string& pointer, const std::string& key);

/// `value` as JSON text in one line of at most `limit` bytes, "..." included, for messages.
std::string shorten(const Json& value, std::size_t limit = 80);

}  // namespace tune
