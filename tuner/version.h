// The program's version, as records and --version say it.
#pragma once

namespace tune {

/// "0.1.0"
const char* version();

}  // namespace tune
