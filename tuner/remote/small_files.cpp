// Lists small files with size and time, and uploads in one batch those that have changed.
#include "tuner/remote/small_files.h"

#include <unistd.h>

#include "tuner/model/paths.h"
#include "tuner/model/trial.h"
#include "tuner/remote/object_names.h"

namespace tune {

namespace {

using std::filesystem::path;

}  // namespace

std::vector<std::pair<std::string, UploadMemory::FileSeen>> small_files(FileSystem& files,
                                                                        const path& experiment) {
  std::vector<std::pair<std::string, UploadMemory::FileSeen>> found;
  const auto add = [&](const std::string& name, const DirectoryEntry& entry) {
    const path file = experiment / name;
    if (!entry.is_regular || !is_small_file(name)) return;
    if (::access(file.c_str(), R_OK) != 0) return;
    const auto modified_ns = files.modified_ns(file);
    if (modified_ns) found.push_back({name, {entry.bytes, *modified_ns}});
  };
  for (const DirectoryEntry& entry : files.list(experiment)) {
    if (!entry.is_directory) {
      add(entry.name, entry);
      continue;
    }
    const auto trial = parse_trial_id(entry.name);
    if (!trial || entry.name != to_string(*trial)) continue;
    try {
      for (const DirectoryEntry& file : files.list(experiment / entry.name)) {
        add(entry.name + "/" + file.name, file);
      }
    } catch (const Error&) {
      // A trial's directory that cannot be read is that trial's trouble.
    }
  }
  return found;
}

std::size_t upload_small_files(FileSystem& files, const path& experiment, RemoteStore& store,
                               UploadMemory& memory) {
  auto changed = small_files(files, experiment);
  std::erase_if(changed, [&](const auto& file) { return memory.has(file.first, file.second); });
  if (changed.empty()) return 0;
  std::vector<std::string> names;
  names.reserve(changed.size());
  for (const auto& [name, seen] : changed) names.push_back(name);
  store.put_files(experiment, names);
  for (const auto& [name, seen] : changed) memory.add_file(name, seen);
  return changed.size();
}

}  // namespace tune
