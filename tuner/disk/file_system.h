// The interface to the disk (as leveldb's Env). The real one is PosixFileSystem; tests have one in
// memory that forgets what was not synced, fills up and tears writes.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/error.h"

namespace tune {

/// A rename between two file systems, which only a copy can do.
class CrossDeviceError : public Error {
 public:
  explicit CrossDeviceError(const Error& error) : Error(error) {}
};

/// A file that is only ever appended to. Closed by the destructor.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  /// All of `bytes`, or Error; after an Error nothing is known about the end of the file.
  virtual void append(std::string_view bytes) = 0;
  /// Blocks until all that was appended before is on disk (fdatasync). From any thread, also while
  /// another appends. Error also if the file has lost its name meanwhile, or bytes.
  virtual void sync() = 0;
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  bool is_regular = false;
  std::uint64_t bytes = 0;
  bool is_link = false;  ///< none of the three: a socket, a device, ...
};

/// Tells without reading a file whether it was written to: each write changes the stamp, also one
/// of the same size, and so does setting the file's times.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;  ///< Unix time of the last change, as the file system's clock has it
  auto operator<=>(const FileStamp&) const = default;
};

/// A lock on a directory in this host's kernel: seen in all namespaces, not on other hosts. It ends
/// with the object, and with the process.
class DirectoryHold {
 public:
  virtual ~DirectoryHold() = default;
};
enum class HoldKind {
  driving,  ///< nobody else may have it
  looking,  ///< to be given back at once: is somebody driving?
};
struct HoldAnswer {
  std::unique_ptr<DirectoryHold> hold;  ///< nothing if it is taken, or cannot be had here
  bool is_taken = false;
  std::string place;  ///< which directory is held, as the kernel names it
};

/// Something else has the name, or stands where a directory belongs on the way to it.
class PlaceTaken : public Error {
 public:
  explicit PlaceTaken(const std::filesystem::path& place)
      : Error(Fault::machine, "something else is in the place of " + place.native()) {}
};

/// An open directory. Whatever is put below it gets there even if the directory is renamed
/// meanwhile, and never through a link: a link on the way counts as PlaceTaken. Missing directories
/// are made. Names are relative, and have passed `wrong_name`.
class OpenDirectory {
 public:
  virtual ~OpenDirectory() = default;
  /// PlaceTaken if something has that name.
  virtual void make_link(const std::filesystem::path& target,
                         const std::filesystem::path& name) = 0;
  /// Moves the file or the directory `from` there. A file takes the place of a file or a link of
  /// that name; PlaceTaken if anything else has it.
  virtual void take(const std::filesystem::path& from, const std::filesystem::path& name) = 0;
  /// Moves what has that name to `to`; absent is fine.
  virtual void give(const std::filesystem::path& name, const std::filesystem::path& to) = 0;
};

/// All errors are thrown as Error (machine), with path and reason. From any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Opens for appending; creates it if it is not there. Close-on-exec.
  virtual std::unique_ptr<AppendFile> open_append(const std::filesystem::path& file) = 0;
  static constexpr std::uint64_t most_read_bytes = std::uint64_t{1} << 30;
  /// All of it; an Error if it is larger than `most_read_bytes`, as nothing is that we write.
  virtual std::string read(const std::filesystem::path& file) = 0;
  /// Calls `sink` with consecutive pieces of the file from its byte `begin` on, at most 1 MiB each.
  virtual void read_pieces(const std::filesystem::path& file,
                           const std::function<void(std::string_view)>& sink,
                           std::uint64_t begin = 0) = 0;
  /// Makes `to`, which is not there, a file with the content of `from`; where the file system can,
  /// without copying it. Not synced.
  virtual void copy(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual void truncate(const std::filesystem::path& file, std::uint64_t bytes) = 0;
  /// `file` has `content` or, after a crash at any moment, what it had before: written aside,
  /// synced, renamed, directory synced.
  virtual void replace(const std::filesystem::path& file, std::string_view content) = 0;
  /// Creates `file` with `content`, synced; false if it exists already (nothing is changed). Never
  /// seen half-written, also on NFS; only where the file system knows no hard links can a crash
  /// leave it empty. After an Error it has not been created.
  virtual bool create_exclusive(const std::filesystem::path& file, std::string_view content) = 0;

  /// Whether something has that name, be it a link that leads nowhere.
  virtual bool exists(const std::filesystem::path& path) = 0;
  /// What has that name, without following it if it is a link; nothing if nothing has.
  virtual std::optional<DirectoryEntry> entry(const std::filesystem::path& path) = 0;
  /// Absolute, with every link followed. Error if nothing is there.
  virtual std::filesystem::path real_path(const std::filesystem::path& path) = 0;
  /// Whether something is mounted on the directory, as far as that can be known.
  virtual bool is_mount_point(const std::filesystem::path& directory) = 0;
  virtual std::filesystem::path read_link(const std::filesystem::path& link) = 0;
  /// Error if something has that name.
  virtual void make_link(const std::filesystem::path& target,
                         const std::filesystem::path& link) = 0;
  /// Nothing if the next write might leave the stamp as it is: if the last one is too recent for
  /// the clock of the file system, or in the future. Waits a few milliseconds before it says so.
  virtual std::optional<FileStamp> stamp(const std::filesystem::path& file) = 0;
  /// Error if there is none.
  virtual std::unique_ptr<OpenDirectory> open_directory(const std::filesystem::path& directory);
  /// Sorted by name. Links are not followed.
  virtual std::vector<DirectoryEntry> list(const std::filesystem::path& directory) = 0;
  /// Those that are missing; not synced.
  virtual void make_directories(const std::filesystem::path& directory) = 0;
  /// CrossDeviceError if the two lie on different file systems; then nothing is changed.
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual void remove_file(const std::filesystem::path& file) = 0;  ///< absent is fine
  /// Absent is fine. Links in it are removed, not followed; directories in it that may not be
  /// written to are made writable. As deep as you like.
  /// What is mounted below it is left alone, with an Error.
  virtual void remove_tree(const std::filesystem::path& directory) = 0;
  /// Gives the owner permission to list, enter and write to a directory, if that is allowed; does
  /// nothing on file systems without permissions.
  virtual void make_accessible(const std::filesystem::path& directory);
  virtual void sync_file(const std::filesystem::path& file) = 0;
  virtual void sync_directory(const std::filesystem::path& directory) = 0;
  virtual std::uint64_t free_bytes(const std::filesystem::path& path) = 0;

  virtual HoldAnswer hold(const std::filesystem::path& directory, HoldKind kind) = 0;
  /// Makes the file look as if it had been written just now.
  virtual void touch(const std::filesystem::path& file) = 0;
  /// When it was written or touched last: Unix time in nanoseconds by the file system's clock, as
  /// other hosts see it too; nothing if it is not there.
  virtual std::optional<std::int64_t> modified_ns(const std::filesystem::path& file) = 0;
};

/// Who may read the files that are made.
enum class Access {
  everybody,  ///< whom the umask lets
  owner,      ///< for what may hold secrets: the spec, with the environment that trials get
};

std::unique_ptr<FileSystem> make_posix_file_system(Access access = Access::everybody);

}  // namespace tune
