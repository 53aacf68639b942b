// Keeps a log that a process is writing from growing for ever.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "tuner/disk/file_descriptor.h"

namespace tune {

/// Gives the disk back what lies in the middle of `file` if it takes more than `most_bytes`: its
/// first quarter of that and its last half stay. No byte moves and no writer is disturbed; what was
/// given back is read as zero bytes. Answers how many bytes that were; nothing if there is no such
/// file, or it is no regular one. Error (machine) if this file system cannot do that.
std::optional<std::uint64_t> limit_log(const std::filesystem::path& file, std::uint64_t most_bytes);
/// The same of one that is open for writing.
std::optional<std::uint64_t> limit_log(const FileDescriptor& log, std::uint64_t most_bytes);

}  // namespace tune
