// An experiment's directory as one durable thing: the spec, the journal, who drives it.
// Knows events as lines and numbers; folding them is the reader's business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/core/clock.h"
#include "tuner/core/event.h"
#include "tuner/store/file_system.h"
#include "tuner/store/lock.h"

namespace tune {

/// What keeping the state has cost so far.
struct StoreStatistics {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t writes = 0;
  double write_s = 0;  ///< on the loop
  std::uint64_t syncs = 0;
  double sync_s = 0;  ///< on the pool
};

class ExperimentStore {
 public:
  /// Makes a new experiment's directory with its spec and an empty journal, and locks it. Error
  /// (user) if the directory already holds an experiment: see `exists`.
  static ExperimentStore create(FileSystem& files, std::filesystem::path directory,
                                const Json& spec, const LockOwner& self);

  /// Locks an existing experiment and gives every event of its journal, in order, to `replay`; a
  /// torn last line is cut off (and said in `notices`), damage before it is an Error with file,
  /// line and byte. Refused by name of host and pid if another driver has it.
  static ExperimentStore open(FileSystem& files, std::filesystem::path directory,
                              const LockOwner& self, const std::function<void(Event&&)>& replay,
                              std::vector<std::string>& notices);

  /// Gives every event to `visit` without locking or changing anything, also while a driver runs.
  static void read(FileSystem& files, const std::filesystem::path& directory,
                   const std::function<void(Event&&)>& visit, std::vector<std::string>& notices);

  static bool exists(FileSystem& files, const std::filesystem::path& directory);
  static Json read_spec(FileSystem& files, const std::filesystem::path& directory);
  /// Who drives the experiment now; nothing if nobody does (a lock of a dead process of this host
  /// counts as nobody).
  static std::optional<LockOwner> driver(FileSystem& files, const std::filesystem::path& directory);

  ExperimentStore(ExperimentStore&&) noexcept;
  ExperimentStore& operator=(ExperimentStore&&) noexcept;
  ~ExperimentStore();  ///< unlocks

  /// Replaces experiment.json, durably.
  void write_spec(const Json& spec);

  /// Adds the event to the current batch; nothing is written yet.
  void append(const Event& event);
  /// Hands the batch to the kernel in one write. After an Error the store refuses everything.
  void write();
  /// Puts on disk what `write` has written. Blocks; from any thread, one call at a time.
  void sync();

  /// Whether the journal takes nothing any more, after an Error of `write` or `sync`.
  bool has_failed() const;
  std::uint64_t written() const;  ///< number of the last event handed to the kernel
  const StoreStatistics& statistics() const;
  /// To be called by the loop after a `sync` took `seconds`.
  void count_sync(double seconds);
  const std::filesystem::path& directory() const;

 private:
  struct State;
  explicit ExperimentStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tune
