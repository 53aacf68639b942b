// Resolves EXPERIMENT:TRIAL[@ITERATION], EXPERIMENT:best and plain paths to the directory of a
// checkpoint.
#include "tuner/checkpoint_reference.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/paths.h"
#include "tuner/result_grid.h"
#include "tuner/spec/spec.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

fs::path find_experiment(const std::string& name, const fs::path& base, const fs::path& storage) {
  const auto files = make_posix_file_system();
  const fs::path here = path_in_spec(base, name).lexically_normal();
  if (ExperimentStore::exists(*files, here)) return here;
  const fs::path stored = fs::absolute(storage / name).lexically_normal();
  const bool is_name = name.find('/') == std::string::npos;
  if (is_name && ExperimentStore::exists(*files, stored)) return stored;
  throw user_error("there is no experiment in " + here.string() +
                   (is_name && stored != here ? ", nor in " + stored.string() : ""));
}

std::string iterations_text(const std::vector<Checkpoint>& checkpoints) {
  constexpr std::size_t most = 20;
  std::string text;
  const std::size_t first = checkpoints.size() > most ? checkpoints.size() - most : 0;
  if (first > 0) text = count_of(first, "earlier one") + ", ";
  for (std::size_t i = first; i < checkpoints.size(); ++i) {
    if (i > first) text += i + 1 == checkpoints.size() ? " and " : ", ";
    text += std::to_string(checkpoints[i].iteration);
  }
  return text;
}

const Checkpoint& checkpoint_of(const Trial& trial, const std::optional<std::string>& iteration,
                                const std::string& where) {
  if (trial.checkpoints.empty()) throw user_error(where + " has no checkpoint");
  if (!iteration) {
    if (const Checkpoint* const latest = trial.latest_checkpoint()) return *latest;
    throw user_error(where +
                     " has no checkpoint of what it is now; those of before, as another model, "
                     "are of iteration " +
                     iterations_text(trial.checkpoints) + ", and are named with it");
  }
  std::int64_t wanted = -1;
  const char* const end = iteration->data() + iteration->size();
  const auto [stopped, error] = std::from_chars(iteration->data(), end, wanted);
  if (error != std::errc() || stopped != end || wanted < 0) {
    throw user_error("an iteration is a whole number from 0 on, got '" + *iteration + "'");
  }
  // Of one that was repeated after a failure, the later one.
  const auto found = std::find_if(trial.checkpoints.rbegin(), trial.checkpoints.rend(),
                                  [&](const Checkpoint& each) { return each.iteration == wanted; });
  if (found != trial.checkpoints.rend()) return *found;
  throw user_error(where + " has no checkpoint of iteration " + *iteration +
                   ": those it has are of iteration " + iterations_text(trial.checkpoints));
}

fs::path best_checkpoint(const ResultGrid& grid) {
  const std::string directory = grid.directory().string();
  const auto& objectives = grid.spec().objectives;
  if (objectives.size() != 1) {
    throw user_error("the experiment in " + directory +
                     (objectives.empty() ? " has no metric" : " has several metrics") +
                     " by which one of its trials would be the best: name a trial, " +
                     grid.directory().filename().string() + ":3");
  }
  const TrialResult best = grid.best_result();
  if (!best.best_checkpoints.empty()) return best.best_checkpoints.front().path;
  throw user_error("the best trial in " + directory + ", " + best.trial_id + ", has no checkpoint" +
                   (grid.experiment().trial(*parse_trial_id(best.trial_id)).checkpoints.empty()
                        ? ""
                        : " of what it is now"));
}

void refuse_if_evicted(const fs::path& checkpoint) {
  const fs::path place = fs::absolute(checkpoint / "").lexically_normal().parent_path();
  const auto evicted = find_evicted(*make_posix_file_system(), place);
  if (evicted) throw user_error(evicted_sentence(place, *evicted));
}

fs::path checkpoint_in(const ResultGrid& grid, const std::string& which) {
  if (which == "best") return best_checkpoint(grid);
  const auto at = which.find('@');
  const std::string name = which.substr(0, at);
  const auto id = parse_trial_id(name);
  if (!id || index_of(*id) >= grid.size()) {
    throw user_error("there is no trial '" + name + "' in " + grid.directory().string() +
                     ", which has " + count_of(grid.size(), "trial") + " from trial_00000");
  }
  const Trial& trial = grid.experiment().trial(*id);
  const auto iteration =
      at == std::string::npos ? std::nullopt : std::optional(which.substr(at + 1));
  const Checkpoint& found =
      checkpoint_of(trial, iteration, to_string(*id) + " in " + grid.directory().string());
  return paths::checkpoint(grid.directory(), {*id, found.index});
}

/// What a path leads to that is no checkpoint and mostly taken for one, and what to write instead.
std::optional<std::string> what_else(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    return path.string() + " is a file: name the directory of its checkpoint";
  }
  const auto files = make_posix_file_system();
  const fs::path whole = path.has_filename() ? path : path.parent_path();
  if (ExperimentStore::exists(*files, whole)) {
    return whole.string() + " is an experiment: name a checkpoint of it, as " + whole.string() +
           ":best or " + whole.string() + ":3";
  }
  const auto trial = parse_trial_id(whole.filename().string());
  if (!trial || !ExperimentStore::exists(*files, whole.parent_path())) return std::nullopt;
  return whole.string() + " is a trial: its latest checkpoint is named by " +
         whole.parent_path().string() + ":" + std::to_string(index_of(*trial));
}

}  // namespace

bool is_reference(const std::string& text, const fs::path& base) {
  std::error_code ignored;
  return text.find(':') != std::string::npos &&
         !fs::is_directory(path_in_spec(base, text), ignored);
}

fs::path find_checkpoint(const std::string& text, const fs::path& base, const fs::path& storage) {
  std::error_code ignored;
  if (!is_reference(text, base)) {
    const fs::path directory = path_in_spec(base, text);
    const bool is_file = fs::exists(directory, ignored) && !fs::is_directory(directory, ignored);
    const auto other = is_file ? std::nullopt : what_else(directory);
    if (other) throw user_error(*other);
    if (!text.empty() && fs::exists(directory, ignored)) return directory;
    refuse_if_evicted(directory);
    throw user_error("there is no '" + text +
                     "': a checkpoint is named by its directory, or like digits:3, digits:3@10 or "
                     "digits:best, the experiment first");
  }
  const auto colon = text.rfind(':');
  const std::string which = text.substr(colon + 1);
  const auto grid = ResultGrid::load(find_experiment(text.substr(0, colon), base, storage));
  const fs::path found = checkpoint_in(grid, which);
  // Its driver may have deleted it since its journal was read.
  if (fs::is_directory(found, ignored)) return found;
  refuse_if_evicted(found);
  throw user_error(found.string() + ", which is what " + text + " names, is not there any more");
}

Json with_checkpoint_found(Json spec, const fs::path& base, std::vector<Problem>& problems) {
  constexpr const char* field = "resume_from_checkpoint";
  if (!spec.is_object() || !spec.contains(field) || !spec[field].is_string()) return spec;
  const auto text = spec[field].get<std::string>();
  std::string storage = ExperimentSpec().storage_path.string();
  if (const auto given = spec.find("storage_path"); given != spec.end() && given->is_string()) {
    storage = given->get<std::string>();
  }
  try {
    if (!is_reference(text, base)) {
      const fs::path directory = path_in_spec(base, text);
      if (const auto other = what_else(directory)) throw user_error(*other);
      refuse_if_evicted(directory);
      return spec;
    }
    // It is of the working directory, wherever the spec lies.
    spec[field] = find_checkpoint(text, base, path_in_spec(fs::current_path(), storage)).string();
  } catch (const Error& error) {
    problems.push_back({std::string("/") + field, error.what()});
    spec.erase(field);
  }
  return spec;
}

}  // namespace tune
