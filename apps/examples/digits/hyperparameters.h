// What a config of this example may say.
#pragma once

#include <cstdint>

#include "apps/examples/digits/mlp.h"
#include "trainable/values.h"

namespace digits {

/// One config, checked. A key that a config leaves out has the value given here.
struct Hyperparameters {
  double learning_rate = 0.1;  ///< above 0
  double momentum = 0.9;       ///< 0 .. 1, 1 excluded
  double weight_decay = 1e-4;  ///< 0 or more; added to the gradient, times the parameters
  int hidden = 64;             ///< units of the first hidden layer, 1 .. 4096
  int hidden2 = 0;             ///< units of the second hidden layer, 0 .. 4096; 0: there is none
  int batch_size = 32;         ///< 1 .. 1797
  Activation activation = Activation::relu;
  std::uint64_t seed = 0;        ///< of the first weights and the shuffles, 0 .. 2^53
  std::uint64_t split_seed = 1;  ///< chooses the validation images, 0 .. 2^53
};

/// Throws std::invalid_argument with key, value and what was expected, also for a key that is none
/// of the above: a misspelt one would otherwise be searched without effect.
Hyperparameters parse_hyperparameters(const tune::Json& config);

}  // namespace digits
