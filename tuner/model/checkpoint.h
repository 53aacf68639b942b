// A trial's checkpoint as a value. tuner/checkpoints has the directories.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

/// Why a checkpoint was made.
enum class Trigger {
  frequency,  ///< checkpoint_frequency
  at_end,     ///< checkpoint_at_end
  result,     ///< should_checkpoint in the trainable's result, or a directory it handed over
  callback,   ///< should_checkpoint set by a callback
  scheduler,  ///< the scheduler's wish
  pause,
  interrupt,
  user,      ///< asked for by hand
  at_start,  ///< checkpoint_at_start
  clone,     ///< a trial waits to go on as a copy of this one
};

/// The triggers that asked for one save.
class Triggers {
 public:
  void add(Trigger trigger) { bits_ |= 1u << static_cast<unsigned>(trigger); }
  bool has(Trigger trigger) const { return (bits_ >> static_cast<unsigned>(trigger) & 1u) != 0; }
  bool any() const { return bits_ != 0; }
  /// "frequency,at_end"; empty if there are none.
  std::string to_string() const;
  /// The inverse; unknown names are ignored.
  static Triggers parse(std::string_view text);

 private:
  unsigned bits_ = 0;
};

/// Whether a program that saves by itself does so before it prints an epoch's result, or after.
enum class SavedWhen : std::uint8_t {
  after_result,   ///< prints, then saves: PyTorch's scripts, Hugging Face
  before_result,  ///< saves, then prints: callbacks of Keras
};
std::string_view to_string(SavedWhen when);  ///< "after_result", "before_result"
std::optional<SavedWhen> parse_saved_when(std::string_view text);

/// A directory that a trial can be restored from: committed, with its manifest, never half-written.
struct Checkpoint {
  int index = 0;  ///< counts the trial's saves from 1, for good; names the directory
  std::int64_t iteration = 0;
  double time_total_s = 0;
  /// Values from which a restored trial's counters go on; nothing if never reported.
  std::optional<double> timesteps_total;
  std::optional<double> episodes_total;
  /// Value of `checkpoint_score_attribute` at that iteration; NaN if it was missing or NaN.
  double score = std::numeric_limits<double>::quiet_NaN();

  Triggers triggers;
  /// The order that told which result it has; nothing: none was known, or its program was told to
  /// save.
  std::optional<SavedWhen> order = {};
  std::string kind = {};  ///< what is saved in that order: the name that its program gave it, less
                          ///< digits; empty if that is the whole directory
  /// It is a guess that it is of that iteration: nothing told the order, so it may be of a later
  /// one.
  bool is_guess = false;

  // Statistics of the save.
  std::uint64_t bytes = 0;
  double save_s = 0;                     ///< from the request to the trainable's "saved"
  double commit_s = 0;                   ///< hashing, syncing and renaming, beside training
  std::optional<int> slowest_rank = {};  ///< of several ranks, the last to answer the save
};

/// Its iteration in lists: "20", or "20 or later" if that is a guess.
std::string iteration_text(const Checkpoint& checkpoint);
std::string iteration_text(std::int64_t iteration, bool is_guess);

}  // namespace tune
