// Replicates an experiment to a remote store, asynchronously: the loop queues names of checkpoints
// and never waits; a thread with an rclone of its own uploads them, and retries failed uploads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_replicator.h"
#include "tuner/disk/file_system.h"
#include "tuner/model/remote_config.h"
#include "tuner/remote/markers.h"

namespace tune {

class Replicator final : public CheckpointReplicator {
 public:
  struct Options {
    std::filesystem::path directory;  ///< of the experiment, absolute
    std::string name;                 ///< of the experiment
    RemoteConfig config;
    Seconds lease_s = 60;
    /// Told again and again what is waited for: another driver, of which nothing is heard.
    std::function<void(const std::string& sentence)> on_wait;
    /// Whether that is waited for no more: WaitInterrupted. Empty: never.
    std::function<bool()> is_over = {};
  };
  /// Starts rclone and takes the lease. A store that cannot be reached is waited for later; Error
  /// (user) for what does not pass by itself: no rclone, no such remote, another experiment there,
  /// another driver.
  Replicator(FileSystem& files, Options options);
  /// Gives the lease back if that is soon done; waits for nothing else, see `finish`.
  ~Replicator() override;

  /// A checkpoint that the experiment knows as it begins.
  struct Known {
    CheckpointRef checkpoint;
    bool is_best = false;    ///< of its trial
    std::string evicted_to;  ///< its directory on this remote; empty: it is here
  };
  /// Begins with the uploads, of what is known and not up. What is up and not known is removed.
  void begin(const std::vector<Known>& known);

  void expect(CheckpointRef checkpoint, bool is_best) override;
  void committed(CheckpointRef checkpoint) override;
  void dropped(TrialId trial, const std::vector<int>& indices) override;
  bool needs(CheckpointRef checkpoint) const override;
  std::optional<int> keep_local() const override { return options_.config.keep_local; }
  std::optional<RemotePlace> place(CheckpointRef checkpoint) const override;
  void fetch(CheckpointRef checkpoint) override;
  News take_news() override;

  /// To be called when nothing more is added: waits until all is uploaded, at most `limit_s`, at
  /// most `patience_s` for a store that cannot be reached, and until `is_over` says so; gives the
  /// lease back. Returns a sentence about what is not uploaded; empty: all is.
  std::string finish(Seconds limit_s, Seconds patience_s = 1e9,
                     const std::function<bool()>& is_over = {});
  /// What `finish` has to wait for by now: "2 more checkpoints are"; empty: nothing that is known.
  std::string waiting() const;

 private:
  class Session;
  struct Shared {
    std::set<CheckpointRef> expected;  ///< recorded, perhaps not on disk
    std::set<CheckpointRef> queue;     ///< to be put up
    std::set<CheckpointRef> unfit;     ///< and never will be
    std::optional<CheckpointRef> under_way;
    std::map<CheckpointRef, std::string> up;
    std::map<CheckpointRef, std::string> evicted;  ///< as the session begins: nowhere else
    std::set<CheckpointRef> fetches;               ///< to be brought back
    std::set<CheckpointRef> said;                  ///< of those: that they cannot be
    std::vector<std::string> removals;  ///< directories whose records of removal are on disk
    News news;
    bool is_open = false;        ///< the constructor need not wait any more
    bool is_waiting = false;     ///< for another driver
    std::exception_ptr refusal;  ///< for the constructor
    bool has_begun = false;
    bool is_finishing = false;
    bool is_done = false;    ///< all is up, and nothing more comes
    bool has_ended = false;  ///< the thread
    std::uint64_t failures = 0;
    std::string last_error;
    Seconds unreachable_since = 0;  ///< Unix; 0: it is reached
    Seconds state_time = 0;         ///< Unix; of the state that is up; 0: none
    std::uint64_t uploaded = 0;     ///< checkpoints in this session
  };

  // The thread's.
  void run();
  bool is_open() const;
  bool is_wanted(CheckpointRef checkpoint) const;
  std::optional<CheckpointRef> next_checkpoint();
  void note_nothing_under_way();
  void note_up(CheckpointRef checkpoint, const std::string& directory);
  void note_lost(CheckpointRef checkpoint);
  void note_unfit(CheckpointRef checkpoint, const Error& error);
  std::optional<CheckpointRef> next_fetch() const;
  void note_fetched(CheckpointRef checkpoint, const std::string& lost);
  void note_slow_fetch(CheckpointRef checkpoint);
  void note_fetch_failure(CheckpointRef checkpoint, const Error& error);
  static void say_it_waits(Shared& shared, CheckpointRef checkpoint, const std::string& why);
  void note_failure(const Error& error);
  void give_up(const Error& error);
  void note_success();
  void write_status() noexcept;
  static std::string left_now(const Shared& shared);

  FileSystem& files_;
  const Options options_;
  const std::string root_;
  TrialId last_trial_{};  ///< the thread's: of the last upload
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Shared shared_;
  std::thread thread_;
};

}  // namespace tune
