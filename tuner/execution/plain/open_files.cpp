// Reads the links in /proc/PID/fd of each process of the group, and the flags beside them.
#include "tuner/execution/plain/open_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

bool is_open_to_write(const fs::path& fdinfo) {
  std::string text(256, '\0');
  const FileDescriptor file(::open(fdinfo.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t count = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const auto at = text.find("flags:");
  if (at == text.npos) return false;
  constexpr int octal = 8;
  const auto flags = std::strtoul(text.c_str() + at + 6, nullptr, octal);
  return (flags & O_ACCMODE) != O_RDONLY;
}

bool lies_in(const std::string& file, const std::string& place) {
  return file.starts_with(place) && (file.size() == place.size() || file[place.size()] == '/');
}

}  // namespace

std::vector<OpenFile> open_files(pid_t group) {
  std::vector<OpenFile> open;
  for (const pid_t pid : all_processes()) {
    const auto stat = read_process_stat(pid);
    if (!stat || stat->group != group) continue;
    const fs::path process = "/proc/" + std::to_string(pid);
    std::error_code ended;
    for (fs::directory_iterator at(process / "fd", ended); !ended && at != fs::directory_iterator();
         at.increment(ended)) {
      struct stat status {};
      if (::stat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      std::error_code ignored;
      open.push_back({fs::read_symlink(at->path(), ignored).string(), status.st_ino,
                      process / "fdinfo" / at->path().filename()});
    }
  }
  return open;
}

std::set<std::string> being_written(const std::vector<OpenFile>& open,
                                    const CheckpointFiles& files) {
  std::set<std::string> names;
  if (open.empty()) return names;
  std::error_code error;
  const std::string place = fs::canonical(files.place(), error).string();
  if (error) return names;
  for (const OpenFile& file : open) {
    const bool is_there = lies_in(file.path, place);
    const bool is_of_it =
        is_there || std::any_of(files.files.begin(), files.files.end(),
                                [&](const FileVersion& each) { return each.inode == file.inode; });
    if (!is_of_it || !is_open_to_write(file.descriptor)) continue;
    const bool has_name = is_there && file.path.size() > place.size();
    names.insert(has_name ? file.path.substr(place.size() + 1) : "");
  }
  return names;
}

bool is_dead(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return stat ? stat->is_dead() || stat->is_exiting : ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace tune
