// Matches file names with the pattern of "checkpoints", and takes versions of files (size and
// times) to see writes.
#include "tuner/plain/checkpoint_files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "tuner/disk/file_descriptor.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_files = 100'000;
constexpr std::int64_t ns_per_s = 1'000'000'000;

std::vector<std::string> parts_of(const fs::path& name) {
  std::vector<std::string> parts;
  for (const fs::path& part : name) parts.push_back(part.string());
  return parts;
}

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

/// Whether the first parts of `name` are what those of `pattern` mean, as far as both go.
bool begins_alike(const std::vector<std::string>& pattern, const std::vector<std::string>& name) {
  const std::size_t both = std::min(pattern.size(), name.size());
  return std::equal(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(both),
                    name.begin(), matches);
}

/// A file that its program opens anew is empty at once, but has the time of that only when the file
/// system's journal has let it, milliseconds later: until then it looks as if it had been empty for
/// long, and its copy is. Who asks where its data are waits for whoever is changing it.
void await_change(const fs::path& file, struct stat& status) {
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return;
  (void)::lseek(opened.get(), 0, SEEK_DATA);
  struct stat now {};
  if (::fstat(opened.get(), &now) == 0 && S_ISREG(now.st_mode)) status = now;
}

FileVersion version_of(std::string name, const fs::path& file, struct stat status) {
  if (status.st_size == 0) await_change(file, status);
  return {std::move(name), status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_ctim.tv_sec * ns_per_s + status.st_ctim.tv_nsec,
          status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec};
}

/// Adds what is in the directory `top`/`within` to `files`; false if there is too much.
bool add_files(const fs::path& top, const fs::path& within, std::vector<FileVersion>& files) {
  std::error_code error;
  for (fs::directory_iterator at(top / within, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    struct stat status {};
    if (::lstat(at->path().c_str(), &status) != 0) continue;
    const fs::path name = within / at->path().filename();
    if (S_ISDIR(status.st_mode)) {
      if (is_too_deep(name) || !add_files(top, name, files)) return false;
    } else if (S_ISREG(status.st_mode)) {
      files.push_back(version_of(name.string(), at->path(), status));
      if (files.size() > most_files) return false;
    }
  }
  return true;
}

}  // namespace

std::int64_t CheckpointFiles::changed_ns() const {
  std::int64_t last = 0;
  for (const FileVersion& file : files) last = std::max(last, file.changed_ns);
  return last;
}

const FileVersion* CheckpointFiles::find(std::string_view file) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const FileVersion& each) { return each.name == file; });
  return found == files.end() ? nullptr : &*found;
}

std::string complaint_about_checkpoints(const std::string& pattern) {
  const fs::path path(pattern);
  if (path.is_absolute()) {
    return "it begins at the root, and must lie below the checkpoint directory";
  }
  for (const std::string& part : parts_of(path)) {
    if (part == "..") return "it leads out of the checkpoint directory";
    if (part == "**") return "'**' is not known: '*' stands for one name, without '/'";
    if (part.empty() || part == ".") return "a part of it is no name";
  }
  return "";
}

bool may_hold_checkpoints(const std::string& pattern, const fs::path& name) {
  return begins_alike(parts_of(pattern), parts_of(name));
}

std::optional<fs::path> checkpoint_of(const std::string& pattern, const fs::path& name) {
  const auto patterns = parts_of(pattern);
  const auto parts = parts_of(name);
  if (parts.size() < patterns.size() || !begins_alike(patterns, parts)) return std::nullopt;
  fs::path checkpoint;
  for (std::size_t i = 0; i < patterns.size(); ++i) checkpoint /= parts[i];
  return checkpoint;
}

std::vector<fs::path> names_of_checkpoints(const fs::path& root, const std::string& pattern) {
  std::vector<fs::path> found = {fs::path()};
  for (const std::string& part : parts_of(pattern)) {
    std::vector<fs::path> below;
    for (const fs::path& name : found) {
      std::error_code error;
      for (fs::directory_iterator at(root / name, error); !error && at != fs::directory_iterator();
           at.increment(error)) {
        std::error_code ignored;
        const bool is_kept = at->is_directory(ignored) || at->is_regular_file(ignored);
        if (!is_kept || at->is_symlink(ignored)) continue;
        if (matches(part, at->path().filename())) below.push_back(name / at->path().filename());
      }
    }
    found = std::move(below);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<CheckpointFiles> look_at_checkpoint(const fs::path& root, const fs::path& name) {
  CheckpointFiles checkpoint{.root = root, .name = name};
  struct stat status {};
  if (::lstat(checkpoint.place().c_str(), &status) != 0) return std::nullopt;
  if (S_ISREG(status.st_mode)) {
    checkpoint.is_file = true;
    checkpoint.files.push_back(version_of("", checkpoint.place(), status));
  } else if (!S_ISDIR(status.st_mode) || !add_files(checkpoint.place(), {}, checkpoint.files)) {
    return std::nullopt;
  }
  if (checkpoint.files.empty()) return std::nullopt;
  std::sort(checkpoint.files.begin(), checkpoint.files.end(),
            [](const FileVersion& a, const FileVersion& b) { return a.name < b.name; });
  return checkpoint;
}

std::vector<FileVersion> look_at_others(const fs::path& root, const std::string& pattern) {
  if (pattern.empty()) return {};
  auto all = look_at_checkpoint(root, {});
  if (!all) return {};
  std::erase_if(all->files, [&](const FileVersion& file) {
    return checkpoint_of(pattern, file.name).has_value();
  });
  return std::move(all->files);
}

std::vector<CheckpointFiles> look_at_checkpoints(const fs::path& root, const std::string& pattern) {
  std::vector<CheckpointFiles> found;
  for (const fs::path& name : names_of_checkpoints(root, pattern)) {
    if (auto checkpoint = look_at_checkpoint(root, name)) found.push_back(*std::move(checkpoint));
  }
  return found;
}

}  // namespace tune
