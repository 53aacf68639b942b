// Whether a program saves what an epoch came to before it prints its result, or after. Of two
// programs that write the same files and lines, one has the model of the result before a save in
// it, the other that of the result behind it. Knows no file and no process.
#pragma once

#include <cstdint>
#include <optional>

namespace tune {

enum class SavedWhen {
  after_result,   ///< prints, then saves: PyTorch's scripts, Hugging Face
  before_result,  ///< saves, then prints: callbacks of Keras
};

/// A save and the results on both sides of it; Unix times. Lines are read some time after they
/// were printed, `most_lag_s` at most.
struct SaveMoment {
  std::optional<double> result_before_s = {};
  double begun_s = 0;  ///< its first file was written
  double ended_s = 0;  ///< its last one was
  std::optional<double> result_behind_s = {};
  double now_s = 0;

  static constexpr double most_lag_s = 0.03;
};

/// What one save tells.
struct SaveVote {
  SavedWhen when{};
  bool is_clear = false;  ///< beyond doubt: it counts twice
};

/// To which result it lies much nearer. Nothing: it lies in between, or what would tell it has not
/// come yet.
std::optional<SaveVote> vote_of(const SaveMoment& save);

/// What is known of one program, from all of its runs.
class SaveOrder {
 public:
  /// What all votes agree on, two at least; one in four may lie.
  std::optional<SavedWhen> known() const;
  void note(SavedWhen when);

 private:
  std::int64_t after_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace tune
