// Markers first: what none of them confirms is not there.
#include "tuner/remote/remote_contents.h"

#include <algorithm>
#include <string_view>

#include "tuner/base/clean_text.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/disk/checksum.h"
#include "tuner/model/paths.h"
#include "tuner/remote/checkpoint_uploads.h"

namespace tune {

namespace {

using std::filesystem::path;

std::string checksum_of(FileSystem& files, const path& file) {
  Checksum checksum;
  files.read_pieces(file, [&](std::string_view piece) { checksum.add(piece); });
  return checksum.digits();
}

/// Whether it is what is there that is wrong, and not the way to it.
bool is_of_what_is_there(RemoteError::Kind kind) {
  return kind == RemoteError::Kind::missing || kind == RemoteError::Kind::damaged ||
         kind == RemoteError::Kind::too_large || kind == RemoteError::Kind::other;
}

}  // namespace

std::vector<StateMarkerName> state_markers(const Listing& state) {
  std::vector<StateMarkerName> names;
  for (const auto& [name, bytes] : state) {
    const auto parsed = parse_state_marker_name(name);
    if (parsed && bytes > 0) names.push_back(*parsed);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
}

std::optional<std::string> newer_empty_marker(const Listing& state, const StateMarker& taken) {
  std::optional<StateMarkerName> newest;
  for (const auto& [name, bytes] : state) {
    const auto parsed = parse_state_marker_name(name);
    if (parsed && bytes == 0 && (!newest || *newest < *parsed)) newest = parsed;
  }
  if (!newest || !(StateMarkerName{taken.session, taken.number} < *newest)) return std::nullopt;
  return state_marker_name(newest->session, newest->number);
}

std::optional<std::string> wrong_parts(const StateMarker& marker, const Listing& state) {
  for (const StateFile& file : marker.files) {
    for (const StatePart& part : file.parts) {
      const auto found = state.find(part.name);
      if (found == state.end()) return "state/" + part.name + " is missing";
      if (found->second != part.end - part.begin) {
        return "state/" + part.name + " has " + std::to_string(found->second) + " bytes, not " +
               std::to_string(part.end - part.begin);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> get_parts(FileSystem& files, RemoteStore& store,
                                     const StateMarker& marker, const path& to) {
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  for (const StateFile& file : marker.files) {
    for (const StatePart& part : file.parts) names.push_back("state/" + part.name);
    bytes += file.bytes();
  }
  files.remove_tree(to);
  store.get_files(names, to, bytes);
  for (const StateFile& file : marker.files) {
    for (const StatePart& part : file.parts) {
      const path got = to / "state" / part.name;
      const auto there = files.entry(got);
      if (!there) return "state/" + part.name + " is missing";
      if (there->bytes != part.end - part.begin || checksum_of(files, got) != part.xxh3) {
        return "state/" + part.name + " has changed: its checksum is another";
      }
    }
  }
  return std::nullopt;
}

std::set<std::string> checkpoint_directories(const Listing& all) {
  std::set<std::string> found;
  for (const auto& [name, bytes] : all) {
    const std::size_t slash = name.find('/');
    const std::size_t end = slash == name.npos ? slash : name.find('/', slash + 1);
    if (end == name.npos) continue;
    if (paths::parse_remote_checkpoint(name.substr(0, end))) found.insert(name.substr(0, end));
  }
  return found;
}

std::map<CheckpointRef, CheckpointMarker> get_markers(FileSystem& files, RemoteStore& store,
                                                      const Listing& all, const path& to,
                                                      std::vector<std::string>& problems) {
  std::vector<std::string> names;
  std::uint64_t all_bytes = 0;
  for (const auto& [name, bytes] : all) {
    if (!parse_checkpoint_marker_name(name) || bytes == 0) continue;
    if (bytes > most_checkpoint_marker_bytes) {
      problems.push_back(name + " is larger than a marker can be: its checkpoint does not count");
      continue;
    }
    names.push_back(name);
    all_bytes += bytes;
  }
  files.remove_tree(to);
  store.get_files(names, to, all_bytes);
  std::map<CheckpointRef, CheckpointMarker> markers;
  for (const std::string& name : names) {
    const path got = to / name;
    const auto entry = files.entry(got);
    if (!entry) continue;  // removed meanwhile
    const bool is_short = entry->bytes <= most_checkpoint_marker_bytes;
    const auto marker =
        is_short ? parse_checkpoint_marker(files.read(got)) : std::optional<CheckpointMarker>();
    if (!marker || checkpoint_marker_name(marker->directory) != name) {
      problems.push_back(name + " is damaged: its checkpoint does not count");
      continue;
    }
    Listing there;
    const std::string begin = marker->directory + "/";
    for (auto found = all.lower_bound(begin); found != all.end() && found->first.starts_with(begin);
         ++found) {
      there[found->first.substr(begin.size())] = found->second;
    }
    if (const auto wrong = wrong_sizes(*marker, there)) {
      problems.push_back(clean_text(*wrong) + ": the checkpoint does not count");
      continue;
    }
    markers[marker->checkpoint] = *marker;
  }
  return markers;
}

std::string manifest_in(FileSystem& files, const CheckpointMarker& marker, const path& here) {
  const path manifest = paths::manifest(here);
  const auto there = files.entry(manifest);
  const bool is_it = there && there->is_regular && there->bytes == marker.manifest_bytes;
  return is_it ? files.read(manifest) : std::string();
}

std::optional<std::string> get_checkpoint(FileSystem& files, RemoteStore& store,
                                          const CheckpointMarker& marker, const path& to) {
  files.remove_tree(to);
  try {
    store.get_tree(marker.directory, to, marker.bytes());
  } catch (const RemoteError& error) {
    if (!is_of_what_is_there(error.kind())) throw;
    return error.what();
  }
  const std::string manifest = manifest_in(files, marker, to);
  if (auto wrong = wrong_manifest(marker, manifest)) return wrong;
  const auto damage =
      CheckpointStore(files, to.parent_path())
          .damage_of_arrived(to, manifest, paths::checkpoint("", marker.checkpoint));
  return damage ? std::optional(marker.directory + ": " + *damage) : std::nullopt;
}

}  // namespace tune
