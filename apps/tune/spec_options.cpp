// The table of options that stand for fields of a spec, with the conversion of each to JSON.
#include "apps/tune/spec_options.h"

#include <filesystem>
#include <system_error>

#include "apps/tune/option_words.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr SpecOption options[] = {
    {"--name", "/name", ValueKind::text, "NAME",
     "Name of the experiment and of its directory [the spec file's name without its ending]"},
    {"--storage-path", "/storage_path", ValueKind::text, "DIR", "Where experiments go [results]"},
    {"--metric", "/metric", ValueKind::list, "NAME[,NAME]", "The metric that counts, or several"},
    {"--mode", "/mode", ValueKind::list, "min|max[,...]", "Which values of each are better"},
    {"--constraint", "/constraints", ValueKind::item, "TEXT",
     "One more that configs or results have to fulfil: 'latency <= 20'; may be given several "
     "times"},
    {"--num-samples", "/num_samples", ValueKind::json, "N",
     "How many configs to draw, -1: endless [1]"},
    {"--max-concurrent-trials", "/max_concurrent_trials", ValueKind::json, "N",
     "Trials at one time, if not as many as fit"},
    {"--resources-per-trial", "/resources_per_trial", ValueKind::amounts, "cpu=1,gpu=0.5",
     "What each trial takes [cpu=1]"},
    {"--num-workers", "/num_workers", ValueKind::json, "N",
     "Processes that train a trial together, each with its rank [one, without a rank]"},
    {"--resources-per-worker", "/resources_per_worker", ValueKind::amounts, "cpu=1,gpu=1",
     "What each of them takes [cpu=1]"},
    {"--placement", "/placement", ValueKind::text, "pack|spread",
     "The workers of a trial go on few nodes, or on many [pack]"},
    {"--resources", "/resources", ValueKind::amounts, "cpu=8,gpu=2",
     "What there is, instead of what is found"},
    {"--time-budget-s", "/time_budget_s", ValueKind::json, "SECONDS",
     "Ends everything after so much running time"},
    {"--stop", "/stop", ValueKind::rules, "RULES",
     "What ends a trial: training_iteration=20 (that or more), 'val_loss<=0.1', or JSON; may be "
     "given several times: any of them does"},
    {"--seed", "/seed", ValueKind::json, "N", "Of everything random [0]"},
    {"--searcher", "/searcher", ValueKind::typed, "NAME|JSON", "Which config comes next [auto]"},
    {"--scheduler", "/scheduler", ValueKind::typed, "NAME|JSON",
     "Which trials go on, pause or end [fifo]"},
    {"--checkpoint-frequency", "/checkpoint_config/checkpoint_frequency", ValueKind::json, "N",
     "A checkpoint every N iterations [0: none]"},
    {"--checkpoint-at-end", "/checkpoint_config/checkpoint_at_end", ValueKind::flag, "",
     "A checkpoint when a trial ends"},
    {"--checkpoint-at-start", "/checkpoint_config/checkpoint_at_start", ValueKind::flag, "",
     "A checkpoint before a trial's first step"},
    {"--num-to-keep", "/checkpoint_config/num_to_keep", ValueKind::json, "K",
     "Checkpoints to keep of a trial: the best K and the latest [all]"},
    {"--checkpoint-score-attribute", "/checkpoint_config/checkpoint_score_attribute",
     ValueKind::text, "METRIC", "What makes a checkpoint better [the metric]"},
    {"--checkpoint-score-order", "/checkpoint_config/checkpoint_score_order", ValueKind::text,
     "min|max", "Which scores are better [the metric's mode]"},
    {"--max-checkpoint-bytes", "/checkpoint_config/max_checkpoint_bytes", ValueKind::json, "BYTES",
     "Of all trials' checkpoints together: 50GB [no limit]"},
    {"--max-failures-in-a-row", "/failure_config/max_failures_in_a_row", ValueKind::json, "N",
     "So many trials that fail in a row are a fault of the machine, -1: never [8]"},
    {"--max-failures", "/failure_config/max_failures", ValueKind::json, "N",
     "Retries of a failed trial, -1: for ever [0]"},
    {"--fail-fast", "/failure_config/fail_fast", ValueKind::flag, "",
     "The first failure ends all trials; --fail-fast=raise: at once"},
    {"--cluster", "/cluster/type", ValueKind::text, "none|hosts|slurm",
     "Where trials run: here, on --hosts, or on the nodes of Slurm's job that this is in [hosts if "
     "there are some, else slurm in a job, else none]"},
    {"--hosts", "/cluster/hosts", ValueKind::list, "NAME[,NAME]",
     "Trials run on these machines, each under an agent that is started there [this machine]"},
    {"--launcher", "/cluster/launcher", ValueKind::list, "JSON",
     "The command that starts an agent [[\"ssh\", \"-o\", \"BatchMode=yes\", \"${host}\", "
     "\"${agent}\"]]"},
    {"--bind", "/cluster/bind", ValueKind::text, "ADDRESS",
     "The address of this machine at which agents reach the driver [the one towards a host]"},
    {"--agent-lease-s", "/cluster/agent_lease_s", ValueKind::json, "SECONDS",
     "An agent that hears nothing of the driver for so long ends its trials [30]"},
    {"--agent-jobs", "/cluster/agent_jobs", ValueKind::json, "N",
     "Trials run in up to N jobs of Slurm's, of one node each, asked for as trials wait; options "
     "for sbatch stand behind \"--\" [no jobs]"},
    {"--time", "/cluster/time", ValueKind::text, "TIME",
     "Of each of these jobs: 30 (minutes), 8:00:00, 1-12:00:00"},
    {"--agent-idle-s", "/cluster/agent_idle_s", ValueKind::json, "SECONDS",
     "Such a job that no trial has had a use for, for so long, is ended [300]"},
    {"--job-margin-s", "/cluster/job_margin_s", ValueKind::json, "SECONDS",
     "So long before such a job's end its trials are saved and go on elsewhere [120]"},
    {"--remote", "/remote/path", ValueKind::text, "REMOTE",
     "Where rclone keeps a copy: s3:bucket/prefix, or an absolute path [nowhere]"},
    {"--callback", "/callbacks", ValueKind::item, "NAME|JSON",
     "One more callback; may be given several times"},
    {"--reuse-processes", "/reuse_processes", ValueKind::flag, "",
     "A trial takes over the process of one that ended"},
    {"--keep-paused", "/keep_paused", ValueKind::json, "N|BYTES",
     "So many processes of paused trials wait in memory, 0: none [a quarter of what is free]"},
    {"--max-log-bytes", "/max_log_bytes", ValueKind::json, "BYTES",
     "What stdout.log and stderr.log of a trial may take each: begin and end stay [no limit]"},
    {"--min-free-bytes", "/min_free_bytes", ValueKind::json, "BYTES",
     "No trial is launched while the disk has less free, 0: never mind [256MiB]"},
    {"--snapshot-period-s", "/snapshot_period_s", ValueKind::json, "SECONDS",
     "Between snapshots of the whole state [adapts]"},
    {"--launch-timeout-s", "/launch_timeout_s", ValueKind::json, "SECONDS",
     "From a trial's launch to its hello [60]"},
    {"--trial-timeout-s", "/trial_timeout_s", ValueKind::json, "SECONDS",
     "A trial that is silent for so long has failed [never]"},
    {"--stop-grace-s", "/stop_grace_s", ValueKind::json, "SECONDS",
     "From \"stop\" to SIGTERM, and from there to SIGKILL [10]"},
    {"--last-result-grace-s", "/last_result_grace_s", ValueKind::json, "SECONDS",
     "After the time budget or tune stop: until what runs has reported and saved [300]"},
    {"--merge-output", "/trainable/merge_output", ValueKind::flag, "",
     "A trial's stderr goes into its stdout.log"},
    {"--preload", "/trainable/preload", ValueKind::list, "MODULES",
     "Python modules that are loaded once for all trials: torch,numpy"},
    {"--env", "/trainable/env", ValueKind::variable, "NAME=VALUE",
     "One more environment variable of the trials; may be given several times"},
    {"--resume-from-checkpoint", "/resume_from_checkpoint", ValueKind::checkpoint, "CHECKPOINT",
     "The checkpoint that every trial starts from: a directory, digits:3, digits:3@10, "
     "digits:best"},
};

Json amounts(const SpecOption& option, const std::string& text) {
  if (auto json = structured(option.name, text)) return *std::move(json);
  Json object = Json::object();
  for (const auto& item : split_at_commas(text)) {
    const auto [key, value] =
        split_at_equals(option.name, item, std::string("like ") + option.placeholder + " or JSON");
    if (object.contains(key)) {
      throw user_error(std::string(option.name) + " has " + shortened(key) + " twice");
    }
    object[key] = json_or_text(value);
  }
  return object;
}

/// Bounds alone are one object, as people write it; comparisons are rules of their own.
Json rules(const SpecOption& option, const std::string& text) {
  if (auto json = structured(option.name, text)) return *std::move(json);
  Json bounds = Json::object();
  Json list = Json::array();
  for (const auto& item : split_at_commas(text)) {
    const std::size_t sign = item.find_first_of("<>=");
    const std::size_t value =
        sign == std::string::npos ? sign : item.find_first_not_of("<>=", sign);
    if (sign == 0 || value == std::string::npos) {
      throw user_error(std::string(option.name) +
                       " must be like training_iteration=20, 'val_loss<=0.1' or JSON, got " +
                       as_quoted(text));
    }
    const std::string metric = trimmed(item.substr(0, sign));
    const std::string comparison = item.substr(sign, value - sign);
    const Json bound = json_or_text(trimmed(item.substr(value)));
    if (comparison == "=" && bounds.contains(metric)) {
      throw user_error(std::string(option.name) + " has " + shortened(metric) + " twice");
    }
    if (comparison == "=") {
      bounds[metric] = bound;
    } else {
      list.push_back({{"metric", metric}, {comparison, bound}});
    }
  }
  if (list.empty()) return bounds;
  if (!bounds.empty()) list.push_back(std::move(bounds));
  return list;
}

/// "a", or ["a", "b"] for "a,b".
Json one_or_list(const std::string& text) {
  const auto items = split_at_commas(text);
  return items.size() == 1 ? Json(text) : Json(items);
}

}  // namespace

Json to_json_value(const SpecOption& option, const std::string& text) {
  switch (option.kind) {
    case ValueKind::text:
    case ValueKind::variable:
      return text;
    case ValueKind::path:
      return fs::absolute(text).string();
    case ValueKind::checkpoint: {
      // An experiment that is not here is one of those in storage_path.
      std::error_code ignored;
      const bool is_here = text.find(':') == std::string::npos || fs::exists(text, ignored) ||
                           fs::exists(text.substr(0, text.rfind(':')), ignored);
      return text.starts_with("~/") || !is_here ? text : fs::absolute(text).string();
    }
    case ValueKind::json:
    case ValueKind::flag:
      return json_or_text(text);
    case ValueKind::typed:
    case ValueKind::item:
      return structured(option.name, text).value_or(text);
    case ValueKind::list:
      return structured(option.name, text).value_or(one_or_list(text));
    case ValueKind::amounts:
      return amounts(option, text);
    case ValueKind::rules:
      return rules(option, text);
  }
  return nullptr;
}

Json field_value(const std::string& field, const std::string& text) {
  for (const SpecOption& option : spec_options()) {
    if (option.pointer == "/" + field) return to_json_value(option, text);
  }
  return json_or_text(text);
}

std::span<const SpecOption> spec_options() { return options; }

}  // namespace tune
