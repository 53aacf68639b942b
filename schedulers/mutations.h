// How population-based training explores: a config is changed a little, or drawn anew.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tuner/math/random.h"
#include "tuner/space/domain.h"

namespace tune {

/// One hyperparameter that may change.
struct Mutation {
  std::string pointer;                             ///< in the config (RFC 6901)
  std::variant<std::vector<Json>, Domain> values;  ///< in their order, or a domain of numbers
};

/// "hyperparam_mutations": an object of lists and domains, nested like the config. Appends what is
/// wrong to `problems`, with pointers below `pointer`.
std::vector<Mutation> parse_mutations(const Json& json, const std::string& pointer,
                                      std::vector<Problem>& problems);

/// Chances and factors of `explore`.
struct Exploration {
  double resample_probability = 0.25;
  std::vector<double> perturbation_factors = {1.2, 0.8};
};

/// A changed copy of `config`. Each hyperparameter is drawn anew with the resample probability, or
/// if the config lacks it or has a value that is not in the list; else a value of a list moves to a
/// neighbour (one at an end may stay), a number is multiplied with one of the factors and kept in
/// its domain; where that has steps (integers, and all with a q), the number is rounded to one and
/// moves by a step at least, at 0 too, as far as the bounds let it. (PBT paper, section 4.1.1
/// "perturb" and "resample", with Ray Tune's rules for lists.)
Json explore(Json config, const std::vector<Mutation>& mutations, const Exploration& options,
             Random& random);

/// The value of `domain`, which is one of numbers, that is nearest to `number`; of a real one both
/// bounds are values.
Json nearest_in(const Domain& domain, double number);

}  // namespace tune
