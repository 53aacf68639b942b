// Weighs where the saves of one run lie, and hands what counts to the order of all runs.
#include "tuner/plain/saves_of_kind.h"

#include <algorithm>
#include <utility>

namespace tune {

std::optional<SavedWhen> SavesOfKind::known() const {
  return order_ != nullptr ? order_->known() : std::nullopt;
}

bool SavesOfKind::may_be(SavedWhen when) const { return order_ != nullptr && order_->may_be(when); }

bool SavesOfKind::may_be_of_first(double until_s, bool is_restored) const {
  return order_ != nullptr && order_->may_be_of_first(until_s, is_restored);
}

void SavesOfKind::note_skipped() {
  if (order_ != nullptr) order_->note_skipped();
}

void SavesOfKind::note_other_guess() {
  if (order_ != nullptr) order_->note_other_guess();
}

std::optional<double> SavesOfKind::note_end_of_save(double ended_s) {
  return std::exchange(ended_s_, ended_s);
}

void SavesOfKind::note_after(std::int64_t results) {
  if (!first_after_) first_after_ = results;
}

void SavesOfKind::note_vote(SavedWhen when, int more, double until_s) {
  if (order_ == nullptr) return;
  if (when == SavedWhen::after_result) {
    order_->note(when, more);
    return;
  }
  order_->note_until_result(until_s);
  before_ += more;
  weigh_before();
}

/// In one run, saves are beside the next result or they are not: who saves by a clock is beside one
/// now and then. One in four may be held up.
void SavesOfKind::weigh_before() {
  constexpr int most_doubt = 3;
  const int counts = before_ > most_doubt * between_ ? before_ : 0;
  const int more = counts - std::exchange(before_counts_, counts);
  if (more != 0) order_->note(SavedWhen::before_result, more);
}

void SavesOfKind::note_saves(int saves) {
  if (order_ != nullptr) order_->note_saves(saves);
}

void SavesOfKind::note_in_gap(std::int64_t results, const SaveMoment& moment, int saves) {
  constexpr std::size_t most_gaps = 3;
  const auto found = std::find_if(gaps_.begin(), gaps_.end(),
                                  [&](const LastInGap& each) { return each.results == results; });
  if (found != gaps_.end()) {
    *found = {results, moment, found->saves + saves};
  } else if (gaps_.size() < most_gaps) {
    gaps_.push_back({results, moment, saves});
  }
}

/// A save is found some time after it was made: so it is judged one result later than it could be.
void SavesOfKind::judge_gaps(std::int64_t all,
                             const std::function<bool(std::int64_t, SaveMoment&)>& between) {
  if (gaps_.empty() || order_ == nullptr) return;
  std::erase_if(gaps_, [&](LastInGap& gap) {
    if (gap.results + 2 > all) return false;
    if (!between(gap.results, gap.moment)) return true;
    order_->note_saves(gap.saves);
    order_->note_until_result(std::max(0.0, gap.moment.result_behind->at_s - gap.moment.ended_s));
    if (const auto found = between_results(gap.moment)) {
      order_->note_between(*found);
      between_ += found->weight;
    }
    return true;
  });
  weigh_before();
}

/// One save in each of the first gaps is the habit of a program that saves each round.
void SavesOfKind::note_first_gap(std::size_t gap) {
  if (gap >= first_gaps_.size()) return;
  const bool is_last = gap + 1 == first_gaps_.size();
  if (++first_gaps_[gap] == 1 && is_last && first_gaps_[1] > 0 && order_ != nullptr) {
    order_->note_first_saves(first_gaps_[0] > 0);
  }
}

void SavesOfKind::note_begun_first() { first_gaps_[0] = std::max(first_gaps_[0], 1); }

void SavesOfKind::note_saved_first() {
  if (order_ != nullptr) order_->note_saved_first();
}

/// Who saves after each result has a save behind the last one, who saves before has none: that
/// tells also where epochs are too short for their times to. Where its first saves are known, too,
/// no other order is left: one more at the begin, or at the end, may be of another kind.
void SavesOfKind::note_done(const Done& done) {
  const std::vector<std::int64_t>& last = done.last;
  if (last.size() < 2 || order_ == nullptr) return;
  const bool is_each = behind_[1] > behind_[0] && behind_[0] >= done.began;
  if (!is_each) return;
  const auto note = [&](SavedWhen when) {
    // Without them a save behind the last result may be one more of who saves first, and none there
    // that of a best model that did not get better.
    if (!done.has_all_gaps) {
      const bool is_of_each = saves_ == done.results;
      if (when == SavedWhen::before_result && is_of_each) order_->note(when, SaveOrder::enough);
      return;
    }
    const bool has_first = first_gaps_[0] > 0;
    if (has_first == (when == SavedWhen::before_result)) order_->note_end(when);
  };
  if (behind_[1] == last[0] && behind_[0] == last[1]) {
    note(SavedWhen::after_result);
  } else if (last.size() > 2 && behind_[1] == last[1] && behind_[0] == last[2]) {
    note(SavedWhen::before_result);
  }
}

}  // namespace tune
