// The objects that say what else on the remote counts: written last, each under a name of its own,
// a line with its own checksum. docs/file_formats.md is the reference.
// Knows no store.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/core/checkpoint_ref.h"
#include "tuner/core/clock.h"

namespace tune {

/// 16 hexadecimal digits that nobody else has drawn.
std::string random_name();
/// Unix time of this machine: for people, never compared.
Seconds unix_now();

/// A piece of a file, as an object in `state/`.
struct StatePart {
  std::string name;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string xxh3;
};

/// A file of the experiment's state, from its first byte to the end of the last part.
struct StateFile {
  std::string name;  ///< in the experiment's directory
  std::vector<StatePart> parts;
  std::uint64_t bytes() const { return parts.empty() ? 0 : parts.back().end; }
};

/// The experiment's state at one time. Of several, the one of the highest session wins, and of that
/// the highest number.
struct StateMarker {
  std::string experiment;  ///< drawn once, when it was first put on a remote
  std::int64_t session = 0;
  std::int64_t number = 0;
  std::string host;
  Seconds time = 0;  ///< Unix; for people
  std::vector<StateFile> files;
};

std::string to_text(const StateMarker& marker);
/// Nothing if it is damaged. Error (user) if its format is newer.
std::optional<StateMarker> parse_state_marker(const std::string& text);
/// "state/COMMIT-000002-000000000017.json", and what such a name says.
std::string state_marker_name(std::int64_t session, std::int64_t number);
struct StateMarkerName {
  std::int64_t session = 0;
  std::int64_t number = 0;
  auto operator<=>(const StateMarkerName&) const = default;
};
/// `name` without "state/".
std::optional<StateMarkerName> parse_state_marker_name(const std::string& name);

/// A checkpoint, whole.
struct CheckpointMarker {
  CheckpointRef checkpoint;
  int attempt = 0;        ///< that has saved it
  std::string directory;  ///< trial_00003/checkpoint_000001.3f9c0a71b2c4d5e6
  std::uint64_t manifest_bytes = 0;
  std::string manifest_xxh3;
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::string xxh3;
  };
  std::vector<File> files;  ///< those of its manifest
  struct Link {
    std::string path;
    std::string target;
  };
  std::vector<Link> links;
  std::uint64_t bytes() const;
};

/// From the text of its manifest.json. Error (machine) if that does not say what it must.
CheckpointMarker marker_of(CheckpointRef checkpoint, std::string directory,
                           const std::string& manifest);
std::string to_text(const CheckpointMarker& marker);
std::optional<CheckpointMarker> parse_checkpoint_marker(const std::string& text);
/// "trial_00003/checkpoint_000001.3f9c0a71b2c4d5e6.COMMIT.json" of the directory without the end.
std::string checkpoint_marker_name(const std::string& directory);
/// The checkpoint that a marker of that name is of.
std::optional<CheckpointRef> parse_checkpoint_marker_name(const std::string& name);

/// Who drives the experiment, as far as a store can say it.
struct RemoteLease {
  std::string experiment;
  std::string owner;  ///< drawn for each session
  std::int64_t session = 0;
  std::string host;
  std::int64_t pid = 0;
  Seconds time = 0;  ///< Unix, of the owner's clock; never compared, for people
  Seconds lease_s = 0;
  std::int64_t renewals = 0;
  bool is_released = false;
};
inline constexpr const char* lease_name = "LEASE.json";

std::string to_text(const RemoteLease& lease);
std::optional<RemoteLease> parse_remote_lease(const std::string& text);

}  // namespace tune
