// Turns the output of a program that does not speak the protocol into the protocol's messages: each
// step is answered with the next printed result. The program does not wait for steps; a decision
// takes effect when its result is delivered.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/execution/plain/checkpoint_watch.h"
#include "tuner/execution/plain/launch_logs.h"
#include "tuner/execution/reactor.h"
#include "tuner/plain/interleaved_lines.h"
#include "tuner/plain/line_splitter.h"
#include "tuner/plain/metric_reader.h"
#include "tuner/plain/own_count.h"
#include "tuner/plain/process_ranks.h"
#include "tuner/plain/said_again.h"
#include "tuner/plain/save_fold.h"
#include "tuner/plain/unread_metric.h"
#include "tuner/plain/unread_phase.h"
#include "tuner/process/process.h"

namespace tune {

/// What is known of a program from all launches of it.
struct PlainHabits {
  SaveOrders orders;
  bool trains_first = false;  ///< restored, it prints no result before it has trained
  bool has_result = false;    ///< a launch of it has printed one: it is read as its user means it
  OwnCount count = {};
  CountStep step = {};  ///< of the iterations that it names
  KnownKinds kinds = {};
  CountedPhases phases = {};
  KnownRanks ranks = {};
};

class PlainSession {
 public:
  /// `habits`: of the program; outlives this.
  PlainSession(LaunchId launch, PlainReading reading, PlainHabits& habits,
               std::filesystem::path stdout_path, std::filesystem::path stderr_path);

  /// Its logs, for who watches them.
  std::shared_ptr<LaunchLogs> logs() const { return files_; }

  /// It runs. The logs have been made, and are read from there on.
  void begin(std::uint64_t stdout_begin, std::uint64_t stderr_begin);

  /// What the driver tells it: a start, a step.
  void on_command(const protocol::Command& command);
  /// It has saved by itself; `on_signal`: since it was told to save or to end.
  void find(SavedFiles checkpoint, bool on_signal);
  /// A checkpoint has been found of the last result that was said, or a later one.
  bool has_checkpoint_of_last() const { return saves_.has_checkpoint_of_last(); }
  /// It is leaving: results that it prints from now on are reported only as part of its saves.
  void leave() { saves_.leave(); }
  /// It has saved, and what it does next may tell which results that has.
  bool is_order_awaited() const { return saves_.is_order_awaited(); }
  /// It has ended by itself, and the rest of its results is to be delivered after all. False: some
  /// of them were dropped.
  bool stay();

  /// Reads on in the logs, a limited amount at a time, so that other launches do not wait.
  void read();
  /// Whether a read now may find more at once.
  bool may_have_more() const { return has_filled_block_ && !saves_.is_full(); }
  /// It has ended with success and has left so many processes running, which are ended.
  void note_left_running(std::size_t processes);
  /// All its processes are gone; what is found until `end` is what it has saved last.
  void expect_end() { saves_.expect_end(); }
  /// It has ended with `status`, and all its processes are gone: reads the rest of the logs.
  void end(const ExitStatus& status);

  /// Appends what there is to say to what it was told last.
  void say(std::vector<Wakeup>& wakeups);
  /// It has run for `age_s`: appends what its user should know while no result has come.
  void remark(Seconds age_s, std::vector<Wakeup>& wakeups);
  /// It has ended, and there is more to say once it is told to step: results, or that all is done.
  bool has_more() const;

 private:
  struct Log {
    std::filesystem::path path;
    std::uint64_t at = 0;  ///< see LaunchLogs
    LineSplitter lines;
    std::uint64_t text_end = 0;    ///< place behind its last byte that ends no line
    std::uint64_t text_block = 0;  ///< the block that had that byte, see blocks_
    std::string taken_open = {};  ///< what its open line had when that was taken; empty: it was not
  };
  struct Line {
    std::string text;
    bool overwritten = false;
    std::uint64_t end = 0;    ///< of its text, in its log
    double at_s = 0;          ///< Unix time when that was printed
    std::uint64_t block = 0;  ///< that had its text's end
  };
  struct EarlierLine {
    std::size_t log = 0;
    std::string text;
    bool overwritten = false;
  };
  void learn();
  std::vector<EarlierLine> earlier_lines() const;
  std::vector<EarlierLine> lines_before(LaunchLogs& files, std::array<std::uint64_t, 2> ends) const;
  void begin_counts(std::int64_t iteration);
  bool read(std::size_t log);
  void add_line(std::string_view line, bool overwritten, std::size_t log);
  bool was_taken(std::size_t log, std::string_view line);
  void take_lines();
  void take_open_line(std::size_t log);
  void note_cut(Log& log, bool is_read_again);
  bool is_reading_behind() const { return status_.has_value() && !has_read_all_; }
  struct Taken {
    std::string text;
    bool overwritten = false;
    std::size_t log = 0;
    std::uint64_t end = 0;  ///< of its text, in its log
    bool is_open = false;   ///< nothing has ended it yet
  };
  void take(Taken line);
  bool is_of_other_process(const Taken& line);
  void read_line(const Taken& line);
  bool is_restored(std::string_view line, const Metrics& metrics);
  void take_named(std::int64_t iteration, std::string_view line);
  struct OwnNumber {
    std::int64_t iteration = 0;
    /// Else it is known only how far that is behind its checkpoint's.
    bool is_number_known = true;
  };
  std::optional<OwnNumber> count_behind_guess(std::string_view line) const;
  PrintTime time_of(std::size_t log, std::uint64_t end) const;
  struct Printed {
    std::string line;
    std::optional<ClosingLine> closing;
    Metrics metrics;
    std::size_t log = 0;
    std::uint64_t end = 0;
    PrintTime time;
  };
  void finish_results(SaveFold::End how);
  void weigh(Printed printed);
  void weigh_late(bool is_end);
  bool keep(Printed printed);
  void release(const std::vector<bool>& counts, bool are_odd = false);
  void release_saves(std::optional<std::size_t> ended);
  bool has_read(const LogSizes& until) const;
  std::uint32_t open_results() const;
  std::optional<ClosingLine> closing_of(std::string_view line, bool overwritten = false) const;
  std::optional<ClosingLine> words_of(std::string_view line, bool overwritten) const;
  bool tells_form(SaidAgain::Kind kind);
  std::vector<double> closing_values(const Metrics& metrics) const;
  void say_checkpoints(std::vector<Wakeup>& wakeups);
  void say_end(std::vector<Wakeup>& wakeups);

  // plain_remarks.cpp
  void remark_reading(const ReadingRemark& remark);
  void remark_other_rank(std::string_view line);
  void remark_late_rank(std::string_view line);
  void remark_echo(std::string_view line);
  void remark_restored(std::string_view line);
  void remark_lacking(bool is_last);
  void remark_uneven(bool is_last);
  void remark_never_read();
  void note_summary(const Printed& printed);
  void remark_summary(std::string_view line);
  void remark_left_out();
  void remark_bar(std::string_view line);
  void remark_other(std::string_view line);
  void remark_kinds();
  void remark_interleaved(const Printed& printed);
  void remark_unread_phase(const Printed& printed);
  void say_odd_count(double iteration);
  void remark_skipped(std::int64_t first, std::int64_t last, std::string_view line);
  void say_unknown_order(std::vector<Wakeup>& wakeups);
  std::string way_to_mean(std::string_view line) const;
  static constexpr std::size_t tail_bytes = 64 * 1024;  ///< of each log
  std::string tail() const;

  LaunchId launch_;
  PlainHabits& habits_;
  std::vector<std::string> closing_;
  std::string named_;  ///< the metric that closes results and is read by its name; empty: none
  std::vector<std::string> all_named_;  ///< that, and others which are read so
  MetricReader reader_;
  UnreadMetric unread_;
  SaidAgain said_again_;
  std::vector<Printed> held_;  ///< see SaidAgain
  /// Lines that may turn out to have closed a result, by their number; see MetricReader.
  std::map<std::size_t, Printed> joining_;
  struct Save {
    SavedFiles checkpoint;
    bool on_signal = false;
    double read_until_s = 0;
    LogSizes until = {};  ///< of the logs, what may have been printed before it
    /// Once that is read: a bit for each log whose last line has no end yet, and may be a result
    /// that came before.
    std::optional<std::uint32_t> open_results = {};
  };
  ProcessRanks ranks_;
  InterleavedLines interleaved_;
  UnreadPhase unread_phase_;
  std::optional<Taken> ranked_;   ///< a line that waits, see ProcessRanks
  std::vector<Save> held_saves_;  ///< behind those, or behind what is not read or has not ended
  std::vector<Log> logs_;
  std::array<std::deque<Line>, 2> lines_;  ///< of each log, read and not taken
  std::shared_ptr<LaunchLogs> files_ = std::make_shared<LaunchLogs>();
  std::string block_;
  std::uint64_t blocks_ = 0;  ///< read so far, of both logs
  SaveFold saves_;
  std::vector<PrintedResult> ahead_;  ///< until it starts: what its checkpoint has
  const bool begins_with_guess_;
  const bool counts_from_guess_;
  /// Of the trial whose log is read: its last result, or a donor's that it goes on from.
  const std::optional<double> last_;
  const Metrics restored_;  ///< the result of its checkpoint; none: it has none
  const std::vector<std::filesystem::path> donor_logs_;  ///< see PlainReading
  bool has_result_of_checkpoint_ = false;                ///< it has printed that first
  struct First {
    std::int64_t iteration = 0;
    std::string line;
  };
  const std::vector<std::string> restored_counts_;  ///< see PlainReading::counts
  OwnCount restored_count_;                         ///< what these tell, as of results from 1 on
  LastCounts counts_;
  std::optional<First> behind_guess_;  ///< its first result, of which nothing tells how far
  double launched_s_ = 0;              ///< Unix time
  bool was_late_ = false;              ///< its last result was not read as soon as it was printed
  double read_until_s_ = 0;            ///< Unix time; all that was printed before was taken in
  std::optional<std::int64_t> asked_;  ///< the step that waits for a result
  std::optional<ExitStatus> status_;   ///< it has ended
  bool has_greeted_ = false;
  bool has_started_ = false;
  bool has_filled_block_ = false;
  bool has_read_all_ = false;  ///< after its end
  bool has_result_ = false;
  bool has_said_end_ = false;
  bool has_stayed_ = false;
  bool has_said_unknown_order_ = false;
  bool has_said_odd_count_ = false;
  bool has_said_lacking_ = false;
  bool has_said_uneven_ = false;
  bool has_looked_for_never_read_ = false;
  std::size_t results_ = 0;  ///< that it has printed
  const bool is_mute_;
  std::string restored_kind_;  ///< of the checkpoint that it goes on from
  const bool saves_by_itself_;
  std::optional<int> saved_code_;         ///< it exits with that once it has saved
  std::vector<LaunchAdvisory> remarked_;  ///< and not said
  /// The first line that was left out since it sums up. Whether it does shows later: one that comes
  /// again behind further results comes each epoch.
  struct LeftOut {
    std::string beginning, line;
    bool is_followed = false;  ///< by a result
    bool is_said = false;
  };
  std::optional<LeftOut> left_out_;
  std::string left_running_;  ///< a sentence without its subject; empty: nothing was
};

}  // namespace tune
