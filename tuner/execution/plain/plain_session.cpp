// The session of one launch: reads its logs, and turns lines into results and saves into
// checkpoints.
#include "tuner/execution/plain/plain_session.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trainable/values.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr int blocks_at_once = 4;

constexpr std::size_t restored_lines = 3;  // see OwnCount

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
      reader_(reading),
      unread_(closing_),
      said_again_(habits.kinds),
      ranks_(habits.ranks),
      saves_(habits.orders, reading.checkpoints ? reading.checkpoints->saved : std::nullopt),
      ahead_(std::move(reading.ahead)),
      begins_with_guess_(reading.begins_with_guess),
      last_(reading.last),
      restored_(std::move(reading.restored)),
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
  for (const PlainMetric& metric : reading.metrics) {
    if (!closing_.empty() && metric.name == closing_.front() && metric.expression.empty()) {
      named_ = metric.name;
    }
  }
  const bool is_one = stdout_path == stderr_path;
  logs_.push_back({.path = std::move(stdout_path), .at = 0, .lines = {}});
  if (!is_one) logs_.push_back({.path = std::move(stderr_path), .at = 0, .lines = {}});
}

void PlainSession::begin(std::uint64_t stdout_begin, std::uint64_t stderr_begin) {
  logs_.front().at = stdout_begin;
  if (logs_.size() > 1) logs_.back().at = stderr_begin;
  files_->open(logs_.front().path, logs_.back().path, {stdout_begin, stderr_begin});
  for (Log& log : logs_) log.text_end = log.at;
}

/// What its trial's earlier launches printed last tells how its lines are to be read: the colon,
/// and how results begin. Else one that is started for its last words alone would have its "Best
/// loss: 0.5" counted as a result. Which kind counts the line tells that has given the trial its
/// last result: from the lines alone another kind may be chosen, as nothing shows where a launch
/// was cut off.
/// One that begins anew says all again: judged by what it had said before, its first line would be
/// another one than those of all other trials.
void PlainSession::learn() {
  const std::vector<EarlierLine> lines = earlier_lines();
  std::optional<Phase> of_last;
  std::set<Phase> phases;
  for (const EarlierLine& line : lines) {
    const auto metrics = reader_.read(line.text, line.overwritten, line.log);
    const auto closing = metrics ? closing_of(line.text, line.overwritten) : std::nullopt;
    if (!closing) continue;
    phases.insert(closing->phase);
    if (closing_values(*metrics).front() == last_) of_last = closing->phase;
  }
  reader_.begin_launch();
  std::optional<Phase>& known = habits_.kinds.counted;
  if (!known && phases.size() > 1) known = of_last;
  const std::optional<Phase> counted = known;
  std::vector<std::string> results;
  std::vector<std::size_t> restored_places;
  for (const EarlierLine& line : lines) {
    const auto metrics = reader_.read(line.text, line.overwritten, line.log);
    said_again_.see(line.log, line.text);
    if (!metrics) continue;
    const auto [kind, held] = said_again_.judge(
        line.log, line.text, closing_of(line.text, line.overwritten), closing_values(*metrics));
    reader_.judged(tells_form(kind));
    if (!tells_form(kind)) continue;
    const bool is_it =
        !restored_.numbers.empty() && closing_values(*metrics) == closing_values(restored_);
    if (is_it) restored_places.push_back(results.size());
    results.push_back(line.text);
  }
  note_restored(results, restored_places);
  reader_.begin_launch();
  known = counted;  // these lines alone settle nothing
}

/// What earlier drivers have seen of its count is not kept, but its own log has it. `lines`: of
/// results; those with a place in `places` have the values of its checkpoint's, and tell its count,
/// unless two of them have different ones.
void PlainSession::note_restored(const std::vector<std::string>& lines,
                                 const std::vector<std::size_t>& places) {
  std::optional<OwnCount> known;
  for (const std::size_t place : places) {
    OwnCount count;
    const std::size_t before = std::min(place, restored_lines - 1);
    std::int64_t results = 0;
    for (std::size_t i = place - before; i <= place; ++i) count.note(++results, lines[i]);
    if (!count.repeats(results, lines[place])) continue;
    if (known && !known->repeats(restored_results_, lines[place])) return;
    known = std::move(count);
    restored_results_ = results;
  }
  if (known) restored_count_ = *std::move(known);
}

/// The whole lines that its logs have last from before it was launched, first of one log, then of
/// the other.
std::vector<PlainSession::EarlierLine> PlainSession::earlier_lines() const {
  std::vector<EarlierLine> all;
  for (std::size_t log = 0; log < logs_.size(); ++log) {
    const std::uint64_t begin = logs_[log].at;
    const std::string earlier = files_->before(log, begin, tail_bytes);
    std::string_view whole = earlier;
    if (whole.size() < begin) whole.remove_prefix(std::min(whole.find('\n'), whole.size() - 1) + 1);
    LineSplitter lines;
    lines.add(whole, [&](std::string_view line, bool overwritten) {
      all.push_back({log, std::string(line), overwritten});
    });
  }
  return all;
}

void PlainSession::on_command(const protocol::Command& command) {
  if (const auto* const start = std::get_if<protocol::Start>(&command)) {
    has_started_ = true;
    if (start->iteration > 0 || !ahead_.empty()) learn();
    said_again_.begin_launch();
    saves_.begin(start->iteration, std::exchange(ahead_, {}), begins_with_guess_, restored_kind_);
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
  saves_.end(how);
}

/// What waited for more to be printed is a result now, unless the program was cut off: then nobody
/// knows what would have come, and a line of another kind would be an iteration too many.
void PlainSession::finish_results(SaveFold::End how) {
  if (const auto ranked = std::exchange(ranked_, std::nullopt)) read_line(*ranked);
  const bool may_be_bars = how == SaveFold::End::done && !habits_.kinds.has_lines;
  if (auto last = may_be_bars ? reader_.finish() : std::nullopt) {
    const std::uint64_t end = logs_[last->stream].at;
    weigh({"", std::nullopt, std::move(last->metrics), last->stream, end,
           time_of(last->stream, end)});
  }
  const bool are_odd = said_again_.kinds().has_odd();
  const std::vector<bool> counts = said_again_.kinds().settle_at_end();
  release(how == SaveFold::End::killed ? std::vector<bool>(held_.size(), false) : counts, are_odd);
  for (Save& save : held_saves_) {
    save.until = {};
    save.open_results = 0;
  }
  release_saves({});
}

/// Takes in one block; false if there was none.
bool PlainSession::read(std::size_t index) {
  Log& log = logs_[index];
  block_.resize(read_bytes);
  const LaunchLogs::Read block = files_->read(index, log.at, block_);
  if (block.is_behind_cut) note_cut(log, block.is_read_again);
  if (block.bytes == 0) return false;
  unread_.note_output();
  ++blocks_;
  // Line by line, as it counts where each of them ends.
  std::string_view rest(block_.data(), block.bytes);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    const std::string_view text = rest.substr(0, end), line_end = rest.substr(end, 1);
    rest.remove_prefix(text.size() + line_end.size());
    const auto take_line = [&](std::string_view line, bool bar) { add_line(line, bar, index); };
    log.lines.add(text, take_line);  // a line that a carriage return has ended, if there is one
    log.at += text.size();
    if (!text.empty()) {
      log.text_end = log.at;
      log.text_block = blocks_;
    }
    log.lines.add(line_end, take_line);
    log.at += line_end.size();
  }
  return true;
}

void PlainSession::add_line(std::string_view line, bool overwritten, std::size_t log) {
  if (was_taken(log, line)) return;
  const std::uint64_t end = logs_[log].text_end;
  lines_[log].push_back(
      {std::string(line), overwritten, end, time_of(log, end).at_s, logs_[log].text_block});
}

/// Whether `line`, which has ended now, had its result when it was taken as an open one.
bool PlainSession::was_taken(std::size_t log, std::string_view line) {
  const std::string taken = std::exchange(logs_[log].taken_open, {});
  if (taken.empty() || !line.starts_with(taken)) return false;
  const std::string_view rest = line.substr(taken.size());
  if (rest.empty()) return true;
  constexpr std::string_view in_number = "0123456789.eE";
  return !named_.empty() && in_number.find(rest.front()) == in_number.npos &&
         place_of_number(line, named_) == place_of_number(taken, named_);
}

/// In the order in which they were printed: what a line is worth hangs on those before it, and a
/// save is behind what was printed first. A bar that nothing has ended yet was printed before a
/// result that the other log has behind it. A file system's clock may stand still for milliseconds:
/// of what it gives one time, what was read first.
void PlainSession::take_lines() {
  const auto when = [](const Line& line) { return std::pair(line.at_s, line.block); };
  const auto is_earlier = [&](const auto& a, const auto& b) {
    return !a.empty() && (b.empty() || when(a.front()) < when(b.front()));
  };
  while (!lines_.front().empty() || !lines_.back().empty()) {
    const std::size_t log = is_earlier(lines_.back(), lines_.front()) ? 1 : 0, other = 1 - log;
    const Line line = std::move(lines_[log].front());
    lines_[log].pop_front();
    const bool has_open = other < logs_.size() && lines_[other].empty() &&
                          !logs_[other].lines.open_line().empty() &&
                          logs_[other].taken_open.empty();
    const auto opened = [&] {
      const Log& open = logs_[other];
      return std::pair(time_of(other, open.text_end).at_s, open.text_block);
    };
    if (has_open && opened() <= when(line) && reader_.may_close(line.text)) take_open_line(other);
    take({line.text, line.overwritten, log, line.end});
  }
}

void PlainSession::take_open_line(std::size_t log) {
  std::string text = logs_[log].lines.text_so_far();
  if (!reader_.may_close(text)) return;
  take({text, true, log, logs_[log].text_end, true});
  logs_[log].taken_open = std::move(text);
}

/// Somebody else has cut it down, as logrotate does with copytruncate: nobody knows what it had
/// that was not read, so from now on the program may be further than its results say.
void PlainSession::note_cut(Log& log, bool is_read_again) {
  log.lines = {};
  log.taken_open.clear();
  saves_.doubt(true);
  remarked_.push_back(
      {launch_, LaunchAdvisory::What::log_cut,
       "had its log " + log.path.filename().string() +
           " cut down while it runs: results that it printed shortly before may be missing" +
           (is_read_again ? ", or count twice if they stand in it again, and iterations from then "
                            "on be too few or too many"
                          : ", and iterations from then on be too few") +
           ". Leave the logs of a trial that runs alone; "
           "\"max_log_bytes\" bounds them (docs/plain.md)"});
}

/// The text of `line` ends before the byte `end` of the log. What was saved behind that may be of
/// its result even if nothing has ended the line yet: a bar's last drawing waits for the next one.
void PlainSession::take(Taken line) {
  if (!is_of_other_process(line)) read_line(line);
  if (!held_saves_.empty()) release_saves(line.log);
}

/// Whether it is left out, or has to wait, as another process of the program prints the results.
bool PlainSession::is_of_other_process(const Taken& line) {
  const bool may_close = reader_.may_close(line.text);
  if (!may_close && !ranks_.tells()) return false;
  const auto label = process_label(line.text, named_);
  if (!label) return false;
  using Answer = ProcessRanks::Answer;
  const Answer answer = ranks_.take(*label, may_close);
  if (answer.held != Answer::Held::waits) {
    const auto held = std::exchange(ranked_, std::nullopt);
    if (held && answer.held == Answer::Held::counts) read_line(*held);
  }
  if (answer.line == Answer::Count::later) ranked_ = line;
  if (answer.line == Answer::Count::no && may_close) {
    remark_other_rank(line.text);
  }
  if (answer.is_late) {
    saves_.doubt(true);
    remark_late_rank(line.text);
  }
  return answer.line != Answer::Count::yes;
}

void PlainSession::read_line(const Taken& line) {
  auto metrics = reader_.read(line.text, line.overwritten, line.log);
  for (const ReadingRemark& remark : reader_.take_remarks()) remark_reading(remark);
  if (!metrics && line.text.find_first_of("0123456789") != line.text.npos) unread_.note_line();
  remark_lacking(false);
  said_again_.see(line.log, line.text);
  if (!metrics) return;
  weigh({line.text, closing_of(line.text, line.overwritten && !line.is_open), std::move(*metrics),
         line.log, line.end, time_of(line.log, line.end)});
}

/// Of the line that was read last.
std::optional<ClosingLine> PlainSession::closing_of(std::string_view line, bool overwritten) const {
  if (named_.empty()) return std::nullopt;
  return reader_.is_row(named_) ? row_of_table() : closing_line(line, named_, overwritten);
}

/// Whether a line that was judged just now tells how results are printed.
bool PlainSession::tells_form(SaidAgain::Kind kind) {
  using Kind = SaidAgain::Kind;
  return kind == Kind::result || (kind == Kind::held && !said_again_.kinds().has_odd());
}

std::vector<double> PlainSession::closing_values(const Metrics& metrics) const {
  std::vector<double> values;
  for (const std::string& name : closing_) values.push_back(metrics.find(name).value_or(0));
  return values;
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
      remark_summary(printed.line);
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
      reader_.judged(keep(std::move(printed)));
      return;
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
  if (!held_.empty() || ranked_) return;
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
    saves_.settle_guess();
    if (*own > count) {
      saves_.note_skipped(*own - count);
      remark_skipped(count, *own - 1, printed.line);
      count = *own;
      printed.metrics = with_iteration(printed.metrics, count);
    }
  }
  if (is_mute_) return false;
  // What is counted from a guess may be counted wrong, and all other trials would learn that.
  const bool tells = !printed.line.empty() && !saves_.began_with_guess() && !saves_.is_doubted();
  if (tells) habits_.count.note(count, printed.line, saves_.began_at() > 0);
  saves_.print({count, std::move(printed.metrics)}, printed.log, printed.end, printed.time);
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
std::optional<std::int64_t> PlainSession::count_behind_guess(std::string_view line) const {
  if (saves_.has_printed() || !saves_.began_with_guess()) return std::nullopt;
  // One more is that of its order. Where it has counted from a guess before, there may be others.
  constexpr std::int64_t most = 16;
  for (std::int64_t more = 1; more <= most; ++more) {
    const bool is_it = habits_.count.would_be_of(saves_.last() + more, line) ||
                       restored_count_.would_be_of(std::int64_t{restored_lines} + more, line);
    if (is_it) return saves_.last() + more;
  }
  return std::nullopt;
}

/// Whether it is the first result of a program that evaluates what it goes on from, and so one that
/// its trial has.
bool PlainSession::is_restored(std::string_view line, const Metrics& metrics) {
  const bool is_first = !saves_.has_printed() && !has_result_of_checkpoint_;
  if (!is_first || is_mute_ || restored_.numbers.empty()) return false;
  const bool has_its_count =
      habits_.count.is_of(saves_.last(), line) || restored_count_.repeats(restored_results_, line);
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
                                           std::move(named.kind)});
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
    reported.metrics =
        has_stayed_ ? parse_metrics(text_with_time(*result)) : std::move(result->metrics);
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
    wakeups.emplace_back(
        Faulted{launch_, unread_.sentence_at_end(reader_.lacking(), tail(), left_running_)});
  }
}

}  // namespace tune
