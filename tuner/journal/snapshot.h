// The file snapshot-<g>.json: the whole state as of one event, but for the trials, which stand in
// a file of their own because most of them no longer change.
// Knows JSON, not what it means.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trainable/values.h"
#include "tuner/disk/file_system.h"

namespace tune {

struct Snapshot {
  int generation = 0;
  std::uint64_t event = 0;         ///< number of the last event that it holds
  int trials_file = 0;             ///< k of trials-<k>.jsonl
  std::uint64_t trials_bytes = 0;  ///< so much of it counts
  Json state;
};

/// Replaces `file`, durably; answers its bytes.
std::uint64_t write_snapshot(FileSystem& files, const std::filesystem::path& file,
                             const Snapshot& snapshot);

/// Error (machine) if it is damaged; Error (user) with both numbers if its format is newer.
Snapshot read_snapshot(FileSystem& files, const std::filesystem::path& file);

}  // namespace tune
