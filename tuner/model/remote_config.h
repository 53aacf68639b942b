// What the user wants kept on a remote store, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tune {

struct RemoteConfig {
  enum class Checkpoints {
    all,   ///< every one that was committed, also after retention has deleted it here
    kept,  ///< those that retention keeps
    best,  ///< of each trial the best of those
    none,
  };
  std::string path;  ///< "s3:bucket/prefix" or an absolute path; the experiment's name comes below
  Checkpoints checkpoints = Checkpoints::kept;
  /// So many of a trial's newest checkpoints stay on this disk, and older ones until they are up;
  /// none: all stay.
  std::optional<int> keep_local;
  std::optional<std::uint64_t> bytes_per_s;  ///< of uploads; none: no limit
  double flush_s = 300;  ///< at the end of a run: so long it waits for what is not up yet
};

std::string to_string(RemoteConfig::Checkpoints which);
std::optional<RemoteConfig::Checkpoints> parse_remote_checkpoints(const std::string& word);

/// Why `path` cannot name a place for experiments, as the end of a sentence that begins with what
/// it must be; nothing if it can. Whether there is such a remote is not looked at.
std::optional<std::string> wrong_remote_path(const std::string& path);

/// The place of `name` below `path`.
std::string remote_below(const std::string& path, const std::string& name);

}  // namespace tune
