// Threads for work that blocks on the disk: syncing, hashing, deleting. What follows from it runs
// on the loop's thread again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tune {

class IoPool {
 public:
  /// `threads` 0: work runs inside `post`, for tests and simulation. `on_done` is called from a
  /// pool thread after each piece of work; it is how a sleeping loop learns that there is
  /// something for `run_completions`.
  IoPool(int threads, std::function<void()> on_done);
  /// Finishes all work that was posted; runs no completions.
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// `work` runs on a pool thread and must not throw; then `completion` runs in the thread that
  /// calls `run_completions`. Work of different posts runs in any order.
  void post(std::function<void()> work, std::function<void()> completion);

  /// Runs the completions of all work finished so far; answers how many.
  std::size_t run_completions();

  /// Posted and its completion not yet run.
  std::size_t outstanding() const;

 private:
  struct Task {
    std::function<void()> work;
    std::function<void()> completion;
  };
  void run();

  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<Task> queue_;
  std::vector<std::function<void()>> done_;
  std::size_t outstanding_ = 0;
  bool ending_ = false;
  std::function<void()> on_done_;
  std::vector<std::thread> threads_;
};

}  // namespace tune
