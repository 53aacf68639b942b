// Goes down with openat and up by "..", so that neither the length of a path nor the number of
// descriptors limits the depth.
#include "tuner/disk/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/disk/mount_point.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr mode_t owner_may = S_IRWXU;
constexpr int as_directory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

class Directory {
 public:
  explicit Directory(int fd) : fd_(fd) {}
  ~Directory() {
    if (fd_ != -1) ::close(fd_);
  }
  Directory(Directory&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Directory& operator=(Directory&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  bool holds() const { return fd_ != -1; }
  int fd() const { return fd_; }
  void release() { fd_ = -1; }

 private:
  int fd_;
};

/// One directory on the way down.
struct Level {
  std::string name;  ///< in the one above
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<std::string> rest;  ///< directories in it that are still to be removed
};

class Removal {
 public:
  explicit Removal(const path& top) : top_(top.has_filename() ? top : top.parent_path()) {}

  void run() {
    const path above = top_.has_parent_path() ? top_.parent_path() : ".";
    Directory parent(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent.holds()) {
      if (errno == ENOENT || errno == ENOTDIR) return;
      throw file_error("cannot open", above.native(), errno);
    }
    const std::string name = top_.filename();
    if (!is_directory(parent.fd(), name)) {
      unlink(parent.fd(), name);
      return;
    }
    Directory here = enter(parent.fd(), name);
    while (!levels_.empty()) {
      if (!levels_.back().rest.empty()) {
        const std::string next = std::move(levels_.back().rest.back());
        levels_.back().rest.pop_back();
        here = enter(here.fd(), next);
        continue;
      }
      if (levels_.size() == 1) {
        remove_emptied(parent.fd());
        return;
      }
      Directory up = leave(here.fd());
      remove_emptied(up.fd());
      here = std::move(up);
    }
  }

 private:
  void remove_emptied(int parent) {
    const std::string& name = levels_.back().name;
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == -1 && errno != ENOENT) fail(place());
    levels_.pop_back();
  }

  [[noreturn]] void fail(const path& what) const {
    throw file_error("cannot remove", what.native(), errno);
  }

  /// For messages: the directory that is worked on.
  path place() const {
    constexpr std::size_t shown_levels = 20;
    path place = top_;
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      if (i == shown_levels) return place / "...";
      place /= levels_[i].name;
    }
    return place;
  }

  bool is_directory(int at, const std::string& name) const {
    struct stat status {};
    return ::fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
  }

  void unlink(int at, const std::string& name) const {
    if (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT) return;
    fail(levels_.empty() ? top_ : place() / name);
  }

  /// Removes all that is no directory from the directory `name`, and remembers what is one.
  Directory enter(int at, const std::string& name) {
    if (is_mount_point(at, name)) {
      throw machine_error("cannot remove " + (levels_.empty() ? top_ : place() / name).native() +
                          ": something is mounted there");
    }
    Directory entered(::openat(at, name.c_str(), as_directory));
    if (!entered.holds() && errno == EACCES && ::fchmodat(at, name.c_str(), owner_may, 0) == 0) {
      entered = Directory(::openat(at, name.c_str(), as_directory));
    }
    levels_.push_back({name, 0, 0, {}});
    if (!entered.holds()) fail(place());
    struct stat status {};
    if (::fstat(entered.fd(), &status) == -1) fail(place());
    levels_.back().device = status.st_dev;
    levels_.back().inode = status.st_ino;
    if ((status.st_mode & owner_may) != owner_may) {
      (void)::fchmod(entered.fd(), status.st_mode | owner_may);  // removing says what it was worth
    }
    // All names first: what a reader of a directory sees while it changes is undefined.
    for (std::string& entry : names_in(entered.fd())) {
      if (is_directory(entered.fd(), entry)) {
        levels_.back().rest.push_back(std::move(entry));
      } else {
        unlink(entered.fd(), entry);
      }
    }
    return entered;
  }

  std::vector<std::string> names_in(int fd) const {
    // A descriptor of its own: the stream closes it.
    Directory own(::openat(fd, ".", as_directory));
    if (!own.holds()) fail(place());
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.fd()), ::closedir);
    if (!stream) fail(place());
    own.release();
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream.get());
      if (entry == nullptr && errno != 0) fail(place());
      if (entry == nullptr) return names;
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
  }

  /// Whoever has moved the directory meanwhile must not make us remove what is beside it now.
  Directory leave(int fd) const {
    Directory up(::openat(fd, "..", as_directory));
    struct stat status {};
    if (!up.holds() || ::fstat(up.fd(), &status) == -1) fail(place());
    const Level& above = levels_[levels_.size() - 2];
    if (status.st_dev == above.device && status.st_ino == above.inode) return up;
    throw machine_error("cannot remove " + place().native() + ": it was moved meanwhile");
  }

  path top_;
  std::vector<Level> levels_;
};

}  // namespace

void remove_tree(const path& directory) { Removal(directory).run(); }

}  // namespace tune
