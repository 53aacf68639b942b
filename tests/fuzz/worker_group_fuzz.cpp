// Whatever processes say in whatever order comes to what the table of states and messages says.
#include <cstdio>
#include <cstdlib>

#include "tests/support/worker_group_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string fault = tune::walk({data, size});
  if (!fault.empty()) {
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::abort();
  }
  return 0;
}
