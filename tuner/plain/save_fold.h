// Matches each save of a program with the result that it belongs to: a fold over printed results
// and saves, in the order in which they become known. Printed results wait here until they are
// taken.
// Pure: reads no clock and no file, as times come with the events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/plain/plain_program.h"
#include "tuner/plain/save_order.h"
#include "tuner/plain/saves_of_kind.h"

namespace tune {

/// How far the logs of a launch had come.
struct LogSizes {
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
};

/// Of both logs the larger size.
inline LogSizes later(const LogSizes& a, const LogSizes& b) {
  return {std::max(a.stdout_bytes, b.stdout_bytes), std::max(a.stderr_bytes, b.stderr_bytes)};
}

/// A checkpoint that is whole.
struct SavedFiles {
  CheckpointFiles files;
  /// The logs had at least these sizes when its writing began.
  LogSizes printed_before;
  std::int64_t begun_ns = 0;  ///< Unix time of that, or somewhat later
  /// At most these sizes, reached in `bursts` of printing; between two bursts something was saved.
  LogSizes printed_at_most = {};
  int bursts = 0;
  /// Nobody looked at the time, as the driver stood still: neither how far each burst went nor when
  /// it was written is known.
  bool is_late = false;
  /// Nobody was told of it: it was printed before that look at least, and no later than the next
  /// one. Its files' time says more.
  bool is_by_look = false;
  /// When what it has written anew was written for the first time in this launch, perhaps as a save
  /// that was never whole: the logs had at least these sizes. Nothing: that is not known.
  std::optional<LogSizes> printed_before_first = {};
  /// How far the logs had come when it was written, each time since it was whole last: who saves
  /// again sooner than it rests is found once.
  std::vector<LogSizes> writes = {};
  /// Its program was told to save or to end then, Unix time; nothing: it was not.
  std::optional<double> told_s = {};
};

/// How far it is known what a program saves.
struct SavesSeen {
  /// All saves that were begun before the logs had these sizes are told, or unfinished.
  LogSizes until;
  std::size_t told = 0;  ///< saves of the launch
  /// By kind, what the logs had at least when the first of those that are unfinished was begun.
  std::map<std::string, LogSizes> unfinished = {};
};

class SaveFold {
 public:
  /// `orders`: of the program, from all runs of it; outlives this. `told`: by the user.
  explicit SaveFold(SaveOrders& orders, std::optional<SavedWhen> told = {})
      : orders_(orders), told_(told) {}
  SaveFold(const SaveFold&) = delete;
  SaveFold& operator=(const SaveFold&) = delete;

  /// The program goes on from `iteration`; `ahead`: results that its checkpoint has beyond that.
  /// `is_guess`: the checkpoint may have one iteration more, and so may everything counted from it.
  /// `kind`: of that checkpoint.
  /// `launched_s`: Unix time. `counts_from_guess`: the numbers of its trial's results are guesses,
  /// so what tells only where the checkpoint lies among those does not end that.
  void begin(std::int64_t iteration, std::vector<PrintedResult> ahead, bool is_guess = false,
             const std::string& kind = {}, std::optional<double> launched_s = {},
             bool counts_from_guess = false);

  /// A result; its line ends before the byte `end` of the log.
  void print(PrintedResult result, std::size_t log, std::uint64_t end, PrintTime time);
  /// `on_signal`: since it was told to save or to end.
  void save(SavedFiles saved, bool on_signal, double now_s);
  /// There was one of which nobody will say more.
  void lose_save() {
    has_all_gaps_ = false;
    ++told_saves_;
  }
  /// From now on a save is given the result behind it once no other one can lie between the two.
  void watch(SavesSeen seen) { seen_ = std::move(seen); }
  /// The program is leaving: results that it prints from now on are only named in its saves, and
  /// never taken.
  void leave() { is_leaving_ = true; }
  /// It has saved, and nothing tells which result that has: it, or another trial, may do so soon.
  /// Of one that has printed several results, and has not shown it, nothing is awaited.
  bool is_order_awaited() const;
  /// Whether results may be missing: then it may have more iterations than are counted.
  void doubt(bool is_doubted) { is_doubted_ = is_doubted; }
  bool is_doubted() const { return is_doubted_; }
  /// What it has begun with is known after all.
  /// `is_number_known`: and so is which iteration that is.
  void settle_guess(bool is_number_known = true) {
    began_with_guess_ = false;
    counts_from_guess_ = counts_from_guess_ && !is_number_known;
  }
  /// The results that it prints now may be of later iterations.
  bool is_counted_from_guess() const { return began_with_guess_ || counts_from_guess_; }
  /// By its own count, so many results lie between the guess that it has begun with and its first
  /// one: its checkpoint has them.
  void note_skipped(std::int64_t results);
  bool began_with_guess() const { return began_with_guess_; }
  /// It has ended by itself instead: all printed results are to be taken after all. False: some
  /// were dropped, since there were too many.
  bool stay();
  enum class End {
    done,    ///< with code 0
    saved,   ///< with the code that says that it has saved, and is to be run again
    killed,  ///< all else
  };
  /// It is gone: saves that are found now wait for `end`, which tells more of them.
  void expect_end() { is_ending_ = true; }
  /// It has ended, and all that it printed has come.
  void end(End how);

  /// Takes the next result; from then on its trial has it.
  std::optional<PrintedResult> take();
  std::size_t results() const { return results_.size(); }
  /// No more results fit: leave further ones in the log.
  bool is_full() const { return !is_leaving_ && results_.size() >= most_printed_ahead; }

  /// A checkpoint of which it is known which iteration it has.
  struct Named {
    std::int64_t iteration = 0;
    CheckpointFiles files;
    bool on_signal = false;
    std::vector<PrintedResult> ahead = {};  ///< what it has and its trial has not come to
    bool is_lost = false;                   ///< that is not known any more
    /// Nothing tells the order, or told that of what it goes back to, or results may be missing:
    /// it may have more iterations.
    bool is_guess = false;
    std::optional<SavedWhen> order = {};  ///< of its kind, as far as it is known
    std::string kind = {};                ///< see `kind_of_file`
  };
  /// The named saves of results that were taken; if the program is leaving, all of them.
  std::vector<Named> name(double now_s);
  /// A save before the first result was left out, since nothing tells which result it has.
  bool has_left_out() const { return has_left_out_; }
  /// Of a save between two results nothing told which it has, and the earlier one was taken.
  bool has_guessed() const { return has_guessed_; }
  bool is_order_told() const { return told_.has_value(); }

  bool is_leaving() const { return is_leaving_; }
  bool has_printed() const { return !printed_.empty(); }
  std::int64_t last() const { return last_; }       ///< iteration that it has printed
  std::int64_t began_at() const { return began_; }  ///< that it began with
  /// A checkpoint has been found of the last result that was taken, or a later one.
  bool has_checkpoint_of_last() const { return last_found_ >= taken_; }

 private:
  struct Printed {
    std::int64_t iteration = 0;
    std::size_t log = 0;    ///< the line that closed it stands in
    std::uint64_t end = 0;  ///< of that line, in its log
    PrintTime time;
  };
  /// A checkpoint of which it is not known yet which result it has.
  struct Waiting {
    SavedFiles what;
    SavesOfKind* kind;
    bool on_signal = false;
    int noted = 0;                             ///< the weight of its votes on the order so far
    double found_s = 0;                        ///< Unix time
    std::optional<double> save_before_s = {};  ///< one of its kind ended then, Unix time
  };
  static constexpr std::size_t most_printed = 10'000;
  static constexpr std::size_t most_printed_first = 4;
  static constexpr std::size_t most_voting = 16;

  std::deque<Printed>::const_iterator first_behind(const LogSizes& printed) const;
  void place_by_time(SavedFiles& saved, const SavesOfKind& kind) const;
  std::int64_t iteration_before(std::deque<Printed>::const_iterator behind) const;
  std::int64_t iteration_just_before(const SavedFiles& saved) const;
  std::optional<SavedWhen> order(const SavesOfKind& kind) const {
    return told_ ? told_ : kind.known();
  }
  SavesOfKind& kind_of(const std::string& kind);
  std::int64_t all_printed() const { return dropped_ + static_cast<std::int64_t>(printed_.size()); }
  std::optional<double> fourth_result_s(const SavesOfKind& kind) const;
  std::optional<SaveVote> vote_at(const Waiting& save, double now_s) const;
  std::optional<SavedWhen> order_of_waiting(const Waiting& save, double now_s) const;
  bool is_early(const Waiting& save, double now_s) const;
  std::optional<std::int64_t> iteration_of(const Waiting& save, double now_s) const;
  bool is_first_replaced() const;
  bool has_another_before_result(bool is_sure = false) const;
  bool may_have_another_before_result() const;
  bool is_far_from_result(const Waiting& save) const;
  bool is_lost_in_prints(const Waiting& save) const;
  std::int64_t least_iteration_of(const Waiting& save) const;
  bool is_last_of_all(const Waiting& save) const;
  bool is_of_only_result(const Waiting& save) const;
  bool may_have_trained_on(const Waiting& save) const;
  bool is_guessed(const Waiting& save, double now_s) const;
  bool is_of_no_result(const Waiting& save, double now_s) const;
  bool may_be_of_first(const Waiting& save) const;
  bool has_all_until(std::int64_t iteration) const;
  static SavedFiles moments_of(const SavedFiles& saved);
  void note_vote(Waiting& save, double now_s);
  void name_waiting(double now_s);
  SaveMoment moment_of(const Waiting& save, double now_s) const;
  bool is_placed(const Waiting& save) const;
  void note_place(Waiting& save);
  void note_between();
  void note_gap(const Waiting& save);
  void note_last_saves();

  SaveOrders& orders_;
  const std::optional<SavedWhen> told_;
  std::deque<PrintedResult> results_;  ///< not taken; of one that is leaving the first ones
  std::deque<Printed> printed_;        ///< the last ones
  std::int64_t dropped_ = 0;           ///< of those before them
  std::deque<Waiting> waiting_;        ///< in the order in which they were found
  std::vector<Waiting> voting_;        ///< named, with no result behind them so far; no files
  std::map<std::string, SavesOfKind> kinds_;
  SavesOfKind others_{nullptr};       ///< of all kinds beyond those of which something is learnt
  SavesOfKind* restored_ = &others_;  ///< kind of the checkpoint that it goes on from
  std::optional<SavesSeen> seen_;     ///< nothing: nobody says
  std::size_t told_saves_ = 0;
  std::vector<Named> named_;  ///< and not said, as their results are not taken
  bool has_begun_anew_ = false;
  bool has_all_gaps_ = false;     ///< of each save so far it is known behind which result it came
  std::int64_t last_found_ = -1;  ///< the last iteration with a checkpoint
  std::int64_t taken_ = 0;
  std::int64_t last_ = 0;
  std::int64_t began_ = 0;
  std::optional<double> launched_s_;
  bool began_with_guess_ = false;
  bool counts_from_guess_ = false;
  bool is_doubted_ = false;
  bool is_ending_ = false;
  std::optional<End> end_;
  bool is_leaving_ = false;
  bool has_dropped_ = false;  ///< results, as it was leaving
  bool has_left_out_ = false;
  bool has_guessed_ = false;
};

}  // namespace tune
