// Sentences about the best trial and its checkpoints.
#include "tuner/view/best.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tuner/ask_session.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/disk/lines.h"
#include "tuner/model/paths.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

bool contains(const std::vector<std::int64_t>& ascending, std::int64_t iteration) {
  return std::binary_search(ascending.begin(), ascending.end(), iteration);
}

bool is_scored_by(const ExperimentSpec& spec, const Objective& objective) {
  return spec.checkpoint_config.checkpoint_score_attribute == objective.metric;
}

}  // namespace

std::string named_with_state(const Trial& trial) {
  const bool ended_well = trial.end() == TrialEnd::completed;
  return to_string(trial.id) + (ended_well ? "" : std::string(", ") + end_or_state(trial));
}

std::string no_best_text(const ResultGrid& grid, const Objective& objective) {
  if (const auto reason = grid.none_feasible()) return *reason;
  const bool is_over = is_finished(grid.experiment());
  if (grid.experiment().results() == 0) return is_over ? "no result" : "no result yet";
  grid.complete_summaries();
  const Trials& trials = grid.experiment().trials();
  const bool is_reported = std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    return trial.summary(objective.metric) != nullptr;
  });
  // Of what is not finite none is best.
  const std::string so_far = is_over ? "" : " so far";
  return is_reported ? "none: " + objective.metric + " is NaN or infinite in all results" + so_far
                     : "none: no trial has reported a number for " + objective.metric + so_far;
}

std::string best_and_last_text(const ResultGrid& grid, const Trial& trial,
                               const Objective& objective) {
  const auto value = [&](Scope scope) {
    return format_metric(value_of(trial, objective.metric, objective.mode, scope));
  };
  const auto best = grid.best_iteration(trial, objective);
  const std::string before = before_change_text(grid, trial, objective);
  return value(Scope::all) + " at its best" +
         (best ? " (iteration " + iteration_text(*best, trial.is_guess(*best)) + ")" : "") + ", " +
         value(Scope::last) + " at the last iteration, " +
         iteration_text(trial.iteration, trial.is_at_guess()) +
         (before.empty() ? "" : "; " + before);
}

std::string before_change_text(const ResultGrid& grid, const Trial& trial,
                               const Objective& objective) {
  const auto earlier = grid.before_change(trial, objective);
  if (!earlier) return "";
  const std::string until = std::to_string(earlier->until);
  return "only results since its config changed with iteration " + until + " count" +
         (earlier->best ? ", before that " + objective.metric + " was " +
                              format_metric(earlier->best->value.value()) + " at iteration " +
                              std::to_string(earlier->best->iteration)
                        : "");
}

namespace {

/// Said of a checkpoint that is of another result than the `best` ones. What scores checkpoints may
/// be another metric or mode: then one that ranks lower may have a best one.
std::string where_best_is(const ResultGrid& grid, const Trial& trial, const Checkpoint& shown,
                          const std::vector<std::int64_t>& best) {
  if (best.empty()) return "this is not the best result";
  const std::string text = "the best result is of iteration " + std::to_string(best.front());
  const auto present = trial.present_checkpoints();
  const auto order = rank_checkpoints(present, grid.spec().checkpoint_config);
  // Once is enough: the latest stands below the first.
  if (order.empty() || &present[order.front()] != &shown) return text;
  const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t i) {
    return contains(best, present[i].iteration);
  });
  if (found == order.end()) return text;
  const Checkpoint& other = present[*found];
  const auto place = paths::checkpoint(grid.directory(), {trial.id, other.index});
  if (other.iteration == best.front()) return text + ", in " + place.filename().string();
  return text + ", and " + place.filename().string() + " of iteration " + iteration_text(other) +
         " is as good";
}

}  // namespace

std::string checkpoint_text(const ResultGrid& grid, const Trial& trial,
                            const Checkpoint* checkpoint, const Objective& objective, Scope scope) {
  if (checkpoint == nullptr) {
    const std::string why = why_no_checkpoint(grid.spec(), trial);
    return (why.empty() ? "none" : "none: " + why) +
           equal_with_checkpoint(grid, trial, objective, scope);
  }
  const auto& attribute = grid.spec().checkpoint_config.checkpoint_score_attribute;
  const auto best = grid.best_iterations(trial, objective);
  const double best_value = value_of(trial, objective.metric, objective.mode, Scope::all);
  const bool is_worse = is_scored_by(grid.spec(), objective) && !std::isnan(checkpoint->score) &&
                        checkpoint->score != best_value;
  const bool is_of_best = best.empty() ? !is_worse : contains(best, checkpoint->iteration);
  std::string text = paths::checkpoint(grid.directory(), {trial.id, checkpoint->index}).string() +
                     " (iteration " + iteration_text(*checkpoint);
  if (attribute && !std::isnan(checkpoint->score)) {
    text += ", " + *attribute + " " + format_metric(checkpoint->score);
  }
  if (is_of_best && !best.empty() && checkpoint->iteration != best.front()) {
    text += ", as good as iteration " + std::to_string(best.front());
  }
  if (!is_of_best) text += "; " + where_best_is(grid, trial, *checkpoint, best);
  text += ")";
  const auto place = paths::checkpoint(grid.directory(), {trial.id, checkpoint->index});
  const CheckpointPlace where = checkpoint_place(place);
  if (where == CheckpointPlace::remote) {
    text += "; it is only on the remote: tune fetch " + place.string();
  }
  if (where == CheckpointPlace::missing) text += "; it is missing here, and on no known remote";
  if (checkpoint->is_guess) {
    text +=
        "; nothing proved whether it was saved before that result was printed or after, or its log "
        "was cut down, or the driver stood still, so it may be the model of a later one: say "
        "\"saved\" (docs/plain.md), or look with tune check";
  }
  return text;
}

std::string last_save_error(const Experiment& experiment) {
  std::string text;
  for (const Trial& trial : experiment.trials()) {
    if (trial.save_error->empty()) continue;
    text = to_string(trial.id) + ": " + clean_text(headline(*trial.save_error));
  }
  return text;
}

std::string why_no_checkpoint(const ExperimentSpec& spec, const Trial& trial) {
  if (trial.latest_checkpoint() != nullptr) return "";
  if (is_told(spec)) return "what a trial saves that you run yourself is yours";
  const Cloning* const cloning = trial.present_cloning();
  if (cloning != nullptr && trial.saves == cloning->saves) {
    return cloning->donor == trial.id
               ? "it has saved none since it began anew"
               : "it has saved none since it became a copy of " + to_string(cloning->donor);
  }
  const CheckpointConfig& config = spec.checkpoint_config;
  if (trial.saves > 0 && trial.failed_saves >= trial.saves) {
    const std::string why = clean_text(headline(*trial.save_error));
    return (trial.saves == 1 ? "its save failed"
                             : "all its " + std::to_string(trial.saves) + " saves failed") +
           (why.empty() ? "" : ": " + why);
  }
  if (trial.saves > 0) {
    return "of its " + count_of(static_cast<std::uint64_t>(trial.saves), "save") + " none is kept";
  }
  if (spec.plain && !spec.plain->checkpoints) {
    return "what a plain program saves is its own, unless its command has ${checkpoint_dir}";
  }
  if (spec.plain) return "nothing that it has saved was whole and known to be of a result";
  if (config.checkpoint_frequency <= 0 && !config.checkpoint_at_end) {
    return "neither checkpoint_frequency nor checkpoint_at_end asks for one, and the trial has "
           "handed over none";
  }
  if (!is_final(trial.state)) return "it has not saved yet";
  if (trial.iteration < config.checkpoint_frequency) {
    return "checkpoint_frequency is " + std::to_string(config.checkpoint_frequency) +
           ", and it ended at iteration " + std::to_string(trial.iteration);
  }
  if (config.checkpoint_frequency <= 0 && trial.state == TrialState::error) {
    return "checkpoint_at_end saves trials that end well only; checkpoint_frequency would have "
           "kept one";
  }
  return "it has saved none";
}

std::string equal_with_checkpoint(const ResultGrid& grid, const Trial& trial,
                                  const Objective& objective, Scope scope) {
  if (trial.latest_checkpoint() != nullptr) return "";
  const double value = value_of(trial, objective.metric, objective.mode, scope);
  for (const Trial& other : grid.experiment().trials()) {
    if (other.latest_checkpoint() == nullptr || !grid.is_feasible(other)) continue;
    if (value_of(other, objective.metric, objective.mode, scope) != value) continue;
    if (grid.exact_value(other, objective, scope) == grid.exact_value(trial, objective, scope)) {
      return "; " + to_string(other.id) + " is as good and has one";
    }
  }
  return "";
}

}  // namespace tune
