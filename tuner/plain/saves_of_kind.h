// What one run of a program shows of when it saves one kind of file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tuner/plain/save_order.h"

namespace tune {

class SavesOfKind {
 public:
  /// `order`: of the kind, from all runs; outlives this. Null: nothing is learnt of it.
  explicit SavesOfKind(SaveOrder* order) : order_(order) {}

  std::optional<SavedWhen> known() const;
  bool may_be(SavedWhen when) const;
  /// See SaveOrder; `is_restored`: it may be what the run goes on from.
  bool may_be_of_first(double until_s, bool is_restored) const;
  bool is_far(double until_s) const { return order_ != nullptr && order_->is_far(until_s); }
  /// Nothing is ever learnt of it: to wait for that is no use.
  bool is_untold() const { return order_ == nullptr; }
  void note_skipped();
  void note_other_guess();

  /// One has ended then, Unix time; answers when the one before it has.
  std::optional<double> note_end_of_save(double ended_s);
  /// One was written after so many results of the run.
  void note_after(std::int64_t results);
  /// Results that had been printed before its first save; nothing: there was none.
  std::optional<std::int64_t> first_after() const { return first_after_; }
  /// That result, as an iteration, was the last one before it; -1: that is not known.
  void note_behind(std::int64_t iteration) {
    behind_ = {behind_.back(), iteration};
    ++saves_;
  }

  /// `more`: weight that its votes did not have before. `until_s`: to its result, of one before it.
  void note_vote(SavedWhen when, int more, double until_s);
  /// So many lie between two results.
  void note_saves(int saves);
  /// One of `saves` between two results; `results` were printed before it.
  void note_in_gap(std::int64_t results, const SaveMoment& moment, int saves);
  /// Takes the last one of each gap that was over a result ago; `all` were printed by now.
  /// `between`: fills in the results on both sides of a gap; false: they are not known any more.
  void judge_gaps(std::int64_t all, const std::function<bool(std::int64_t, SaveMoment&)>& between);

  /// It lies in that gap between the first results of a run that began anew: 0 is before the first
  /// one. Only while that is known of each save so far.
  void note_first_gap(std::size_t gap);
  /// One was begun before the first result, and it is not known whether it was ever whole.
  void note_begun_first();
  /// A run that began anew has saved before its first result.
  void note_saved_first();
  /// How a run has ended that has ended well.
  struct Done {
    std::vector<std::int64_t> last;  ///< results as iterations, the last one first; three at most
    std::int64_t began = 0;          ///< the iteration that it began with
    std::int64_t results = 0;        ///< that it has printed
    bool has_all_gaps = false;       ///< see note_first_gap
  };
  void note_done(const Done& done);

 private:
  /// The last save between two results.
  struct LastInGap {
    std::int64_t results = 0;  ///< printed before it
    SaveMoment moment;
    int saves = 0;
  };

  void weigh_before();

  SaveOrder* order_;
  std::optional<double> ended_s_;
  std::optional<std::int64_t> first_after_;
  std::vector<LastInGap> gaps_;  ///< the last results'
  int before_ = 0;               ///< votes that it is saved first
  int before_counts_ = 0;        ///< so many of them count
  std::int64_t saves_ = 0;
  int between_ = 0;                             ///< votes for neither
  std::array<std::int64_t, 2> behind_{-1, -1};  ///< the results before the last two saves
  /// Saves before the first result, behind that, and behind the second one.
  std::array<int, 3> first_gaps_{};
};

}  // namespace tune
