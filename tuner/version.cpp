// The version that CMake passes in.
#include "tuner/version.h"

namespace tune {

const char* version() { return TUNE_VERSION; }

}  // namespace tune
