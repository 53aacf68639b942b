// `tune validate` and `tune preview`: about a spec, before anything runs.
// Starts no process and writes nothing.
#include <algorithm>

#include "apps/tune/commands.h"
#include "apps/tune/first_configs.h"
#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/model/resources.h"
#include "tuner/plugins.h"
#include "tuner/run.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/spec/spec_warnings.h"
#include "tuner/start_cluster.h"

namespace tune {

namespace {

constexpr std::uint32_t shown_configs = 5;

/// What a run would do.
struct Preview : FirstConfigs {
  std::uint64_t at_once = 0;
};

/// How many trials run at one time.
std::uint64_t trials_at_once(const ExperimentSpec& spec, const Resources& totals,
                             std::uint64_t most) {
  if (spec.max_concurrent_trials) {
    most = std::min<std::uint64_t>(most, static_cast<std::uint64_t>(*spec.max_concurrent_trials));
  }
  constexpr std::uint64_t enough_to_count = 100'000;
  most = std::min(most, enough_to_count);
  ResourcePool pool(totals);
  std::uint64_t count = 0;
  while (count < most && pool.acquire(spec.resources_per_trial)) ++count;
  return count;
}

Preview look_ahead(const ExperimentSpec& spec, const Catalogue& catalogue,
                   const Resources& totals) {
  Preview preview{first_configs(spec, catalogue, shown_configs)};
  preview.at_once = trials_at_once(spec, totals, preview.trials.value_or(UINT64_MAX));
  return preview;
}

std::string amounts_text(const Resources& resources) {
  std::string text;
  for (const auto& [name, amount] : resources) {
    text += (text.empty() ? "" : ", ") + name + " " + format_metric(amount);
  }
  return text.empty() ? "nothing" : text;
}

/// Where the total of a resource comes from.
std::string origin_of(const std::string& name, const ExperimentSpec& spec,
                      const DetectedResources& detected) {
  if (spec.resources.contains(name)) return "given in the spec";
  if (name == "cpu") return detected.cpus_from;
  return detected.gpus_from;
}

void print_preview(const SpecDocument& document, const ExperimentSpec& spec, const Preview& preview,
                   const Resources& totals, const DetectedResources& detected) {
  const std::string trials = preview.trials         ? std::to_string(*preview.trials)
                             : spec.num_samples < 0 ? "as many as time allows"
                                                    : "as many as can be tried";
  std::vector<std::pair<std::string, std::string>> lines = {
      {"experiment", experiment_directory(spec).string()},
      {"trials", trials},
      {"searcher", spec.searcher.dump()},
      {"scheduler", spec.scheduler.dump()},
  };
  if (!runs_here(spec.cluster)) {
    lines.emplace_back("total", "what the nodes have, which is seen once their agents have joined");
    lines.emplace_back("each trial", amounts_text(spec.resources_per_trial));
  } else {
    for (const auto& [name, amount] : totals) {
      lines.emplace_back("total " + name,
                         format_metric(amount) + " (" + origin_of(name, spec, detected) + ")");
    }
    if (!totals.contains("gpu")) lines.emplace_back("total gpu", "0 (" + detected.gpus_from + ")");
    lines.emplace_back("each trial", amounts_text(spec.resources_per_trial));
    lines.emplace_back("at one time", count_of(preview.at_once, "trial"));
  }
  for (const auto& notice : detected.notices) lines.emplace_back("notice", notice);
  for (const Problem& doubt : warnings_about(spec)) {
    lines.emplace_back("notice", to_line(document, doubt));
  }
  print_pairs(lines);
  print("\nThe first configs:\n");
  std::vector<std::vector<std::string>> rows;
  for (std::uint32_t i = 0; i < preview.configs.size(); ++i) {
    rows.push_back({to_string(TrialId{i}), preview.configs[i].dump()});
  }
  print_table({{"trial"}, {"config"}}, rows);
}

Json list_of(const SpecDocument& document, const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& problem : problems) {
    list.push_back({{"pointer", problem.pointer}, {"message", to_line(document, problem)}});
  }
  return list;
}

void print_preview_json(const SpecDocument& document, const ExperimentSpec& spec,
                        const Preview& preview, const Resources& totals,
                        const DetectedResources& detected) {
  Json resources = Json::object();
  for (const auto& [name, amount] : totals) {
    resources[name] = {{"total", amount}, {"from", origin_of(name, spec, detected)}};
  }
  print_json({{"directory", experiment_directory(spec).string()},
              {"trials", preview.trials ? Json(*preview.trials) : Json()},
              {"configs", preview.configs},
              {"resources", resources},
              {"resources_per_trial", spec.resources_per_trial},
              {"at_once", runs_here(spec.cluster) ? Json(preview.at_once) : Json()},
              {"notices", list_of(document, warnings_about(spec))}});
}

}  // namespace

int validate_command(const SpecSource& source, bool json) {
  const SpecDocument document = assemble_spec(source);
  std::vector<Problem> problems;
  const auto spec = check_spec(document, catalogue_with(plugins_of(document)), problems);
  const auto warnings = spec ? warnings_about(*spec) : std::vector<Problem>();
  if (json) {
    print_json({{"valid", spec.has_value()},
                {"problems", list_of(document, problems)},
                {"notices", list_of(document, warnings)}});
    return spec ? exit_ok : exit_bad_input;
  }
  print_problems(document, problems);
  if (!spec) return exit_bad_input;
  print("valid\n");
  for (const Problem& doubt : warnings) print("notice: " + to_line(document, doubt) + "\n");
  return exit_ok;
}

int preview_command(const SpecSource& source, bool json) {
  const SpecDocument document = assemble_spec(source);
  const Catalogue catalogue = catalogue_with(plugins_of(document));
  const auto spec = check_spec(document, catalogue);
  if (!spec) return exit_bad_input;
  const DetectedResources detected = detect_resources();
  // What nodes have, this machine does not know.
  const bool is_here = runs_here(spec->cluster);
  const Resources totals = is_here ? total_resources(*spec, detected) : Resources();
  const Preview preview = look_ahead(*spec, catalogue, totals);
  (json ? print_preview_json : print_preview)(document, *spec, preview, totals, detected);
  return exit_ok;
}

}  // namespace tune
