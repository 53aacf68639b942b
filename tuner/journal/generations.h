// Reading an experiment's state from its files: the snapshot that CURRENT names, if there is one,
// then the journal of that generation and of those after it.
// Locks and changes nothing. Knows events as numbered lines, not what they mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"
#include "tuner/disk/file_system.h"
#include "tuner/journal/trials_file.h"
#include "tuner/model/event.h"

namespace tune {

/// Receives an experiment's state in this order: each trial of the snapshot, the snapshot's state,
/// each event after it. Each member may throw std::invalid_argument for a contradiction to what
/// came before.
class StateReader {
 public:
  virtual ~StateReader() = default;
  /// Discard everything received so far: the files changed while they were read, or a part was
  /// damaged and an older snapshot is read instead. Also called once at the beginning.
  virtual void restart() {}
  virtual void on_trial(std::string_view line) { (void)line; }
  /// If not, the trials' file is not even opened.
  virtual bool wants_trials() const { return true; }
  virtual void on_snapshot(const Json& state) { (void)state; }
  virtual void on_event(Event&& event) = 0;
};

/// What there was to read.
struct Generations {
  int current = 1;  ///< what CURRENT says
  int base = 1;     ///< whose snapshot was read; `current`, unless that is damaged
  int newest = 1;   ///< whose journal has the last event
  std::uint64_t last_event = 0;
  std::uint64_t intact_bytes = 0;  ///< of the newest journal
  std::uint64_t torn_bytes = 0;    ///< of the newest journal: the end of an unfinished write
  bool has_header = true;          ///< the newest journal; if not it has no event either
  bool is_salvaged = false;        ///< the newest journal is damaged after `intact_bytes`
  /// Journals whose events do not follow on the last one: when the power failed they were on disk
  /// before an earlier one was.
  std::vector<int> cut_off;
  std::vector<std::string> notices;
};

/// Whether `directory` has files that only a started experiment has: records, snapshots, trials.
bool has_experiments_files(FileSystem& files, const std::filesystem::path& directory);

/// Where experiments go unless their spec says otherwise.
inline constexpr const char* usual_storage = "results";

/// The error that there is no experiment, with the one that was probably meant: in the directory,
/// in "results" below it, or of that name in "results" beside it.
Error no_experiment(FileSystem& files, const std::filesystem::path& directory);

/// The error that the first journal has no header (later journals get theirs with their first
/// event).
Error lacks_header(const std::filesystem::path& journal);

/// The generation that CURRENT names. Error (user) if there is no experiment in `directory`, Error
/// (machine) if CURRENT is damaged.
int current_generation(FileSystem& files, const std::filesystem::path& directory);

/// Gives all there is to `reader`. `trials` is left at what the snapshot counts. With `salvage`,
/// the first damage in a journal ends the reading instead of being an Error with file, line, byte.
Generations read_generations(FileSystem& files, const std::filesystem::path& directory,
                             TrialsFile& trials, StateReader& reader, bool salvage);

}  // namespace tune
