// The session of one launch: which lines are results, and which saves are checkpoints of them.
#include "tuner/execution/plain/plain_session.h"

#include <algorithm>
#include <utility>

#include "trainable/values.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace {

constexpr int blocks_at_once = 4;
constexpr double s_per_ns = 1e-9;

double unix_s() { return static_cast<double>(unix_ns()) * s_per_ns; }

/// As if the program had named its iteration.
Metrics with_iteration(const Metrics& metrics, std::int64_t iteration) {
  Json object = Json::parse(metrics.text);
  object["training_iteration"] = iteration;
  return parse_metrics(object.dump());
}

}  // namespace

PlainSession::PlainSession(LaunchId launch, PlainReading reading, PlainHabits& habits,
                           std::filesystem::path stdout_path, std::filesystem::path stderr_path)
    : launch_(launch),
      habits_(habits),
      closing_(reading.closing),
      reader_(reading, habits.phases),
      unread_(closing_),
      said_again_(habits.kinds),
      ranks_(habits.ranks),
      saves_(habits.orders, reading.checkpoints ? reading.checkpoints->saved : std::nullopt),
      ahead_(std::move(reading.ahead)),
      begins_with_guess_(reading.begins_with_guess),
      counts_from_guess_(reading.counts_from_guess),
      last_(reading.donor_logs.empty() ? reading.last : reading.restored.find(closing_.front())),
      restored_(std::move(reading.restored)),
      donor_logs_(std::move(reading.donor_logs)),
      restored_counts_(std::move(reading.counts)),
      is_mute_(reading.is_unmonitored),
      saves_by_itself_(reading.checkpoints.has_value()),
      saved_code_(reading.checkpoints ? reading.checkpoints->exit_code : std::nullopt) {
  if (is_mute_) saves_.leave();
  if (reading.checkpoints) {
    const PlainWatch& checkpoints = *reading.checkpoints;
    habits_.orders.note_earlier(checkpoints.earlier);
    // The last one of those is what it goes on from.
    if (!checkpoints.known.empty()) {
      restored_kind_ = kind_of_file(checkpoints.known.back().name.string());
    }
  }
  if (reading.earlier) said_again_.know(*reading.earlier);
  for (const std::string& name : closing_) {
    const bool is_named =
        std::any_of(reading.metrics.begin(), reading.metrics.end(), [&](const PlainMetric& metric) {
          return metric.name == name && metric.expression.empty();
        });
    if (is_named) all_named_.push_back(name);
  }
  if (!all_named_.empty() && all_named_.front() == closing_.front()) named_ = closing_.front();
  const bool is_one = stdout_path == stderr_path;
  logs_.push_back({.path = std::move(stdout_path), .at = 0, .lines = {}});
  if (!is_one) logs_.push_back({.path = std::move(stderr_path), .at = 0, .lines = {}});
}

void PlainSession::begin(std::uint64_t stdout_begin, std::uint64_t stderr_begin) {
  launched_s_ = unix_s();
  logs_.front().at = stdout_begin;
  if (logs_.size() > 1) logs_.back().at = stderr_begin;
  files_->open(logs_.front().path, logs_.back().path, {stdout_begin, stderr_begin});
  for (Log& log : logs_) log.text_end = log.at;
}

void PlainSession::on_command(const protocol::Command& command) {
  if (const auto* const start = std::get_if<protocol::Start>(&command)) {
    has_started_ = true;
    if (start->iteration > 0 || !ahead_.empty()) {
      learn();
      begin_counts(ahead_.empty() ? start->iteration
                                  : std::max(start->iteration, ahead_.back().iteration));
    }
    said_again_.begin_launch();
    saves_.begin(start->iteration, std::exchange(ahead_, {}), begins_with_guess_, restored_kind_,
                 launched_s_, counts_from_guess_);
  } else if (const auto* const step = std::get_if<protocol::Step>(&command)) {
    asked_ = step->iteration;
  }
}

void PlainSession::read() {
  if (!has_started_) return;  // what it says twice is not known yet
  has_filled_block_ = false;
  const double now_s = unix_s();
  bool has_more = saves_.is_full();
  for (int i = 0; i < blocks_at_once && !saves_.is_full(); ++i) {
    bool has_read = false;
    for (std::size_t log = 0; log < logs_.size(); ++log) has_read = read(log) || has_read;
    take_lines();
    if (!has_read) break;
    has_more = i + 1 == blocks_at_once || saves_.is_full();
  }
  has_filled_block_ = has_more;
  if (!has_more) read_until_s_ = now_s;
  if (!held_saves_.empty()) release_saves({});
  if (!status_ || has_more || has_read_all_) return;
  has_read_all_ = true;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    logs_[i].lines.finish([&](std::string_view line, bool bar) { add_line(line, bar, i); });
  }
  take_lines();
  using End = SaveFold::End;
  const bool has_saved = status_->exit_code == saved_code_ && status_->exit_code != 0;
  const End how = status_->signal != 0 || (status_->exit_code != 0 && !has_saved) ? End::killed
                  : has_saved                                                     ? End::saved
                                                                                  : End::done;
  finish_results(how);
  remark_lacking(how == End::done);
  remark_uneven(how == End::done);
  saves_.end(how);
}

/// What waited for more to be printed is a result now, unless the program was cut off: then nobody
/// knows what would have come, and a line of another kind would be an iteration too many.
void PlainSession::finish_results(SaveFold::End how) {
  if (const auto ranked = std::exchange(ranked_, std::nullopt)) read_line(*ranked);
  if (how != SaveFold::End::killed) weigh_late(true);
  joining_.clear();
  const bool may_be_bars = how == SaveFold::End::done && !habits_.kinds.has_lines;
  if (auto last = may_be_bars ? reader_.finish() : std::nullopt) {
    const std::uint64_t end = logs_[last->stream].at;
    weigh({"", std::nullopt, std::move(last->metrics), last->stream, end,
           time_of(last->stream, end)});
  }
  const bool are_odd = said_again_.kinds().has_odd();
  const std::vector<bool> counts = said_again_.kinds().settle_at_end();
  release(how == SaveFold::End::killed ? std::vector<bool>(held_.size(), false) : counts, are_odd);
  remark_left_out();
  for (Save& save : held_saves_) {
    save.until = {};
    save.open_results = 0;
  }
  release_saves({});
}

/// Keeps it unless it is no result; if it is none, its user hears of it.
void PlainSession::weigh(Printed printed) {
  using Kind = SaidAgain::Kind;
  const auto [kind, held] = said_again_.judge(printed.log, printed.line, printed.closing,
                                              closing_values(printed.metrics));
  if (!held.empty()) release(held);
  if (kind != Kind::result) reader_.judged(tells_form(kind));
  switch (kind) {
    case Kind::held:
      held_.push_back(std::move(printed));
      return;
    case Kind::echo:
      remark_echo(printed.line);
      return;
    case Kind::summary:
      note_summary(printed);
      return;
    case Kind::other_kind:
      if (habits_.kinds.counted && !printed.closing->is_bar) {
        remark_other(printed.line);
      } else {
        remark_bar(printed.line);
      }
      return;
    case Kind::result:
      remark_kinds();
      remark_interleaved(printed);
      remark_unread_phase(printed);
      reader_.judged(keep(std::move(printed)));
      return;
  }
}

/// The results that earlier lines have closed, as is known now.
void PlainSession::weigh_late(bool is_end) {
  for (MetricReader::Joined& joined : reader_.take_late(is_end)) {
    const auto line = joining_.find(joined.line);
    if (line == joining_.end() || !joined.metrics) continue;
    Printed printed = std::move(line->second);
    if (printed.closing) printed.closing->phase = joined.phase;
    printed.metrics = std::move(*joined.metrics);
    weigh(std::move(printed));
  }
}

/// It is known which of the lines that were held are results, and so which one was saved behind
/// each.
void PlainSession::release(const std::vector<bool>& counts, bool are_odd) {
  std::vector<Printed> held = std::exchange(held_, {});
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i < counts.size() && counts[i]) {
      keep(std::move(held[i]));
    } else if (are_odd) {
      remark_summary(held[i].line);
    } else {
      remark_other(held[i].line);
    }
  }
  release_saves({});
}

/// Gives on the first saves that wait for nothing more. `ended`: a log whose last line has ended.
void PlainSession::release_saves(std::optional<std::size_t> ended) {
  for (Save& save : held_saves_) {
    if (!save.open_results && has_read(save.until)) save.open_results = open_results();
    if (save.open_results && ended) *save.open_results &= ~(1U << *ended);
  }
  if (!held_.empty() || !joining_.empty() || ranked_) return;
  const auto waits = [](const Save& save) { return save.open_results != 0; };
  const auto end = std::find_if(held_saves_.begin(), held_saves_.end(), waits);
  std::vector<Save> due(std::make_move_iterator(held_saves_.begin()), std::make_move_iterator(end));
  held_saves_.erase(held_saves_.begin(), end);
  for (Save& save : due) {
    saves_.save(std::move(save.checkpoint), save.on_signal, save.read_until_s);
  }
}

/// All that was printed until then was taken.
bool PlainSession::has_read(const LogSizes& until) const {
  const auto has = [this](std::size_t log, std::uint64_t bytes) {
    const auto& waiting = lines_[log];
    return logs_[log].at >= bytes && (waiting.empty() || waiting.front().end > bytes);
  };
  return has(0, until.stdout_bytes) && (logs_.size() == 1 || has(1, until.stderr_bytes));
}

/// A bit for each log that ends with a line that has no end yet, and may be a result.
std::uint32_t PlainSession::open_results() const {
  std::uint32_t open = 0;
  for (std::size_t log = 0; log < logs_.size(); ++log) {
    const std::string text = logs_[log].lines.text_so_far();
    if (text != logs_[log].taken_open && reader_.may_close(text)) open |= 1U << log;
  }
  return open;
}

/// It is a result, unless its trial has it already. Answers whether it is one.
bool PlainSession::keep(Printed printed) {
  if (left_out_) left_out_->is_followed = true;
  std::int64_t count = saves_.last() + 1;
  // What is said twice, and what a restored program goes through once more, is no new result.
  if (const auto iteration = printed.metrics.find("training_iteration")) {
    if (*iteration < 0) say_odd_count(*iteration);
    if (!(*iteration > static_cast<double>(saves_.last()))) return false;
    constexpr double most = 9e15;
    count = static_cast<std::int64_t>(std::min(*iteration, most));
    saves_.doubt(false);
    if (!is_mute_) take_named(count, printed.line);
  } else if (is_restored(printed.line, printed.metrics)) {
    return false;
  } else if (const auto own = count_behind_guess(printed.line)) {
    saves_.settle_guess(own->is_number_known);
    if (own->iteration > count) {
      saves_.note_skipped(own->iteration - count);
      remark_skipped(count, own->iteration - 1, printed.line);
      count = own->iteration;
      printed.metrics = with_iteration(printed.metrics, count);
    }
  }
  habits_.has_result = true;
  if (is_mute_) return false;
  if (!printed.line.empty()) counts_.note(count, printed.line);
  // What is counted from a guess may be counted wrong, and all other trials would learn that.
  const bool tells =
      !printed.line.empty() && !saves_.is_counted_from_guess() && !saves_.is_doubted();
  if (tells) habits_.count.note(count, printed.line, saves_.began_at() > 0);
  // A line may be known to be a result only once the next one has come, and the one behind it then
  // comes at once. Of the first one nobody has asked for a step before its program ran.
  constexpr double soon_s = 0.1;
  const bool is_late = unix_s() - printed.time.at_s > soon_s;
  const bool has_own_time = is_late || was_late_ || !saves_.has_printed();
  was_late_ = is_late;
  saves_.print(
      {.iteration = count, .metrics = std::move(printed.metrics), .has_own_time = has_own_time},
      printed.log, printed.end, printed.time);
  constexpr std::size_t few_results = 3;
  if (++results_ == few_results) remark_never_read();
  return true;
}

/// The program has named its iteration: it is known where it is. What it has gone on from had the
/// results before its first one, if there are such: how many, the step from one result to the next
/// one tells, perhaps only of those that follow.
void PlainSession::take_named(std::int64_t iteration, std::string_view line) {
  if (saves_.has_printed()) {
    habits_.step.note(iteration - saves_.last());
  } else if (saves_.began_with_guess()) {
    behind_guess_ = First{iteration, std::string(line)};
  }
  saves_.settle_guess();
  const auto step = habits_.step.known();
  if (!behind_guess_ || !step) return;
  const First first = *std::exchange(behind_guess_, std::nullopt);
  const std::int64_t more = first.iteration - saves_.began_at();
  if (more % *step != 0 || more == *step) return;
  saves_.note_skipped(more / *step - 1);
  remark_skipped(saves_.began_at() + *step, first.iteration - *step, first.line);
}

/// Of a program that goes on from a checkpoint with more iterations, perhaps, and counts its
/// results itself: which one the first of them is. A result that it has not come to print, as it
/// was killed between its save and that, has no row then, and those behind it have their own
/// numbers.
std::optional<PlainSession::OwnNumber> PlainSession::count_behind_guess(
    std::string_view line) const {
  if (saves_.has_printed() || !saves_.is_counted_from_guess()) return std::nullopt;
  // One more is that of its order. Where it has counted from a guess before, there may be others.
  constexpr std::int64_t most = 16;
  for (std::int64_t more = 1; more <= most; ++more) {
    if (habits_.count.would_be_of(saves_.last() + more, line)) {
      return OwnNumber{saves_.last() + more, true};
    }
  }
  for (std::int64_t more = 1; more <= most; ++more) {
    if (restored_count_.would_be_of(std::ssize(restored_counts_) + more, line)) {
      return OwnNumber{saves_.last() + more, !counts_from_guess_};
    }
  }
  return std::nullopt;
}

/// Whether it is the first result of a program that evaluates what it goes on from, and so one that
/// its trial has.
bool PlainSession::is_restored(std::string_view line, const Metrics& metrics) {
  const bool is_first = !saves_.has_printed() && !has_result_of_checkpoint_;
  if (!is_first || is_mute_) return false;
  const bool has_its_count = habits_.count.is_of(saves_.last(), line) ||
                             restored_count_.repeats(std::ssize(restored_counts_), line);
  if (restored_.numbers.empty() && !has_its_count) return false;
  const FirstResult what = has_its_count ? FirstResult::evaluated : judge_first(metrics, restored_);
  // It may be that of a later iteration than a guess says.
  const bool has_trained = what == FirstResult::trained && !saves_.began_with_guess();
  habits_.trains_first = habits_.trains_first || has_trained;
  if (habits_.trains_first && !has_its_count) return false;
  // Other numbers are no result of the checkpoint's, and neither is what counts as the next one.
  const bool is_next = !has_its_count && habits_.count.is_of(saves_.last() + 1, line);
  if (what == FirstResult::trained || (what == FirstResult::unclear && is_next)) return false;
  has_result_of_checkpoint_ = what == FirstResult::evaluated;
  remark_restored(line);
  return has_result_of_checkpoint_;
}

PrintTime PlainSession::time_of(std::size_t log, std::uint64_t end) const {
  const auto seen = files_->times().growth_to(log, end);
  if (!seen) return {.at_s = unix_s()};
  const double lag_s = static_cast<double>(seen->lag_ns) * s_per_ns;
  return {.at_s = static_cast<double>(seen->ns) * s_per_ns,
          .lag_s = std::max(lag_s, PrintTime::watched_lag_s)};
}

/// Where much is printed, the program is further than its logs are read: which results came before
/// the save is known once that is made up for.
void PlainSession::find(SavedFiles checkpoint, bool on_signal) {
  read();
  constexpr std::size_t most_held = 16, most_unread = 64;
  const auto is_read = [](const Save& save) { return save.open_results.has_value(); };
  while (held_saves_.size() >= most_held) {
    Save& first = held_saves_.front();
    if (is_read(first)) {
      saves_.save(std::move(first.checkpoint), first.on_signal, first.read_until_s);
    } else if (held_saves_.size() < most_unread) {
      break;
    } else {
      saves_.lose_save();  // a later one is there
    }
    held_saves_.erase(held_saves_.begin());
  }
  const LogSizes until = later(checkpoint.printed_before, checkpoint.printed_at_most);
  held_saves_.push_back({std::move(checkpoint), on_signal, read_until_s_, until});
  release_saves({});
}

void PlainSession::say_checkpoints(std::vector<Wakeup>& wakeups) {
  if (saves_by_itself_) saves_.watch(files_->saves_seen());
  for (SaveFold::Named& named : saves_.name(read_until_s_)) {
    if (!named.is_lost) {
      wakeups.emplace_back(CheckpointFound{launch_, named.iteration, std::move(named.files),
                                           std::move(named.ahead), named.is_guess, named.order,
                                           std::move(named.kind), counts_.up_to(named.iteration)});
    } else if (named.on_signal) {
      wakeups.emplace_back(LaunchAdvisory{
          launch_, LaunchAdvisory::What::too_late,
          "saved as it was told to end, and by then it had printed more results than are "
          "kept for that: what it saved is not kept, and it goes on from its checkpoint "
          "before. A program that saves on a signal and prints often should be told at "
          "once: \"save_signal\": \"SIGTERM\" (docs/plain.md)"});
    }
  }
  say_unknown_order(wakeups);
}

bool PlainSession::stay() {
  asked_.reset();
  has_stayed_ = saves_.stay();
  return has_stayed_;
}

void PlainSession::end(const ExitStatus& status) {
  status_ = status;
  do {
    read();
    // Nobody will ask for the rest of what it has printed, but for what it has saved behind that.
  } while (saves_.is_leaving() && !held_saves_.empty() && is_reading_behind());
}

void PlainSession::say(std::vector<Wakeup>& wakeups) {
  if (!std::exchange(has_greeted_, true)) {
    protocol::Hello hello;
    hello.api = protocol::Api::function_api;
    wakeups.emplace_back(Greeted{launch_, hello});
  }
  const bool is_awaited = !saves_.is_leaving() && asked_;
  // What has waited on the disk while results did in memory, or since nobody had begun to listen.
  while (is_awaited && saves_.results() == 0 && is_reading_behind()) read();
  say_checkpoints(wakeups);
  if (status_ && results_ > 0 && !is_reading_behind()) remark_never_read();
  for (LaunchAdvisory& remarked : std::exchange(remarked_, {})) {
    wakeups.emplace_back(std::move(remarked));
  }
  if (!is_awaited) return;
  if (auto result = saves_.take()) {
    Reported reported{.launch = launch_, .metrics = {}, .iteration_is_guess = result->is_guess};
    reported.metrics = has_stayed_ || result->has_own_time ? parse_metrics(text_with_time(*result))
                                                           : std::move(result->metrics);
    asked_.reset();
    has_result_ = true;
    wakeups.emplace_back(std::move(reported));
    say_checkpoints(wakeups);
  } else if (status_) {
    say_end(wakeups);
  }
}

bool PlainSession::has_more() const {
  if (saves_.is_leaving()) return false;
  const bool has_failed = status_->signal != 0 || status_->exit_code != 0;
  return saves_.results() > 0 || is_reading_behind() || !(has_failed || has_said_end_);
}

/// All is said. Of an end that is a failure the exit itself tells.
void PlainSession::say_end(std::vector<Wakeup>& wakeups) {
  if (status_->signal != 0 || status_->exit_code != 0) return;
  asked_.reset();
  has_said_end_ = true;
  if (has_result_ || saves_.began_at() > 0) {
    wakeups.emplace_back(Reported{.launch = launch_, .metrics = {}, .done = true});
  } else {
    std::vector<std::string> missing;
    for (const std::string& name : reader_.never_read()) {
      if (std::find(closing_.begin(), closing_.end(), name) != closing_.end()) {
        missing.push_back(name);
      }
    }
    if (missing.empty()) missing = reader_.lacking();
    wakeups.emplace_back(Faulted{launch_, unread_.sentence_at_end(missing, tail(), left_running_)});
  }
}

}  // namespace tune
