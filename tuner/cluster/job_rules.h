// What to ask Slurm for, and which nodes to leave: of jobs of one node each that are asked for as
// trials wait (--agent-jobs).
// Pure: reads no clock, times are arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// What the user has said of them.
struct JobPolicy {
  int most = 1;           ///< at once, running or waiting
  Seconds time_s = 3600;  ///< of each
  Seconds idle_s = 300;   ///< one that nobody has had a use for, for so long, is ended
  Seconds margin_s = 120;
};

/// One job, as far as is known by now. Times are since boot.
struct AgentJob {
  std::string name;  ///< that no other job has
  std::string id;    ///< Slurm's; empty: not known, and perhaps there is none
  enum class Phase {
    asked,    ///< sbatch has not answered, or its answer is lost
    pending,  ///< it waits in the queue
    running,
  } phase = Phase::asked;
  std::string reason;                 ///< why it waits, Slurm's word
  std::string node;                   ///< its agent's name; empty: there is none now
  std::string last_node;              ///< the same, of the last one that there was
  bool had_agent = false;             ///< since it last began
  bool is_inherited = false;          ///< an earlier driver has asked for it
  bool is_cancelled = false;          ///< by this driver
  std::optional<Seconds> ends_at;     ///< none: not known, or never
  std::optional<Seconds> idle_since;  ///< no trial has a use for it
  Seconds asked_at = 0;
  int running = 0;           ///< attempts on its node
  bool is_warned = false;    ///< Slurm has told its agent that it ends soon
  bool is_vacated = false;   ///< it was said that it is to get no more trials
  bool is_given_up = false;  ///< and that was heard
  bool is_hurried = false;   ///< it was said that there is no time any more
  bool is_unused = false;    ///< the reason of that
  bool is_left = false;      ///< its agent was told to leave
};

/// What trials have a use for.
struct JobDemand {
  std::size_t waiting = 0;
  std::optional<double> trials_per_node;  ///< that fit; below 1: one takes several; none: not known
  Seconds longest_save_s = 0;
};

/// So many are asked for at once, while others wait in the queue.
inline constexpr int most_in_queue = 2;
/// So many in a row without an agent, and no more are asked for.
inline constexpr int most_without_agent = 3;

/// So long before its end a node gets no more trials, and those that it has are saved.
Seconds lead_s(const JobPolicy& policy, const JobDemand& demand);

/// Whether one more job is to be asked for.
bool wants_job(const JobPolicy& policy, const JobDemand& demand, const std::vector<AgentJob>& jobs);

/// What is to happen with a job.
enum class JobOrder {
  none,
  cancel,         ///< it has no agent, and nobody has a use for it
  vacate_idle,    ///< nothing is to start there any more: nobody has had a use for it
  vacate_ending,  ///< the same, and what runs there is to be saved
  hurry,          ///< what runs there ends without that
  leave,          ///< nothing runs there any more
};
JobOrder order_for(const AgentJob& job, const JobPolicy& policy, const JobDemand& demand,
                   Seconds now);

/// Notes what the loop says: whether anybody has a use for the job.
void note_use(AgentJob& job, const JobDemand& demand, int running, bool is_given_up, Seconds now);

/// "Slurm: 2 jobs pending (Priority)"; empty: nothing is awaited.
std::string text_of_awaited(const std::vector<AgentJob>& jobs);

}  // namespace tune
