// What is said of trials that their nodes leave again and again.
#include <algorithm>
#include <string>

#include "tuner/model/end_estimate.h"
#include "tuner/run/trials/attempts.h"

namespace tune {

/// A trial whose nodes are lost one after the other may be what ends them.
void Attempts::look_for_lost_nodes(Attempt& attempt) {
  constexpr int too_often = 3;
  Ending& ending = *attempt.ending;
  if (ending.outcome != Outcome::interrupted) lost_in_a_row_.erase(attempt.trial);
  if (!attempt.lost_node || ++lost_in_a_row_[attempt.trial] < too_often) return;
  ending = {.outcome = Outcome::failed,
            .reason = ending.reason + "; it was the third in a row, so the trial may be the reason",
            .no_retry = "it may end more nodes"};
}

/// Jobs that are shorter than what a trial takes to be saved once begin it anew for ever: no
/// failure of its, and so nothing else would end or name that.
void Attempts::look_for_short_jobs(const Attempt& attempt) {
  constexpr int too_often = 3;
  const TrialId id = attempt.trial;
  if (attempt.ending->outcome != Outcome::interrupted || shutdown_) return;
  if (!attempt.leaves_node) return;
  const auto [owner, checkpoint] = committer_.experiment().restore_point(id);
  const int saved = checkpoint == nullptr ? 0 : checkpoint->index;
  ShortJobs& short_jobs = short_jobs_[id];
  if (saved != short_jobs.saved) {
    short_jobs = {.saved = saved};
    return;
  }
  ++short_jobs.times;
  short_jobs.longest_s = std::max(short_jobs.longest_s, committer_.steady() - attempt.began_at);
  if (short_jobs.times != too_often) return;
  const std::int64_t from = checkpoint == nullptr ? 0 : checkpoint->iteration;
  const std::string jobs =
      spec_.cluster.time ? "jobs of --time " + *spec_.cluster.time : "its jobs";
  callbacks_.notice(
      to_string(id) + " has been ended " + std::to_string(too_often) +
      " times in a row by the end of its job before " +
      (attempt.has_result ? "it had a checkpoint beyond iteration " + std::to_string(from)
                          : "its next result, behind iteration " + std::to_string(from)) +
      ": that takes longer than the " + rough_duration(short_jobs.longest_s) + " that " + jobs +
      " have given it, and it begins there again; give jobs more time (--time), or let "
      "it report and save more often");
}

}  // namespace tune
