#include "tuner/exec/plain_talk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "tuner/core/clean_text.h"
#include "tuner/core/nearest_name.h"
#include "tuner/exec/system_clock.h"
#include "tuner/files/regular_file.h"

namespace tune {

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr int blocks_at_once = 4;

// Of what is said where a metric never came.
constexpr std::size_t looked_at_bytes = 64 * 1024;
constexpr std::size_t most_named = 20;
constexpr std::size_t shown_lines = 3;
constexpr std::size_t shown_bytes = 200;

/// When it is looked whether a program that has no result yet ever will.
constexpr std::array<Seconds, 3> remark_ages_s = {10, 60, 600};
constexpr Seconds silent_s = 60;

constexpr double s_per_ns = 1e-9;

double unix_s() { return static_cast<double>(unix_ns()) * s_per_ns; }

FileDescriptor open_to_read(const std::filesystem::path& path) {
  try {
    return FileDescriptor(open_regular(path.string(), O_RDONLY));
  } catch (const Error&) {
    return {};  // the trial has put something else there
  }
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// The last lines of `text` that say anything, in their order.
std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  LineSplitter splitter;
  const auto take = [&lines](std::string_view line, bool) {
    if (line.find_first_not_of(" \t") == line.npos) return;
    lines.push_back(clean_text(line.substr(0, shown_bytes)));
    if (lines.size() > shown_lines) lines.erase(lines.begin());
  };
  splitter.add(text, take);
  splitter.finish(take);
  return lines;
}

}  // namespace

PlainTalk::PlainTalk(LaunchId launch, PlainReading reading, SaveOrder& order,
                     std::filesystem::path stdout_path, std::filesystem::path stderr_path)
    : launch_(launch),
      closing_(reading.closing),
      reader_(reading),
      order_(order),
      told_(reading.checkpoints ? reading.checkpoints->saved : std::nullopt),
      is_leaving_(reading.is_mute) {
  for (const PlainMetric& metric : reading.metrics) {
    if (!closing_.empty() && metric.name == closing_.front() && metric.expression.empty()) {
      named_ = metric.name;
    }
  }
  const bool is_one = stdout_path == stderr_path;
  logs_.push_back({.path = std::move(stdout_path), .file = {}, .at = 0, .lines = {}});
  if (!is_one) {
    logs_.push_back({.path = std::move(stderr_path), .file = {}, .at = 0, .lines = {}});
  }
}

void PlainTalk::begin(std::uint64_t stdout_begin, std::uint64_t stderr_begin) {
  logs_.front().at = stdout_begin;
  if (logs_.size() > 1) logs_.back().at = stderr_begin;
  for (Log& log : logs_) log.file = open_to_read(log.path);
}

void PlainTalk::hear(const protocol::Command& command) {
  if (const auto* const start = std::get_if<protocol::Start>(&command)) {
    has_started_ = true;
    restored_ = last_ = said_ = start->iteration;
  } else if (const auto* const step = std::get_if<protocol::Step>(&command)) {
    asked_ = step->iteration;
  }
}

void PlainTalk::read() {
  if (!has_started_) return;  // what it says twice is not known yet
  has_filled_block_ = false;
  bool has_more = results_.size() >= most_results;
  for (Log& log : logs_) {
    for (int i = 0; i < blocks_at_once && results_.size() < most_results; ++i) {
      if (!read(log)) break;
      has_more = i + 1 == blocks_at_once || results_.size() >= most_results;
    }
  }
  has_filled_block_ = has_more;
  if (!status_ || has_more || has_read_all_) return;
  has_read_all_ = true;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    logs_[i].lines.finish(
        [&](std::string_view line, bool bar) { take(line, bar, i, logs_[i].at); });
  }
  note_last_saves();
}

/// Takes in one block; false if there was none.
bool PlainTalk::read(Log& log) {
  if (!log.file) return false;
  block_.resize(read_bytes);
  const ssize_t count =
      ::pread(log.file.get(), block_.data(), block_.size(), static_cast<off_t>(log.at));
  if (count <= 0) return false;
  has_printed_ = true;
  // Line by line, as it counts where each of them ends.
  std::string_view rest(block_.data(), static_cast<std::size_t>(count));
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of("\r\n");
    const std::string_view line = rest.substr(0, end == rest.npos ? end : end + 1);
    rest.remove_prefix(line.size());
    log.at += line.size();
    log.lines.add(line, [&](std::string_view text, bool bar) {
      take(text, bar, static_cast<std::size_t>(&log - logs_.data()), log.at);
    });
  }
  return true;
}

/// `line` ends before the byte `end` of the log.
void PlainTalk::take(std::string_view line, bool overwritten, std::size_t log, std::uint64_t end) {
  auto metrics = reader_.read(line, overwritten);
  if (!metrics || !is_new(line, log, *metrics)) return;
  // What is said twice, and what a restored program goes through once more, is no new result.
  if (const auto iteration = metrics->find("training_iteration")) {
    if (!(*iteration > static_cast<double>(last_))) return;
    constexpr double most = 9e15;
    last_ = static_cast<std::int64_t>(std::min(*iteration, most));
  } else {
    ++last_;
  }
  if (printed_.size() >= most_printed) printed_.pop_front();
  printed_.push_back({last_, log, end, unix_s()});
  if (!is_leaving_) results_.emplace_back(last_, *std::move(metrics));
}

/// Whether it is not said a second time; if it is, its user hears of it.
bool PlainTalk::is_new(std::string_view line, std::size_t log, const Metrics& metrics) {
  std::vector<double> values;
  for (const std::string& name : closing_) values.push_back(metrics.find(name).value_or(0));
  const auto closing = named_.empty() ? std::nullopt : closing_line(line, named_);
  const std::string shown = "'" + clean_text(line.substr(0, shown_bytes)) + "'";
  switch (said_again_.judge(log, closing, values)) {
    case SaidAgain::Kind::result:
      return true;
    case SaidAgain::Kind::echo:
      remarked_.push_back({launch_, Remarked::What::echo,
                           "says each result on standard output and on standard error, such as " +
                               shown + ": it counts once"});
      return false;
    case SaidAgain::Kind::summary:
      remarked_.push_back({launch_, Remarked::What::summary,
                           "sums up with " + shown +
                               ", which begins otherwise than its results, and counts as none; if "
                               "it is one, say how results are read: \"metrics\" (docs/plain.md)"});
      return false;
  }
  return true;
}

void PlainTalk::find(WatchedCheckpoint checkpoint, bool on_signal) {
  read();  // what was printed before it
  waiting_.push_back({std::move(checkpoint), on_signal});
  const auto behind = first_behind(waiting_.back().what.printed_before);
  saved_behind_ = {saved_behind_.back(),
                   behind == printed_.begin() ? restored_ : std::prev(behind)->iteration};
  name_checkpoints();
}

std::optional<SavedWhen> PlainTalk::order() const { return told_ ? told_ : order_.known(); }

/// What this save alone tells.
std::optional<SavedWhen> PlainTalk::order_at(const Waiting& save) const {
  const auto behind = first_behind(save.what.printed_before);
  SaveMoment moment{.begun_s = static_cast<double>(save.what.begun_ns) * s_per_ns,
                    .ended_s = static_cast<double>(save.what.files.changed_ns()) * s_per_ns,
                    .now_s = unix_s()};
  if (behind != printed_.begin()) moment.result_before_s = std::prev(behind)->read_s;
  if (behind != printed_.end()) moment.result_behind_s = behind->read_s;
  return order_of(moment);
}

/// Which result it has; nothing: that is to come.
std::optional<std::int64_t> PlainTalk::iteration_of(Waiting& save) {
  const auto behind = first_behind(save.what.printed_before);
  const bool has_behind = behind != printed_.end();
  const std::int64_t before = behind == printed_.begin() ? restored_ : std::prev(behind)->iteration;
  const bool is_over = status_ && has_read_all_;
  const auto own = order_at(save);
  if (own && !std::exchange(save.is_noted, true)) order_.note(*own);
  auto when = order();
  if (!when) {
    // The first saves of a search are named once it is known how; a program that saves in between
    // must not wait for that.
    constexpr std::ptrdiff_t most_behind = 3;
    if (!is_over && !is_leaving_ && printed_.end() - behind < most_behind) return std::nullopt;
    when = own.value_or(SavedWhen::after_result);
  }
  if (when == SavedWhen::after_result) return before;
  if (has_behind) return behind->iteration;
  // Behind the last result there is none: what is saved there is that of the last one.
  return is_over ? std::optional(before) : std::nullopt;
}

void PlainTalk::name_checkpoints() {
  while (!waiting_.empty()) {
    const auto iteration = iteration_of(waiting_.front());
    if (!iteration) return;
    last_found_ = std::max(last_found_, *iteration);
    found_.push_back({{launch_, *iteration, std::move(waiting_.front().what.files)},
                      waiting_.front().on_signal});
    waiting_.pop_front();
  }
}

/// Who saves after each result has a save behind the last one, who saves before has none: that
/// tells also where epochs are too short for their times to.
void PlainTalk::note_last_saves() {
  if (status_->signal != 0 || status_->exit_code != 0 || printed_.size() < 2) return;
  const std::int64_t last = printed_.back().iteration,
                     before = std::prev(printed_.end(), 2)->iteration;
  const bool is_each = saved_behind_[1] > saved_behind_[0] && saved_behind_[0] >= restored_;
  if (!is_each) return;
  if (saved_behind_[1] == last && saved_behind_[0] == before) {
    order_.note(SavedWhen::after_result);
    order_.note(SavedWhen::after_result);
  } else if (saved_behind_[1] == before && printed_.size() > 2 &&
             saved_behind_[0] == std::prev(printed_.end(), 3)->iteration) {
    order_.note(SavedWhen::before_result);
    order_.note(SavedWhen::before_result);
  }
}

LogSizes PlainTalk::next_result() const {
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  const auto next = std::find_if(printed_.begin(), printed_.end(), [this](const Printed& result) {
    return result.iteration > said_;
  });
  if (next == printed_.end()) return {none, none};
  return next->log == 0 ? LogSizes{next->end, none} : LogSizes{none, next->end};
}

/// The first result that had not been printed when the logs had come so far.
std::deque<PlainTalk::Printed>::const_iterator PlainTalk::first_behind(
    const LogSizes& printed) const {
  const auto is_in = [&](const Printed& result) {
    return result.end <= (result.log == 0 ? printed.stdout_bytes : printed.stderr_bytes);
  };
  return std::find_if(printed_.rbegin(), printed_.rend(), is_in).base();
}

/// Those of iterations that are known to the driver. Where it has gone on after it was to stop,
/// what it has saved is too far ahead: results between would be missing, or others be in their
/// place.
void PlainTalk::say_checkpoints(std::vector<Wakeup>& wakeups) {
  name_checkpoints();
  for (Found& found : found_) {
    if (found.what.iteration <= said_) {
      wakeups.emplace_back(found.what);
    } else if (is_leaving_ && found.on_signal) {
      wakeups.emplace_back(Remarked{launch_, Remarked::What::too_late,
                                    "saved as it was told to end, and by then it had printed a "
                                    "result that nobody took: what it saved is not kept, and it "
                                    "goes on from its checkpoint before. A program that saves on "
                                    "a signal and prints often should be told at once: "
                                    "\"save_signal\": \"SIGTERM\" (docs/plain.md)"});
    }
  }
  std::erase_if(
      found_, [this](const Found& found) { return is_leaving_ || found.what.iteration <= said_; });
}

void PlainTalk::end(const ExitStatus& status) {
  status_ = status;
  read();
}

void PlainTalk::say(std::vector<Wakeup>& wakeups) {
  if (!std::exchange(has_greeted_, true)) {
    protocol::Hello hello;
    hello.api = protocol::Api::function_api;
    wakeups.emplace_back(Greeted{launch_, hello});
  }
  say_checkpoints(wakeups);
  for (Remarked& remarked : std::exchange(remarked_, {})) {
    wakeups.emplace_back(std::move(remarked));
  }
  if (is_leaving_ || !asked_) return;
  // What has waited on the disk while results did in memory.
  while (results_.empty() && is_reading_behind()) read();
  if (!results_.empty()) {
    Reported reported{.launch = launch_};
    said_ = results_.front().first;
    reported.metrics = std::move(results_.front().second);
    results_.pop_front();
    asked_.reset();
    has_result_ = true;
    wakeups.emplace_back(std::move(reported));
    say_checkpoints(wakeups);
  } else if (status_) {
    say_end(wakeups);
  }
}

bool PlainTalk::has_more() const {
  if (is_leaving_) return false;
  const bool has_failed = status_->signal != 0 || status_->exit_code != 0;
  return !results_.empty() || is_reading_behind() || !(has_failed || has_said_end_);
}

/// All is said. Of an end that is a failure the exit itself tells.
void PlainTalk::say_end(std::vector<Wakeup>& wakeups) {
  if (status_->signal != 0 || status_->exit_code != 0) return;
  asked_.reset();
  has_said_end_ = true;
  if (has_result_ || restored_ > 0) {
    wakeups.emplace_back(Reported{.launch = launch_, .metrics = {}, .done = true});
  } else {
    wakeups.emplace_back(Faulted{launch_, what_is_missing()});
  }
}

void PlainTalk::remark(Seconds age_s, std::vector<Wakeup>& wakeups) {
  if (remarks_ == remark_ages_s.size() || age_s < remark_ages_s.at(remarks_)) return;
  ++remarks_;
  if (!printed_.empty() || status_ || is_leaving_) return;
  if (!has_printed_ && age_s >= silent_s) {
    wakeups.emplace_back(Remarked{launch_, Remarked::What::silent,
                                  "has printed nothing so far: perhaps it holds its output back; "
                                  "of a program in C, `stdbuf -oL PROGRAM` changes that"});
    return;
  }
  const std::vector<std::string> names = names_in(tail(), most_named);
  for (const std::string& metric : closing_) {
    const auto near = nearest_name(metric, std::span(names));
    if (!near || *near == metric) continue;
    wakeups.emplace_back(Remarked{launch_, Remarked::What::other_name,
                                  "has printed '" + *near + "', and no number for the metric '" +
                                      metric + "' so far: is that what is meant?"});
    return;
  }
}

/// What the logs have last.
std::string PlainTalk::tail() const {
  std::string seen;
  for (const Log& log : logs_) {
    if (!log.file) continue;
    std::string text(looked_at_bytes, '\0');
    const std::uint64_t begin = log.at > looked_at_bytes ? log.at - looked_at_bytes : 0;
    const ssize_t count =
        ::pread(log.file.get(), text.data(), text.size(), static_cast<off_t>(begin));
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    seen += text + "\n";
  }
  return seen;
}

std::string PlainTalk::what_is_missing() const {
  const std::string seen = tail();
  const std::vector<std::string> names = names_in(seen, most_named);
  std::string sentence = "it ended, and its output never had a number for the metric '" +
                         joined(closing_, "' and '") + "'";
  const auto near =
      closing_.empty() ? std::nullopt : nearest_name(closing_.front(), std::span(names));
  if (near && *near != closing_.front()) sentence += ", did you mean '" + *near + "'?";
  sentence += names.empty() ? "; no name was seen with a number behind it"
                            : "; names that were seen: " + joined(names, ", ");
  const std::vector<std::string> lines = last_lines(seen);
  if (!lines.empty()) sentence += "; it printed last: " + joined(lines, " | ");
  return sentence;
}

}  // namespace tune
