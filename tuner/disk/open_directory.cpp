// openat with O_NOFOLLOW for each part of a path, so that no link swapped in meanwhile leads out of
// the directory; and a plain variant for test disks.
#include "tuner/disk/open_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

namespace {

using std::filesystem::path;

bool means_taken(int error_number) {
  return error_number == EEXIST || error_number == ENOTEMPTY || error_number == EISDIR ||
         error_number == ENOTDIR || error_number == ELOOP;
}

class PosixOpenDirectory final : public OpenDirectory {
 public:
  explicit PosixOpenDirectory(const path& top)
      : top_(top), fd_(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (!fd_) throw file_error("cannot open", top.native(), errno);
  }

  void make_link(const path& target, const path& name) override {
    const FileDescriptor parent = parent_of(name);
    if (::symlinkat(target.c_str(), parent.get(), name.filename().c_str()) == 0) return;
    if (means_taken(errno)) throw PlaceTaken(top_ / name);
    throw file_error("cannot create", (top_ / name).native(), errno);
  }

  void take(const path& from, const path& name) override {
    const FileDescriptor parent = parent_of(name);
    if (::renameat(AT_FDCWD, from.c_str(), parent.get(), name.filename().c_str()) == 0) return;
    if (means_taken(errno)) throw PlaceTaken(top_ / name);
    throw file_error("cannot rename " + from.native() + " to", (top_ / name).native(), errno);
  }

  void give(const path& name, const path& to) override {
    const FileDescriptor parent = parent_of(name);
    if (::renameat(parent.get(), name.filename().c_str(), AT_FDCWD, to.c_str()) == 0) return;
    if (errno == ENOENT) return;
    throw file_error("cannot rename " + (top_ / name).native() + " to", to.native(), errno);
  }

 private:
  /// Of what is to have that name.
  FileDescriptor parent_of(const path& name) const {
    constexpr int down = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    path place = top_;
    FileDescriptor here(::openat(fd_.get(), ".", down));
    for (const path& part : name.parent_path()) {
      place /= part;
      FileDescriptor next(::openat(here.get(), part.c_str(), down));
      if (!next && errno == ENOENT) {
        constexpr mode_t whom_the_umask_lets = 0777;
        const bool is_made = ::mkdirat(here.get(), part.c_str(), whom_the_umask_lets) == 0;
        if (!is_made && errno != EEXIST) {
          throw file_error("cannot create directory", place.native(), errno);
        }
        next = FileDescriptor(::openat(here.get(), part.c_str(), down));
      }
      if (!next && means_taken(errno)) throw PlaceTaken(place);
      if (!next) throw file_error("cannot open", place.native(), errno);
      here = std::move(next);
    }
    if (!here) throw file_error("cannot open", place.native(), errno);
    return here;
  }

  const path top_;
  const FileDescriptor fd_;
};

/// By names, for a disk that nobody else changes.
class NamedDirectory final : public OpenDirectory {
 public:
  NamedDirectory(FileSystem& files, path top) : files_(files), top_(std::move(top)) {}

  void make_link(const path& target, const path& name) override {
    make_way(name);
    if (files_.entry(top_ / name)) throw PlaceTaken(top_ / name);
    files_.make_link(target, top_ / name);
  }
  void take(const path& from, const path& name) override {
    make_way(name);
    const auto there = files_.entry(top_ / name);
    const auto comes = files_.entry(from);
    if (there && comes && (there->is_directory || comes->is_directory)) {
      throw PlaceTaken(top_ / name);
    }
    files_.rename(from, top_ / name);
  }
  void give(const path& name, const path& to) override {
    make_way(name);
    if (files_.entry(top_ / name)) files_.rename(top_ / name, to);
  }

 private:
  void make_way(const path& name) const {
    path place = top_;
    for (const path& part : name.parent_path()) {
      place /= part;
      const auto there = files_.entry(place);
      if (there && !there->is_directory) throw PlaceTaken(place);
    }
    files_.make_directories(place);
  }

  FileSystem& files_;
  const path top_;
};

}  // namespace

std::unique_ptr<OpenDirectory> open_posix_directory(const path& directory) {
  return std::make_unique<PosixOpenDirectory>(directory);
}

std::unique_ptr<OpenDirectory> FileSystem::open_directory(const path& directory) {
  return std::make_unique<NamedDirectory>(*this, directory);
}

}  // namespace tune
