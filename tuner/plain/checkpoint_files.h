// The checkpoints that a program writes by itself, as files: which there are, and whether they have
// been written to since.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// A version of a file, as of one look; every write makes another version. A link to it, or other
/// permissions, do not.
struct FileVersion {
  std::string name;  ///< within the checkpoint; empty: the checkpoint is this file
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;  ///< Unix time by the file system's clock, of whatever change
  /// The same of its last write, or what its writer says of that; 0: `changed_ns` stands for it.
  std::int64_t written_ns = 0;

  bool operator==(const FileVersion& other) const {
    const bool are_known = written_ns != 0 && other.written_ns != 0;
    return name == other.name && inode == other.inode && bytes == other.bytes &&
           (are_known ? written_ns == other.written_ns : changed_ns == other.changed_ns);
  }
};

/// One checkpoint, as of one look.
struct CheckpointFiles {
  std::filesystem::path root;      ///< absolute
  std::filesystem::path name;      ///< within `root`; empty: all that is there
  bool is_file = false;            ///< else a directory
  std::vector<FileVersion> files;  ///< sorted by name; never none

  std::filesystem::path place() const { return name.empty() ? root : root / name; }
  /// Nanoseconds of Unix time; of what was changed last.
  std::int64_t changed_ns() const;
  const FileVersion* find(std::string_view file) const;
};

/// What is wrong with `pattern`, as a sentence; empty if nothing is.
std::string complaint_about_checkpoints(const std::string& pattern);

/// Whether a directory called `name` within the root may hold, or be in, what `pattern` means.
bool may_hold_checkpoints(const std::string& pattern, const std::filesystem::path& name);
/// The checkpoint that `name` is, or lies in; nothing if it lies in none.
std::optional<std::filesystem::path> checkpoint_of(const std::string& pattern,
                                                   const std::filesystem::path& name);

/// What there is, sorted by name: directories and files that `pattern` means, no links. A root that
/// cannot be read has none.
std::vector<std::filesystem::path> names_of_checkpoints(const std::filesystem::path& root,
                                                        const std::string& pattern);

/// Nothing if no file is there, or more than can be looked at.
std::optional<CheckpointFiles> look_at_checkpoint(const std::filesystem::path& root,
                                                  const std::filesystem::path& name);

/// A directory that is nested deeper is looked at no more, and makes what it is in no checkpoint:
/// names get longer than a kernel takes.
inline constexpr std::ptrdiff_t most_levels = 100;
inline bool is_too_deep(const std::filesystem::path& name) {
  return std::distance(name.begin(), name.end()) > most_levels;
}

/// The files that are there and belong to no checkpoint, sorted by name; none if there are too
/// many.
std::vector<FileVersion> look_at_others(const std::filesystem::path& root,
                                        const std::string& pattern);

/// All that there are.
std::vector<CheckpointFiles> look_at_checkpoints(const std::filesystem::path& root,
                                                 const std::string& pattern);

}  // namespace tune
