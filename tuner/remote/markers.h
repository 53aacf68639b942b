// The objects that say what else on the remote counts: written last, each under a name of its own,
// a line with its own checksum. docs/file_formats.md is the reference.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/checkpoints/described_tree.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/model/checkpoint_ref.h"

namespace tune {

/// 16 hexadecimal digits that nobody else has drawn.
std::string random_name();
/// Unix time of this machine: for people, never compared.
Seconds unix_now();

/// So many bytes a part of the state has at the most: whoever writes or reads one holds it whole.
inline constexpr std::uint64_t most_part_bytes = 16 << 20;
/// And so many the objects that are markers: each is read whole, and as JSON takes several times
/// that. That of a checkpoint is shorter than its manifest.
inline constexpr std::uint64_t most_state_marker_bytes = 16 << 20;
inline constexpr std::uint64_t most_checkpoint_marker_bytes = most_manifest_bytes;
inline constexpr std::uint64_t most_lease_bytes = 1 << 16;
/// The longest that a lease can be asked for.
inline constexpr Seconds most_lease_s = 1e6;
/// Sessions and numbers are counted up from 1, and leave room to go on.
inline constexpr std::int64_t most_session = 999'999'999'999;

/// A piece of a file, as an object in `state/`.
struct StatePart {
  std::string name;  ///< that of the file, its first byte, and what was drawn for it
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string xxh3;
};

/// A file of the experiment's state, from its first byte to the end of the last part.
struct StateFile {
  std::string name;  ///< in the experiment's directory: of one of the state's
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
/// Nothing if it is damaged, or says what no driver writes: whatever is answered can be taken as it
/// is for names and sizes. Error (user) if its format is newer. The same holds for the other two.
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
/// The same, and nothing if it is another one than its name says.
std::optional<StateMarker> parse_state_marker(const std::string& text, const StateMarkerName& name);

/// A checkpoint, whole.
struct CheckpointMarker {
  CheckpointRef checkpoint;
  int attempt = 0;        ///< that has saved it
  std::string directory;  ///< trial_00003/checkpoint_000001.3f9c0a71b2c4d5e6
  std::uint64_t manifest_bytes = 0;
  std::string manifest_xxh3;
  DescribedTree tree;  ///< that of its manifest
  std::uint64_t bytes() const { return manifest_bytes + tree.bytes(); }
};

/// From the text of its manifest.json. Error (machine) if that does not say what it must.
CheckpointMarker marker_of(CheckpointRef checkpoint, std::string directory,
                           const std::string& manifest);
std::string to_text(const CheckpointMarker& marker);
std::optional<CheckpointMarker> parse_checkpoint_marker(const std::string& text);
/// Why that is not the manifest of the marked checkpoint, or none that a checkpoint can have, as a
/// sentence.
std::optional<std::string> wrong_manifest(const CheckpointMarker& marker,
                                          const std::string& manifest);
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
