// Lists files breadth first within limits, and finds a file that one trial wrote and another one
// replaced.
#include "tuner/plain/shared_outputs.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <system_error>
#include <utility>

#include "tuner/model/paths.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

bool is_looked_into(const fs::path& directory, const fs::path& storage) {
  static constexpr const char* others[] = {"results", "node_modules", "__pycache__", "venv"};
  std::error_code ignored;
  return std::find(std::begin(others), std::end(others), directory.filename()) ==
             std::end(others) &&
         !fs::equivalent(directory, storage, ignored) &&
         !fs::exists(paths::spec(directory), ignored);  // another search's
}

}  // namespace

/// Level by level: a large data set must not keep what lies beside it from being looked at.
std::vector<FileVersion> look_at_outputs(const fs::path& directory, const fs::path& storage) {
  constexpr int most_entries = 1'000;
  constexpr int most_levels_below = 3;
  std::vector<FileVersion> files;
  std::deque<std::pair<fs::path, int>> within{{fs::path(), 0}};
  for (int entries = 0; !within.empty(); within.pop_front()) {
    const auto& [place, level] = within.front();
    std::error_code error;
    for (fs::directory_iterator at(directory / place, error);
         !error && at != fs::directory_iterator(); at.increment(error)) {
      if (++entries > most_entries) return files;
      std::error_code ignored;
      const fs::path name = place / at->path().filename();
      if (name.filename().string().starts_with('.') || at->is_symlink(ignored)) continue;
      if (at->is_directory(ignored)) {
        const bool is_deeper = level < most_levels_below && is_looked_into(at->path(), storage);
        if (is_deeper) within.emplace_back(name, level + 1);
      } else if (const auto found = look_at_checkpoint(directory, name)) {
        files.push_back(found->files.front());
        files.back().name = name.string();
      }
    }
  }
  return files;
}

std::optional<SharedOutputs::Overwritten> SharedOutputs::add(
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
