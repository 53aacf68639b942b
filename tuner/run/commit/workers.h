// A thread pool in lanes, for work that the loop must not wait for: what blocks on the disk, and
// searchers that think. Completions run on the loop's thread again. Each lane has threads of its
// own, so that what takes minutes never stands before what takes none.
#pragma once

#include <semaphore.h>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/process/activity_tracker.h"

namespace tune {

/// Each has threads of its own.
enum class Lane {
  prompt,     ///< short: what a device, a launch or a save waits for
  restores,   ///< what a trial waits for and may take long: reading a large checkpoint before it
              ///< is trusted, taking over what a function hands over
  commits,    ///< hashes, copies and syncs checkpoints
  deletions,  ///< of checkpoints and of what was left behind
  snapshots,  ///< of the state; one thread: one call at a time
  searcher,   ///< one thread: a searcher is told in the order of the record
  journal,    ///< one thread to write and one to sync: all trials wait for them
};
inline constexpr std::size_t lane_count = 7;

class Workers {
 public:
  enum class Threads {
    none,  ///< all work runs inside `post`: for tests, simulations, and what has no loop
    own    ///< each lane has its own
  };

  /// `on_done` is called from a worker's thread after each piece of work; it is how a sleeping loop
  /// learns that there is something for `run_completions`. It must not throw. `activities`, which
  /// outlives this, is told what threads do.
  Workers(Threads threads, std::function<void()> on_done, ActivityTracker* activities = nullptr);
  /// Finishes the work that has begun and drops what waits; runs no completions.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `work` runs on a thread of the lane; then `completion`, given what `work` returned (nothing if
  /// that is void), runs in the thread that calls `run_completions`. The work of a lane begins in
  /// the order of the posts. What `work` throws ends the run: see `run_completions`.
  template <class Work, class Completion>
  void post(Lane lane, Work work, Completion completion) {
    Jobs job;
    job.push_back(
        std::make_unique<JobOf<Work, Completion>>(std::move(work), std::move(completion)));
    job.front()->lane = lane;
    enqueue(std::move(job));
  }

  /// Runs the completions of all work finished so far; answers how many. If one throws, or its work
  /// did, so does this: an Error as it was, anything else with what was being done before it. The
  /// other completions run at the next call. `only`: those of this lane, and the others later.
  std::size_t run_completions(std::optional<Lane> only = std::nullopt);

  /// Posted and its completion not yet run.
  std::size_t outstanding() const;

 private:
  struct Job {
    virtual ~Job() = default;
    virtual void work() = 0;
    virtual void complete() = 0;
    Lane lane{};
    std::exception_ptr failure;  ///< what `work` threw
  };
  /// Jobs move from list to list by splicing: nothing has to be allocated to take one further.
  using Jobs = std::list<std::unique_ptr<Job>>;

  template <class Work, class Completion>
  struct JobOf final : Job {
    using Product = std::invoke_result_t<Work>;
    static constexpr bool is_void = std::is_void_v<Product>;

    JobOf(Work w, Completion c) : worker(std::move(w)), completion(std::move(c)) {}
    void work() override {
      // What it captured is released before the loop hears that it is done, also if it throws.
      Work once(std::move(*worker));
      worker.reset();
      if constexpr (is_void) {
        once();
      } else {
        product.emplace(once());
      }
    }
    void complete() override {
      if constexpr (is_void) {
        completion();
      } else {
        completion(std::move(*product));
      }
    }

    std::optional<Work> worker;
    Completion completion;
    std::optional<std::conditional_t<is_void, std::monostate, Product>> product;
  };

  /// The jobs of a lane that wait, and who takes them.
  struct Queue {
    Queue();
    ~Queue();
    Jobs jobs;
    /// One for each job and, at the end, one for each thread. No condition variable: with several
    /// waiting, notifying may block until one that was notified before gets a processor.
    sem_t wanted;
    std::vector<std::thread> threads;
  };

  void enqueue(Jobs job);
  void run(Queue& queue, const char* doing);
  void finish(Jobs job) noexcept;

  mutable std::mutex mutex_;
  Jobs done_;
  std::size_t outstanding_ = 0;
  std::function<void()> on_done_;
  ActivityTracker* const activities_;
  std::array<Queue, lane_count> queues_;
};

}  // namespace tune
