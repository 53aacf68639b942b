#include "tuner/plain/save_order.h"

#include <algorithm>

namespace tune {

std::optional<SavedWhen> order_of(const SaveMoment& save) {
  // So many times nearer it must be to one than to the other.
  constexpr double factor = 3;
  constexpr double least_s = 2 * SaveMoment::most_lag_s;
  const bool has_behind = save.result_behind_s.has_value();
  const double until = std::max(0.0, save.result_behind_s.value_or(save.now_s) - save.ended_s);
  if (!save.result_before_s) return std::nullopt;
  const double since = std::max(0.0, save.begun_s - *save.result_before_s);
  if (until >= least_s && until > factor * std::max(since, SaveMoment::most_lag_s / factor)) {
    return SavedWhen::after_result;
  }
  if (!has_behind) return std::nullopt;
  if (since >= least_s && since > factor * std::max(0.0, until - SaveMoment::most_lag_s)) {
    return SavedWhen::before_result;
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
