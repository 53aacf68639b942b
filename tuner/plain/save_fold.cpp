// Matches saves with results by time and order; saves wait in a queue until the program's habit is
// known.
#include "tuner/plain/save_fold.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "tuner/plain/last_save.h"

namespace tune {

namespace {

constexpr double s_per_ns = 1e-9;
/// So long a save waits for another one that was begun before the same result and is not whole.
constexpr double most_unfinished_s = 10;

}  // namespace

void SaveFold::begin(std::int64_t iteration, std::vector<PrintedResult> ahead, bool is_guess,
                     const std::string& kind, std::optional<double> launched_s,
                     bool counts_from_guess) {
  counts_from_guess_ = counts_from_guess;
  launched_s_ = launched_s;
  restored_ = &kind_of(kind);
  began_with_guess_ = is_guess;
  began_ = last_ = taken_ = iteration;
  has_begun_anew_ = has_all_gaps_ = iteration == 0 && ahead.empty();
  for (PrintedResult& result : ahead) {
    // Its checkpoint has it, too: who is paused before all of them are taken need not save.
    began_ = last_ = last_found_ = std::max(began_, result.iteration);
    result.is_guess = counts_from_guess;
    if (result.iteration > taken_) results_.push_back(std::move(result));
  }
}

SavesOfKind& SaveFold::kind_of(const std::string& kind) {
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) return known->second;
  SaveOrder* const order = orders_.of(kind);
  return order != nullptr ? kinds_.emplace(kind, SavesOfKind(order)).first->second : others_;
}

bool SaveFold::is_order_awaited() const {
  const bool is_known = std::any_of(kinds_.begin(), kinds_.end(),
                                    [this](const auto& kind) { return order(kind.second); });
  const bool has_saved = !waiting_.empty() || last_found_ > began_;
  return !is_known && !end_ && has_saved && printed_.size() < most_printed_first;
}

void SaveFold::print(PrintedResult result, std::size_t log, std::uint64_t end, PrintTime time) {
  last_ = result.iteration;
  result.is_guess = is_counted_from_guess() || is_doubted_;
  const auto before_s = printed_.empty() ? launched_s_ : printed_.back().time.at_s;
  if (before_s) result.took_s = std::max(0.0, time.at_s - *before_s);
  if (printed_.size() >= most_printed) {
    printed_.pop_front();
    ++dropped_;
  }
  printed_.push_back({last_, log, end, time});
  note_between();
  if (!is_leaving_ || results_.size() < most_printed_ahead) {
    results_.push_back(std::move(result));
  } else {
    has_dropped_ = true;
  }
}

/// A guess that was made although the order is known has another reason.
void SaveFold::note_skipped(std::int64_t results) {
  if (results == 1 && !order(*restored_)) restored_->note_skipped();
}

bool SaveFold::stay() {
  is_leaving_ = is_leaving_ && has_dropped_;
  return !is_leaving_;
}

void SaveFold::save(SavedFiles saved, bool on_signal, double now_s) {
  ++told_saves_;
  SavesOfKind& kind = kind_of(kind_of_file(saved.files.name.string()));
  if (saved.is_by_look) place_by_time(saved, kind);
  waiting_.push_back(
      {.what = std::move(saved), .kind = &kind, .on_signal = on_signal, .found_s = now_s});
  Waiting& save = waiting_.back();
  if (!told_) note_place(save);
  note_gap(save);
  kind.note_behind(
      is_lost_in_prints(save) ? -1 : iteration_before(first_behind(save.what.printed_before)));
  name_waiting(now_s);
}

/// Where one that was told to end has ended tells nothing of its order: it may do so behind a save
/// whose result it does not print.
void SaveFold::end(End how) {
  end_ = how;
  if (how == End::done && !is_leaving_) note_last_saves();
}

std::optional<PrintedResult> SaveFold::take() {
  if (results_.empty()) return std::nullopt;
  PrintedResult result = std::move(results_.front());
  results_.pop_front();
  taken_ = result.iteration;
  return result;
}

/// The first result that had not been printed when the logs had come so far.
std::deque<SaveFold::Printed>::const_iterator SaveFold::first_behind(
    const LogSizes& printed) const {
  const auto is_in = [&](const Printed& result) {
    return result.end <= (result.log == 0 ? printed.stdout_bytes : printed.stderr_bytes);
  };
  return std::find_if(printed_.rbegin(), printed_.rend(), is_in).base();
}

/// Of what was printed between two looks: the results that came before the save by their times.
/// Lines are read somewhat late, so one that is read right behind a save may be either; then it
/// counts as who prints first has it, unless the order is known, and tells of no order.
void SaveFold::place_by_time(SavedFiles& saved, const SavesOfKind& kind) const {
  const double ended_s = static_cast<double>(saved.files.changed_ns()) * s_per_ns;
  const bool saves_first = order(kind) == SavedWhen::before_result;
  const auto most = first_behind(saved.printed_at_most);
  for (auto result = first_behind(saved.printed_before); result < most; ++result) {
    const double first_s = result->time.at_s - result->time.lag_s;
    if ((saves_first ? result->time.at_s : first_s) > ended_s) break;
    auto& bytes =
        result->log == 0 ? saved.printed_before.stdout_bytes : saved.printed_before.stderr_bytes;
    bytes = std::max(bytes, result->end);
  }
  saved.is_late = true;
}

std::int64_t SaveFold::iteration_before(std::deque<Printed>::const_iterator behind) const {
  return behind == printed_.begin() ? began_ : std::prev(behind)->iteration;
}

/// Of a program that saves behind each result: each burst of printing brings one.
std::int64_t SaveFold::iteration_just_before(const SavedFiles& saved) const {
  auto behind = first_behind(saved.printed_before);
  const auto most = first_behind(saved.printed_at_most);
  for (int i = 0; i < saved.bursts && behind < most; ++i) ++behind;
  return iteration_before(behind);
}

/// Whether it is known which results came before it.
bool SaveFold::is_placed(const Waiting& save) const {
  if (save.what.is_late) return false;
  const auto behind = first_behind(save.what.printed_before);
  return save.what.bursts == 0 || first_behind(save.what.printed_at_most) <= behind;
}

SaveMoment SaveFold::moment_of(const Waiting& save, double now_s) const {
  const auto behind = first_behind(save.what.printed_before);
  // Its files have their own time, however late it was seen that they are written.
  const std::int64_t ended_ns = save.what.files.changed_ns();
  const std::int64_t begun_ns = std::min(save.what.begun_ns, ended_ns);
  SaveMoment moment{.begun_s = static_cast<double>(begun_ns) * s_per_ns,
                    .ended_s = static_cast<double>(ended_ns) * s_per_ns,
                    .now_s = now_s,
                    .save_before_s = save.save_before_s};
  if (behind != printed_.begin()) moment.result_before = std::prev(behind)->time;
  if (behind != printed_.end()) moment.result_behind = behind->time;
  return moment;
}

/// What this save alone tells.
std::optional<SaveVote> SaveFold::vote_at(const Waiting& save, double now_s) const {
  return is_placed(save) ? vote_of(moment_of(save, now_s)) : std::nullopt;
}

/// "epoch-4" and "epoch-5" are of one kind.
void SaveFold::note_place(Waiting& save) {
  const SaveMoment moment = moment_of(save, 0);
  save.save_before_s = save.kind->note_end_of_save(moment.ended_s);
  const auto behind = first_behind(save.what.printed_before);
  const std::int64_t results = dropped_ + (behind - printed_.begin());
  save.kind->note_after(results);
  if (!is_placed(save)) return;
  // Slower than it saves, one may be found with those of several results. Where the first of those
  // lie some may have been found before.
  std::map<std::ptrdiff_t, int> written;
  for (const LogSizes& printed : save.what.writes)
    ++written[first_behind(printed) - printed_.begin()];
  const int saves = std::max(1, written[behind - printed_.begin()]);
  for (auto gap = written.begin(); gap != written.end(); ++gap) {
    const bool is_whole = gap != written.begin() && gap->first < behind - printed_.begin();
    if (is_whole) save.kind->note_saves(gap->second);
  }
  save.kind->note_in_gap(results, moment, saves);
}

void SaveFold::note_between() {
  const auto fill_in = [this](std::int64_t results, SaveMoment& moment) {
    const std::int64_t at = results - dropped_;
    if (at < 1) return false;
    moment.result_before = printed_[static_cast<std::size_t>(at - 1)].time;
    moment.result_behind = printed_[static_cast<std::size_t>(at)].time;
    return true;
  };
  for (auto& [name, kind] : kinds_) kind.judge_gaps(all_printed(), fill_in);
}

/// Of the order as it is known by now, or nothing.
std::optional<SavedWhen> SaveFold::order_of_waiting(const Waiting& save, double now_s) const {
  if (const auto known = order(*save.kind)) return known;
  const auto own = vote_at(save, now_s);
  if (!own || !save.kind->may_be(own->when)) return std::nullopt;
  // Of several between two results, any may lie beside one by chance.
  const auto behind = first_behind(save.what.printed_before);
  const bool is_one_of_several = save.save_before_s && behind != printed_.begin() &&
                                 *save.save_before_s > std::prev(behind)->time.at_s;
  const bool is_sure = own->when == SavedWhen::after_result || !is_one_of_several;
  return is_sure ? std::optional(own->when) : std::nullopt;
}

/// When the fourth result of those was printed among which it has saved the kind; nothing: that is
/// to come.
std::optional<double> SaveFold::fourth_result_s(const SavesOfKind& kind) const {
  const std::int64_t first = std::max<std::int64_t>(0, kind.first_after().value_or(0) - 1);
  const std::int64_t fourth = first + most_printed_first - 1;
  if (fourth >= all_printed()) return std::nullopt;
  return fourth < dropped_ ? 0 : printed_[static_cast<std::size_t>(fourth - dropped_)].time.at_s;
}

/// The first saves of a kind wait until it is known how it is saved: for some results and, where
/// those come soon after each other, some time. No longer: where nothing tells the order, the next
/// save would replace each in its place before it was copied, and none would be kept. One before
/// the first result has nothing to be named by until then, and gives way to those behind it.
bool SaveFold::is_early(const Waiting& save, double now_s) const {
  constexpr double short_s = 0.5, long_s = 2;
  if (order(*save.kind) || save.kind->is_untold() || end_) return false;
  // It may have more than its begin already: what is saved before its first result might have two.
  const bool is_unsettled = began_with_guess_ && printed_.empty();
  // Who has saved what it leaves with may show the order of the rest until it has ended.
  if (is_leaving_) {
    return is_unsettled || (has_checkpoint_of_last() && !is_order_awaited());
  }
  const auto is_over = [&](const Waiting& of) {
    return first_behind(of.what.printed_before) != printed_.begin() && now_s - of.found_s > long_s;
  };
  if (std::any_of(waiting_.begin(), waiting_.end(), is_over)) return false;
  const auto fourth_s = fourth_result_s(*save.kind);
  return !fourth_s || now_s - *fourth_s < short_s;
}

/// Which result the one that was found first has; nothing: that is to come.
std::optional<std::int64_t> SaveFold::iteration_of(const Waiting& save, double now_s) const {
  if (is_early(save, now_s)) return std::nullopt;
  const auto behind = first_behind(save.what.printed_before);
  if (is_lost_in_prints(save)) return least_iteration_of(save);
  // A script that saves its model, then prints what it is worth.
  if (is_of_only_result(save)) return behind->iteration;
  const auto when = order_of_waiting(save, now_s).value_or(SavedWhen::after_result);
  if (when == SavedWhen::after_result) return iteration_just_before(save.what);
  // It was followed by another one of the kind: it has no result of its own, and more than that
  // before it.
  if (behind != printed_.end() && has_another_before_result()) return iteration_before(behind);
  if (behind != printed_.end() && is_far_from_result(save)) return iteration_before(behind);
  if (behind != printed_.end() && may_have_another_before_result()) {
    const bool is_awaited = now_s - behind->time.at_s < most_unfinished_s;
    return is_awaited ? std::nullopt : std::optional(iteration_before(behind));
  }
  if (behind != printed_.end()) return behind->iteration;
  // Behind the last result there is none: what is saved there is that of the last one.
  return end_ ? std::optional(iteration_before(behind)) : std::nullopt;
}

/// Another save has the name of the one that was found first: that is not there to be copied.
bool SaveFold::is_first_replaced() const {
  const auto& name = waiting_.front().what.files.name;
  return std::any_of(std::next(waiting_.begin()), waiting_.end(),
                     [&](const Waiting& other) { return other.what.files.name == name; });
}

/// Of a program that saves more often than it prints: whether another save lies between the one
/// that was found first and the next result. "epoch-4" and "epoch-5" are of one kind, "best" and
/// "last" are not. `is_sure`: those count alone of which it is known where they lie.
bool SaveFold::has_another_before_result(bool is_sure) const {
  const SavedFiles& first = waiting_.front().what;
  const auto kind = kind_of_file(first.files.name.string());
  const auto behind = first_behind(first.printed_before);
  return std::any_of(std::next(waiting_.begin()), waiting_.end(), [&](const Waiting& other) {
    return kind_of_file(other.what.files.name.string()) == kind &&
           first_behind(other.what.printed_before) == behind && (!is_sure || is_placed(other));
  });
}

/// Whether one may yet be found: it is half-written, or not told, or nobody has looked so far. It
/// may also be a log that lies among what is saved.
bool SaveFold::may_have_another_before_result() const {
  if (!seen_ || end_) return false;
  const SavedFiles& first = waiting_.front().what;
  const auto behind = first_behind(first.printed_before);
  if (seen_->told != told_saves_ || first_behind(seen_->until) <= behind) return true;
  const auto unfinished = seen_->unfinished.find(kind_of_file(first.files.name.string()));
  return unfinished != seen_->unfinished.end() && first_behind(unfinished->second) <= behind;
}

/// Of a kind that is usually nearer to its result: where a program prints one for each second
/// epoch, a best model may be that of the epoch before.
bool SaveFold::is_far_from_result(const Waiting& save) const {
  constexpr double least_share = 0.2;
  if (told_ || !is_placed(save)) return false;
  const SaveMoment moment = moment_of(save, 0);
  if (!moment.result_before || !moment.result_behind) return false;
  const double until_s = moment.result_behind->at_s - moment.ended_s;
  const double all_s = moment.result_behind->at_s - moment.result_before->at_s;
  return until_s > least_share * all_s && save.kind->is_far(until_s);
}

/// Its times and places alone: a directory may have thousands of files.
SavedFiles SaveFold::moments_of(const SavedFiles& saved) {
  SavedFiles moments{.files = {},
                     .printed_before = saved.printed_before,
                     .begun_ns = saved.begun_ns,
                     .printed_at_most = saved.printed_at_most,
                     .bursts = saved.bursts,
                     .is_late = saved.is_late};
  moments.files.files.push_back({.changed_ns = saved.files.changed_ns()});
  return moments;
}

void SaveFold::note_vote(Waiting& save, double now_s) {
  const auto own = is_lost_in_prints(save) ? std::nullopt : vote_at(save, now_s);
  if (!own || own->weight <= save.noted) return;
  const int more = own->weight - std::exchange(save.noted, own->weight);
  const SaveMoment moment = moment_of(save, now_s);
  const double until_s =
      moment.result_behind ? std::max(0.0, moment.result_behind->at_s - moment.ended_s) : 0;
  save.kind->note_vote(own->when, more, until_s);
}

void SaveFold::name_waiting(double now_s) {
  // Also those behind one that waits tell of the order.
  for (Waiting& save : waiting_) note_vote(save, now_s);
  for (Waiting& save : voting_) note_vote(save, now_s);
  std::erase_if(voting_, [this](const Waiting& save) {
    return first_behind(save.what.printed_before) != printed_.end();
  });
  if (is_ending_ && !end_) return;
  while (!waiting_.empty()) {
    Waiting& save = waiting_.front();
    const bool is_lost = is_lost_in_prints(save);
    if (is_lost && !end_ && waiting_.size() == 1) return;  // it may be the last one
    if (!is_of_no_result(save, now_s)) {
      const auto iteration = iteration_of(save, now_s);
      if (!iteration) return;
      if (!is_first_replaced()) last_found_ = std::max(last_found_, *iteration);
      // What comes behind it may tell the order of those that follow, or speak against it.
      if (!told_ && voting_.size() < most_voting)
        voting_.push_back({.what = moments_of(save.what),
                           .kind = save.kind,
                           .save_before_s = save.save_before_s});
      const bool is_guess = is_guessed(save, now_s);
      if (is_lost || is_doubted_) save.kind->note_other_guess();
      const bool has_next = first_behind(save.what.printed_before) != printed_.end();
      // At an end that cuts the next result off nothing is known of how it saves.
      has_guessed_ = has_guessed_ || (is_guess && has_next && !is_lost);
      std::string kind = kind_of_file(save.what.files.name.string());
      named_.push_back({.iteration = *iteration,
                        .files = std::move(save.what.files),
                        .on_signal = save.on_signal,
                        .is_guess = is_guess || is_counted_from_guess() || is_doubted_,
                        .order = order(*save.kind),
                        .kind = std::move(kind)});
    } else if (!is_lost && first_behind(save.what.printed_before) != printed_.end()) {
      has_left_out_ = true;
    }
    waiting_.pop_front();
  }
}

/// In which of the first gaps between its results it was saved.
void SaveFold::note_gap(const Waiting& save) {
  const auto behind = first_behind(save.what.printed_before);
  const bool may_be_later =
      save.what.bursts > 0 && first_behind(save.what.printed_at_most) > behind;
  has_all_gaps_ = has_all_gaps_ && !save.what.is_late && !may_be_later;
  const auto gap = static_cast<std::size_t>(behind - printed_.begin());
  const bool is_first = gap == 0 && !save.what.is_late && !may_be_later;
  const auto& first = save.what.printed_before_first;
  const bool has_first = first && first_behind(*first) == printed_.begin();
  // Dropped from the front, the first result is not there any more.
  const bool knows_first = printed_.empty() || printed_.front().iteration == began_ + 1;
  if (has_begun_anew_ && knows_first && (is_first || has_first)) save.kind->note_saved_first();
  if (has_first && gap > 0) save.kind->note_begun_first();
  if (has_all_gaps_) save.kind->note_first_gap(gap);
}

void SaveFold::note_last_saves() {
  SavesOfKind::Done done{
      .last = {}, .began = began_, .results = all_printed(), .has_all_gaps = has_all_gaps_};
  for (auto at = printed_.rbegin(); at != printed_.rend() && done.last.size() < 3; ++at) {
    done.last.push_back(at->iteration);
  }
  for (auto& [name, kind] : kinds_) kind.note_done(done);
}

/// Whether it is known what it printed of all iterations that were not taken, up to this one.
bool SaveFold::has_all_until(std::int64_t iteration) const {
  return !results_.empty() && results_.back().iteration >= iteration;
}

/// Where it has gone on after it was to stop, the results in between go with what it has saved of
/// them.
std::vector<SaveFold::Named> SaveFold::name(double now_s) {
  name_waiting(now_s);
  std::vector<Named> said, rest;
  for (Named& each : named_) {
    if (each.iteration > taken_ && !is_leaving_) {
      rest.push_back(std::move(each));
      continue;
    }
    each.is_lost = each.iteration > taken_ && !has_all_until(each.iteration);
    for (const PrintedResult& result : results_) {
      if (each.is_lost || result.iteration > each.iteration) break;
      each.ahead.push_back(result);
    }
    said.push_back(std::move(each));
  }
  named_ = std::move(rest);
  return said;
}

}  // namespace tune
