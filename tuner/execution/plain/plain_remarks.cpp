// The session of one launch: what its user should know of how the program prints and saves.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/decimal.h"
#include "tuner/execution/plain/plain_session.h"
#include "tuner/plain/named_number.h"
#include "tuner/plain/seen_names.h"

namespace tune {

namespace {

constexpr std::size_t shown_bytes = 200;

std::string shown(std::string_view line) {
  return "'" + clean_text(line.substr(0, shown_bytes)) + "'";
}

LaunchAdvisory::What what_of(ReadingRemark::What what) {
  switch (what) {
    case ReadingRemark::What::cut:
      return LaunchAdvisory::What::cut;
    case ReadingRemark::What::no_result:
      return LaunchAdvisory::What::no_result;
    case ReadingRemark::What::no_colon:
      return LaunchAdvisory::What::no_colon;
    case ReadingRemark::What::other_table:
      return LaunchAdvisory::What::other_table;
    case ReadingRemark::What::lost_row:
      return LaunchAdvisory::What::lost_row;
    case ReadingRemark::What::doubtful_row:
      return LaunchAdvisory::What::doubtful_row;
    case ReadingRemark::What::several_numbers:
      return LaunchAdvisory::What::several_numbers;
    case ReadingRemark::What::two_numbers:
      break;
  }
  return LaunchAdvisory::What::two_numbers;
}

LaunchAdvisory::What what_of(UnreadMetric::Remark::What what) {
  switch (what) {
    case UnreadMetric::Remark::What::silent:
      return LaunchAdvisory::What::silent;
    case UnreadMetric::Remark::What::other_name:
      return LaunchAdvisory::What::other_name;
    case UnreadMetric::Remark::What::unread:
      break;
  }
  return LaunchAdvisory::What::unread;
}

}  // namespace

void PlainSession::remark_reading(const ReadingRemark& remark) {
  remarked_.push_back({launch_, what_of(remark.what), sentence_of(remark)});
}

void PlainSession::remark_other_rank(std::string_view line) {
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::other_rank,
       "prints " + shown(line) +
           ", and results by a process of a lower rank, too: those of the lowest rank are its "
           "results, and what others print counts as none. If that is no process, say how "
           "results are read: \"metrics\" (docs/plain.md)"});
}

void PlainSession::remark_late_rank(std::string_view line) {
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::late_rank,
       "has had results of several processes before " + shown(line) +
           " told whose count: those of the lowest rank alone do from here on, and in later "
           "trials from the begin. This trial has some too many, and too high iterations: let "
           "one process alone print the metric (docs/plain.md)"});
}

void PlainSession::remark_echo(std::string_view line) {
  remarked_.push_back({launch_, LaunchAdvisory::What::echo,
                       "says each result on standard output and on standard error, such as " +
                           shown(line) + ": it counts once"});
}

void PlainSession::remark_restored(std::string_view line) {
  const std::string remedy =
      ": name an expression for \"training_iteration\" where iterations are printed "
      "(docs/plain.md)";
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::repeated,
       "has gone on from a checkpoint and begins with the result of that, " + shown(line) + ", " +
           (has_result_of_checkpoint_
                ? "which counts as none. If it has trained before that" + remedy
                : "which counts, as it may have trained before that. If it has not, an iteration "
                  "too many is counted" +
                      remedy)});
}

/// A result waits for all metrics that the spec goes by. One that is printed once gives its trial
/// one result, and a scheduler nothing to judge.
void PlainSession::remark_lacking(bool is_last) {
  constexpr std::size_t many = 5;
  const std::size_t least = is_last ? 2 : many;
  const std::size_t times = reader_.times_waiting();
  if (has_said_lacking_ || times < least || !saves_.has_printed()) return;
  const std::vector<std::string> missing = reader_.lacking();
  if (missing.empty() || missing.size() == closing_.size()) return;
  has_said_lacking_ = true;
  std::string lacking, printed;
  for (const std::string& name : closing_) {
    const bool is_missing = std::find(missing.begin(), missing.end(), name) != missing.end();
    std::string& names = is_missing ? lacking : printed;
    names += (names.empty() ? "'" : " and '") + name + "'";
  }
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::lacking,
       "has printed " + printed + " " + std::to_string(times) +
           " times since its result of iteration " + std::to_string(saves_.last()) + ", and " +
           lacking + " not once: a result waits for all metrics that the spec goes by, those of " +
           "constraints, too. Print each of them with each result (docs/plain.md)"});
}

/// Rows may have the numbers of two epochs, and nothing in the lines tells.
void PlainSession::remark_uneven(bool is_last) {
  if (has_said_uneven_ || has_said_lacking_) return;
  const auto uneven = reader_.uneven(is_last);
  if (!uneven) return;
  has_said_uneven_ = true;
  const auto quoted = [](const std::string& name) { return "'" + clean_text(name) + "'"; };
  const std::string often = quoted(uneven->often), seldom = quoted(uneven->seldom);
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::uneven,
       "prints " + often + " more often than " + seldom +
           ", and their lines name no epoch that both have: a result has the last " + often +
           " before " + seldom + ", which is of the epoch before if " + seldom +
           " comes first in an epoch, or " + often +
           " once before the first one. If so, print both on one line, or the epoch on each "
           "(docs/plain.md)"});
}

/// What a stop rule or a scheduler goes by may be called otherwise: after a few results, or at its
/// end, what comes with each result has come.
void PlainSession::remark_never_read() {
  if (std::exchange(has_looked_for_never_read_, true) || reader_.never_read().empty()) return;
  const auto sentence = other_name_of(reader_.never_read(), tail());
  if (sentence) remarked_.push_back({launch_, LaunchAdvisory::What::other_name, *sentence});
}

/// How only lines like `line` are read.
std::string PlainSession::way_to_mean(std::string_view line) const {
  const auto closing = named_.empty() ? std::nullopt : closing_line(line, named_);
  const std::string name = closing ? way_to_name(line, named_, closing->word) : "";
  if (!name.empty()) return "name the metric '" + clean_text(name) + "' (docs/plain.md)";
  const auto proposed =
      closing ? expression_from(line, named_, closing->word) : ProposedExpression();
  if (proposed.text.empty()) {
    return "say how results are read: \"metrics\" (docs/plain.md)";
  }
  return "say how they are read, here as " + proposed.number +
         ": --set 'trainable/plain/metrics=" + Json{{named_, proposed.text}}.dump() +
         "' (docs/plain.md)";
}

void PlainSession::note_summary(const Printed& printed) {
  const std::string beginning = printed.closing ? printed.closing->beginning : "";
  if (!left_out_) {
    left_out_ = LeftOut{beginning, printed.line};
    return;
  }
  const bool comes_again = left_out_->is_followed && left_out_->beginning == beginning;
  if (!comes_again || std::exchange(left_out_->is_said, true)) return;
  remarked_.push_back({launch_, LaunchAdvisory::What::other_kind,
                       "prints '" + named_ + "' again and again in lines such as " +
                           shown(printed.line) +
                           ", which have another form than its results, and count as none; if "
                           "these are meant, " +
                           way_to_mean(printed.line)});
}

/// The program has ended, and that line has not come again.
void PlainSession::remark_left_out() {
  if (!left_out_ || std::exchange(left_out_->is_said, true)) return;
  if (!left_out_->is_followed) {
    remark_summary(left_out_->line);
    return;
  }
  remarked_.push_back({launch_, LaunchAdvisory::What::summary,
                       "has printed " + shown(left_out_->line) +
                           ", which has another form than its results, or stands below a title, "
                           "and counts as none; if it is one, say how results are read: "
                           "\"metrics\" (docs/plain.md)"});
}

void PlainSession::remark_summary(std::string_view line) {
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::summary,
       "sums up with " + shown(line) +
           ", which has another form than its results, or stands below a title, and counts as "
           "none; if it is one, say how results are read: \"metrics\" (docs/plain.md)"});
}

void PlainSession::remark_bar(std::string_view line) {
  remarked_.push_back({launch_, LaunchAdvisory::What::bar,
                       "prints '" + named_ +
                           "' in a progress bar and in lines of its own: the lines are the "
                           "results, and what the bar shows, such as " +
                           shown(line) +
                           ", counts as none. What it showed before the second such line has "
                           "counted; a later trial has the lines alone (docs/plain.md)"});
}

void PlainSession::remark_other(std::string_view line) {
  const Phase counted = habits_.kinds.counted.value_or(Phase::unnamed);
  const std::string those =
      counted == Phase::unnamed
          ? "its lines that name no phase are the results"
          : std::string("its lines of ") + to_string(counted) + " are the results";
  remarked_.push_back({launch_, LaunchAdvisory::What::other_kind,
                       "prints '" + named_ + "' in lines of several kinds: " + those +
                           ", and others, such as " + shown(line) +
                           ", count as none; if these are meant, " + way_to_mean(line)});
}

void PlainSession::remark_kinds() {
  const auto two = said_again_.kinds().take_mixed();
  if (!two) return;
  remarked_.push_back({launch_, LaunchAdvisory::What::several_kinds,
                       "prints '" + named_ + "' in lines of several kinds, such as " +
                           shown(two->usual) + " and " + shown(two->other) +
                           ": each is a result, so the curve mixes them; if those like the first "
                           "alone are meant, " +
                           way_to_mean(two->usual)});
}

void PlainSession::remark_interleaved(const Printed& printed) {
  if (!printed.closing) return;
  const auto two = interleaved_.take(*printed.closing, printed.line);
  if (!two) return;
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::interleaved,
       "prints several lines of what seems to be one epoch, such as " + shown(two->first) +
           " and " + shown(two->second) +
           ": each is a result, so iterations are no epochs, and lines of several processes or "
           "models are mixed in the curve. If they are, let one alone print '" +
           named_ + "', or say how its lines are read: \"metrics\" (docs/plain.md)"});
}

/// Not told apart: a title may stand above the lines of one epoch alone, or above all of a program.
void PlainSession::remark_unread_phase(const Printed& printed) {
  if (!printed.closing) return;
  const auto two = unread_phase_.take(*printed.closing, printed.line);
  if (!two) return;
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::several_kinds,
       "prints '" + named_ + "' for several phases, and not in front of it which, such as " +
           two->usual + " and " + two->other +
           ": each is a result, so an epoch has several, and the curve mixes them. If one of them "
           "is meant, print it under a name of its own, or say how its lines are read: "
           "\"metrics\" (docs/plain.md)"});
}

void PlainSession::say_odd_count(double iteration) {
  if (std::exchange(has_said_odd_count_, true)) return;
  std::string number;
  append_decimal(number, iteration);
  remarked_.push_back({launch_, LaunchAdvisory::What::odd_count,
                       "has printed a result with training_iteration " + number +
                           ", which counts as none: iterations count from 1"});
}

/// Rows would be missing without a word. Where the order is told, no result is skipped for it.
void PlainSession::remark_skipped(std::int64_t first, std::int64_t last, std::string_view line) {
  if (saves_.is_order_told()) return;
  const bool is_one = first == last;
  const std::string rows = is_one ? "iteration " + std::to_string(first) + " has no row"
                                  : "iterations " + std::to_string(first) + " to " +
                                        std::to_string(last) + " have no rows";
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::skipped,
       "has gone on from a checkpoint of iteration " + std::to_string(saves_.began_at()) +
           " \"or later\"" + (line.empty() ? "" : " with " + shown(line)) + ": " + rows +
           ", since the program had saved that much and was ended before it printed it. If it "
           "saves before it prints, say \"saved\": \"before_result\"; `tune check` finds out "
           "(docs/plain.md)"});
}

/// Without it, its user would wonder why a trial begins anew, or why a checkpoint has the score of
/// another model.
void PlainSession::say_unknown_order(std::vector<Wakeup>& wakeups) {
  const bool is_to_say = saves_.has_left_out() || saves_.has_guessed();
  if (!is_to_say || std::exchange(has_said_unknown_order_, true)) return;
  const std::string what =
      saves_.has_left_out()
          ? "saved before its first result, or elsewhere, and nothing tells which result that has: "
            "it is not kept. "
          : "saves between its results, and nothing proves so far whether it saves before it "
            "prints, or after: the earlier result is taken, \"or later\", which may be that of the "
            "model before, and so are the iterations that are counted on from there. ";
  wakeups.emplace_back(
      LaunchAdvisory{launch_, LaunchAdvisory::What::no_order,
                     what + "If it saves before it prints, say \"saved\": \"before_result\", else "
                            "\"after_result\" (docs/plain.md)"});
}

void PlainSession::note_left_running(std::size_t processes) {
  left_running_ = "left " + count_of(processes, "process", "processes") + " running, which " +
                  (processes == 1 ? "was" : "were") +
                  " ended: a program must stay in the foreground until it has trained";
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::left_running, "has exited with code 0 and " + left_running_});
}

void PlainSession::remark(Seconds age_s, std::vector<Wakeup>& wakeups) {
  if (habits_.has_result || !unread_.is_due(age_s)) return;
  if (saves_.has_printed() || !held_.empty() || status_ || saves_.is_leaving()) return;
  if (auto remark = unread_.remark(age_s, reader_.lacking(), [this] { return tail(); })) {
    wakeups.emplace_back(
        LaunchAdvisory{launch_, what_of(remark->what), std::move(remark->sentence)});
  }
}

/// What the logs have last.
std::string PlainSession::tail() const {
  std::string seen;
  for (std::size_t log = 0; log < logs_.size(); ++log) {
    seen += files_->before(log, logs_[log].at, tail_bytes) + "\n";
  }
  return seen;
}

}  // namespace tune
