// The tables of other tools' names for fields and policies.
#include "tuner/spec/foreign_fields.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tune {

namespace {

/// In small letters, without what joins words.
std::string plain(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '_' && c != '-') {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

/// By what `plain` makes of them.
const std::map<std::string, std::string>& fields_of_others() {
  static const std::map<std::string, std::string> words = {
      {"ntrials", "num_samples"},
      {"numtrials", "num_samples"},
      {"maxtrials", "num_samples"},
      {"maxtrialnumber", "num_samples"},
      {"maxevals", "num_samples"},
      {"trials", "num_samples"},
      {"runcap", "num_samples"},
      {"samples", "num_samples"},
      {"parameters", "param_space"},
      {"hyperparameters", "param_space"},
      {"params", "param_space"},
      {"space", "param_space"},
      {"searchspace", "param_space"},
      {"configspace", "param_space"},
      {"config", "param_space"},
      {"direction", "mode"},
      {"directions", "mode"},
      {"goal", "mode"},
      {"objective", "metric"},
      {"searchalg", "searcher"},
      {"searchalgorithm", "searcher"},
      {"sampler", "searcher"},
      {"tuner", "searcher"},
      {"method", "searcher"},
      {"pruner", "scheduler"},
      {"assessor", "scheduler"},
      {"earlyterminate", "scheduler"},
      {"timeout", "time_budget_s"},
      {"timelimit", "time_budget_s"},
      {"timebudget", "time_budget_s"},
      {"maxexperimentduration", "time_budget_s"},
      {"njobs", "max_concurrent_trials"},
      {"maxconcurrent", "max_concurrent_trials"},
      {"trialconcurrency", "max_concurrent_trials"},
      {"maxconcurrency", "max_concurrent_trials"},
      {"concurrency", "max_concurrent_trials"},
      {"jobs", "max_concurrent_trials"},
      {"workers", "max_concurrent_trials"},
      {"nworkers", "max_concurrent_trials"},
      {"maxiter", "stop"},
      {"maxiterations", "stop"},
      {"maxepochs", "stop"},
      {"epochs", "stop"},
      {"maxlength", "stop"},
      {"entrypoint", "trainable"},
      {"program", "trainable"},
      {"trialcommand", "trainable"},
      {"localdir", "storage_path"},
      {"outputdir", "storage_path"},
      {"logdir", "storage_path"},
      {"studyname", "name"},
      {"experimentname", "name"},
      {"keepcheckpointsnum", "checkpoint_config"},
      {"restorefrom", "resume_from_checkpoint"},
  };
  return words;
}

/// The same for policies, without the word for their kind at the end.
const std::map<std::string, std::string>& policies_of_others() {
  static const std::map<std::string, std::string> words = {
      {"asynchyperband", "asha"},
      {"asynchronoushyperband", "asha"},
      {"successivehalving", "asha"},
      {"median", "median_stopping"},
      {"medianstop", "median_stopping"},
      {"medianstoppingrule", "median_stopping"},
      {"populationbasedtraining", "pbt"},
      {"populationbasedtrainingreplay", "pbt_replay"},
      {"hyperbandforbohb", "bohb"},
      {"tunebohb", "bohb"},
      {"nop", "fifo"},
      {"basicvariantgenerator", "random"},
      {"nsgaii", "nsga2"},
      {"qmc", "sobol"},
      {"bayes", "gp"},
      {"bayesian", "gp"},
      {"bayesopt", "gp"},
      {"hyperopt", "tpe"},
      {"optuna", "tpe"},
  };
  return words;
}

}  // namespace

std::string field_of_others(std::string_view word) {
  const auto found = fields_of_others().find(plain(word));
  return found == fields_of_others().end() ? "" : found->second;
}

std::optional<std::string> policy_of_others(std::string_view word,
                                            std::span<const std::string> names) {
  std::string theirs = plain(word);
  for (const std::string_view kind : {"scheduler", "pruner", "sampler", "search", "tuner"}) {
    if (theirs.ends_with(kind)) theirs.resize(theirs.size() - kind.size());
  }
  const auto found = policies_of_others().find(theirs);
  if (found != policies_of_others().end()) theirs = plain(found->second);
  const auto ours = std::find_if(names.begin(), names.end(),
                                 [&](const std::string& name) { return plain(name) == theirs; });
  return ours == names.end() ? std::nullopt : std::optional(*ours);
}

}  // namespace tune
