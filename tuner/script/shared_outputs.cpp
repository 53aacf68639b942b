#include "tuner/script/shared_outputs.h"

#include <system_error>

namespace tune {

namespace fs = std::filesystem;

std::vector<FileVersion> look_at_top(const fs::path& directory) {
  constexpr int most_entries = 1'000;
  std::vector<FileVersion> files;
  std::error_code error;
  int entries = 0;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (++entries > most_entries) return {};
    const fs::path name = at->path().filename();
    std::error_code ignored;
    const bool is_kept = at->is_regular_file(ignored) && !at->is_symlink(ignored);
    if (!is_kept || name.string().starts_with('.')) continue;
    if (const auto found = look_at_checkpoint(directory, name)) {
      files.push_back(found->files.front());
      files.back().name = name.string();
    }
  }
  return files;
}

std::optional<SharedOutputs::Overwritten> SharedOutputs::take_in(
    TrialId trial, std::int64_t began_ns, const std::vector<FileVersion>& files) {
  constexpr std::size_t most_files = 1'000;
  for (const FileVersion& file : files) {
    if (file.changed_ns < began_ns) continue;
    const auto found = written_.find(file.name);
    if (found == written_.end()) {
      if (written_.size() < most_files) written_[file.name] = {file, trial};
      continue;
    }
    const auto& [before, by] = found->second;
    if (by == trial || file == before) continue;
    const bool is_appended = file.inode == before.inode && file.bytes > before.bytes;
    if (!is_appended) return Overwritten{file.name, by, trial};
    found->second = {file, trial};
  }
  return std::nullopt;
}

}  // namespace tune
