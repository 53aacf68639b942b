// A training program as a user of tune writes it: a perceptron that learns to read digits, one
// epoch a step.
#pragma once

#include <filesystem>
#include <optional>

#include "apps/examples/digits/digits.h"
#include "apps/examples/digits/hyperparameters.h"
#include "apps/examples/digits/mlp.h"
#include "apps/examples/digits/random.h"
#include "trainable/trainable.h"

namespace digits {

/// A result asks for a checkpoint when it is the trial's best so far and better than this.
inline constexpr double checkpoint_accuracy = 0.97;

/// The file in a checkpoint directory. A fixed head (magic, version, network, split, epoch,
/// generator, best accuracy), then all parameters, then the velocity of each, as doubles in the
/// machine's own byte order.
inline constexpr const char* checkpoint_file = "training.bin";

/// Stochastic gradient descent with momentum on mini-batches. Metrics of each epoch: `epoch`;
/// `train_loss`, the mean over the epoch while it learned; `val_loss` and `val_accuracy` on the
/// validation images after it. Losses are in nats per image, NaN when training has blown up.
///
/// Deterministic: on one machine the same config gives the same metrics to the last bit, whether
/// it runs through or goes on from a checkpoint of any epoch.
class DigitsTrainable : public tune::Trainable {
 public:
  /// Throws std::invalid_argument for a bad config, see `parse_hyperparameters`.
  void setup(const tune::Json& config) override;
  tune::Json step() override;
  /// Throws std::runtime_error with path and reason if the file cannot be written.
  void save_checkpoint(const std::filesystem::path& directory) override;
  /// Another trial's checkpoint is welcome (other learning rate, momentum, ...) if network and
  /// split are the same. Throws std::runtime_error with path and reason for all else, and leaves
  /// the training as it was.
  void load_checkpoint(const std::filesystem::path& directory) override;
  bool reset_config(const tune::Json& config) override;

 private:
  // All that a trial is: a new one of these is as good as a new process.
  struct Training {
    explicit Training(const Hyperparameters& chosen);

    Hyperparameters hyperparameters;
    DataSet train;
    DataSet validation;
    Random random;
    Mlp model;
    Eigen::VectorXd velocity;
    std::int64_t epoch = 0;
    double best_accuracy = 0;
  };

  double train_one_epoch();

  std::optional<Training> training_;
};

}  // namespace digits
