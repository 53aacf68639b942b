// Reads a checkpoint's manifest.json, which may be damaged or somebody else's. docs/file_formats.md
// is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trainable/values.h"
#include "tuner/checkpoints/described_tree.h"

namespace tune {

/// The most bytes of a manifest, which are enough for about a million files: reading one takes
/// several times its bytes of memory.
constexpr std::size_t most_manifest_bytes = std::size_t{128} << 20;

/// Discarded if it is no JSON, too long or nested too deeply.
Json parse_manifest(std::string_view text);
/// See ManifestHeader; `manifest` may be anything.
bool is_guess(const Json& manifest);

/// The files and links that a manifest lists, or a marker. None of them is judged. Throws
/// Json::exception, and std::invalid_argument with a sentence.
DescribedTree tree_in(const Json& manifest);

/// The bytes of the checkpoint with its manifest; if `manifest` cannot be read, of the text alone.
std::uint64_t bytes_in(const std::string& manifest);

/// Whether a manifest is of the checkpoint that has its place there, and not of another one.
bool is_manifest_of(const Json& manifest, const std::filesystem::path& checkpoint);

}  // namespace tune
