// Compares device numbers with the parent's, and asks statx for bind mounts.
#include "tuner/disk/mount_point.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace tune {

bool is_mount_point(int at, const std::string& name) {
  struct stat here {};
  struct stat above {};
  const bool is_other =
      ::fstatat(at, name.c_str(), &here, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(here.st_mode) &&
      ::fstatat(at, (name + "/..").c_str(), &above, 0) == 0 && above.st_dev != here.st_dev;
  if (is_other) return true;
#ifdef STATX_ATTR_MOUNT_ROOT
  // What is bound from elsewhere on the same file system; told since Linux 5.8.
  struct statx told {};
  constexpr int as_it_is = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  return ::statx(at, name.c_str(), as_it_is, 0, &told) == 0 &&
         (told.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
  return false;
#endif
}

}  // namespace tune
