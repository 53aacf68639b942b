// Which commit a directory is at, as git says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tuner/base/clock.h"

namespace tune {

struct GitState {
  std::string commit;     ///< hexadecimal; empty before the first one
  bool is_dirty = false;  ///< files that git knows differ from it
};

/// Nothing if `directory` is in no repository, there is no git, or it has not answered within
/// `limit_s`: it is ended then.
std::optional<GitState> git_state(const std::filesystem::path& directory, Seconds limit_s);

}  // namespace tune
