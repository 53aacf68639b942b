// Preloaded into a driver: a disk that takes its time over journals, so that the loop leaves their
// writes to a thread and a kill mostly finds one under way.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

namespace {

constexpr auto write_time = std::chrono::milliseconds(3);
constexpr auto sync_time = std::chrono::milliseconds(20);

bool is_journal(int fd) {
  char link[32];
  char name[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, name, sizeof name);
  return size > 0 && std::string_view(name, static_cast<std::size_t>(size)).find("/journal-") !=
                         std::string_view::npos;
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t write(int fd, const void* bytes, std::size_t count) {
  static const auto real = next(&write, "write");
  if (is_journal(fd)) std::this_thread::sleep_for(write_time);
  return real(fd, bytes, count);
}

extern "C" int fdatasync(int fd) {
  static const auto real = next(&fdatasync, "fdatasync");
  if (is_journal(fd)) std::this_thread::sleep_for(sync_time);
  return real(fd);
}
