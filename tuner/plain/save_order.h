// Learns of each kind of save of a program whether it comes before an epoch's result is printed, or
// after. That decides which result a save belongs to: the one printed before it or the one behind
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "tuner/model/checkpoint.h"

namespace tune {

/// When a line was printed.
struct PrintTime {
  static constexpr double read_lag_s = 0.03;
  static constexpr double watched_lag_s = 0.005;

  double at_s = 0;  ///< Unix time
  /// It was printed so much earlier at most: lines are read some time after that, if nobody watches
  /// their log.
  double lag_s = read_lag_s;
};

/// A save and the results on both sides of it; Unix times.
struct SaveMoment {
  std::optional<PrintTime> result_before = {};
  double begun_s = 0;  ///< its first file was written
  double ended_s = 0;  ///< its last one was
  std::optional<PrintTime> result_behind = {};
  double now_s = 0;
  std::optional<double> save_before_s = {};  ///< one of its kind ended then
};

/// What one save tells.
struct SaveVote {
  SavedWhen when{};
  int weight = 1;  ///< of milliseconds little, as a program may have been held up; of epochs much
};

/// The result that the save is so near to that neither training nor an evaluation fits in between.
/// Nothing: one may lie there, or it is too early to tell.
std::optional<SaveVote> vote_of(const SaveMoment& save);

/// A save that is beside neither of its results.
struct BetweenResults {
  double place = 0;  ///< 0 to 1, from the one to the other
  int weight = 1;    ///< as that of a vote
};

/// Nothing: it is beside one of them, or it is not known.
std::optional<BetweenResults> between_results(const SaveMoment& save);

/// What all runs of one program say together of one kind of save, the strongest first: how runs
/// that ended well have ended, and how near saves lie to their results, unless the first saves of a
/// run contradict that; and what drivers before this one had learnt, where these say nothing or
/// contradict each other. Who saves by a clock saves beside a result now and then, too: so saves
/// that lie elsewhere speak against who claims more than was printed.
class SaveOrder {
 public:
  /// What was known when the driver began.
  void note_earlier(SavedWhen when) { earlier_ = when; }
  /// Nothing: nobody has told, or they contradict each other.
  std::optional<SavedWhen> known() const;
  /// By time.
  void note(SavedWhen when, int weight);
  /// That is where the last save before a result lies.
  void note_between(const BetweenResults& save);
  /// So long after the last save between two results the second one was printed. See
  /// may_be_of_first.
  void note_until_result(double until_s);
  /// Whether a save before a program's first result may be of that: one of a model that is not
  /// trained lies an epoch before it, and not as far as other saves do.
  /// Of a run that goes on from a checkpoint it may also be that once more, and then only what is
  /// right beside its result is believed before any save has told how far those lie.
  bool may_be_of_first(double until_s, bool is_restored = false) const;
  /// Whether a save lies much further from the result behind it than others do, as far as it is
  /// known how far those lie: a best model may be that of an epoch of which no result was printed.
  bool is_far(double until_s) const;
  /// So many of one kind lie between two results.
  void note_saves(int saves);
  /// A run that began anew has saved in each of the first gaps between results; `is_first`: also
  /// before the first result.
  void note_first_saves(bool is_first) { is_first ? ++first_before_ : ++first_after_; }
  /// A run that began anew has saved before its first result.
  void note_saved_first() { has_saved_first_ = true; }
  /// A run that ended well has saved with each result, the last ones, too.
  void note_end(SavedWhen when) { (when == SavedWhen::after_result ? end_after_ : end_before_)++; }
  /// By its own count, a restored run has gone on behind the result that comes after all that its
  /// checkpoint claims: that one was saved, and not printed yet. One restore proves it.
  void note_skipped();
  /// A checkpoint may have more results than it claims, for another reason than the order: then
  /// those that a restored run goes on behind prove nothing.
  void note_other_guess() { has_other_guess_ = true; }
  /// Whether nothing speaks against it, so that one save that is beside its result may be believed.
  bool may_be(SavedWhen when) const;

  static constexpr int enough = 4;

 private:
  bool is_loose() const;
  bool is_behind_results() const;
  double until_s(std::size_t shorter) const;

  std::int64_t after_ = 0;
  std::int64_t before_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t between_ = 0;
  int least_saves_ = std::numeric_limits<int>::max();  ///< of a kind, between two results
  int most_saves_ = 0;
  std::array<std::int64_t, 5> places_{};  ///< of those between two results
  std::int64_t near_begin_ = 0;           ///< of those, right behind the one
  std::array<double, 7> until_s_{};       ///< of the first ones
  std::size_t untils_ = 0;
  std::int64_t first_after_ = 0;
  std::int64_t first_before_ = 0;
  std::int64_t end_after_ = 0;
  std::int64_t end_before_ = 0;
  bool has_saved_first_ = false;
  bool has_other_guess_ = false;
  std::optional<SavedWhen> earlier_;
};

/// By kind of save, see `kind_of_file`: a program may write "last" before each result, and "best"
/// behind it.
class SaveOrders {
 public:
  static constexpr std::size_t most_kinds = 16;

  /// Lives as long as this. Null: there are too many kinds, and of this one nothing is learnt.
  SaveOrder* of(const std::string& kind);
  /// What was known when the driver began.
  void note_earlier(const std::map<std::string, SavedWhen>& orders);

 private:
  std::map<std::string, SaveOrder> orders_;
};

}  // namespace tune
