// The sentence for a failed system call, and the exception for a broken invariant.
#include "tuner/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tune {

Error file_error(std::string_view what, std::string_view path, int error_number) {
  return machine_error(std::string(what) + " " + std::string(path) + ": " +
                       std::strerror(error_number));
}

void ensure(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "tune: internal error, please report it: not true that %.*s\n",
               static_cast<int>(promise.size()), promise.data());
  std::abort();
}

}  // namespace tune
