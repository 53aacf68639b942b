// What of an experiment is on a remote, and whether it is whole: by sizes as they are listed, or by
// every byte, which is downloaded for that. Keeps nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/model/checkpoint_ref.h"
#include "tuner/remote/markers.h"
#include "tuner/remote/remote_store.h"

namespace tune {

/// Bytes by name.
using Listing = std::map<std::string, std::uint64_t>;

/// Of what lies in `state/`, the markers, newest first. An empty one is of a driver that is about
/// to write it, or that died there (on a directory, an object is seen from its first byte on): it
/// is not there, as a marker that was never begun is not.
std::vector<StateMarkerName> state_markers(const Listing& state);
/// The newest one that is empty, if it is newer than the state `taken`.
std::optional<std::string> newer_empty_marker(const Listing& state, const StateMarker& taken);
/// What is wrong with a part of that state by its size, as a sentence.
std::optional<std::string> wrong_parts(const StateMarker& marker, const Listing& state);
/// Downloads the parts into `to`; what is wrong with one of them, as a sentence.
std::optional<std::string> get_parts(FileSystem& files, RemoteStore& store,
                                     const StateMarker& marker, const std::filesystem::path& to);

/// Directories of checkpoints, with a marker or without.
std::set<std::string> checkpoint_directories(const Listing& all);
/// All markers of checkpoints that are whole by their sizes; of several of one, the last by name.
/// An empty one is not there, as in `state_markers`.
std::map<CheckpointRef, CheckpointMarker> get_markers(FileSystem& files, RemoteStore& store,
                                                      const Listing& all,
                                                      const std::filesystem::path& to,
                                                      std::vector<std::string>& problems);
/// What the manifest file in `here` says; empty if that has another size than it was marked with.
std::string manifest_in(FileSystem& files, const CheckpointMarker& marker,
                        const std::filesystem::path& here);
/// Downloads a checkpoint to `to`, which it is whole in when nothing is answered. Its links are
/// those of its manifest, which is the marked one.
std::optional<std::string> get_checkpoint(FileSystem& files, RemoteStore& store,
                                          const CheckpointMarker& marker,
                                          const std::filesystem::path& to);

}  // namespace tune
