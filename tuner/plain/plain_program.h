// What the spec says about a program that does not speak the protocol. docs/plain.md is the guide.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/metrics.h"
#include "tuner/plain/checkpoint_files.h"
#include "tuner/plain/command_words.h"
#include "tuner/plain/save_order.h"

namespace tune {

/// A number that the program prints.
struct PlainMetric {
  std::string name;
  /// RE2 with one group, which is the number; empty: the name, ':' or '=', the number.
  std::string expression;

  bool operator==(const PlainMetric&) const = default;
};

/// How a program that saves by itself does it.
struct PlainCheckpoints {
  /// Which files or directories are a checkpoint each: a pattern below the directory in which they
  /// are; empty: all that is there is one.
  std::string pattern;
  /// They are in the trial's working directory itself, not in `plain_checkpoint_dir` of it.
  bool in_working_directory = false;
  std::string complete;                 ///< a file without which a directory is not whole; or empty
  std::vector<std::string> resume;      ///< arguments that are added if there is one to go on from
  std::optional<int> save_signal;       ///< makes it save
  std::optional<int> exit_code;         ///< means: it has saved, and is to be run again
  std::optional<SavedWhen> saved = {};  ///< nothing: it is learnt
};

struct PlainProgram {
  std::vector<PlainMetric> metrics;  ///< beside those that the spec names
  /// Where it runs, absolute; empty: in the trial's own directory.
  std::filesystem::path directory;
  std::optional<PlainCheckpoints> checkpoints = {};  ///< nothing: it is not known to save
  TypedNumbers typed = {};                           ///< of its param space
};

/// Of a trial's working directory: where "${checkpoint_dir}" is.
inline constexpr const char* plain_checkpoint_dir = "checkpoints";

/// A printed result that the trial has not reported yet: the program trains on while it is being
/// paused.
struct PrintedResult {
  std::int64_t iteration = 0;
  Metrics metrics;
  /// Since the result before, or the launch; 0: nobody knows.
  double took_s = 0;
  /// Counted from a checkpoint that may have more than it is known to have: it may be of a later
  /// iteration.
  bool is_guess = false;
  /// `took_s` is how long it took, and not the time until it was known to be a result.
  bool has_own_time = false;
};

/// Its metrics, as if the program had said how long it took: what has waited comes at once.
std::string text_with_time(const PrintedResult& result);

/// Takes that out again, and answers it: it is a field of each result, and no metric of those alone
/// that have waited. Nothing: they do not say.
std::optional<double> take_time(Metrics& metrics);

/// So many of them are kept.
inline constexpr std::size_t most_printed_ahead = 1'000;

/// What a program that saves by itself is restored from, and where.
struct PlainSource {
  std::filesystem::path config_file;   ///< absolute; empty: none is wanted
  std::filesystem::path root;          ///< where it keeps its checkpoints, absolute
  std::filesystem::path checkpoint;    ///< that has been put back there; empty: it begins anew
  std::vector<CheckpointFiles> known;  ///< what has been put back, as it is
  std::vector<FileVersion> others;     ///< what else is there, such as a save that was interrupted
  /// The results that `checkpoint` contains and its trial has not reported, up to its last
  /// iteration.
  std::vector<PrintedResult> ahead = {};
  Metrics metrics = {};                  ///< of the last result that `checkpoint` has
  std::vector<std::string> counts = {};  ///< of its last results, see LastCounts
  bool is_guess = false;  ///< nobody knows whether `checkpoint` has more iterations than it says
  bool counts_from_guess = false;  ///< the numbers of its trial's results are guesses
};

/// How the checkpoints of one launch are found.
struct PlainWatch {
  std::filesystem::path root;  ///< absolute; it is there
  std::string pattern;
  std::string complete;
  std::vector<CheckpointFiles> known;  ///< what was there before the launch
  std::vector<FileVersion> others;     ///< and is no checkpoint; by name, within `root`
  std::optional<int> save_signal;
  std::optional<int> exit_code;
  std::optional<SavedWhen> saved = {};  ///< nothing: it is learnt
  /// By kind of save, see `kind_of_file`: that was learnt by earlier drivers.
  std::map<std::string, SavedWhen> earlier = {};
};

/// How the output of one launch is read.
struct PlainReading {
  std::vector<PlainMetric> metrics;
  std::vector<std::string> closing;  ///< a result is there when all of these are; some of `metrics`
  std::optional<PlainWatch> checkpoints = {};
  std::vector<PrintedResult> ahead = {};  ///< come before what it prints; it goes on behind them
  bool begins_with_guess = false;         ///< see PlainSource::is_guess
  bool counts_from_guess = false;         ///< see SaveFold::begin
  Metrics restored = {};  ///< of the result that it goes on from; none: it begins anew
  std::vector<std::string> counts = {};  ///< up to that result, see LastCounts
  /// Of the first of `closing` in the results of its trial and of those whose copy that is;
  /// nothing: there are none.
  std::optional<ValueRange> earlier = {};
  /// That of the last result of its trial; nothing: there is none.
  std::optional<double> last = {};
  bool is_unmonitored =
      false;  ///< what it prints is nobody's: another of its trial's processes reports
  /// One that is mute and told to stop gets this signal. None: it is not told.
  std::optional<int> stop_signal = {};
  /// Of the trial whose checkpoint it goes on from, where that is another one: standard output, and
  /// standard error if that has a file of its own.
  std::vector<std::filesystem::path> donor_logs = {};
};

}  // namespace tune
