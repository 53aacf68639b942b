// Threads for work that blocks on the disk: syncing, hashing, deleting. What follows from it runs
// on the loop's thread again.
#pragma once

#include <semaphore.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tune {

class IoPool {
 public:
  /// Who does the work. The journal's has threads of its own, one to write and one to sync, since
  /// all trials wait for it: a large hash must not hold it up.
  enum class Lane { common, journal };
  static constexpr int journal_threads = 2;

  /// `threads` of the common lane; 0: work of both lanes runs inside `post`, for tests and
  /// simulation. `on_done` is called from a pool thread after each piece of work; it is how a
  /// sleeping loop learns that there is something for `run_completions`.
  IoPool(int threads, std::function<void()> on_done);
  /// Finishes all work that was posted; runs no completions.
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// `work` runs on a pool thread and must not throw; then `completion`, given what `work` returned
  /// (nothing if that is void), runs in the thread that calls `run_completions`. Work of different
  /// posts runs in any order.
  template <class Work, class Completion>
  void post(Work work, Completion completion, Lane lane = Lane::common) {
    enqueue(std::make_unique<JobOf<Work, Completion>>(std::move(work), std::move(completion)),
            lane);
  }

  /// Runs the completions of all work finished so far; answers how many.
  std::size_t run_completions();

  /// Posted and its completion not yet run.
  std::size_t outstanding() const;

 private:
  struct Job {
    virtual ~Job() = default;
    virtual void work() = 0;
    virtual void complete() = 0;
  };

  template <class Work, class Completion>
  struct JobOf final : Job {
    using Product = std::invoke_result_t<Work>;
    static constexpr bool is_void = std::is_void_v<Product>;

    JobOf(Work w, Completion c) : worker(std::move(w)), completion(std::move(c)) {}
    void work() override {
      if constexpr (is_void) {
        (*worker)();
      } else {
        product.emplace((*worker)());
      }
      worker.reset();  // what it captured is released before the loop hears that it is done
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

  /// Jobs that wait, and who takes them.
  struct Queue {
    Queue();
    ~Queue();
    std::deque<std::unique_ptr<Job>> jobs;
    /// One for each job and, at the end, one for each thread. No condition variable: with several
    /// waiting, notifying may block until one that was notified before gets a processor.
    sem_t wanted;
    std::vector<std::thread> threads;
  };

  void enqueue(std::unique_ptr<Job> job, Lane lane);
  void run(Queue& queue);
  void finish(std::unique_ptr<Job> job) noexcept;

  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Job>> done_;
  std::size_t outstanding_ = 0;
  std::function<void()> on_done_;
  Queue common_;
  Queue journal_;
};

}  // namespace tune
