#include "tuner/store/handed_over.h"

#include <optional>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

Error refused(const path& what, const std::string& why) {
  return machine_error(what.native() + " cannot be handed over, and stays as it is: " + why);
}

/// The first name of `inside` below `directory`.
std::string name_below(const path& directory, const path& inside) {
  return inside.lexically_relative(directory).begin()->native();
}

/// A path that ends in a slash would be looked at behind a link.
path without_last_slash(path name) { return name.has_filename() ? name : name.parent_path(); }

[[noreturn]] void refuse_in_trial(const path& what, TrialId trial, const path& trial_dir) {
  if (const auto index = paths::parse_checkpoint(name_below(trial_dir, what))) {
    throw refused(what, "it is checkpoint " + std::to_string(*index) + " of " + to_string(trial) +
                            " already; report a directory that was written anew, or none");
  }
  throw refused(what, "it lies in the directory of " + to_string(trial) +
                          ", outside of the working directory of the trial that reports it");
}

/// Whether it is moved. Throws what there is to say against it, by the place where it lies.
bool judge_place(const HandedOver::Places& at, const path& what) {
  if (what == at.work || what == at.trial || what == at.experiment) {
    throw refused(what, "it is not only a checkpoint; report a directory in it");
  }
  for (const path& own : {at.work, at.trial, at.experiment}) {
    if (is_within(what, own)) throw refused(what, "it holds the trial's own directory");
  }
  if (is_within(at.experiment, what)) {
    const std::string name = name_below(at.experiment, what);
    const auto trial = parse_trial_id(name);
    const bool is_in_work = is_within(at.work, what);
    // In an old experiment the driver's own names are in the working directory.
    const bool is_drivers =
        at.work == at.trial && is_in_work && paths::is_of_checkpoint(name_below(at.trial, what));
    const bool is_in_trial = trial && name == to_string(*trial);
    if (is_in_trial && (!is_in_work || is_drivers)) {
      refuse_in_trial(what, *trial, at.experiment / name);
    }
  }
  return is_within(at.work, what);
}

}  // namespace

HandedOver HandedOver::judge(FileSystem& files, const Places& places, const std::string& reported) {
  if (reported.empty()) throw machine_error("the path of the reported checkpoint is empty");
  if (reported.find('\0') != reported.npos) {
    throw machine_error("the path of the reported checkpoint has a NUL in it");
  }
  const path named = without_last_slash(places.work / reported);
  const std::optional<DirectoryEntry> found = files.entry(named);
  if (!found) throw refused(named, "there is nothing");
  if (found->is_link) throw refused(named, "it is a link; report the directory itself");
  if (!found->is_directory) throw refused(named, "it is not a directory");
  const path what = files.real_path(named);
  const bool is_moved = judge_place({files.real_path(places.experiment),
                                     files.real_path(places.trial), files.real_path(places.work)},
                                    what);
  return {what, read_tree(files, what, {named.lexically_normal()}), is_moved};
}

bool HandedOver::is_made_for_this() const {
  return is_moved_ && paths::is_reported_checkpoint(directory_.filename().native());
}

}  // namespace tune
