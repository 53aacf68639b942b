// For each lane a queue of work and threads that do it; for all, one queue of what follows.
#include "tuner/run/commit/workers.h"

#include <cerrno>
#include <stdexcept>
#include <string>

#include "tuner/base/error.h"

namespace tune {

namespace {

struct LaneFacts {
  std::size_t threads;
  const char* is_busy;  ///< what a user is told that the driver waits for
  const char* failed;   ///< what was being done when something was thrown; empty: that says it
};

/// By lane. More threads do not make one disk faster; two let a small checkpoint pass a large one.
constexpr LaneFacts facts[lane_count] = {
    {2, "a trial is being prepared", "while a trial was being prepared: "},
    {2, "a checkpoint is being verified", "while a checkpoint was being verified: "},
    {2, "a checkpoint is being kept", "while a checkpoint was being kept: "},
    {1, "what is not kept is being deleted", "while what is not kept was being deleted: "},
    {1, "a snapshot is being written", "while a snapshot was being written: "},
    {1, "the searcher is thinking", ""},
    {2, "the journal is being written", "while the journal was being written: "},
};

const LaneFacts& facts_of(Lane lane) { return facts[static_cast<std::size_t>(lane)]; }

[[noreturn]] void rethrow(const std::exception_ptr& failure, const char* doing) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (*doing == '\0') throw;
    throw std::runtime_error(std::string(doing) + error.what());
  } catch (...) {
    throw std::runtime_error(std::string(doing) + "an exception of an unknown type");
  }
}

}  // namespace

Workers::Queue::Queue() { ::sem_init(&wanted, 0, 0); }

Workers::Queue::~Queue() {
  for (std::size_t i = 0; i < threads.size(); ++i) ::sem_post(&wanted);
  for (std::thread& thread : threads) thread.join();
  ::sem_destroy(&wanted);
}

Workers::Workers(Threads threads, std::function<void()> on_done, ActivityTracker* activities)
    : on_done_(std::move(on_done)), activities_(activities) {
  if (threads == Threads::none) return;
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    Queue& queue = queues_[lane];
    for (std::size_t i = 0; i < facts[lane].threads; ++i) {
      queue.threads.emplace_back([this, &queue, lane] { run(queue, facts[lane].is_busy); });
    }
  }
}

Workers::~Workers() {
  Jobs dropped;
  const std::lock_guard lock(mutex_);
  for (Queue& queue : queues_) dropped.splice(dropped.end(), queue.jobs);
}

void Workers::enqueue(Jobs job) {
  Queue& queue = queues_[static_cast<std::size_t>(job.front()->lane)];
  {
    const std::lock_guard lock(mutex_);
    ++outstanding_;
    if (!queue.threads.empty()) queue.jobs.splice(queue.jobs.end(), job);
  }
  if (!job.empty()) {
    finish(std::move(job));
  } else {
    ::sem_post(&queue.wanted);
  }
}

std::size_t Workers::run_completions(std::optional<Lane> only) {
  Jobs ready;
  std::unique_lock lock(mutex_);
  // Not more than are there now: a completion may post, and with no threads that is done at once.
  for (auto job = done_.begin(); job != done_.end();) {
    const auto at = job++;
    if (!only || (*at)->lane == *only) ready.splice(ready.end(), done_, at);
  }
  const std::size_t count = ready.size();
  while (!ready.empty()) {
    const std::unique_ptr<Job> job = std::move(ready.front());
    ready.pop_front();
    --outstanding_;
    lock.unlock();
    try {
      if (job->failure) rethrow(job->failure, facts_of(job->lane).failed);
      job->complete();
    } catch (...) {
      lock.lock();
      done_.splice(done_.begin(), ready);
      throw;
    }
    lock.lock();
  }
  return count;
}

std::size_t Workers::outstanding() const {
  const std::lock_guard lock(mutex_);
  return outstanding_;
}

void Workers::run(Queue& queue, const char* doing) {
  for (;;) {
    while (::sem_wait(&queue.wanted) != 0 && errno == EINTR) {
    }
    std::unique_lock lock(mutex_);
    if (queue.jobs.empty()) return;  // all that is posted is there: this is the end
    Jobs job;
    job.splice(job.begin(), queue.jobs, queue.jobs.begin());
    lock.unlock();
    const ActivityTracker::Activity now(activities_, doing);
    finish(std::move(job));
  }
}

void Workers::finish(Jobs job) noexcept {
  try {
    job.front()->work();
  } catch (...) {
    job.front()->failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    done_.splice(done_.end(), job);
  }
  if (on_done_) on_done_();
}

}  // namespace tune
