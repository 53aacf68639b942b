// Counts weighted votes on whether saves come before or after their results.
#include "tuner/plain/save_order.h"

#include <algorithm>
#include <numeric>

namespace tune {

namespace {

constexpr double clear_s = 1;
constexpr double short_s = 0.06;
constexpr double far_factor = 3;
constexpr double most_lag_s = 0.1;  ///< what was printed while nobody looked lies who knows where

/// It lies `far_s` from one result and `near_s` from the other.
SaveVote vote(SavedWhen when, double far_s, double near_s) {
  constexpr double clear_factor = 30;
  const bool is_clear = far_s >= clear_s && far_s > clear_factor * near_s;
  return {when, is_clear ? SaveOrder::enough : far_s >= short_s ? SaveOrder::enough / 2 : 1};
}

constexpr std::int64_t most_doubt = 3;  ///< one in four may lie

std::optional<SavedWhen> most_of(std::int64_t after, std::int64_t before, std::int64_t least) {
  if (before >= least && before > most_doubt * after) return SavedWhen::before_result;
  if (after >= least && after > most_doubt * before) return SavedWhen::after_result;
  return std::nullopt;
}

/// Whether the nearer side is too short for an evaluation, or for a round of training, of a program
/// of which the other one takes so long.
bool is_beside(double near_s, double far_s) {
  constexpr double factor = 10;
  constexpr double moment_s = 0.01;
  constexpr double factor_alone = 100;
  return far_s > factor_alone * near_s || (near_s <= moment_s && far_s > factor * near_s);
}

/// From a save to the result behind it. What is written while that is printed is written beside the
/// training: when it ended tells nothing, and its begin does.
double until_result(const SaveMoment& save, double behind_s) {
  return behind_s - (save.ended_s > behind_s ? save.begun_s : save.ended_s);
}

}  // namespace

std::optional<SaveVote> vote_of(const SaveMoment& save) {
  if (!save.result_before) return std::nullopt;
  const PrintTime behind = save.result_behind.value_or(PrintTime{save.now_s});
  const double lag_s = std::max(save.result_before->lag_s, behind.lag_s);
  if (lag_s > most_lag_s) return std::nullopt;
  const double least_s = 2 * lag_s;
  const double until = save.result_behind ? std::max(0.0, until_result(save, behind.at_s))
                                          : std::max(0.0, behind.at_s - save.ended_s);
  const double since = std::max(0.0, save.begun_s - save.result_before->at_s);
  if (until >= least_s && is_beside(since, until)) {
    return vote(SavedWhen::after_result, until, since);
  }
  if (!save.result_behind) return std::nullopt;
  const double read_late = std::max(0.0, until - lag_s);
  // Of many saves the last one lies near the result by chance.
  const double alone_s =
      save.save_before_s ? std::min(since, save.begun_s - *save.save_before_s) : since;
  if (since >= least_s && is_beside(read_late, alone_s)) {
    return vote(SavedWhen::before_result, alone_s, read_late);
  }
  return std::nullopt;
}

std::optional<BetweenResults> between_results(const SaveMoment& save) {
  if (!save.result_before || !save.result_behind || vote_of(save)) return std::nullopt;
  const double since = save.begun_s - save.result_before->at_s;
  const double until = until_result(save, save.result_behind->at_s);
  const double near_s = std::min(since, until);
  const double lag_s = std::max(save.result_before->lag_s, save.result_behind->lag_s);
  if (lag_s > most_lag_s || near_s < 2 * lag_s) return std::nullopt;
  const int weight = near_s >= clear_s                   ? SaveOrder::enough
                     : std::max(since, until) >= short_s ? SaveOrder::enough / 2
                                                         : 1;
  return BetweenResults{since / (since + until), weight};
}

/// Where the first saves lie proves nothing: one before the first result may be of a model that is
/// not trained yet, and who has none there may begin to save with its second epoch. But it speaks
/// against times: training may be so short, and an evaluation so long, that a save lies beside the
/// result before it. That there was none speaks against a program that saves first. Of who saves
/// several times an epoch the last save of a run is where chance has it.
/// Who saves at the begin of each epoch what the one before came to ends as one that saves first
/// does, and by time is one that saves after: nothing tells then which of both it is.
std::optional<SavedWhen> SaveOrder::known() const {
  auto timed = most_of(after_, before_ + skipped_, enough);
  const auto ended = most_of(end_after_, end_before_, 1);
  const bool is_by_chance = ended == SavedWhen::after_result && most_saves_ > 1;
  if (end_after_ + end_before_ > 0 && !is_by_chance) {
    if (ended != SavedWhen::before_result) return ended;
    if (timed == SavedWhen::after_result || is_behind_results()) return std::nullopt;
    return is_loose() || most_saves_ > 1 ? earlier_ : ended;
  }
  if (timed == SavedWhen::before_result && is_loose()) timed.reset();
  const bool is_contradicted =
      timed == SavedWhen::after_result ? has_saved_first_ : first_after_ > first_before_;
  const bool is_at_begin = is_contradicted && timed == SavedWhen::after_result;
  if (is_at_begin && earlier_ == SavedWhen::before_result) return std::nullopt;
  if (is_contradicted || !timed) return earlier_;
  return earlier_ && earlier_ != timed ? std::nullopt : timed;
}

bool SaveOrder::may_be(SavedWhen when) const {
  if (earlier_ && *earlier_ != when) return false;
  const bool is_after = when == SavedWhen::after_result;
  const std::int64_t others =
      is_after ? before_ + skipped_ : after_ + between_ + first_after_ * enough;
  if (is_after ? has_saved_first_ : is_loose()) return false;
  return others < enough && end_after_ + end_before_ == 0;
}

void SaveOrder::note(SavedWhen when, int weight) {
  (when == SavedWhen::after_result ? after_ : before_) += weight;
}

void SaveOrder::note_between(const BetweenResults& save) {
  between_ += save.weight;
  constexpr double near = 0.1;
  if (save.place < near) ++near_begin_;
  const auto places = static_cast<double>(places_.size());
  ++places_.at(static_cast<std::size_t>(std::clamp(save.place * places, 0.0, places - 1)));
}

void SaveOrder::note_until_result(double until_s) {
  if (untils_ < until_s_.size()) until_s_.at(untils_++) = until_s;
}

/// Of those that are known the one that so many are shorter than.
double SaveOrder::until_s(std::size_t shorter) const {
  std::array<double, 7> sorted = until_s_;
  const auto wanted = sorted.begin() + static_cast<std::ptrdiff_t>(shorter);
  std::nth_element(sorted.begin(), wanted, sorted.begin() + static_cast<std::ptrdiff_t>(untils_));
  return *wanted;
}

bool SaveOrder::may_be_of_first(double until_s, bool is_restored) const {
  if (untils_ == 0) return !is_restored || until_s <= short_s + PrintTime::read_lag_s;
  return until_s <= far_factor * this->until_s(untils_ / 2) + PrintTime::read_lag_s;
}

bool SaveOrder::is_far(double until_s) const {
  constexpr double held_up_s = 0.15;
  // Where every other one is far, the middle one may be.
  return untils_ > 0 && until_s > far_factor * this->until_s(untils_ / 4) + held_up_s;
}

void SaveOrder::note_saves(int saves) {
  least_saves_ = std::min(least_saves_, saves);
  most_saves_ = std::max(most_saves_, saves);
}

/// Who trains, saves, evaluates and prints does so as often, and at about the same place, each
/// time.
bool SaveOrder::is_loose() const {
  if (most_saves_ > 1 && most_saves_ != least_saves_) return true;
  std::int64_t all = places_[0], most = 0;
  for (std::size_t i = 1; i < places_.size(); ++i) {
    all += places_.at(i);
    most = std::max(most, places_.at(i - 1) + places_.at(i));
  }
  return all > 1 && most * 4 < all * 3;
}

/// Most of those that are beside no result.
bool SaveOrder::is_behind_results() const {
  const std::int64_t all = std::accumulate(places_.begin(), places_.end(), std::int64_t{0});
  return before_ == 0 && near_begin_ > 0 && near_begin_ * 4 > all * 3;
}

void SaveOrder::note_skipped() {
  if (!has_other_guess_) skipped_ += enough;
}

SaveOrder* SaveOrders::of(const std::string& kind) {
  const auto known = orders_.find(kind);
  if (known != orders_.end()) return &known->second;
  return orders_.size() < most_kinds ? &orders_[kind] : nullptr;
}

void SaveOrders::note_earlier(const std::map<std::string, SavedWhen>& orders) {
  for (const auto& [kind, when] : orders) {
    if (SaveOrder* const order = of(kind)) order->note_earlier(when);
  }
}

}  // namespace tune
