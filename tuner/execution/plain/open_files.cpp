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

/// Whether it is one of these files, under whatever name.
bool is_one_of(const fs::path& open_file, const std::vector<FileVersion>& files) {
  struct stat status {};
  if (::stat(open_file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return std::any_of(files.begin(), files.end(),
                     [&status](const FileVersion& file) { return file.inode == status.st_ino; });
}

bool lies_in(const std::string& file, const std::string& place) {
  return file.starts_with(place) && (file.size() == place.size() || file[place.size()] == '/');
}

}  // namespace

std::set<std::string> files_being_written(pid_t group, const CheckpointFiles& files) {
  std::error_code error;
  std::set<std::string> open;
  const std::string place = fs::canonical(files.place(), error).string();
  if (error) return open;
  for (const pid_t pid : all_processes()) {
    const auto stat = read_process_stat(pid);
    if (!stat || stat->group != group) continue;
    const fs::path process = "/proc/" + std::to_string(pid);
    std::error_code ended;
    for (fs::directory_iterator at(process / "fd", ended); !ended && at != fs::directory_iterator();
         at.increment(ended)) {
      std::error_code ignored;
      const std::string file = fs::read_symlink(at->path(), ignored).string();
      const bool is_there = lies_in(file, place);
      const bool is_of_it = is_there || is_one_of(at->path(), files.files);
      if (is_of_it && is_open_to_write(process / "fdinfo" / at->path().filename())) {
        const bool has_name = is_there && file.size() > place.size();
        open.insert(has_name ? file.substr(place.size() + 1) : "");
      }
    }
  }
  return open;
}

bool is_dead(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return stat ? stat->is_dead() || stat->is_exiting : ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace tune
