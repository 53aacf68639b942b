// What is common to a trainable under a driver and one started by hand: a class trainable's life,
// and what becomes of the metrics of one iteration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "trainable/protocol.h"
#include "trainable/trainable.h"

namespace tune {

TrialContext context_of(const protocol::Start& start);

/// The result of an iteration that took `seconds`, and `context` counted on: `done` and
/// `should_checkpoint` lifted out of `metrics`, `time_this_iter_s` added if it is not there.
/// Null metrics count as none. Throws std::invalid_argument if `metrics` is something else than an
/// object, or one of its two keys something else than a boolean.
protocol::Result finish_iteration(Json metrics, double seconds, TrialContext& context);

/// Makes and returns `.reported_checkpoint_<n>` in `trial_dir`, with the first n above `last` that
/// is free, and sets `last` to it.
std::filesystem::path make_checkpoint_dir(const std::filesystem::path& trial_dir,
                                          std::int64_t& last);

/// What the exception being handled says, cut to a length that fits a message and a log.
std::string current_exception_text();

/// Calls a class trainable's functions in their order, and remembers in which of them it is.
class TrainableRunner {
 public:
  explicit TrainableRunner(const TrainableFactory& factory) : factory_(factory) {}

  void begin(const protocol::Start& start);
  bool reset(const protocol::Start& start);  ///< false: refused
  protocol::Result step();
  void save(const std::filesystem::path& directory);
  void cleanup();  ///< does nothing if there is no trainable yet

  const TrialContext& context() const { return trainable_->context(); }

  /// The function that was called last, for the message when it throws.
  const char* called() const { return called_; }

 private:
  void load(const protocol::Start& start);

  const TrainableFactory& factory_;
  std::unique_ptr<Trainable> trainable_;
  const char* called_ = "start";
  std::optional<double> load_s_;  ///< until the first result
};

}  // namespace tune
