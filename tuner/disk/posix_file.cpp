// open, pread, write and ftruncate with EINTR and short writes handled; replacement by rename; and
// batched sync of many files.
#include "tuner/disk/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/regular_file.h"

namespace tune {

namespace {

constexpr mode_t directory_mode = 0777;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void sync_and_close(const std::string& path, int descriptor, int (*sync)(int)) {
  if (descriptor < 0 && errno == ENOENT) return;
  if (descriptor < 0) throw file_error("cannot open", path, errno);
  const int answer = sync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  if (answer != 0) throw file_error("cannot sync", path, reason);
}

void sync_directory(const std::string& path, int (*sync)(int)) {
  sync_and_close(path, ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), sync);
}

/// Nothing if a trial has put something else there, or has taken the permission away.
std::optional<int> try_to_open(const std::string& path) {
  try {
    return open_regular(path, O_RDONLY);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void put_in_place(const std::string& aside, const std::string& path) {
  if (std::rename(aside.c_str(), path.c_str()) != 0) {
    throw file_error("cannot replace", path, errno);
  }
}

bool replace_file(const std::string& path, const std::string& aside, std::string_view content) {
  {
    const PosixFile old(path, PosixFile::Mode::existing);
    if (old.is_open() && old.size() == content.size() && old.read(0, content.size()) == content) {
      return false;
    }
  }
  PosixFile(aside, PosixFile::Mode::fresh).append(content);
  put_in_place(aside, path);
  return true;
}

void sync_files(const std::vector<std::string>& paths, const std::stop_token& stop) {
  for (const auto& path : paths) {
    // Under way all at once: then each has little left to wait for.
    const int descriptor = try_to_open(path).value_or(-1);
    if (descriptor < 0) continue;
    ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
    ::close(descriptor);
  }
  std::set<std::string> directories;
  std::string lost;
  for (const auto& path : paths) {
    if (stop.stop_requested()) throw machine_error("the sync of trials' files was broken off");
    const auto descriptor = try_to_open(path);
    if (descriptor) {
      sync_and_close(path, *descriptor, ::fsync);
    } else {
      lost = path;
    }
    directories.insert(folder_of(path));
    directories.insert(folder_of(folder_of(path)));
  }
  for (const auto& directory : directories) {
    struct stat status {};
    const bool is_there = ::stat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (is_there) sync_directory(directory, ::fsync);
  }
  // What was written there may be elsewhere now, or may not be opened any more.
  if (!lost.empty()) sync_directory(folder_of(folder_of(lost)), ::syncfs);
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
