// Collects what CMake has written into the generated headers, as the JSON of `tune --version
// --json`.
#include "apps/tune/build_info.h"

#include "apps/tune/built_with.h"
#include "apps/tune/commit.h"
#include "tuner/version.h"

namespace tune {

Json build_info() {
  const std::string commit = TUNE_COMMIT;
  return {{"name", "tune"},
          {"version", version()},
          {"commit", commit.empty() ? Json() : Json(commit)},
          {"compiler", TUNE_COMPILER},
          {"build_type", TUNE_BUILD_TYPE},
          {"libraries", Json::object({TUNE_LIBRARIES})}};
}

}  // namespace tune
