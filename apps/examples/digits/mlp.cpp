// Forward and backward passes of the multilayer perceptron.
#include "apps/examples/digits/mlp.h"

#include <cmath>
#include <type_traits>
#include <utility>

namespace digits {
namespace {

// One layer's part of a vector that holds all: its weights column by column, then its biases.
template <class Vector>
auto weights_in(Vector& all, Eigen::Index offset, int inputs, int outputs) {
  using Matrix =
      std::conditional_t<std::is_const_v<Vector>, const Eigen::MatrixXd, Eigen::MatrixXd>;
  return Eigen::Map<Matrix>(all.data() + offset, outputs, inputs);
}

template <class Vector>
auto biases_in(Vector& all, Eigen::Index offset, int inputs, int outputs) {
  return all.segment(offset + Eigen::Index{inputs} * outputs, outputs);
}

Eigen::Index parameter_count(int inputs, int outputs) {
  return (Eigen::Index{inputs} + 1) * outputs;
}

// Scores become the logarithms of the softmax; subtracting the highest first keeps exp finite.
Eigen::MatrixXd log_softmax(Eigen::MatrixXd scores) {
  scores.rowwise() -= scores.colwise().maxCoeff().eval();
  const Eigen::RowVectorXd log_sums = scores.array().exp().colwise().sum().log();
  scores.rowwise() -= log_sums;
  return scores;
}

double mean_cross_entropy(const Eigen::MatrixXd& log_probabilities,
                          const std::vector<int>& labels) {
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) sum -= log_probabilities(labels[i], i);
  return sum / static_cast<double>(labels.size());
}

// NaN compares false with everything, so a model that has blown up is right about nothing.
bool is_right(const Eigen::MatrixXd& scores, Eigen::Index column, int label) {
  for (Eigen::Index row = 0; row < scores.rows(); ++row)
    if (row != label && !(scores(row, column) < scores(label, column))) return false;
  return true;
}

}  // namespace

Mlp::Mlp(std::vector<int> sizes, Activation activation, Random& random)
    : sizes_(std::move(sizes)), activation_(activation) {
  Eigen::Index count = 0;
  for (std::size_t layer = 0; layer < layer_count(); ++layer)
    count += parameter_count(sizes_[layer], sizes_[layer + 1]);
  parameters_ = Eigen::VectorXd::Zero(count);

  Eigen::Index offset = 0;
  for (std::size_t layer = 0; layer < layer_count(); ++layer) {
    const int inputs = sizes_[layer];
    const int outputs = sizes_[layer + 1];
    const double variance =
        activation_ == Activation::relu ? 2.0 / inputs : 2.0 / (inputs + outputs);
    const double limit = std::sqrt(3 * variance);
    auto weights = weights_in(parameters_, offset, inputs, outputs);
    for (Eigen::Index i = 0; i < weights.size(); ++i)
      weights.data()[i] = random.uniform(-limit, limit);
    offset += parameter_count(inputs, outputs);
  }
}

// What each layer gives out: first the inputs themselves, last the scores.
std::vector<Eigen::MatrixXd> Mlp::forward(const Eigen::MatrixXd& inputs) const {
  std::vector<Eigen::MatrixXd> outputs{inputs};
  Eigen::Index offset = 0;
  for (std::size_t layer = 0; layer < layer_count(); ++layer) {
    const int from = sizes_[layer];
    const int to = sizes_[layer + 1];
    Eigen::MatrixXd signal = weights_in(parameters_, offset, from, to) * outputs.back();
    signal.colwise() += biases_in(parameters_, offset, from, to);
    if (layer + 1 < layer_count()) {
      if (activation_ == Activation::relu)
        signal = (signal.array() < 0).select(0.0, signal);  // keeps NaN, which max would hide
      else
        signal = signal.array().tanh();
    }
    outputs.push_back(std::move(signal));
    offset += parameter_count(from, to);
  }
  return outputs;
}

Evaluation Mlp::evaluate(const Eigen::MatrixXd& inputs, const std::vector<int>& labels) const {
  const Eigen::MatrixXd scores = forward(inputs).back();
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += is_right(scores, i, labels[i]);
  return {mean_cross_entropy(log_softmax(scores), labels),
          right / static_cast<double>(labels.size())};
}

double Mlp::loss_and_gradient(const Eigen::MatrixXd& inputs, const std::vector<int>& labels,
                              Eigen::VectorXd& gradient) const {
  const std::vector<Eigen::MatrixXd> outputs = forward(inputs);
  const Eigen::MatrixXd log_probabilities = log_softmax(outputs.back());

  // The derivative by the scores is (softmax - one-hot) / samples.
  Eigen::MatrixXd delta = log_probabilities.array().exp();
  for (std::size_t i = 0; i < labels.size(); ++i) delta(labels[i], i) -= 1;
  delta /= static_cast<double>(labels.size());

  gradient.resize(parameters_.size());
  Eigen::Index offset = parameters_.size();
  for (std::size_t layer = layer_count(); layer-- > 0;) {
    const int from = sizes_[layer];
    const int to = sizes_[layer + 1];
    offset -= parameter_count(from, to);
    const Eigen::MatrixXd& input = outputs[layer];
    weights_in(gradient, offset, from, to).noalias() = delta * input.transpose();
    biases_in(gradient, offset, from, to) = delta.rowwise().sum();
    if (layer == 0) break;
    delta = weights_in(parameters_, offset, from, to).transpose() * delta;
    if (activation_ == Activation::relu)
      delta = (input.array() > 0).select(delta, 0.0);
    else
      delta.array() *= 1 - input.array().square();
  }
  return mean_cross_entropy(log_probabilities, labels);
}

}  // namespace digits
