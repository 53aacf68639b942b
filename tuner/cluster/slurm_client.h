// Slurm's commands about the jobs of a search, asked one after the other by a thread of its own, as
// each may take long; the answers are given out where they are asked for. It keeps the list of jobs
// (job_list.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tuner/cluster/job_ending.h"
#include "tuner/cluster/job_list.h"
#include "tuner/cluster/slurm.h"

namespace tune {

class SlurmClient {
 public:
  /// `listed`: what is in the list by now.
  SlurmClient(std::filesystem::path experiment, std::vector<ListedJob> listed);
  /// What has not begun is not done, and what is under way is given up.
  ~SlurmClient();
  SlurmClient(const SlurmClient&) = delete;
  SlurmClient& operator=(const SlurmClient&) = delete;

  struct Submitted {
    std::string id;       ///< empty: see `refusal`
    std::string refusal;  ///< what sbatch said, or why it said nothing: Slurm may have the job then
  };
  /// Has the job in the list before Slurm is asked, and its number once that is known.
  void submit(std::string name, std::vector<std::string> command,
              std::function<void(const Submitted&)> done);

  /// Error as a sentence, where Slurm says nothing.
  using Look = std::function<void(const std::vector<NamedJob>&, const std::string& silence)>;
  void look(std::vector<std::string> names, Look done);

  /// `done` gets what went wrong, if something did.
  void cancel(std::string id, std::function<void(const std::string&)> done);

  /// Ends all jobs of the list but those with these names, and has them in the list no more; a few
  /// times, where Slurm does not do it. Nothing is submitted from now on; an sbatch that is under
  /// way is waited for before, and what it has submitted is ended as well.
  void end_all(std::set<std::string> but, std::function<void(const JobsEnding&)> done);

  /// Its number has become known otherwise.
  void note(std::string name, std::string id);
  /// It has ended, and is in the list no more.
  void forget(std::string name);

  /// Gives out the answers that have come.
  void deliver();
  /// Something is asked, or waits to be.
  bool is_busy() const;

 private:
  /// Done by the thread; answers what is done with it by `deliver`.
  using Work = std::function<std::function<void()>()>;

  void post(Work work);
  void run();
  void write_list();
  SlurmAnswer ask(std::vector<std::string> command) const;
  void end_listed(const std::set<std::string>& but, JobsEnding& ending);

  const std::filesystem::path experiment_;
  std::vector<ListedJob> listed_;  ///< the thread's
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Work> waiting_;
  std::deque<std::function<void()>> answers_;
  bool is_working_ = false;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_closed_ = false;  ///< jobs are ended, and none is asked for
  std::thread thread_;
};

}  // namespace tune
