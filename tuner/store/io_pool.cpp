// A queue of blocking work, threads that do it, a queue of what follows.
// Knows nothing of files.
#include "tuner/store/io_pool.h"

#include <cerrno>
#include <utility>

namespace tune {

IoPool::Queue::Queue() { ::sem_init(&wanted, 0, 0); }

IoPool::Queue::~Queue() {
  for (std::size_t i = 0; i < threads.size(); ++i) ::sem_post(&wanted);
  for (std::thread& thread : threads) thread.join();
  ::sem_destroy(&wanted);
}

IoPool::IoPool(int threads, std::function<void()> on_done) : on_done_(std::move(on_done)) {
  const auto start = [this](Queue& queue, int count) {
    for (int i = 0; i < count; ++i) queue.threads.emplace_back([this, &queue] { run(queue); });
  };
  start(common_, threads);
  start(journal_, threads > 0 ? journal_threads : 0);
}

IoPool::~IoPool() = default;

void IoPool::enqueue(std::unique_ptr<Job> job, Lane lane) {
  Queue& queue = lane == Lane::journal ? journal_ : common_;
  {
    const std::lock_guard lock(mutex_);
    ++outstanding_;
    if (!queue.threads.empty()) queue.jobs.push_back(std::move(job));
  }
  if (job != nullptr) {
    finish(std::move(job));
  } else {
    ::sem_post(&queue.wanted);
  }
}

std::size_t IoPool::run_completions() {
  std::unique_lock lock(mutex_);
  // Not more than are there now: a completion may post, and with no threads that is done at once.
  const std::size_t ready = done_.size();
  for (std::size_t i = 0; i < ready; ++i) {
    const std::unique_ptr<Job> job = std::move(done_.front());
    done_.pop_front();
    --outstanding_;
    lock.unlock();
    job->complete();
    lock.lock();
  }
  return ready;
}

std::size_t IoPool::outstanding() const {
  const std::lock_guard lock(mutex_);
  return outstanding_;
}

void IoPool::run(Queue& queue) {
  for (;;) {
    while (::sem_wait(&queue.wanted) != 0 && errno == EINTR) {
    }
    std::unique_lock lock(mutex_);
    if (queue.jobs.empty()) return;
    std::unique_ptr<Job> job = std::move(queue.jobs.front());
    queue.jobs.pop_front();
    lock.unlock();
    finish(std::move(job));
  }
}

void IoPool::finish(std::unique_ptr<Job> job) noexcept {
  job->work();
  {
    const std::lock_guard lock(mutex_);
    done_.push_back(std::move(job));
  }
  if (on_done_) on_done_();
}

}  // namespace tune
