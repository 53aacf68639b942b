#include "callbacks/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/files/regular_file.h"

namespace tune {

namespace {

constexpr mode_t directory_mode = 0777;

/// From so many on, one sync of the whole file system is cheaper than one for each.
constexpr std::size_t many_files = 32;

void sync_one(const std::string& path, int descriptor, int (*sync)(int)) {
  if (descriptor < 0) {
    if (errno == ENOENT) return;
    throw file_error("cannot open", path, errno);
  }
  const int answer = sync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  if (answer != 0) throw file_error("cannot sync", path, reason);
}

void sync_file(const std::string& path) { sync_one(path, open_regular(path, O_RDONLY), ::fsync); }

void sync_directory(const std::string& path, int (*sync)(int)) {
  sync_one(path, ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), sync);
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

void sync_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  if (paths.size() >= many_files) {
    // All of them lie below one directory, that of the experiment.
    sync_directory(directory_of(directory_of(paths.front())), ::syncfs);
    return;
  }
  std::set<std::string> directories;
  for (const auto& path : paths) {
    sync_file(path);
    directories.insert(directory_of(path));
    directories.insert(directory_of(directory_of(path)));
  }
  for (const auto& directory : directories) sync_directory(directory, ::fsync);
}

PosixFile::PosixFile(std::string path, Mode mode) : path_(std::move(path)) {
  int flags = O_RDWR | O_APPEND;
  if (mode != Mode::existing) flags |= O_CREAT;
  if (mode == Mode::fresh) flags |= O_TRUNC;
  descriptor_ = open_regular(path_, flags);
  if (descriptor_ < 0 && errno == ENOENT) {
    if (mode == Mode::existing) return;
    ::mkdir(path_.substr(0, path_.rfind('/')).c_str(), directory_mode);
    descriptor_ = open_regular(path_, flags);
  }
  if (descriptor_ < 0) throw file_error("cannot open", path_, errno);
}

PosixFile::~PosixFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t PosixFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw file_error("cannot look at", path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

std::string PosixFile::read(std::uint64_t offset, std::uint64_t bytes) const {
  std::string content(bytes, '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const auto got = ::pread(descriptor_, content.data() + have, content.size() - have,
                             static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("cannot read", path_, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

void PosixFile::append(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto wrote = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int reason = errno;
      const off_t end = ::lseek(descriptor_, 0, SEEK_CUR);
      // If even that fails, a torn line stays, which the next repair of the file cuts off.
      if (done > 0 && end >= 0 && ::ftruncate(descriptor_, end - static_cast<off_t>(done)) != 0) {
      }
      throw file_error("cannot write", path_, reason);
    }
    done += static_cast<std::size_t>(wrote);
  }
}

void PosixFile::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    throw file_error("cannot shorten", path_, errno);
  }
}

}  // namespace tune
