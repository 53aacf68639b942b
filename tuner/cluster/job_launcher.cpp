// When Slurm is asked for what, and what its answers come to.
#include "tuner/cluster/job_launcher.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/submitted_job.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/liveness.h"

namespace tune {

namespace {

/// From one sbatch to the next.
constexpr Seconds ask_period_s = 1;
/// After one that was refused.
constexpr Seconds ask_again_s = 60;
/// Between looks at jobs that something is awaited of: at first, and at most.
constexpr Seconds first_look_s = 1, last_look_s = 30;
/// Between looks at others, as their ends may be moved.
constexpr Seconds usual_look_s = 300;
/// What is to follow from a job's end follows from what was seen so short before.
constexpr Seconds fresh_s = 15;
/// A job whose number is not known, and that Slurm has not shown for so long, there is not.
constexpr Seconds unknown_patience_s = 30, refused_patience_s = 5;
/// One that Slurm has just given a number may not be seen yet.
constexpr Seconds new_patience_s = 5;

std::vector<AgentJob> inherited(const std::vector<ListedJob>& listed, Seconds now) {
  std::vector<AgentJob> jobs;
  for (const ListedJob& each : listed) {
    AgentJob job{.name = each.name, .id = each.id};
    job.is_inherited = true;
    job.asked_at = now;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// So many of these trials fit on such a node; a part of one where that takes several.
double trials_on(const NodeResources& node, const Resources& per_trial, int workers) {
  constexpr int most = 10'000;
  const auto count = [&](const Resources& each) {
    ResourcePool pool(node.totals);
    int fit = 0;
    while (fit < most && pool.acquire(each)) ++fit;
    return fit;
  };
  if (const int whole = count(per_trial); whole > 0 || workers == 1) return whole;
  Resources each = per_trial;
  for (auto& [name, amount] : each) amount /= workers;
  return static_cast<double>(count(each)) / workers;
}

/// The last lines that a job has printed, as a phrase behind a sentence; may be empty.
std::string printed_last(const std::filesystem::path& log) {
  constexpr std::streamoff most_bytes = 600;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - most_bytes));
  std::string text(static_cast<std::size_t>(std::min(size, most_bytes)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) return "";
  return "; it printed last: " + clean_text(text, Lines::keep) + " (see " + log.native() + ")";
}

}  // namespace

JobLauncher::JobLauncher(Options options)
    : options_(std::move(options)),
      jobs_(inherited(read_job_list(options_.directory), seconds_since_boot())),
      client_(options_.directory, read_job_list(options_.directory)) {
  make_posix_file_system(Access::owner)
      ->replace(agent_job_script(options_.directory), agent_job_text(options_.agent));
}

AgentJob* JobLauncher::find_agent(const std::string& node) {
  const std::string id = job_of_agent(node);
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const AgentJob& job) { return !id.empty() && job.id == id; });
  return found == jobs_.end() ? nullptr : &*found;
}

void JobLauncher::link(AgentJob& job, const std::string& node) {
  job.node = job.last_node = node;
  job.phase = AgentJob::Phase::running;
  job.had_agent = true;
  job.idle_since.reset();
  job.ends_at.reset();
  job.is_warned = job.is_vacated = job.is_given_up = job.is_hurried = job.is_left = false;
  job.is_unused = false;
}

/// Its agent may have come before its number.
void JobLauncher::number(AgentJob& job, const std::string& id) {
  job.id = id;
  const auto agent = std::find_if(agents_.begin(), agents_.end(), [&](const std::string& name) {
    return job_of_agent(name) == id;
  });
  if (agent != agents_.end()) link(job, *agent);
}

void JobLauncher::joined(const NodeResources& node) {
  newest_ = node;
  agents_.insert(node.name);
  ended_agents_.erase(node.name);
  without_agent_ = 0;
  has_told_awaited_ = false;
  if (AgentJob* const job = find_agent(node.name)) link(*job, node.name);
  look_soon();
}

void JobLauncher::lost(const std::string& node) {
  agents_.erase(node);
  AgentJob* const job = find_agent(node);
  if (job == nullptr || job->node != node) return;
  job->node.clear();
  job->running = 0;
  if (is_ended_) client_.forget(job->name);  // it was told to leave, and has
  look_soon();
}

/// How many trials fit on a node, from the nodes that have come.
void JobLauncher::note_room() {
  if (!newest_) return;
  const double fit = trials_on(*newest_, demand_.per_trial, demand_.workers);
  use_.trials_per_node = std::max(fit, use_.trials_per_node.value_or(0));
  is_unfit_ = *use_.trials_per_node <= 0;
  if (is_unfit_ && stopped_.empty()) {
    const auto why = ResourcePool(newest_->totals).impossible(demand_.per_trial, demand_.workers);
    stopped_ = "trials fit no node of Slurm's jobs, and no more are asked for: " + why.value_or("");
    options_.notice(stopped_);
  }
  newest_.reset();
}

void JobLauncher::warned(const std::string& node) {
  if (AgentJob* const job = find_agent(node)) job->is_warned = true;
}

void JobLauncher::want(const NodeDemand& demand, const std::vector<NodeUse>& nodes) {
  const Seconds now = seconds_since_boot();
  demand_ = demand;
  has_demand_ = true;
  note_room();
  use_.waiting = is_unfit_ ? 0 : demand.waiting;
  use_.longest_save_s = demand.longest_save_s;
  std::map<std::string_view, const NodeUse*> by_name;
  for (const NodeUse& each : nodes) by_name.emplace(each.node, &each);
  for (AgentJob& job : jobs_) {
    const auto use = job.node.empty() ? by_name.end() : by_name.find(job.node);
    const bool is_used = use != by_name.end();
    note_use(job, use_, is_used ? use->second->running : 0, is_used && use->second->is_given_up,
             now);
  }
}

void JobLauncher::look() {
  const Seconds now = seconds_since_boot();
  client_.deliver();
  if (is_ended_) return;
  ask_what_is(now);
  if (!has_demand_) return;
  give_orders(now);
  ask_for_more(now);
}

void JobLauncher::look_soon() {
  look_period_s_ = first_look_s;
  look_at_ = std::min(look_at_, seconds_since_boot() + first_look_s);
}

/// Again and again, the more rarely the longer nothing happens.
void JobLauncher::ask_what_is(Seconds now) {
  const bool is_due = now >= look_at_ || std::any_of(jobs_.begin(), jobs_.end(), [&](auto& job) {
                        if (job.node.empty() || job.is_vacated || !job.ends_at) return false;
                        const Seconds from =
                            *job.ends_at - lead_s(options_.jobs.policy, use_) - fresh_s;
                        return now >= from && looked_at_ < from;
                      });
  if (is_looking_ || jobs_.empty() || !is_due) return;
  is_looking_ = true;
  looked_at_ = now;
  const bool is_settled = std::all_of(jobs_.begin(), jobs_.end(), [](const AgentJob& job) {
    return !job.node.empty() && !job.is_left;
  });
  look_at_ = now + (is_settled ? usual_look_s : look_period_s_);
  if (!is_settled) look_period_s_ = std::min(2 * look_period_s_, last_look_s);
  std::vector<std::string> names;
  for (const AgentJob& job : jobs_) names.push_back(job.name);
  client_.look(std::move(names), [this](const std::vector<NamedJob>& seen,
                                        const std::string& silence) { hear(seen, silence); });
}

/// Nothing follows from silence.
void JobLauncher::hear(const std::vector<NamedJob>& seen, const std::string& silence) {
  is_looking_ = false;
  if (is_ended_) return;
  if (silence.empty() == is_silent_) {
    is_silent_ = !is_silent_;
    options_.notice(is_silent_ ? silence + "; its jobs are taken for what they were"
                               : "Slurm answers again");
  }
  if (is_silent_) return;
  const Seconds now = seconds_since_boot();
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    const auto found = std::find_if(seen.begin(), seen.end(), [&](const NamedJob& each) {
      return each.name == job->name && (job->id.empty() || each.id == job->id);
    });
    if (take(*job, found == seen.end() ? nullptr : &*found, now)) {
      ++job;
    } else {
      client_.forget(job->name);
      job = jobs_.erase(job);
    }
  }
  tell_what_is_awaited();
}

/// Once, until something has come of it.
void JobLauncher::tell_what_is_awaited() {
  const bool is_unclear = is_asking_ || !has_demand_ ||
                          wants_job(options_.jobs.policy, use_, jobs_) ||
                          std::any_of(jobs_.begin(), jobs_.end(), [](const AgentJob& job) {
                            return job.phase == AgentJob::Phase::asked ||
                                   (job.phase == AgentJob::Phase::pending && job.reason.empty());
                          });
  const std::string what = text_of_awaited(jobs_);
  if (is_unclear || !agents_.empty() || what.empty() || has_told_awaited_) return;
  has_told_awaited_ = true;
  options_.notice("waiting for " + what);
}

/// What Slurm has of the job, if it has it. Whether there is one yet.
bool JobLauncher::take(AgentJob& job, const NamedJob* seen, Seconds now) {
  if (seen == nullptr && job.id.empty()) return now < job.asked_at + unknown_patience_s;
  if (seen == nullptr && looked_at_ < job.asked_at + new_patience_s) return true;
  const bool has_ended =
      seen == nullptr || !seen->queued.is_alive() || seen->queued.state == "PREEMPTED";
  if (has_ended) {
    over(job, seen == nullptr ? "" : seen->queued.state);
    return !job.node.empty();  // its agent will tell
  }
  if (job.id.empty()) {
    client_.note(job.name, seen->id);
    number(job, seen->id);
  }
  const QueuedJob& queued = seen->queued;
  const bool is_pending = queued.state == "PENDING" || queued.state == "REQUEUED" ||
                          queued.state == "REQUEUE_HOLD" || queued.state == "SPECIAL_EXIT";
  if (is_pending && job.node.empty()) {
    job.phase = AgentJob::Phase::pending;
    job.had_agent = false;  // it will have another one
  } else if (!is_pending) {
    job.phase = AgentJob::Phase::running;
  }
  job.reason = queued.reason;
  job.ends_at = queued.left_s ? std::optional(now + *queued.left_s) : std::nullopt;
  return true;
}

void JobLauncher::over(const AgentJob& job, const std::string& state) {
  // Of others a node that is cut off may know nothing yet.
  if (job.had_agent && (state == "COMPLETED" || state == "FAILED" || state == "OUT_OF_MEMORY")) {
    ended_agents_.insert(job.last_node);
  }
  const bool counts = !job.had_agent && !job.is_inherited && !job.is_cancelled;
  if (!counts || ++without_agent_ < most_without_agent || !stopped_.empty()) return;
  stopped_ =
      std::to_string(most_without_agent) +
      " jobs in a row have ended without an agent, and no more are asked for; the last was " +
      why_gone(job, state);
  options_.notice(stopped_);
}

std::string JobLauncher::why_gone(const AgentJob& job, const std::string& state) const {
  return "job " + job.id + (state.empty() ? "" : ", " + state) +
         printed_last(agent_job_log(options_.directory, job.id));
}

void JobLauncher::give_orders(Seconds now) {
  for (AgentJob& job : jobs_) {
    JobPolicy policy = options_.jobs.policy;
    if (is_unfit_) policy.idle_s = 0;
    const JobOrder order = order_for(job, policy, use_, now);
    std::string reason;
    switch (order) {
      case JobOrder::none:
        continue;
      case JobOrder::cancel:
        cancel(job);
        continue;
      case JobOrder::vacate_idle:
        job.is_unused = true;
        break;
      case JobOrder::vacate_ending:
        reason =
            "node " + job.node + " ends " +
            (job.ends_at && !job.is_warned ? "in " + text_of_time(*job.ends_at - now) : "soon") +
            ": what runs there is saved, and goes on elsewhere";
        break;
      case JobOrder::hurry:
        break;
      case JobOrder::leave:
        reason = job.is_unused ? "no trial has a use for it" : "its job ends";
        job.is_left = true;
        break;
    }
    job.is_vacated = true;
    job.is_hurried = job.is_hurried || order == JobOrder::hurry;
    orders_.push_back({job.node, order, std::move(reason)});
  }
}

void JobLauncher::ask_for_more(Seconds now) {
  const JobPolicy& policy = options_.jobs.policy;
  if (is_asking_ || !stopped_.empty() || now < asked_at_ + ask_period_s || now < ask_not_before_) {
    return;
  }
  if (!wants_job(policy, use_, jobs_)) return;
  if (policy.time_s <= lead_s(policy, use_)) {
    stopped_ = "no more jobs are asked for: a save takes up to " +
               std::to_string(static_cast<long>(use_.longest_save_s)) +
               " s, for which a job of --time " + options_.jobs.time + " is too short";
    options_.notice(stopped_);
    return;
  }
  is_asking_ = true;
  asked_at_ = now;
  AgentJob job{.name = new_job_name(options_.jobs.experiment)};
  job.asked_at = now;
  std::vector<std::string> words =
      sbatch_words(options_.directory, options_.jobs.time, options_.jobs.sbatch);
  words.push_back("--job-name=" + job.name);
  words.push_back(agent_job_script(options_.directory).native());
  client_.submit(job.name, std::move(words), [this, name = job.name](const auto& submitted) {
    is_asking_ = false;
    const auto asked = std::find_if(jobs_.begin(), jobs_.end(),
                                    [&](const AgentJob& each) { return each.name == name; });
    const Seconds answered_at = seconds_since_boot();
    if (asked != jobs_.end()) {
      asked->asked_at = answered_at;
      if (!submitted.id.empty()) {
        asked->phase = AgentJob::Phase::pending;
        number(*asked, submitted.id);
      }
    }
    if (submitted.id.empty() && !is_ended_) {
      if (asked != jobs_.end()) asked->asked_at -= unknown_patience_s - refused_patience_s;
      ask_not_before_ = answered_at + ask_again_s;
      if (std::exchange(refused_, submitted.refusal) != submitted.refusal) {
        options_.notice("Slurm has given no job, and is asked again in " +
                        std::to_string(static_cast<long>(ask_again_s)) +
                        " s: " + submitted.refusal);
      }
    }
    look_soon();
  });
  jobs_.push_back(std::move(job));
}

void JobLauncher::cancel(AgentJob& job) {
  if (job.id.empty()) return;
  job.is_cancelled = true;
  client_.cancel(job.id, [this, name = job.name](const std::string& trouble) {
    for (AgentJob& each : jobs_) {
      if (each.name == name && !trouble.empty()) each.is_cancelled = false;
    }
    look_soon();
  });
}

std::string JobLauncher::awaited() const {
  if (is_silent_) return "Slurm, which does not answer";
  const std::string text = text_of_awaited(jobs_);
  if (!text.empty() || refused_.empty() || !jobs_.empty()) return text;
  return "Slurm to give a job: " + refused_;
}

std::string JobLauncher::exhausted() const { return jobs_.empty() ? stopped_ : ""; }

bool JobLauncher::is_running() const { return is_ended_ && client_.is_busy(); }

void JobLauncher::end() {
  if (std::exchange(is_ended_, true)) return;
  std::set<std::string> leaving;
  for (const AgentJob& job : jobs_) {
    if (!job.node.empty()) leaving.insert(job.name);
  }
  client_.end_all(std::move(leaving),
                  [this](const JobsEnding& ending) { end_trouble_ = ending.trouble; });
}

void JobLauncher::end_rest() {
  client_.end_all({}, [this](const JobsEnding& ending) { end_trouble_ = ending.trouble; });
}

std::string JobLauncher::awaited_at_end() const {
  if (!is_running()) return "";
  return "Slurm has ended its jobs: " + names_of(read_job_list(options_.directory));
}

void JobLauncher::tell_what_is_left() const {
  const auto left = read_job_list(options_.directory);
  if (left.empty()) return;
  options_.notice(count_of(left.size(), "job of this search is", "jobs of this search are") +
                  " not known to have ended: " + names_of(left) + "; end with: " +
                  scancel_command(left) + (end_trouble_.empty() ? "" : " (" + end_trouble_ + ")"));
}

}  // namespace tune
