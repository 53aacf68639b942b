// Which saves have a result that is not known, or not known for sure.
#include <iterator>

#include "tuner/plain/save_fold.h"

namespace tune {

/// Several results were printed before anybody looked, since the driver stood still or epochs are
/// very short: which of them came before the save is not known.
bool SaveFold::is_lost_in_prints(const Waiting& save) const {
  if (save.what.bursts == 0 || is_of_only_result(save)) return false;
  // A burst before it may be a heading, or a result: of who saves behind results it is that, if
  // somebody looked before the next one could come.
  const std::ptrdiff_t most =
      save.what.is_late || order(*save.kind) == SavedWhen::before_result ? 0 : 1;
  return first_behind(save.what.printed_at_most) - first_behind(save.what.printed_before) > most;
}

/// The first of the results among which it is lost, or the one before that.
std::int64_t SaveFold::least_iteration_of(const Waiting& save) const {
  const auto behind = first_behind(save.what.printed_before);
  return order(*save.kind) == SavedWhen::before_result ? behind->iteration
                                                       : iteration_before(behind);
}

/// It is lost in prints, and what a program that has ended well has saved last. A trial that is to
/// go on does so from a checkpoint that is known: what it prints then would get wrong iterations.
bool SaveFold::is_last_of_all(const Waiting& save) const {
  return end_ == End::done && &save == &waiting_.back() && least_iteration_of(save) > 0;
}

/// Nobody knows which result it has: its program was killed after it had saved and before it
/// printed that one, or perhaps so, and has printed none; or it is the save before the first
/// result, which may be of a model that is not trained yet, or of that result, and nothing tells.
/// To keep it as the former would let the trial count an iteration too little from then on; without
/// it an epoch is trained again.
bool SaveFold::is_of_no_result(const Waiting& save, double now_s) const {
  if (is_lost_in_prints(save)) return !is_last_of_all(save);
  const auto behind = first_behind(save.what.printed_before);
  if (behind == printed_.end()) {
    const auto known = order(*save.kind);
    const bool may_lack_all = known == SavedWhen::before_result || (!known && printed_.empty());
    return end_ == End::killed && !save.on_signal && may_lack_all;
  }
  if (behind != printed_.begin() || is_of_only_result(save) || is_early(save, now_s)) return false;
  const auto when = order_of_waiting(save, now_s);
  return !when || (when == SavedWhen::before_result && !may_be_of_first(save));
}

/// A program may also save what it begins with, before it has trained.
bool SaveFold::may_be_of_first(const Waiting& save) const {
  const SaveMoment moment = moment_of(save, 0);
  return moment.result_behind &&
         save.kind->may_be_of_first(moment.result_behind->at_s - moment.ended_s, !has_begun_anew_);
}

/// It has ended well with a single result, and nothing tells the order: what it saved before is
/// hardly a model that is not trained.
bool SaveFold::is_of_only_result(const Waiting& save) const {
  return end_ == End::done && printed_.size() == 1 && !order(*save.kind) &&
         first_behind(save.what.printed_before) == printed_.begin() &&
         (waiting_.empty() || &save == &waiting_.back());
}

/// It was told to save or to end, or saves first and has ended by itself, and has left behind this
/// save, without a result. Whatever it has trained since its last one is in there: the epoch that
/// it was in may have been over, as it was evaluated just then, or be trained to its end first.
/// Only what lies right behind its result, of who saves there, has that one.
bool SaveFold::may_have_trained_on(const Waiting& save) const {
  const bool is_told = save.on_signal && save.what.told_s;
  const bool stops_early = end_ == End::done && order(*save.kind) == SavedWhen::before_result;
  if (!is_told && !stops_early) return false;
  const auto behind = first_behind(save.what.printed_before);
  if (behind != printed_.end()) return false;
  if (printed_.empty()) return is_told;
  const double since_s = moment_of(save, 0).begun_s - printed_.back().time.at_s;
  const double epoch_s =
      printed_.size() > 1 ? printed_.back().time.at_s - std::prev(printed_.end(), 2)->time.at_s : 0;
  constexpr double moment_s = 0.05, share = 0.25;
  const bool is_right_behind = since_s <= moment_s && (epoch_s == 0 || since_s <= share * epoch_s);
  return !is_right_behind || (is_told && order(*save.kind) != SavedWhen::after_result);
}

/// Nothing tells whether it was saved before its result was printed or after, or nothing proves
/// which of several that were printed around it is its own.
bool SaveFold::is_guessed(const Waiting& save, double now_s) const {
  if (is_lost_in_prints(save)) {
    return order(*save.kind) != SavedWhen::before_result ||
           std::next(first_behind(save.what.printed_before)) != printed_.end();
  }
  if (is_of_only_result(save)) return false;
  if (may_have_trained_on(save)) return true;
  const auto behind = first_behind(save.what.printed_before);
  if (const auto when = order_of_waiting(save, now_s)) {
    if (when == SavedWhen::after_result || behind == printed_.end()) return false;
    return has_another_before_result()
               ? !has_another_before_result(true)
               : is_far_from_result(save) || may_have_another_before_result();
  }
  return !(end_ == End::done && behind == printed_.end());
}

}  // namespace tune
