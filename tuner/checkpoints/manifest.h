// A checkpoint's manifest.json: written, and read where it may be damaged or somebody else's.
// docs/file_formats.md is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trainable/values.h"
#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/checkpoints/described_tree.h"
#include "tuner/disk/file_system.h"

namespace tune {

/// The most bytes of a manifest, which are enough for about a million files: reading one takes
/// several times its bytes of memory.
constexpr std::size_t most_manifest_bytes = std::size_t{128} << 20;

/// One line per file, so that two manifests can be compared by eye.
std::string manifest_text(const ManifestHeader& header, const DescribedTree& tree);

/// That of the checkpoint in that directory. Error (machine) if it cannot be read, Error (user) if
/// it is a newer program's.
Json read_manifest(FileSystem& files, const std::filesystem::path& checkpoint);

/// Discarded if it is no JSON, too long or nested too deeply.
Json parse_manifest(std::string_view text);
/// See ManifestHeader; `manifest` may be anything.
bool is_guess(const Json& manifest);

/// See CheckpointStorage::results. Throws std::exception if it does not say what it must.
SavedResults results_in(const Json& manifest);

/// The files and links that a manifest lists, or a marker. None of them is judged. Throws
/// Json::exception, and std::invalid_argument with a sentence.
DescribedTree tree_in(const Json& manifest);

/// The bytes of the checkpoint with its manifest; if `manifest` cannot be read, of the text alone.
std::uint64_t bytes_in(const std::string& manifest);

/// Whether a manifest is of the checkpoint that has its place there, and not of another one.
bool is_manifest_of(const Json& manifest, const std::filesystem::path& checkpoint);

}  // namespace tune
