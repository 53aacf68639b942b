#include "tuner/plain/save_order.h"

#include <algorithm>

namespace tune {

namespace {

/// It lies `far_s` from one result and `near_s` from the other.
SaveVote vote(SavedWhen when, double far_s, double near_s) {
  constexpr double clear_s = 1;
  constexpr double clear_factor = 30;
  return {when, far_s >= clear_s && far_s > clear_factor * near_s};
}

}  // namespace

std::optional<SaveVote> vote_of(const SaveMoment& save) {
  // So many times nearer it must be to one than to the other.
  constexpr double factor = 3;
  constexpr double least_s = 2 * SaveMoment::most_lag_s;
  const bool has_behind = save.result_behind_s.has_value();
  const double until = std::max(0.0, save.result_behind_s.value_or(save.now_s) - save.ended_s);
  if (!save.result_before_s) return std::nullopt;
  const double since = std::max(0.0, save.begun_s - *save.result_before_s);
  if (until >= least_s && until > factor * std::max(since, SaveMoment::most_lag_s / factor)) {
    return vote(SavedWhen::after_result, until, since);
  }
  if (!has_behind) return std::nullopt;
  const double read_late = std::max(0.0, until - SaveMoment::most_lag_s);
  if (since >= least_s && since > factor * read_late) {
    return vote(SavedWhen::before_result, since, read_late);
  }
  return std::nullopt;
}

std::optional<SavedWhen> SaveOrder::known() const {
  constexpr std::int64_t least = 2;
  constexpr std::int64_t factor = 3;
  if (before_ >= least && before_ > factor * after_) return SavedWhen::before_result;
  if (after_ >= least && after_ > factor * before_) return SavedWhen::after_result;
  return std::nullopt;
}

void SaveOrder::note(SavedWhen when) { ++(when == SavedWhen::after_result ? after_ : before_); }

}  // namespace tune
