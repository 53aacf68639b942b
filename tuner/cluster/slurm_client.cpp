// A queue of commands, and a thread.
#include "tuner/cluster/slurm_client.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/process/quiet_thread.h"

namespace tune {

namespace {

/// A controller that is away is away for longer.
constexpr Seconds command_patience_s = 30;
/// For Slurm to end all jobs, and from one of them to the next.
constexpr int end_tries = 3;
constexpr std::chrono::milliseconds end_pause{1000};

}  // namespace

SlurmClient::SlurmClient(std::filesystem::path experiment, std::vector<ListedJob> listed)
    : experiment_(std::move(experiment)),
      listed_(std::move(listed)),
      thread_(start_quiet_thread([this] { run(); })) {}

SlurmClient::~SlurmClient() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

void SlurmClient::submit(std::string name, std::vector<std::string> command,
                         std::function<void(const Submitted&)> done) {
  post([this, name = std::move(name), command = std::move(command),
        done = std::move(done)]() mutable -> std::function<void()> {
    if (is_closed_) return {};
    Submitted submitted;
    try {
      listed_.push_back({name, ""});
      write_list();
      const SlurmAnswer answer = ask(std::move(command));
      if (answer.exit_code == 0) submitted.id = submitted_id(answer.said);
      if (submitted.id.empty()) submitted.refusal = in_one_line(answer.said);
      if (submitted.id.empty() && submitted.refusal.empty())
        submitted.refusal = "sbatch said nothing";
      if (!submitted.id.empty()) {
        listed_.back().id = submitted.id;
        write_list();
      }
    } catch (const Error& error) {
      if (submitted.id.empty()) submitted.refusal = error.what();
    }
    return [submitted = std::move(submitted), done = std::move(done)] { done(submitted); };
  });
}

void SlurmClient::look(std::vector<std::string> names, Look done) {
  post([this, names = std::move(names), done = std::move(done)]() mutable {
    std::vector<NamedJob> jobs;
    std::string silence;
    try {
      jobs = look_at_jobs(names, [this] { return is_ending_ || is_closed_; });
    } catch (const Error& error) {
      silence = error.what();
    }
    return [jobs = std::move(jobs), silence = std::move(silence), done = std::move(done)] {
      done(jobs, silence);
    };
  });
}

void SlurmClient::cancel(std::string id, std::function<void(const std::string&)> done) {
  post([this, id = std::move(id), done = std::move(done)]() mutable {
    std::string trouble;
    try {
      const SlurmAnswer answer = ask({"scancel", std::move(id)});
      if (answer.exit_code != 0) trouble = answer.said;
    } catch (const Error& error) {
      trouble = error.what();
    }
    return [trouble = std::move(trouble), done = std::move(done)] { done(trouble); };
  });
}

void SlurmClient::end_all(std::set<std::string> but, std::function<void(const JobsEnding&)> done) {
  is_closed_ = true;
  post([this, but = std::move(but), done = std::move(done)]() mutable {
    JobsEnding ending;
    try {
      end_listed(but, ending);
    } catch (const Error& error) {
      ending.trouble = error.what();  // the list cannot be written
    }
    return [ending = std::move(ending), done = std::move(done)] { done(ending); };
  });
}

void SlurmClient::end_listed(const std::set<std::string>& but, JobsEnding& ending) {
  const auto stays = [&](const ListedJob& job) { return but.contains(job.name); };
  std::copy_if(listed_.begin(), listed_.end(), std::back_inserter(ending.left),
               [&](const ListedJob& job) { return !stays(job); });
  for (int tries = 0; tries < end_tries && !ending.left.empty(); ++tries) {
    if (tries > 0) {
      std::unique_lock lock(mutex_);
      if (wakes_.wait_for(lock, end_pause, [this] { return is_ending_.load(); })) return;
    }
    ending = end_jobs(ending.left, [this] { return is_ending_.load(); });
    std::erase_if(listed_, [&](const ListedJob& job) { return !stays(job); });
    listed_.insert(listed_.end(), ending.left.begin(), ending.left.end());
    write_list();
  }
}

void SlurmClient::note(std::string name, std::string id) {
  post([this, name = std::move(name), id = std::move(id)] {
    for (ListedJob& job : listed_) {
      if (job.name == name) job.id = id;
    }
    write_list();
    return std::function<void()>();
  });
}

void SlurmClient::forget(std::string name) {
  post([this, name = std::move(name)] {
    std::erase_if(listed_, [&](const ListedJob& job) { return job.name == name; });
    write_list();
    return std::function<void()>();
  });
}

void SlurmClient::deliver() {
  for (;;) {
    std::function<void()> answer;
    {
      const std::lock_guard lock(mutex_);
      if (answers_.empty()) return;
      answer = std::move(answers_.front());
      answers_.pop_front();
    }
    answer();
  }
}

bool SlurmClient::is_busy() const {
  const std::lock_guard lock(mutex_);
  return is_working_ || !waiting_.empty() || !answers_.empty();
}

void SlurmClient::post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  wakes_.notify_all();
}

void SlurmClient::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wakes_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (is_ending_) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    std::function<void()> answer;
    try {
      answer = work();
    } catch (const std::exception&) {
      // The list cannot be written: it is again, with what happens next.
    }
    work = nullptr;
    lock.lock();
    is_working_ = false;
    if (answer) answers_.push_back(std::move(answer));
  }
}

void SlurmClient::write_list() { write_job_list(experiment_, listed_); }

SlurmAnswer SlurmClient::ask(std::vector<std::string> command) const {
  return ask_slurm(std::move(command), command_patience_s, [this] { return is_ending_.load(); });
}

}  // namespace tune
