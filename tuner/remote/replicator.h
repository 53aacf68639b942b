// Replicates an experiment to a remote store, asynchronously: the loop queues names of checkpoints
// and never waits; a thread with an rclone of its own uploads them, and retries failed uploads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_replicator.h"
#include "tuner/disk/file_system.h"
#include "tuner/model/remote_config.h"
#include "tuner/remote/replication_plan.h"

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

  using Known = ReplicationPlan::Known;
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
  /// Between the thread and the others, beside the plan.
  struct Shared {
    bool is_open = false;        ///< the constructor need not wait any more
    bool is_waiting = false;     ///< for another driver
    std::exception_ptr refusal;  ///< for the constructor
    bool has_begun = false;
    bool is_done = false;    ///< all is up, and nothing more comes
    bool has_ended = false;  ///< the thread
    Seconds state_time = 0;  ///< Unix; of the state that is up; 0: none
  };
  /// The plan, which nobody else sees or changes meanwhile.
  class LockedPlan {
   public:
    LockedPlan(std::mutex& mutex, ReplicationPlan& plan) : lock_(mutex), plan_(plan) {}
    ReplicationPlan* operator->() { return &plan_; }

   private:
    std::lock_guard<std::mutex> lock_;
    ReplicationPlan& plan_;
  };
  LockedPlan plan() { return {mutex_, plan_}; }

  // The thread's.
  void run();
  bool is_open() const;
  void give_up(const Error& error);
  void write_status() noexcept;

  FileSystem& files_;
  const Options options_;
  const std::string root_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Shared shared_;
  ReplicationPlan plan_;
  std::thread thread_;
};

}  // namespace tune
