// Each notice: when it is due, and its sentence.
#include "tuner/run/trials/run_advice.h"

#include <cstdint>
#include <utility>

#include "tuner/plain/name_meant.h"
#include "tuner/run/trials/launch.h"

namespace tune {

RunAdvice::RunAdvice(const ExperimentSpec& spec, const std::filesystem::path& experiment_dir,
                     EventCommitter& committer, Workers& workers, CallbackList& callbacks)
    : spec_(spec),
      experiment_dir_(experiment_dir),
      committer_(committer),
      workers_(workers),
      callbacks_(callbacks),
      awaited_(metrics_awaited(spec)),
      config_effect_(spec),
      repeated_start_(workers, experiment_dir, [this](TrialId id) {
        callbacks_.notice(
            to_string(id) +
            " was given its checkpoint and began with the results of its first iterations again: "
            "its program does not go on from ${checkpoint}; say how with \"resume\" "
            "(docs/plain.md)");
      }) {}

/// A copy of what nobody has saved throws its own training away, and takes over none.
void RunAdvice::on_start(const Trial& chosen, const Checkpoint* restored) {
  if (chosen.lineage.empty() || restored != nullptr) return;
  const Cloning& cloning = chosen.lineage.back();
  if (cloning.started != 0 || cloning.donor == chosen.id || cloning.iteration == 0) return;
  if (!is_new(Topic::unsaved_donor)) return;
  callbacks_.notice(to_string(chosen.id) + " becomes a copy of " + to_string(cloning.donor) +
                    ", which has saved nothing: it begins anew with the new config; " +
                    (spec_.plain ? "say how the program saves with \"checkpoints\" (docs/plain.md)"
                                 : "have a function report with checkpoint=..., and a class save"));
}

void RunAdvice::on_launch_advisory(TrialId id, const LaunchAdvisory& advisory) {
  // Why launches are slower than asked for is said by who knows whether that is news.
  const bool is_news =
      advisory.what == LaunchAdvisory::What::cold || said_of_launches_.insert(advisory.what).second;
  if (is_news) callbacks_.notice(to_string(id) + " " + advisory.sentence);
}

void RunAdvice::on_ready(const WorkerGroup& worker_group) {
  const bool is_in_vain = spec_.reuse_processes.value_or(false) && !worker_group.can_reset() &&
                          !worker_group.can_stay();
  if (is_in_vain && is_new(Topic::reuse)) {
    callbacks_.notice(
        "reuse_processes has no effect: the program does not say in its hello that it can_reset or "
        "can_stay, so each trial gets a process of its own");
  }
}

/// A metric whose name is the driver's is kept, and nothing goes by it. A function may turn out to
/// have no way to save only with its first report.
void RunAdvice::on_first_result(const Metrics& metrics, bool can_save) {
  static constexpr const char* reserved[] = {"timestamp", "time_total_s", "time_since_restore",
                                             "iterations_since_restore", "done"};
  for (const char* const name : reserved) {
    if (!metrics.find(name) || !is_new(Topic::reserved_name)) continue;
    callbacks_.notice("the metric '" + std::string(name) +
                      "' has the name of a column of the driver's, whose own value stands in all "
                      "tables: give it another name");
  }
  const CheckpointConfig& config = spec_.checkpoint_config;
  const bool saves_by_hooks = config.checkpoint_frequency > 0 || config.checkpoint_at_end;
  if (can_save || spec_.plain || !saves_by_hooks || !is_new(Topic::saves)) return;
  callbacks_.notice(
      "checkpoint_frequency and checkpoint_at_end have no effect where report() is given no "
      "function that saves: report(metrics, save=...)");
}

void RunAdvice::on_result(Attempt& attempt, const Trial& before, const Result& result) {
  config_effect_.on_result(before, result);
  if (!spec_.plain || !spec_.plain->checkpoints || attempt.is_warm) return;
  const auto [owner, index] = attempt.source.checkpoint;
  repeated_start_.on_result(attempt.trial, attempt.start,
                            index != 0 ? std::optional(owner) : std::nullopt, result.metrics,
                            committer_.experiment().trials());
}

/// A program that ends with the very result that it was to wait with is not too fast.
void RunAdvice::on_ran_to_end(const Trial& trial) {
  if (!is_new(Topic::ran_to_end)) return;
  callbacks_.notice(
      to_string(trial.id) + " had run to its end before it could be paused at iteration " +
      std::to_string(trial.iteration) +
      ", and is completed with all that it printed: programs as short as that cannot be paused, "
      "nor copied on their way. A scheduler that pauses needs more work between its decisions; "
      "\"fifo\" and \"asha\" do not pause (docs/plain.md)");
}

void RunAdvice::on_returned_unsaved(TrialId id) {
  if (!is_new(Topic::saves)) return;
  callbacks_.notice("checkpoint_at_end has saved nothing of " + to_string(id) +
                    ", since its function had returned: put \"done\": true into the metrics of its "
                    "last report");
}

/// A script that was meant to be run as it is fails for lack of its arguments, and says only that.
void RunAdvice::on_gone(TrialId id, const WorkerGroup::Gone& gone) {
  const bool has_failed = gone.how == WorkerGroup::Gone::How::exited && gone.signal == 0 &&
                          gone.exit_code != 0 && !gone.was_told;
  if (spec_.plain || !has_failed || !is_new(Topic::protocol)) return;
  callbacks_.notice(to_string(id) +
                    " ended before it said hello. A program that does not speak tune's protocol "
                    "is run as it is by `tune run SCRIPT`, or with ${args} in its command, or "
                    "with \"plain\": {} beside that (docs/plain.md)");
}

/// Starts that are not spared cost most of the time of short trials.
void RunAdvice::on_not_stayed(TrialId id, const WorkerGroup& worker_group) {
  const std::string& why = worker_group.why_not_stayed();
  if (why.empty() || !is_new(Topic::reuse)) return;
  callbacks_.notice("each trial gets a process of its own, as that of " + to_string(id) +
                    " cannot be used again: " + why +
                    (spec_.reuse_processes.value_or(false)
                         ? ""
                         : " (\"reuse_processes\": true has it used where that is possible)"));
}

/// Trials of a program that run side by side, or one after the other, may all write to one name.
void RunAdvice::on_close(TrialId id, Seconds began_at) {
  constexpr double share_of_time = 0.05;
  constexpr double ns_per_s = 1e9;
  if (!spec_.plain || spec_.plain->directory.empty() || said_.contains(Topic::shared_outputs))
    return;
  const Seconds asked_at = committer_.steady();
  if (is_looking_at_outputs_ || asked_at < next_look_at_outputs_) return;
  is_looking_at_outputs_ = true;
  const Seconds began = committer_.now() - (asked_at - began_at);
  workers_.post(
      Lane::prompt,
      [directory = spec_.plain->directory, storage = experiment_dir_] {
        return look_at_outputs(directory, storage);
      },
      [this, id, began, asked_at](const std::vector<FileVersion>& files) {
        is_looking_at_outputs_ = false;
        // A directory that takes long is looked at seldom; of short trials each counts.
        const Seconds now = committer_.steady();
        next_look_at_outputs_ = now + (now - asked_at) / share_of_time;
        const auto began_ns = static_cast<std::int64_t>(began * ns_per_s);
        const auto found = shared_outputs_.add(id, began_ns, files);
        if (!found || !is_new(Topic::shared_outputs)) return;
        callbacks_.notice("./" + found->name + " in " + spec_.plain->directory.string() +
                          " was written while " + to_string(found->before) +
                          " ran, and anew by the end of " + to_string(found->after) +
                          ": all trials run there, so what one saves under a fixed name another "
                          "one overwrites. Give each its own: "
                          "\"working_directory\": \"trial\", or a path with ${trial_dir} or "
                          "${checkpoint_dir} (docs/plain.md)");
      });
}

/// A program that saves by itself need not have saved anything that was whole by the time that it
/// was to pause, however long it ran.
void RunAdvice::on_end(TrialId id, Outcome outcome) {
  if (outcome != Outcome::paused && outcome != Outcome::interrupted) return;
  if (!spec_.plain || !spec_.plain->checkpoints || trial(id).iteration == 0) return;
  if (committer_.experiment().restore_point(id).second != nullptr) return;
  if (!is_new(Topic::lost_work)) return;
  callbacks_.notice(to_string(id) +
                    " will begin anew: nothing that it had saved when it was paused was whole and "
                    "known to be of a result (docs/plain.md says what is)");
}

void RunAdvice::on_complete(const Trial& trial) {
  look_for_awaited(trial, true);
  const std::string remark = config_effect_.on_end(trial);
  if (!remark.empty()) callbacks_.notice(remark);
}

/// One that is called almost as what its results have is meant so; another may come with each tenth
/// of them. Results of earlier sessions do not count: a plain program's were not read for it, if a
/// resume has changed what the spec goes by.
void RunAdvice::look_for_awaited(const Trial& of, bool has_ended) {
  constexpr std::int64_t few = 3, many = 10;
  if (awaited_.empty()) return;
  std::int64_t results = 0;
  if (has_ended) {
    if (const auto known = results_.extract(of.id)) results = known.mapped();
  } else {
    results = ++results_[of.id];
  }
  std::erase_if(awaited_, [&](const AwaitedMetric& metric) { return of.summary(metric.name); });
  if (awaited_.empty() || results < (has_ended ? 1 : few)) return;
  std::vector<std::string> names;
  if (const std::string text = of.last_metrics.text(); !text.empty()) {
    for (const Metric& metric : read_metrics(text).numbers) names.push_back(metric.name);
  }
  const bool is_certain = has_ended || results >= many;
  std::erase_if(awaited_, [&](const AwaitedMetric& metric) {
    const std::string meant = did_you_mean(metric.name, names);
    if (!is_certain && meant.empty()) return false;
    callbacks_.notice((has_ended ? "no result of " : "none of the first results of ") +
                      to_string(of.id) + " has a number '" + metric.name + "', by which " +
                      metric.by + (metric.by.find(" and ") == std::string::npos ? " goes" : " go") +
                      ": " + (meant.empty() ? "is it another name?" : meant));
    return true;
  });
}

}  // namespace tune
