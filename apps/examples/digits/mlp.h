// A multilayer perceptron for classification: its parameters, its loss and the gradient of it.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "apps/examples/digits/random.h"

namespace digits {

enum class Activation { relu, tanh };

/// How good a model is on some samples.
struct Evaluation {
  double loss = 0;      ///< mean cross-entropy, in nats
  double accuracy = 0;  ///< share of samples whose own class got the highest score alone
};

/// Layers `sizes[0]` (inputs) to `sizes.back()` (classes), fully connected; `activation` after all
/// but the last, a softmax after that one. Samples are the columns of a matrix.
class Mlp {
 public:
  /// Biases 0, weights uniform with the variance that keeps signals at their size: 2 / inputs for
  /// relu (He et al. 2015), 2 / (inputs + outputs) for tanh (Glorot and Bengio 2010).
  Mlp(std::vector<int> sizes, Activation activation, Random& random);

  /// All weights and biases as one vector; its size never changes.
  Eigen::VectorXd& parameters() { return parameters_; }
  const Eigen::VectorXd& parameters() const { return parameters_; }

  Evaluation evaluate(const Eigen::MatrixXd& inputs, const std::vector<int>& labels) const;

  /// The mean cross-entropy of the samples; its derivative by each parameter goes to `gradient`
  /// (backpropagation).
  double loss_and_gradient(const Eigen::MatrixXd& inputs, const std::vector<int>& labels,
                           Eigen::VectorXd& gradient) const;

 private:
  std::size_t layer_count() const { return sizes_.size() - 1; }
  std::vector<Eigen::MatrixXd> forward(const Eigen::MatrixXd& inputs) const;

  std::vector<int> sizes_;
  Activation activation_;
  Eigen::VectorXd parameters_;
};

}  // namespace digits
