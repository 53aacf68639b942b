// Accepts a reported name only if it is a real directory, and no link, directly in the working
// directory of the trial.
#include "tuner/checkpoints/handed_over.h"

#include <optional>
#include <string_view>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

Error refused(const path& what, const std::string& why) {
  return machine_error(what.native() + " cannot be handed over, and stays as it is: " + why);
}

bool is_name(const std::string& text) {
  constexpr std::size_t longest = 255;  // that any file system takes
  return !text.empty() && text.size() <= longest && text != "." && text != ".." &&
         text.find_first_of(std::string_view("/\0", 2)) == text.npos;
}

}  // namespace

HandedOver HandedOver::judge(FileSystem& files, const path& work, const std::string& name) {
  if (!is_name(name)) {
    constexpr std::size_t quoted = 100;
    throw machine_error("'" + clean_text(name.substr(0, quoted)) +
                        "' cannot be handed over: a checkpoint is reported by the name of a "
                        "directory in the trial's working directory");
  }
  const path directory = files.real_path(work) / name;
  const std::optional<DirectoryEntry> found = files.entry(directory);
  if (!found) throw refused(directory, "there is nothing");
  if (found->is_link) throw refused(directory, "it is a link; report the directory itself");
  if (!found->is_directory) throw refused(directory, "it is not a directory");
  if (paths::is_of_checkpoint(name) && paths::work(work.parent_path()) != work) {
    throw refused(directory, "that name is the driver's");
  }
  return {directory, read_tree(files, directory, {work / name})};
}

bool HandedOver::is_made_for_this() const {
  return paths::is_reported_checkpoint(directory_.filename().native());
}

}  // namespace tune
