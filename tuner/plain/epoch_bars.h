// Which lines with a metric are drawings of one epoch's progress bar, of which the last one counts.
// Knows no metric.
#pragma once

#include <string>
#include <string_view>

namespace tune {

/// Whether `line` draws a progress bar. `overwritten`: see LineSplitter.
bool is_bar(std::string_view line, bool overwritten);

/// Bars below the title of their epoch, of one stream, as Keras has them: "Epoch 3/10", and then
/// "7/20 [==>....] - loss: 0.5" again and again.
class EpochSteps {
 public:
  enum class Line {
    other,
    title,  ///< another epoch begins
    part,   ///< some of the epoch's steps are done
    whole,  ///< all of them are
  };
  Line take(std::string_view line);

 private:
  bool is_below_title_ = false;
};

/// Bars with a title of their own, of one stream: "Epoch 3:  45%|####     | 9/20 [loss=0.5]".
class TitledBars {
 public:
  /// Any line, before what is asked about it.
  void see(std::string_view line);

  enum class Drawing {
    other,  ///< of something else, or with other values
    again,  ///< once more of what has counted
    next,   ///< of the next epoch, and what the one before has shown to its end has not counted
  };
  /// What `line`, which has a result, draws. `overwritten`: see LineSplitter; `is_same`: its values
  /// are those of the result before. A new bar may come to these, too: it has another title. Where
  /// one bar goes on as that of the next epoch, it shows them until it has others.
  Drawing take(std::string_view line, bool overwritten, bool is_same);

  /// The epoch that was drawn last has ended, and its values have not counted as they are those of
  /// the one before.
  bool has_unchanged_end() const { return is_full_ && lacks_result(); }

 private:
  bool lacks_result() const { return !has_result_ && (!needs_other_ || has_other_); }

  std::string title_;       ///< of the last line that was asked about
  std::string shape_;       ///< of it: its words, without numbers
  std::string seen_title_;  ///< of the last bar
  bool is_overwritten_ = false;
  bool is_full_ = false;
  bool has_result_ = true;        ///< a result has counted for the epoch
  bool is_behind_other_ = false;  ///< the bar before the last one has another title
  bool has_other_ = false;        ///< such a bar has been drawn in this epoch
  /// Results come behind such a bar, as of a validation: an epoch without one has measured nothing.
  bool needs_other_ = false;
};

}  // namespace tune
