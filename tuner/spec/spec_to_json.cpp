// A spec as the JSON that records it, with all defaults.
#include <filesystem>
#include <optional>

#include "tuner/spec/spec.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json keep_to_json(const std::optional<KeepPaused>& keep) {
  if (!keep) return {};
  return keep->processes ? Json(*keep->processes) : Json(std::to_string(*keep->bytes) + "B");
}

Json remote_to_json(const RemoteConfig& remote) {
  return {{"path", remote.path.empty() ? Json() : Json(remote.path)},
          {"checkpoints", to_string(remote.checkpoints)},
          {"keep_local", or_null(remote.keep_local)},
          {"bytes_per_s", or_null(remote.bytes_per_s)},
          {"flush_s", remote.flush_s}};
}

/// null, the only one, or the list.
Json one_or_list(const Json& list) {
  if (list.empty()) return nullptr;
  return list.size() == 1 ? list[0] : list;
}

}  // namespace

Json to_json(const ExperimentSpec& spec) {
  const CheckpointConfig& checkpoints = spec.checkpoint_config;
  const fs::path& start = spec.resume_from_checkpoint;
  const auto& workers = spec.workers;
  Json plugins = Json::array();
  for (const fs::path& plugin : spec.plugins) plugins.push_back(plugin.string());
  Json metrics = Json::array(), modes = Json::array();
  for (const Objective& objective : spec.objectives) {
    metrics.push_back(objective.metric);
    modes.push_back(to_string(objective.mode));
  }
  return {
      {"name", spec.name},
      {"storage_path", spec.storage_path.string()},
      {"trainable", trainable_to_json(spec)},
      {"param_space", spec.param_space},
      {"metric", one_or_list(metrics)},
      {"mode", one_or_list(modes)},
      {"constraints", spec.constraints},
      {"num_samples", spec.num_samples},
      {"max_concurrent_trials", or_null(spec.max_concurrent_trials)},
      {"resources_per_trial", spec.resources_per_trial},
      {"num_workers", workers ? Json(workers->count) : Json()},
      {"resources_per_worker", workers && !workers->each.empty() ? Json(workers->each) : Json()},
      {"placement", spec.placement == Placement::pack ? "pack" : "spread"},
      {"resources", spec.resources},
      {"time_budget_s", or_null(spec.time_budget_s)},
      {"stop", spec.stop},
      {"seed", spec.seed},
      {"searcher", spec.searcher},
      {"scheduler", spec.scheduler},
      {"checkpoint_config",
       {{"num_to_keep", or_null(checkpoints.num_to_keep)},
        {"checkpoint_score_attribute", or_null(checkpoints.checkpoint_score_attribute)},
        {"checkpoint_score_order", checkpoints.checkpoint_score_order
                                       ? Json(to_string(*checkpoints.checkpoint_score_order))
                                       : Json()},
        {"checkpoint_frequency", checkpoints.checkpoint_frequency},
        {"checkpoint_at_end", checkpoints.checkpoint_at_end},
        {"checkpoint_at_start", checkpoints.checkpoint_at_start},
        {"max_checkpoint_bytes", or_null(checkpoints.max_checkpoint_bytes)}}},
      {"failure_config", failures_to_json(spec.failure_config)},
      {"remote", remote_to_json(spec.remote)},
      {"cluster", cluster_to_json(spec.cluster)},
      {"callbacks", spec.callbacks},
      {"plugins", plugins},
      {"reuse_processes", or_null(spec.reuse_processes)},
      {"keep_paused", keep_to_json(spec.keep_paused)},
      {"max_log_bytes", or_null(spec.max_log_bytes)},
      {"min_free_bytes", spec.min_free_bytes},
      {"snapshot_period_s", or_null(spec.snapshot_period_s)},
      {"launch_timeout_s", spec.launch_timeout_s},
      {"trial_timeout_s", or_null(spec.trial_timeout_s)},
      {"stop_grace_s", spec.stop_grace_s},
      {"last_result_grace_s", spec.last_result_grace_s},
      {"resume_from_checkpoint", start.empty() ? Json() : Json(start.string())},
  };
}

}  // namespace tune
