// An experiment's directory as one durable thing: the spec, journals and snapshots, who drives it.
// Knows events and trials as lines and numbers; folding them is the reader's business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/clock.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/lock.h"
#include "tuner/journal/generations.h"
#include "tuner/journal/journal.h"
#include "tuner/journal/trials_file.h"
#include "tuner/model/event.h"
#include "tuner/model/state_cost.h"

namespace tune {

/// What a snapshot is made of: the state as of the last event before the journal of `generation`.
struct SnapshotParts {
  int generation = 0;
  std::uint64_t event = 0;
  Json state;
  TrialLines trials;  ///< those that have changed since the snapshot before
};

class ExperimentStore {
 public:
  /// Makes a new experiment's directory with its spec and an empty journal, and locks it. Error
  /// (user) if the directory already holds an experiment: see `exists`.
  static ExperimentStore create(FileSystem& files, std::filesystem::path directory,
                                const Json& spec, const LockOwner& self,
                                LeaseWatch* watch = nullptr);

  /// Locks an existing experiment and gives its state to `reader`; a torn last line is cut off (and
  /// said in `notices`), damage before it is an Error with file, line and byte. With
  /// `before_salvage`, a damaged journal is cut off there instead, and what is cut off is kept in a
  /// file beside it; before anything is changed, that is called, and may throw.
  /// Refused by name of host and pid if another driver has it; `watch` as for a DirectoryLock.
  static ExperimentStore open(FileSystem& files, std::filesystem::path directory,
                              const LockOwner& self, StateReader& reader,
                              std::vector<std::string>& notices,
                              const std::function<void()>& before_salvage = {},
                              LeaseWatch* watch = nullptr);

  /// Gives the state to `reader` without locking or changing anything, also while a driver runs.
  static void read(FileSystem& files, const std::filesystem::path& directory, StateReader& reader,
                   std::vector<std::string>& notices);

  static bool exists(FileSystem& files, const std::filesystem::path& directory);
  /// What is in experiment.json.
  static Json read_spec(FileSystem& files, const std::filesystem::path& directory);
  /// The state in the newest snapshot; nothing if there is none, or it is damaged.
  static std::optional<Json> read_snapshot_state(FileSystem& files,
                                                 const std::filesystem::path& directory);
  /// Who drives the experiment now; nothing if nobody does, see `find_driver`.
  static std::optional<Driver> driver(FileSystem& files, const std::filesystem::path& directory);

  ExperimentStore(ExperimentStore&&) noexcept;
  ExperimentStore& operator=(ExperimentStore&&) noexcept;
  ~ExperimentStore();  ///< unlocks

  /// Fencing: copies the journal to a new file before anything is written. A driver that was
  /// wrongly taken for dead then writes to the old file, which nobody reads, and finds out when it
  /// syncs. Call it if the driver before did not end in good order.
  void fence();

  /// Error (machine) if another driver is known to have taken over. Cheap.
  void refuse_if_lost() const;
  /// Whether the next write may first have to renew the lease, which touches the disk.
  bool must_renew() const;

  /// Replaces experiment.json, durably.
  void write_spec(const Json& spec);

  /// Adds the event to the current batch; nothing is written yet.
  void append(const Event& event);
  /// Hands the batch to the kernel in one write. After an Error the store refuses everything.
  void write();
  // The same in steps, for a write beside the loop. Others may append meanwhile.
  /// What is appended from now on is for the next batch.
  void close_batch();
  /// Blocks; from any thread. Error as for `write`.
  void write_closed();
  /// Once that has returned: the batch counts as written.
  void finish_write();
  /// Puts on disk what `write` has written. Blocks; from any thread, one call at a time.
  void sync();

  /// Whether the journal takes nothing any more, after an Error of `write` or `sync`.
  bool has_failed() const;
  /// Error (machine) if the journal is not where it was: then all of the directory was moved or
  /// removed, most likely, and that something else is not there either says nothing of it.
  void require_place() const;

  // A snapshot, in this order. All but the steps marked so are the loop's.
  /// Makes the next generation's journal. From any thread; Error: nothing has changed.
  std::unique_ptr<Journal> make_next_journal();
  /// Events go to `next` from now on. Everything appended must be written, and no sync be under
  /// way. Answers the generation.
  int start_generation(std::unique_ptr<Journal> next);
  /// To be called once the events before `start_generation` are on disk.
  void finish_generation();
  /// At any time: writes trials' lines ahead of the next snapshot. Blocks; from any thread, not
  /// beside `publish` or another call. Error: the lines have to be given again, before later ones.
  /// Returns the bytes written.
  std::uint64_t add_trials(const TrialLines& lines);
  /// Puts the snapshot in force and removes what it replaces; the one before is kept. Blocks; from
  /// any thread, one call at a time. Error: the one before is in force, and the lines of the trials
  /// have to be given again. Answers the bytes written.
  std::uint64_t publish(const SnapshotParts& parts);

  std::uint64_t written() const;  ///< number of the last event handed to the kernel
  const StateCost& cost() const;
  /// The loop's, for what others have measured: syncs and snapshots.
  StateCost& cost();
  const std::filesystem::path& directory() const;

 private:
  struct State;
  explicit ExperimentStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tune
