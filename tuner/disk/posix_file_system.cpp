// The real disk: every call is checked, every short write and interruption handled.
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "tuner/base/error.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/mount_point.h"
#include "tuner/disk/open_directory.h"
#include "tuner/disk/remove_tree.h"
#include "tuner/disk/standard_descriptors.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr std::size_t piece_bytes = 1 << 20;

/// `call` until it is not interrupted by a signal.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto answer = call();
    if (answer != -1 || errno != EINTR) return answer;
  }
}

class Descriptor {
 public:
  /// Of a regular file, or of a directory if `flags` have O_DIRECTORY. What else may have the name,
  /// a FIFO say, is not waited for.
  Descriptor(const path& file, int flags, std::string_view purpose, mode_t mode = 0)
      : Descriptor(file, open(file, flags | O_NONBLOCK, mode)) {
    if (!holds()) throw file_error(purpose, file.native(), errno);
    struct stat status {};
    if ((flags & O_DIRECTORY) != 0 || ::fstat(fd_, &status) != 0 || S_ISREG(status.st_mode)) return;
    if (S_ISDIR(status.st_mode)) throw file_error(purpose, file.native(), EISDIR);
    throw machine_error(std::string(purpose) + " " + file.native() + ": it is no regular file");
  }
  /// Creates `file`; holds nothing if there is one already.
  static Descriptor create(const path& file, mode_t mode) {
    const int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd == -1 && errno != EEXIST) throw file_error("cannot create", file.native(), errno);
    return {file, fd};
  }
  ~Descriptor() {
    if (holds()) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool holds() const { return fd_ != -1; }
  int get() const { return fd_; }
  const path& file() const { return file_; }

 private:
  Descriptor(const path& file, int fd) : file_(file), fd_(fd) {}
  static int open(const path& file, int flags, mode_t mode) {
    return uninterrupted([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); });
  }

  path file_;
  int fd_;
};

void write_all(const Descriptor& to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(to.get(), bytes.data(), bytes.size()); });
    // No error and no byte is a file system that lies; asking again would never end.
    if (n <= 0) throw file_error("cannot write", to.file().native(), n < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::size_t read_some(const Descriptor& from, char* to, std::size_t bytes) {
  const ssize_t n = uninterrupted([&] { return ::read(from.get(), to, bytes); });
  if (n < 0) throw file_error("cannot read", from.file().native(), errno);
  return static_cast<std::size_t>(n);
}

void sync_all(const Descriptor& file) {
  if (uninterrupted([&] { return ::fsync(file.get()); }) == -1) {
    throw file_error("cannot sync", file.file().native(), errno);
  }
}

path parent_of(const path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

void fill_and_sync(const Descriptor& created, std::string_view content) {
  try {
    write_all(created, content);
    sync_all(created);
  } catch (...) {
    ::unlink(created.file().c_str());
    throw;
  }
}

/// A new file beside `file`, with `content` on disk.
path write_aside(const path& file, std::string_view content, mode_t mode) {
  static std::atomic<unsigned> counter = 0;
  for (;;) {
    const path aside =
        parent_of(file) / ("." + file.filename().native() + ".tmp-" + std::to_string(::getpid()) +
                           "-" + std::to_string(counter++));
    // Taken: by a dead process of the same number, or by one of another host.
    const Descriptor created = Descriptor::create(aside, mode);
    if (!created.holds()) continue;
    fill_and_sync(created, content);
    return aside;
  }
}

/// Gives `aside` the name `file` as well, unless that exists.
enum class Linked { yes, exists, unsupported };
Linked link_to(const path& aside, const path& file) {
  if (::link(aside.c_str(), file.c_str()) == 0) return Linked::yes;
  const int error = errno;
  // On NFS the answer to a link that succeeded can get lost: the count of names tells.
  struct stat status {};
  if (::stat(aside.c_str(), &status) == 0 && status.st_nlink == 2) return Linked::yes;
  if (error == EEXIST) return Linked::exists;
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS) return Linked::unsupported;
  throw file_error("cannot create", file.native(), error);
}

class PosixHold : public DirectoryHold {
 public:
  explicit PosixHold(const path& directory)
      : descriptor_(directory, O_RDONLY | O_DIRECTORY, "cannot open") {}

  bool take(HoldKind kind) {
    const int operation = kind == HoldKind::driving ? LOCK_EX : LOCK_SH;
    return uninterrupted([&] { return ::flock(descriptor_.get(), operation | LOCK_NB); }) == 0;
  }

  std::string place() const {
    struct stat status {};
    if (::fstat(descriptor_.get(), &status) == -1) return "";
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  }

 private:
  Descriptor descriptor_;
};

class PosixAppendFile : public AppendFile {
 public:
  PosixAppendFile(const path& file, mode_t mode)
      : descriptor_(file, O_WRONLY | O_APPEND | O_CREAT, "cannot open", mode) {
    struct stat status {};
    if (::fstat(descriptor_.get(), &status) == 0) {
      bytes_ = static_cast<std::uint64_t>(status.st_size);
    }
  }

  void append(std::string_view bytes) override {
    write_all(descriptor_, bytes);
    bytes_ += bytes.size();
  }

  void sync() override {
    const std::uint64_t least_bytes = bytes_;
    if (uninterrupted([&] { return ::fdatasync(descriptor_.get()); }) == -1) {
      throw file_error("cannot sync", descriptor_.file().native(), errno);
    }
    // What has no name is gone at the next start, however well it is synced.
    struct stat open {};
    struct stat named {};
    if (::fstat(descriptor_.get(), &open) == -1) return;
    const bool is_named = ::stat(descriptor_.file().c_str(), &named) == 0 &&
                          named.st_ino == open.st_ino && named.st_dev == open.st_dev;
    if (!is_named) {
      throw lost(
          "it was removed, moved or replaced while it was being written; put it back, or "
          "restore it from a backup");
    }
    if (static_cast<std::uint64_t>(open.st_size) < least_bytes) {
      throw lost(
          "it was emptied or cut down while it was being written: " + std::to_string(open.st_size) +
          " of " + std::to_string(least_bytes) + " bytes are left; restore it from a backup");
    }
  }

 private:
  Error lost(const std::string& how) const {
    return machine_error("cannot keep " + descriptor_.file().native() + ": " + how);
  }

  Descriptor descriptor_;
  std::atomic<std::uint64_t> bytes_ = 0;  ///< that it had, or has been given since
};

void throw_if(const std::error_code& error, std::string_view what, const path& file) {
  if (error) throw machine_error(std::string(what) + " " + file.native() + ": " + error.message());
}

DirectoryEntry entry_of(const std::string& name, const struct stat& status) {
  return {name, S_ISDIR(status.st_mode), S_ISREG(status.st_mode),
          static_cast<std::uint64_t>(status.st_size), S_ISLNK(status.st_mode)};
}

/// Whether times of the file are kept by this machine's clock, and finer than a second. Others are
/// those of a server, or of a format with coarse ones: two writes may have the same.
bool keeps_fine_times(const path& file) {
  constexpr unsigned own_disks[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                    TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC};
  struct statfs status {};
  if (uninterrupted([&] { return ::statfs(file.c_str(), &status); }) == -1) return false;
  return std::find(std::begin(own_disks), std::end(own_disks),
                   static_cast<unsigned>(status.f_type)) != std::end(own_disks);
}

class PosixFileSystem : public FileSystem {
 public:
  explicit PosixFileSystem(Access access) : mode_(access == Access::owner ? 0600 : 0666) {}

  std::unique_ptr<AppendFile> open_append(const path& file) override {
    return std::make_unique<PosixAppendFile>(file, mode_);
  }

  std::string read(const path& file) override {
    std::string content;
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 &&
        static_cast<std::uint64_t>(status.st_size) > most_read_bytes) {
      throw machine_error("cannot read " + file.native() + ": it has " +
                          std::to_string(status.st_size) + " bytes, and cannot be ours");
    }
    read_pieces(file, [&](std::string_view piece) { content += piece; });
    return content;
  }

  void read_pieces(const path& file, const std::function<void(std::string_view)>& sink,
                   std::uint64_t begin = 0) override {
    const Descriptor in(file, O_RDONLY, "cannot open");
    if (begin > 0 && ::lseek(in.get(), static_cast<off_t>(begin), SEEK_SET) == -1) {
      throw file_error("cannot read", file.native(), errno);
    }
    const auto piece = std::make_unique_for_overwrite<char[]>(piece_bytes);
    while (const std::size_t n = read_some(in, piece.get(), piece_bytes)) {
      sink({piece.get(), n});
    }
  }

  void copy(const path& from, const path& to) override {
    {
      const Descriptor in(from, O_RDONLY, "cannot open");
      const Descriptor out(to, O_WRONLY | O_CREAT, "cannot open", mode_);
      if (::ioctl(out.get(), FICLONE, in.get()) == 0) return;
    }
    FileSystem::copy(from, to);
  }

  void truncate(const path& file, std::uint64_t bytes) override {
    if (uninterrupted([&] { return ::truncate(file.c_str(), static_cast<off_t>(bytes)); }) == -1) {
      throw file_error("cannot truncate", file.native(), errno);
    }
  }

  void replace(const path& file, std::string_view content) override {
    const path aside = write_aside(file, content, mode_);
    try {
      rename(aside, file);
    } catch (...) {
      ::unlink(aside.c_str());
      throw;
    }
    sync_directory(parent_of(file));
  }

  bool create_exclusive(const path& file, std::string_view content) override {
    const path aside = write_aside(file, content, mode_);
    Linked linked = Linked::unsupported;
    try {
      linked = link_to(aside, file);
    } catch (...) {
      ::unlink(aside.c_str());
      throw;
    }
    ::unlink(aside.c_str());
    if (linked == Linked::exists) return false;
    if (linked == Linked::unsupported) {
      const Descriptor created = Descriptor::create(file, mode_);
      if (!created.holds()) return false;
      fill_and_sync(created, content);
    }
    try {
      sync_directory(parent_of(file));
    } catch (...) {
      ::unlink(file.c_str());
      throw;
    }
    return true;
  }

  bool exists(const path& file) override { return entry(file).has_value(); }

  std::optional<DirectoryEntry> entry(const path& file) override {
    struct stat status {};
    if (::lstat(file.c_str(), &status) == 0) return entry_of(file.filename().native(), status);
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw file_error("cannot look at", file.native(), errno);
  }

  path real_path(const path& file) override {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(file.c_str(), nullptr),
                                                           &std::free);
    if (!real) throw file_error("cannot look at", file.native(), errno);
    return real.get();
  }

  bool is_mount_point(const path& directory) override {
    return tune::is_mount_point(AT_FDCWD, directory.native());
  }

  path read_link(const path& link) override {
    std::error_code error;
    path target = std::filesystem::read_symlink(link, error);
    throw_if(error, "cannot read", link);
    return target;
  }

  void make_link(const path& target, const path& link) override {
    if (::symlink(target.c_str(), link.c_str()) == 0) return;
    throw file_error("cannot create", link.native(), errno);
  }

  std::unique_ptr<OpenDirectory> open_directory(const path& directory) override {
    return open_posix_directory(directory);
  }

  std::vector<DirectoryEntry> list(const path& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
    if (!open) throw file_error("cannot list", directory.native(), errno);
    std::vector<DirectoryEntry> entries;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(open.get());
      if (entry == nullptr) {
        if (errno != 0) throw file_error("cannot list", directory.native(), errno);
        break;
      }
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat status {};
      if (::fstatat(::dirfd(open.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == -1) {
        if (errno == ENOENT) continue;  // gone since
        throw file_error("cannot look at", (directory / name).native(), errno);
      }
      entries.push_back(entry_of(name, status));
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  void make_directories(const path& directory) override {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    throw_if(error, "cannot create directory", directory);
  }

  void rename(const path& from, const path& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return;
    const int reason = errno;
    const Error error = file_error("cannot rename " + from.native() + " to", to.native(), reason);
    if (reason == EXDEV) throw CrossDeviceError(error);
    throw error;
  }

  void remove_file(const path& file) override {
    if (::unlink(file.c_str()) == -1 && errno != ENOENT) {
      throw file_error("cannot remove", file.native(), errno);
    }
  }

  void remove_tree(const path& directory) override { tune::remove_tree(directory); }

  void sync_file(const path& file) override {
    sync_all(Descriptor(file, O_RDONLY | O_NOFOLLOW, "cannot open"));
  }

  void sync_directory(const path& directory) override {
    const Descriptor open(directory, O_RDONLY | O_DIRECTORY, "cannot open");
    if (uninterrupted([&] { return ::fsync(open.get()); }) == -1 && errno != EINVAL) {
      // EINVAL: a file system (some FUSE ones) that has no such thing as syncing a directory.
      throw file_error("cannot sync directory", directory.native(), errno);
    }
  }

  std::optional<FileStamp> stamp(const path& file) override {
    struct stat status {};
    if (::stat(file.c_str(), &status) == -1) {
      throw file_error("cannot look at", file.native(), errno);
    }
    if (!keeps_fine_times(file) || status.st_ctim.tv_nsec == 0) return std::nullopt;
    constexpr std::int64_t ns_in_s = 1'000'000'000;
    const std::int64_t changed_ns = status.st_ctim.tv_sec * ns_in_s + status.st_ctim.tv_nsec;
    // Times of files are those of the last tick, and ticks are at most 10 ms apart: a write in the
    // same one as the last leaves no trace.
    constexpr int longest_tick_ms = 10;
    for (int waited_ms = 0;; ++waited_ms) {
      struct timespec tick {};
      ::clock_gettime(CLOCK_REALTIME_COARSE, &tick);
      if (changed_ns < tick.tv_sec * ns_in_s + tick.tv_nsec) break;
      if (waited_ms > longest_tick_ms) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return FileStamp{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                     changed_ns};
  }

  std::uint64_t free_bytes(const path& file) override {
    struct statvfs status {};
    if (uninterrupted([&] { return ::statvfs(file.c_str(), &status); }) == -1) {
      throw file_error("cannot ask for the free space of", file.native(), errno);
    }
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }

  HoldAnswer hold(const path& directory, HoldKind kind) override {
    try {
      auto hold = std::make_unique<PosixHold>(directory);
      // Who only looks has it for an instant.
      for (int tries_left = kind == HoldKind::driving ? 20 : 0; !hold->take(kind); --tries_left) {
        if (errno != EWOULDBLOCK) return {};
        if (tries_left == 0) return {.is_taken = true};
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      std::string place = hold->place();
      return {std::move(hold), false, std::move(place)};
    } catch (const Error&) {
      return {};
    }
  }

  void make_accessible(const path& directory) override {
    struct stat status {};
    if (::stat(directory.c_str(), &status) != 0 || (status.st_mode & S_IRWXU) == S_IRWXU) return;
    (void)::chmod(directory.c_str(), status.st_mode | S_IRWXU);  // what needs it says so
  }

  void touch(const path& file) override {
    if (::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == -1) {
      throw file_error("cannot touch", file.native(), errno);
    }
  }

  std::optional<std::int64_t> modified_ns(const path& file) override {
    // Opened, because then a network file system asks its server and not its cache.
    const int fd =
        uninterrupted([&] { return ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); });
    struct stat status {};
    const bool is_known = fd != -1 && ::fstat(fd, &status) == 0;
    const int error = errno;
    if (fd != -1) ::close(fd);
    if (is_known)
      return status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
    if (error == ENOENT || error == ENOTDIR || error == ESTALE) return std::nullopt;
    throw file_error("cannot look at", file.native(), error);
  }

 private:
  const mode_t mode_;  ///< of files that are made, before the umask
};

}  // namespace

void FileSystem::make_accessible(const path&) {}

void FileSystem::copy(const path& from, const path& to) {
  const auto out = open_append(to);
  read_pieces(from, [&](std::string_view piece) { out->append(piece); });
}

std::unique_ptr<FileSystem> make_posix_file_system(Access access) {
  fill_standard_descriptors();
  return std::make_unique<PosixFileSystem>(access);
}

}  // namespace tune
