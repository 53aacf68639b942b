// Counts jobs and rooms.
#include "tuner/cluster/job_rules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tuner/base/count_of.h"

namespace tune {

namespace {

/// Of the margin: then what has not been saved will not be.
constexpr Seconds most_hurry_s = 20;
constexpr double hurry_part = 0.25;

bool is_coming(const AgentJob& job) {
  return job.node.empty() && !job.had_agent && !job.is_cancelled;
}

bool is_in_queue(const AgentJob& job) { return job.phase != AgentJob::Phase::running; }

}  // namespace

Seconds lead_s(const JobPolicy& policy, const JobDemand& demand) {
  return policy.margin_s + demand.longest_save_s;
}

bool wants_job(const JobPolicy& policy, const JobDemand& demand,
               const std::vector<AgentJob>& jobs) {
  const auto count = [&](const auto& holds) {
    return static_cast<int>(std::count_if(jobs.begin(), jobs.end(), holds));
  };
  if (demand.waiting == 0 || static_cast<int>(jobs.size()) >= policy.most) return false;
  if (count(is_in_queue) >= most_in_queue) return false;
  const double per_node = demand.trials_per_node.value_or(1);
  if (per_node <= 0) return false;
  const double rooms = std::ceil(static_cast<double>(demand.waiting) / per_node);
  // Where one trial takes several nodes, those that are there wait for the others.
  const int partial = per_node >= 1 ? 0 : count([](const AgentJob& job) {
    return !job.node.empty() && job.running == 0 && !job.is_vacated;
  });
  return rooms > count(is_coming) + partial;
}

JobOrder order_for(const AgentJob& job, const JobPolicy& policy, const JobDemand& demand,
                   Seconds now) {
  const bool is_idle = job.idle_since && now >= *job.idle_since + policy.idle_s;
  if (job.node.empty()) {
    return is_idle && !job.is_cancelled && !job.had_agent ? JobOrder::cancel : JobOrder::none;
  }
  if (job.is_left) return JobOrder::none;
  if (job.is_given_up && job.running == 0) return JobOrder::leave;
  const Seconds left_s = job.ends_at ? *job.ends_at - now : never_s;
  if (!job.is_vacated) {
    if (job.is_warned || left_s <= lead_s(policy, demand)) return JobOrder::vacate_ending;
    return is_idle ? JobOrder::vacate_idle : JobOrder::none;
  }
  const Seconds hurry_s = std::min(most_hurry_s, hurry_part * policy.margin_s);
  return !job.is_hurried && left_s <= hurry_s ? JobOrder::hurry : JobOrder::none;
}

void note_use(AgentJob& job, const JobDemand& demand, int running, bool is_given_up, Seconds now) {
  job.running = running;
  job.is_given_up = is_given_up;
  if (running > 0 || demand.waiting > 0) {
    job.idle_since.reset();
  } else if (!job.idle_since) {
    job.idle_since = now;
  }
}

std::string text_of_awaited(const std::vector<AgentJob>& jobs) {
  std::size_t pending = 0, running = 0;
  std::set<std::string> reasons;
  for (const AgentJob& job : jobs) {
    if (!is_coming(job)) continue;
    ++(is_in_queue(job) ? pending : running);
    if (is_in_queue(job) && !job.reason.empty() && job.reason != "None") reasons.insert(job.reason);
  }
  std::string text;
  if (pending > 0) text = "Slurm: " + count_of(pending, "job") + " pending";
  for (const std::string& reason : reasons) {
    text += (&reason == &*reasons.begin() ? " (" : ", ") + reason;
  }
  if (!reasons.empty()) text += ")";
  if (pending > 0) return text;
  return running > 0 ? "the agent of a job that has begun" : "";
}

}  // namespace tune
