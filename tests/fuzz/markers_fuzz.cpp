// What comes from a remote store, and what this disk remembers of one: any bytes are what a driver
// writes, or nothing. What is understood can be taken as it is: its names lie in the experiment,
// its links in their tree, nothing overflows; and it is written so that it is read as the same. The
// first byte chooses what the rest is, as the object that its checksum is put before:
//   c s l   the marker of a checkpoint, of the state, a lease
//   m       a manifest, with the marker that an upload makes of it
//   e       checkpoint_000001.remote.json
//   u       lines of uploaded.jsonl
//   n       a name on the store
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"
#include "tuner/remote/markers.h"
#include "tuner/remote/object_names.h"
#include "tuner/remote/upload_memory.h"

namespace {

using std::filesystem::path;

const path experiment = "/exp";
const tune::CheckpointRef ref{tune::TrialId{3}, 1};
const path place = experiment / "trial_00003/checkpoint_000001";

/// With its checksum, so that what is behind that is reached.
std::string line_of(std::string_view text) {
  std::string line;
  if (text.find('\n') == text.npos) tune::append_journal_line(line, text);
  return line;
}

void require_below(const path& top, const path& name) {
  const auto from = (top / name).lexically_normal().lexically_relative(top);
  tune::ensure(name.is_relative() && !from.empty() && *from.begin() != "..", "a name lies below");
}

/// Makes all of it as a checkpoint that has arrived.
void make(const tune::DescribedTree& tree, const std::string& manifest) {
  tune::MemoryFileSystem files;
  const path top = "/exp/arrived";
  files.put("/outside", "0123456789");
  for (const auto& file : tree.files) {
    require_below(top, file.path);
    if (file.path.size() < 200) files.put(top / file.path, "0123456789");
  }
  files.put(top / "manifest.json", manifest);
  const auto damage =
      tune::CheckpointStore(files, experiment).damage_of_arrived(top, manifest, place);
  tune::ensure(!damage || !damage->empty(), "damage is said in words");
  for (const std::string& name : files.names("/")) {
    tune::ensure(name == "outside" || name.starts_with("exp/"), "nothing is made elsewhere");
  }
}

void try_checkpoint(std::string_view text) {
  const auto marker = tune::parse_checkpoint_marker(line_of(text));
  if (!marker) return;
  tune::ensure(tune::parse_checkpoint_marker_name(
                   tune::checkpoint_marker_name(marker->directory)) == marker->checkpoint,
               "a marker is of what its name says");
  tune::ensure(!tune::wrong_tree(marker->tree), "a marker's tree can be made");
  tune::ensure(marker->bytes() >= marker->manifest_bytes, "sizes do not overflow");
  for (const auto& file : marker->tree.files) require_below("/top", file.path);
  for (const auto& link : marker->tree.links) {
    require_below("/top", link.path);
    tune::ensure(!path(link.target).is_absolute(), "a link stays in its tree");
  }
  const std::string again = tune::to_text(*marker);
  const auto same = tune::parse_checkpoint_marker(again);
  tune::ensure(same && tune::to_text(*same) == again, "a marker is read as it was written");
}

void try_state(std::string_view text) {
  const auto marker = tune::parse_state_marker(line_of(text));
  if (!marker) return;
  for (const auto& file : marker->files) {
    tune::ensure(path(file.name).filename() == file.name, "a file is directly in its directory");
    std::uint64_t end = 0;
    for (const auto& part : file.parts) {
      tune::ensure(path(part.name).filename() == part.name, "a part is directly in state/");
      tune::ensure(part.begin == end && part.end - part.begin <= tune::most_part_bytes,
                   "a part fits into memory");
      end = part.end;
    }
  }
  const std::string name = tune::state_marker_name(marker->session, marker->number);
  const auto parsed = tune::parse_state_marker_name(name.substr(sizeof "state/" - 1));
  tune::ensure(parsed && tune::parse_state_marker(line_of(text), *parsed), "it has a name");
  const std::string again = tune::to_text(*marker);
  const auto same = tune::parse_state_marker(again);
  tune::ensure(same && tune::to_text(*same) == again, "a state is read as it was written");
}

void try_lease(std::string_view text) {
  const auto lease = tune::parse_remote_lease(line_of(text));
  if (!lease) return;
  tune::ensure(lease->session <= tune::most_session && lease->lease_s <= tune::most_lease_s,
               "a lease can be reckoned with");
  const std::string again = tune::to_text(*lease);
  const auto same = tune::parse_remote_lease(again);
  tune::ensure(same && tune::to_text(*same) == again, "a lease is read as it was written");
}

void try_manifest(const std::string& text) {
  const std::string directory = "trial_00003/checkpoint_000001.3f9c";
  const auto marker = tune::marker_of(ref, directory, text);
  const auto read = tune::parse_checkpoint_marker(tune::to_text(marker));
  if (tune::wrong_manifest(marker, text)) return;
  tune::ensure(read.has_value(), "what can be taken back was put up with a marker");
  make(marker.tree, text);
}

void try_evicted(std::string_view text) {
  tune::MemoryFileSystem files;
  files.put(tune::paths::evicted(place), line_of(text));
  const auto evicted = tune::find_evicted(files, place);
  if (!evicted) return;
  tune::ensure(tune::paths::parse_remote_checkpoint(evicted->place.directory) == ref,
               "it says where this one is");
  tune::ensure(evicted->place.remote.find(",") == std::string::npos ||
                   evicted->place.remote.starts_with('/') ||
                   evicted->place.remote.find(':') < evicted->place.remote.find(','),
               "a remote has no options");
  tune::write_evicted(files, place, *evicted);
  const auto again = tune::find_evicted(files, place);
  tune::ensure(again && again->manifest == evicted->manifest, "it is read as it was written");
}

void try_uploaded(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    tune::append_journal_line(lines, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  tune::MemoryFileSystem files;
  files.put(tune::remote_directory(experiment) / "uploaded.jsonl", lines);
  tune::UploadMemory memory(files, experiment, "s3:bucket/e");
  for (const auto& directory : memory.begun()) {
    tune::ensure(tune::paths::parse_remote_checkpoint(directory).has_value(),
                 "nothing but checkpoints is removed");
  }
  for (const auto& [checkpoint, directory] : memory.checkpoints()) {
    tune::ensure(tune::paths::parse_remote_checkpoint(directory) == checkpoint,
                 "a checkpoint is where its name says");
  }
  memory.set_identity(memory.identity());
  const tune::UploadMemory again(files, experiment, "s3:bucket/e");
  tune::ensure(again.checkpoints() == memory.checkpoints() && again.begun() == memory.begun(),
               "what is up is read as it was written");
}

void try_name(const std::string& name) {
  if (const auto marker = tune::parse_state_marker_name(name)) {
    tune::ensure(tune::state_marker_name(marker->session, marker->number) == "state/" + name,
                 "a marker's name is written as it was read");
  }
  if (tune::parse_checkpoint_marker_name(name) || tune::is_small_file(name)) {
    require_below("/top", name);
    tune::ensure(name.find_first_of(std::string_view("\n\r\0", 3)) == name.npos, "one line");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 'c':
        try_checkpoint(text);
        break;
      case 's':
        try_state(text);
        break;
      case 'l':
        try_lease(text);
        break;
      case 'm':
        try_manifest(text);
        break;
      case 'e':
        try_evicted(text);
        break;
      case 'u':
        try_uploaded(text);
        break;
      case 'n':
        try_name(text);
        break;
      default:
        break;
    }
  } catch (const tune::Error&) {
  }
  return 0;
}
