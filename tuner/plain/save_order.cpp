// Counts weighted votes on whether saves come before or after their results.
#include "tuner/plain/save_order.h"

#include <algorithm>

namespace tune {

namespace {

/// It lies `far_s` from one result and `near_s` from the other.
SaveVote vote(SavedWhen when, double far_s, double near_s) {
  constexpr double clear_s = 1;
  constexpr double clear_factor = 30;
  constexpr double short_s = 0.06;
  const bool is_clear = far_s >= clear_s && far_s > clear_factor * near_s;
  return {when, is_clear ? SaveOrder::enough : far_s >= short_s ? SaveOrder::enough / 2 : 1};
}

}  // namespace

std::optional<SaveVote> vote_of(const SaveMoment& save) {
  // So many times nearer it must be to one than to the other.
  constexpr double factor = 3;
  // What was printed while nobody looked lies who knows where.
  constexpr double most_lag_s = 0.1;
  if (!save.result_before) return std::nullopt;
  const PrintTime behind = save.result_behind.value_or(PrintTime{save.now_s});
  const double lag_s = std::max(save.result_before->lag_s, behind.lag_s);
  if (lag_s > most_lag_s) return std::nullopt;
  const double least_s = 2 * lag_s;
  const double until = std::max(0.0, behind.at_s - save.ended_s);
  const double since = std::max(0.0, save.begun_s - save.result_before->at_s);
  if (until >= least_s && until > factor * std::max(since, lag_s / factor)) {
    return vote(SavedWhen::after_result, until, since);
  }
  if (!save.result_behind) return std::nullopt;
  const double read_late = std::max(0.0, until - lag_s);
  if (since >= least_s && since > factor * read_late) {
    return vote(SavedWhen::before_result, since, read_late);
  }
  return std::nullopt;
}

std::optional<SavedWhen> SaveOrder::known() const {
  constexpr std::int64_t factor = 3;
  if (before_ >= enough && before_ > factor * after_) return SavedWhen::before_result;
  if (after_ >= enough && after_ > factor * before_) return SavedWhen::after_result;
  return std::nullopt;
}

void SaveOrder::note(SavedWhen when, int weight) {
  (when == SavedWhen::after_result ? after_ : before_) += weight;
}

}  // namespace tune
