// Making a directory of files a checkpoint, and telling whether it still is one.
// Decides nothing about which to keep, and knows no event.
#include "tuner/store/checkpoint_store.h"

#include <algorithm>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/store/checksum.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr int manifest_version = 1;

/// To read a smaller file takes no longer than to wait until its stamp can be relied on.
constexpr std::uint64_t large_file_bytes = 1 << 20;
constexpr std::size_t most_read_files = 10'000;

struct FileFacts {
  path name;  ///< within the checkpoint
  std::uint64_t bytes = 0;
  std::string xxh3;
};

/// What a directory holds, at any depth; names are relative to it.
struct Tree {
  struct File {
    path name;
    std::uint64_t bytes = 0;
  };
  std::vector<File> files;
  std::vector<path> directories;  ///< each after the one it is in; without the top
};

void walk(FileSystem& files, const path& top, const path& below, Tree& tree) {
  for (const DirectoryEntry& entry : files.list(top / below)) {
    const path name = below / entry.name;
    if (entry.is_directory) {
      tree.directories.push_back(name);
      walk(files, top, name, tree);
    } else if (entry.is_regular) {
      tree.files.push_back({name, entry.bytes});
    } else {
      throw machine_error("not a checkpoint: " + (top / name).native() +
                          " is neither a file nor a directory, and only those can be kept");
    }
  }
}

Tree walk(FileSystem& files, const path& top) {
  Tree tree;
  walk(files, top, "", tree);
  std::sort(tree.files.begin(), tree.files.end(),
            [](const Tree::File& a, const Tree::File& b) { return a.name < b.name; });
  return tree;
}

const std::string& or_empty_object(const std::string& json) {
  static const std::string empty = "{}";
  return json.empty() ? empty : json;
}

/// One line per file, so that two manifests can be compared by eye.
std::string manifest_text(const path& aside, const ManifestHeader& header,
                          const std::vector<FileFacts>& files, std::uint64_t bytes) {
  std::string text = "{\"manifest\":" + std::to_string(manifest_version) +
                     ",\"trial_id\":" + Json(header.trial_id).dump() +
                     ",\"index\":" + std::to_string(header.index) +
                     ",\"attempt\":" + std::to_string(header.attempt) +
                     ",\"iteration\":" + std::to_string(header.iteration) +
                     ",\n\"metrics\":" + or_empty_object(header.metrics) +
                     ",\n\"config\":" + or_empty_object(header.config) +
                     ",\n\"bytes\":" + std::to_string(bytes) + ",\"files\":[";
  const char* separator = "\n";
  for (const FileFacts& file : files) {
    try {
      text += separator + ("{\"path\":" + Json(file.name.native()).dump());
    } catch (const Json::exception&) {
      throw machine_error("not a checkpoint: a file's name in " +
                          (aside / file.name).parent_path().native() + " is not UTF-8");
    }
    text += ",\"bytes\":" + std::to_string(file.bytes) + ",\"xxh3\":\"" + file.xxh3 + "\"}";
    separator = ",\n";
  }
  return text + "\n]}\n";
}

/// Refuses what a trainable may not leave at the place of the directory that it was given.
void check_is_directory(FileSystem& files, const path& directory) {
  for (const DirectoryEntry& entry : files.list(directory.parent_path())) {
    if (entry.name == directory.filename().native() && entry.is_directory) return;
  }
  throw machine_error("not a checkpoint: " + directory.native() + " is not a directory");
}

/// For what is nobody's any more: recovery sweeps what stays behind.
void remove_quietly(FileSystem& files, const path& directory) noexcept {
  try {
    files.remove_tree(directory);
  } catch (const Error&) {
  }
}

void copy_tree(FileSystem& files, const path& from, const path& to) {
  const Tree tree = walk(files, from);
  files.make_directories(to);
  for (const path& name : tree.directories) files.make_directories(to / name);
  for (const auto& [name, bytes] : tree.files) {
    const auto out = files.open_append(to / name);
    files.read_pieces(from / name, [&](std::string_view piece) { out->append(piece); });
  }
}

}  // namespace

path CheckpointStore::begin(const path& trial_dir, int index, int attempt) {
  const path aside = paths::checkpoint_aside(trial_dir, index, attempt);
  files_.remove_tree(aside);
  files_.make_directories(aside);
  return aside;
}

CommittedCheckpoint CheckpointStore::commit(const path& aside, const path& trial_dir,
                                            const ManifestHeader& header) {
  try {
    return publish(aside, trial_dir, header);
  } catch (const Error&) {
    remove_quietly(files_, aside);  // the disk may be full
    throw;
  }
}

CommittedCheckpoint CheckpointStore::publish(const path& aside, const path& trial_dir,
                                             const ManifestHeader& header) {
  check_is_directory(files_, aside);
  const Tree tree = walk(files_, aside);
  if (tree.files.empty()) {
    throw machine_error("not a checkpoint: nothing was saved in " + aside.native());
  }
  const path manifest = paths::manifest(aside);
  CommittedCheckpoint committed;
  std::vector<FileFacts> facts;
  for (const auto& [name, listed_bytes] : tree.files) {
    if (name == manifest.filename()) {
      throw machine_error("not a checkpoint: the trainable has saved a file " + manifest.native() +
                          ", and that name is taken: save it under another, or in a subdirectory");
    }
    auto [bytes, xxh3] = content_of(aside / name, listed_bytes);
    facts.push_back({name, bytes, std::move(xxh3)});
    files_.sync_file(aside / name);
    committed.bytes += facts.back().bytes;
    ++committed.files;
  }
  for (const path& name : tree.directories) files_.sync_directory(aside / name);
  files_.replace(manifest, manifest_text(aside, header, facts, committed.bytes));

  const path checkpoint = paths::checkpoint(trial_dir, header.index);
  files_.rename(aside, checkpoint);
  try {
    files_.sync_directory(trial_dir);
    files_.sync_directory(trial_dir.parent_path());  // the trial's first: its directory is new too
  } catch (const Error&) {
    files_.rename(checkpoint, aside);
    throw;
  }
  return committed;
}

CommittedCheckpoint CheckpointStore::adopt(const path& written, const path& trial_dir,
                                           const ManifestHeader& header) {
  const path aside = paths::checkpoint_aside(trial_dir, header.index, header.attempt);
  files_.remove_tree(aside);
  bool copied = false;
  try {
    files_.rename(written, aside);
  } catch (const CrossDeviceError&) {
    copied = true;
  }
  if (copied) {
    try {
      copy_tree(files_, written, aside);
    } catch (const Error&) {
      remove_quietly(files_, aside);
      throw;
    }
  }
  const CommittedCheckpoint committed = commit(aside, trial_dir, header);
  if (copied) remove_quietly(files_, written);
  return committed;
}

std::optional<std::string> CheckpointStore::verify(const path& checkpoint) {
  try {
    const Json manifest = read_manifest(checkpoint);
    for (const Json& entry : manifest.at("files")) {
      if (auto damage = damage_of(checkpoint, entry)) return damage;
    }
    return std::nullopt;
  } catch (const Json::exception&) {
    return paths::manifest(checkpoint).native() + " does not say what it must";
  } catch (const Error& error) {
    if (error.fault() == Fault::user) throw;
    return error.what();
  }
}

std::optional<std::string> CheckpointStore::damage_of(const path& checkpoint, const Json& entry) {
  const path name = entry.at("path").get<std::string>();
  if (name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end()) {
    return "its manifest names " + name.native() + ", which is not in it";
  }
  // A float would be squeezed into an integer, whatever comes out.
  if (!entry.at("bytes").is_number_unsigned()) {
    return "its manifest gives no number of bytes for " + name.native();
  }
  const auto bytes = entry.at("bytes").get<std::uint64_t>();
  if (!files_.exists(checkpoint / name)) return "the file " + name.native() + " is missing";
  const Content found = content_of(checkpoint / name, bytes);
  if (found.bytes != bytes) {
    return "the file " + name.native() + " has " + std::to_string(found.bytes) + " bytes, not " +
           std::to_string(bytes);
  }
  if (found.xxh3 != entry.at("xxh3").get<std::string>()) {
    return "the file " + name.native() + " has changed: its checksum is another";
  }
  return std::nullopt;
}

/// By reading it, or from memory: then not even a file of many gigabytes keeps anybody waiting.
CheckpointStore::Content CheckpointStore::content_of(const path& file,
                                                     std::uint64_t expected_bytes) {
  const bool is_large = expected_bytes >= large_file_bytes;
  const auto stamp = is_large ? files_.stamp(file) : std::nullopt;
  if (stamp) {
    const std::lock_guard lock(mutex_);
    const auto known = read_.find(*stamp);
    if (known != read_.end()) return {stamp->bytes, known->second};
  }
  Content content;
  Checksum checksum;
  files_.read_pieces(file, [&](std::string_view piece) {
    checksum.add(piece);
    content.bytes += piece.size();
  });
  content.xxh3 = checksum.digits();
  if (stamp && files_.stamp(file) == stamp) {
    const std::lock_guard lock(mutex_);
    if (read_.size() >= most_read_files) read_.clear();
    read_[*stamp] = content.xxh3;
  }
  return content;
}

Json CheckpointStore::read_manifest(const path& checkpoint) {
  const path file = paths::manifest(checkpoint);
  const Json manifest = Json::parse(files_.read(file), nullptr, false);
  const auto version = manifest.is_object() ? manifest.find("manifest") : manifest.end();
  if (version == manifest.end() || !version->is_number_unsigned()) {
    throw machine_error(file.native() + " is not a manifest");
  }
  if (version->get<std::uint64_t>() > manifest_version) {
    throw user_error(file.native() + " has version " + version->dump() +
                     ", this program understands up to " + std::to_string(manifest_version) +
                     ": use a newer one");
  }
  return manifest;
}

void CheckpointStore::set_aside(const path& trial_dir, int index) {
  const path checkpoint = paths::checkpoint(trial_dir, index);
  if (!files_.exists(checkpoint)) return;
  const path corrupt = paths::checkpoint_corrupt(trial_dir, index);
  files_.remove_tree(corrupt);
  files_.rename(checkpoint, corrupt);
  files_.sync_directory(trial_dir);
}

void CheckpointStore::remove(const path& trial_dir, int index) {
  files_.remove_tree(paths::checkpoint(trial_dir, index));
}

void CheckpointStore::discard(const path& aside) { files_.remove_tree(aside); }

std::vector<std::string> CheckpointStore::sweep(const path& trial_dir, const std::set<int>& known) {
  std::vector<std::string> removed;
  if (!files_.exists(trial_dir)) return removed;
  for (const DirectoryEntry& entry : files_.list(trial_dir)) {
    const std::optional<int> index = paths::parse_checkpoint(entry.name);
    const bool unknown = index && !known.contains(*index);
    if (!entry.is_directory || !(unknown || paths::is_checkpoint_aside(entry.name))) continue;
    files_.remove_tree(trial_dir / entry.name);
    removed.push_back(entry.name);
  }
  return removed;
}

}  // namespace tune
