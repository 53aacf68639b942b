// A queue of blocking work, threads that do it, a queue of what follows.
// Knows nothing of files.
#include "tuner/store/io_pool.h"

#include <cerrno>
#include <utility>

namespace tune {

IoPool::IoPool(int threads, std::function<void()> on_done) : on_done_(std::move(on_done)) {
  ::sem_init(&wanted_, 0, 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

IoPool::~IoPool() {
  for (std::size_t i = 0; i < threads_.size(); ++i) ::sem_post(&wanted_);
  for (std::thread& thread : threads_) thread.join();
  ::sem_destroy(&wanted_);
}

void IoPool::enqueue(std::unique_ptr<Job> job) {
  {
    const std::lock_guard lock(mutex_);
    ++outstanding_;
    if (!threads_.empty()) queue_.push_back(std::move(job));
  }
  if (threads_.empty()) {
    finish(std::move(job));
  } else {
    ::sem_post(&wanted_);
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

void IoPool::run() {
  for (;;) {
    while (::sem_wait(&wanted_) != 0 && errno == EINTR) {
    }
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return;
    std::unique_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
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
