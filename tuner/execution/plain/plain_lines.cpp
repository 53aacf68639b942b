// The session of one launch: reads its logs line by line, in the order in which they were printed.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/execution/plain/plain_session.h"
#include "tuner/plain/named_number.h"

namespace tune {

namespace {

constexpr std::size_t read_bytes = 64 * 1024;

}  // namespace

/// What its trial's earlier launches printed last tells how its lines are to be read: the colon,
/// and how results begin. Else one that is started for its last words alone would have its "Best
/// loss: 0.5" counted as a result. Which kind counts the line tells that has given the trial its
/// last result: from the lines alone another kind may be chosen, as nothing shows where a launch
/// was cut off.
/// One that begins anew says all again: judged by what it had said before, its first line would be
/// another one than those of all other trials.
void PlainSession::learn() {
  const std::vector<EarlierLine> lines = earlier_lines();
  // The lines of one log stand before those of the other: which phases come together they do not
  // say.
  const CountedPhases phases_of_others = habits_.phases;
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
  const auto judge = [this](const EarlierLine& line, const std::optional<ClosingLine>& closing,
                            const Metrics& metrics) {
    const auto [kind, held] =
        said_again_.judge(line.log, line.text, closing, closing_values(metrics));
    reader_.judged(tells_form(kind));
  };
  const std::size_t lines_before = reader_.lines() + 1;
  for (const EarlierLine& line : lines) {
    const auto metrics = reader_.read(line.text, line.overwritten, line.log);
    for (const MetricReader::Joined& late : reader_.take_late()) {
      const EarlierLine& closing = lines[late.line - lines_before];
      auto words = words_of(closing.text, closing.overwritten);
      if (words) words->phase = late.phase;
      if (late.metrics) judge(closing, words, *late.metrics);
    }
    said_again_.see(line.log, line.text);
    if (metrics) judge(line, closing_of(line.text, line.overwritten), *metrics);
  }
  reader_.begin_launch();
  known = counted;  // these lines alone settle nothing
  habits_.phases = phases_of_others;
}

/// What earlier drivers have seen of its count is not kept, but a checkpoint has its own.
void PlainSession::begin_counts(std::int64_t iteration) {
  counts_.begin(iteration, restored_counts_);
  std::int64_t place = 0;
  for (const std::string& count : restored_counts_) restored_count_.note(++place, count);
  if (counts_from_guess_) return;
  std::int64_t of = iteration - std::ssize(restored_counts_);
  for (const std::string& count : restored_counts_) habits_.count.know(++of, count);
}

/// The whole lines that were printed last before it was launched, first those of one log, then of
/// the other: by its own trial, or by the one that has saved what it goes on from. Its own trial
/// was another model before it became a copy, and its log lacks the results that the copy has.
std::vector<PlainSession::EarlierLine> PlainSession::earlier_lines() const {
  if (!donor_logs_.empty()) {
    LaunchLogs donor;
    donor.open(donor_logs_.front(), donor_logs_.back());
    const LogSizes ends = donor.look();
    auto lines = lines_before(donor, {ends.stdout_bytes, ends.stderr_bytes});
    if (!lines.empty()) return lines;
  }
  return lines_before(*files_, {logs_.front().at, logs_.back().at});
}

std::vector<PlainSession::EarlierLine> PlainSession::lines_before(
    LaunchLogs& files, std::array<std::uint64_t, 2> ends) const {
  std::vector<EarlierLine> all;
  for (std::size_t log = 0; log < logs_.size(); ++log) {
    const std::string earlier = files.before(log, ends.at(log), tail_bytes);
    std::string_view whole = earlier;
    if (whole.size() < ends.at(log)) {
      whole.remove_prefix(std::min(whole.find('\n'), whole.size() - 1) + 1);
    }
    LineSplitter lines;
    lines.add(whole, [&](std::string_view line, bool overwritten) {
      all.push_back({log, std::string(line), overwritten});
    });
  }
  return all;
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
  remark_uneven(false);
  weigh_late(false);
  std::erase_if(joining_, [this](const auto& each) { return !reader_.waits_for(each.first); });
  said_again_.see(line.log, line.text);
  const bool waits = reader_.waits_for(reader_.lines());
  if (!metrics && !waits) {
    if (!reader_.has_closing()) unread_phase_.see(line.text);
    return;
  }
  Printed printed{line.text, closing_of(line.text, line.overwritten && !line.is_open),
                  {},        line.log,
                  line.end,  time_of(line.log, line.end)};
  if (waits) {
    joining_.emplace(reader_.lines(), std::move(printed));
    return;
  }
  printed.metrics = std::move(*metrics);
  weigh(std::move(printed));
}

/// Of the line that was read last.
std::optional<ClosingLine> PlainSession::closing_of(std::string_view line, bool overwritten) const {
  if (named_.empty()) return std::nullopt;
  if (reader_.is_row(named_)) return row_of_table();
  auto closing = words_of(line, overwritten);
  if (closing) closing->phase = reader_.joined_phase().value_or(closing->phase);
  return closing;
}

std::optional<ClosingLine> PlainSession::words_of(std::string_view line, bool overwritten) const {
  if (named_.empty()) return std::nullopt;
  for (const std::string& name : all_named_) {
    if (auto closing = closing_line(line, name, overwritten)) return closing;
  }
  return std::nullopt;
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

}  // namespace tune
