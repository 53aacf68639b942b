// Making a directory of files a checkpoint, and telling whether it still is one.
// Decides nothing about which to keep.
#include "tuner/checkpoints/checkpoint_store.h"

#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

/// For what is nobody's any more: recovery sweeps what stays behind.
void remove_quietly(FileSystem& files, const path& directory) noexcept {
  try {
    files.remove_tree(directory);
  } catch (const Error&) {
  }
}

void copy_tree(FileSystem& files, const path& from, const CheckpointTree& tree, const path& to) {
  files.make_directories(to);
  for (const path& name : tree.directories) files.make_directories(to / name);
  for (const auto& [name, bytes] : tree.files) {
    files.copy(from / name, to / name);
  }
  for (const auto& link : tree.links) files.make_link(link.target, to / link.name);
}

/// What is renamed takes no notice of links that name its place from the root on.
void make_links_relative(FileSystem& files, const CheckpointTree& tree, const path& top) {
  for (const auto& link : tree.links) {
    if (link.is_written_so) continue;
    files.remove_file(top / link.name);
    files.make_link(link.target, top / link.name);
  }
}

}  // namespace

path CheckpointStore::trial_dir(TrialId trial) const { return paths::trial(experiment_, trial); }

/// For whatever changes it: what lies behind a link was not made here.
path CheckpointStore::own_dir(TrialId trial) {
  path own = trial_dir(trial);
  const auto found = files_.entry(own);
  if (found && found->is_link) {
    throw machine_error(own.native() + " is a link where the directory of " + to_string(trial) +
                        " belongs, and nothing behind it is touched: put the directory there");
  }
  return own;
}

path CheckpointStore::aside(CheckpointRef checkpoint, int attempt) const {
  return paths::checkpoint_aside(trial_dir(checkpoint.trial), checkpoint.index, attempt);
}

path CheckpointStore::locate(CheckpointRef checkpoint) {
  return paths::checkpoint(experiment_, checkpoint);
}

path CheckpointStore::working_directory(TrialId trial) {
  const path own = trial_dir(trial);
  const path work = paths::work(own);
  return files_.exists(work) ? work : own;
}

path CheckpointStore::make_working_directory(TrialId trial) {
  const path own = own_dir(trial);
  const path work = paths::work(own);
  // A trial that an old driver started has its files in its own directory, and would not find them
  // from an empty `work`.
  const bool was_started = files_.exists(paths::standard_output(own));
  try {
    if (!was_started) files_.make_directories(work);
  } catch (const Error& error) {
    for (const path& each : {own, work}) {
      const auto found = files_.entry(each);
      if (found && !found->is_directory) throw;
    }
    throw NotMade(error);
  }
  return working_directory(trial);
}

path CheckpointStore::write_config(TrialId trial, const std::string& config) {
  const path file = paths::arguments(own_dir(trial));
  try {
    files_.replace(file, config + "\n");
  } catch (const Error& error) {
    const auto found = files_.entry(file);
    if (found && found->is_directory) throw;
    throw NotMade(error);
  }
  return file;
}

path CheckpointStore::begin(CheckpointRef checkpoint, int attempt) {
  own_dir(checkpoint.trial);
  path directory = aside(checkpoint, attempt);
  files_.remove_tree(directory);
  files_.make_directories(directory);
  return directory;
}

HandedOver CheckpointStore::judge(TrialId trial, const std::string& reported) {
  return HandedOver::judge(files_, working_directory(trial), reported);
}

path CheckpointStore::adopt_checkpoint(CheckpointRef checkpoint, int attempt,
                                       const std::string& reported) {
  return adopt(judge(checkpoint.trial, reported), checkpoint, attempt);
}

void CheckpointStore::add_part(CheckpointRef checkpoint, int attempt, const std::string& reported) {
  const HandedOver given = judge(checkpoint.trial, reported);
  const CheckpointTree& tree = given.tree();
  const path to = aside(checkpoint, attempt);
  const auto require_free = [&](const path& name) {
    if (!files_.entry(to / name)) return;
    throw machine_error(name.native() +
                        " is in the directories of two ranks: each has to write files of its own");
  };
  // All names are checked before the first file is moved: after an Error nothing was moved.
  for (const auto& [name, bytes] : tree.files) require_free(name);
  for (const auto& link : tree.links) require_free(link.name);
  for (const path& name : tree.directories) files_.make_directories(to / name);
  for (const auto& [name, bytes] : tree.files) {
    try {
      files_.rename(given.directory() / name, to / name);
    } catch (const CrossDeviceError&) {
      files_.copy(given.directory() / name, to / name);
    }
  }
  for (const auto& link : tree.links) files_.make_link(link.target, to / link.name);
  remove_quietly(files_, given.directory());
}

path CheckpointStore::adopt(const HandedOver& given, CheckpointRef checkpoint, int attempt) {
  own_dir(checkpoint.trial);
  const path& from = given.directory();
  const path to = aside(checkpoint, attempt);
  files_.remove_tree(to);
  bool is_copy = false;
  try {
    files_.rename(from, to);
  } catch (const CrossDeviceError&) {
    is_copy = true;
  }
  try {
    if (is_copy) {
      copy_tree(files_, from, given.tree(), to);
    } else {
      make_links_relative(files_, given.tree(), to);
    }
  } catch (const Error&) {
    is_copy ? remove_quietly(files_, to) : give_back(to, from);
    throw;
  }
  if (is_copy) remove_quietly(files_, from);
  return from;
}

void CheckpointStore::copy(CheckpointRef checkpoint, int attempt, const path& root,
                           const path& name) {
  const path from = name.empty() ? root : root / name;
  require_own(checkpoint.trial, name.empty() ? from : from.parent_path());
  const path to = begin(checkpoint, attempt);
  try {
    const auto found = files_.entry(from);
    if (!found)
      throw machine_error("not a checkpoint: " + from.native() + " is not there any more");
    if (found->is_directory) {
      copy_tree(files_, from, read_tree(files_, from, {files_.real_path(from)}), to / name);
    } else {
      files_.make_directories((to / name).parent_path());
      files_.copy(from, to / name);
    }
  } catch (const Error&) {
    remove_quietly(files_, to);
    throw;
  }
}

void CheckpointStore::put_back(const path& from, const path& root) {
  copy_tree(files_, from, read_tree(files_, from, {files_.real_path(from)}, TopManifest::ours),
            root);
}

/// What lies behind a link, or is mounted, was not made here. `directory` lies in the trial's.
void CheckpointStore::require_own(TrialId trial, const path& directory) {
  path way = own_dir(trial);
  for (const path& part : directory.lexically_relative(way)) {
    if (part == ".") break;  // it is that one itself
    way /= part;
    const auto found = files_.entry(way);
    const bool is_mounted = found && found->is_directory && files_.is_mount_point(way);
    if (!found || (found->is_directory && !is_mounted)) continue;
    throw machine_error(way.native() + " is " +
                        (is_mounted       ? "a mount point"
                         : found->is_link ? "a link"
                                          : "a file") +
                        " where a directory of " + to_string(trial) +
                        " belongs, and nothing in it is touched: put the directory there");
  }
}

void CheckpointStore::clear(TrialId trial, const path& within, const std::vector<path>& names) {
  const path work = working_directory(trial);
  const path root = within.empty() ? work : work / within;
  require_own(trial, root);
  files_.make_directories(root);
  files_.make_accessible(root);
  const auto remove = [this](const path& what) {
    const auto found = files_.entry(what);
    if (!found) return;
    found->is_directory ? files_.remove_tree(what) : files_.remove_file(what);
  };
  for (const path& name : names) {
    if (!name.empty()) {
      remove(root / name);
      continue;
    }
    for (const DirectoryEntry& entry : files_.list(root)) remove(root / entry.name);
  }
}

/// Under another name if something has its own by now: it is never lost.
void CheckpointStore::give_back(const path& aside, const path& origin) {
  path to = origin;
  for (int n = 1; files_.exists(to); ++n) {
    to = origin.native() + ".not_saved-" + std::to_string(n);
  }
  try {
    files_.rename(aside, to);
  } catch (const CrossDeviceError&) {
    copy_tree(files_, aside, read_tree(files_, aside), to);
    remove_quietly(files_, aside);
  }
}

CommittedCheckpoint CheckpointStore::commit(const ManifestHeader& header, const path& origin) {
  try {
    return publish(header);
  } catch (const Error& error) {
    const path written = aside(header.checkpoint, header.attempt);
    if (origin.empty()) {
      remove_quietly(files_, written);  // the disk may be full
      throw;
    }
    try {
      // The program's directory goes back as it was, without our manifest.
      files_.remove_file(paths::manifest(written));
      give_back(written, origin);
    } catch (const Error& kept) {
      throw machine_error(std::string(error.what()) + "; nor can it be given back: " + kept.what());
    }
    throw;
  }
}

CommittedCheckpoint CheckpointStore::publish(const ManifestHeader& header) {
  const path directory = aside(header.checkpoint, header.attempt);
  const path trial = own_dir(header.checkpoint.trial);
  const auto found = files_.entry(directory);
  if (!found || !found->is_directory) {
    throw machine_error("not a checkpoint: " + directory.native() + " is not a directory");
  }
  const CheckpointTree tree = read_tree(files_, directory, {files_.real_path(directory)});
  make_links_relative(files_, tree, directory);
  DescribedTree kept;
  // Files first, then directories, manifest, rename, and the parents at last. So a crash at any
  // point leaves a directory aside, which recovery sweeps, and never a checkpoint with a file that
  // is not on disk.
  for (const auto& [name, listed_bytes] : tree.files) {
    auto [bytes, xxh3] = check_.content_of(directory / name, listed_bytes);
    kept.files.push_back({name.native(), bytes, std::move(xxh3)});
    files_.sync_file(directory / name);
  }
  for (const path& name : tree.directories) files_.sync_directory(directory / name);
  for (const auto& link : tree.links) {
    kept.links.push_back({link.name.native(), link.target.native()});
  }
  const std::string manifest = manifest_text(header, kept);
  if (manifest.size() > most_manifest_bytes) {
    throw machine_error(
        "not a checkpoint: " + std::to_string(kept.files.size() + kept.links.size()) +
        " files and links are more than its manifest has room for");
  }
  files_.replace(paths::manifest(directory), manifest);

  const path checkpoint = locate(header.checkpoint);
  files_.rename(directory, checkpoint);
  try {
    files_.sync_directory(trial);
    files_.sync_directory(trial.parent_path());  // the trial's first: its directory is new too
  } catch (const Error&) {
    // It is going to be recorded as failed, so it must not stay under a checkpoint's name.
    files_.rename(checkpoint, directory);
    throw;
  }
  return {kept.bytes(), kept.files.size()};
}

std::optional<std::string> CheckpointStore::verify(CheckpointRef ref) {
  const path checkpoint = locate(ref);
  return check_.damage_of(checkpoint, checkpoint);
}

std::optional<std::string> CheckpointStore::verify_foreign(const path& checkpoint) {
  if (const auto evicted = find_evicted(files_, checkpoint)) {
    return evicted_sentence(checkpoint, *evicted);
  }
  if (!files_.exists(checkpoint)) return "it is not there any more";
  if (!files_.exists(paths::manifest(checkpoint))) return std::nullopt;
  return check_.damage_of(checkpoint);
}

Json CheckpointStore::read_manifest(CheckpointRef checkpoint) {
  return tune::read_manifest(files_, locate(checkpoint));
}

SavedResults CheckpointStore::results(CheckpointRef checkpoint) {
  const Json manifest = read_manifest(checkpoint);
  try {
    return results_in(manifest);
  } catch (const std::exception&) {
    throw machine_error(paths::manifest(locate(checkpoint)).native() +
                        " does not say what it must of its results");
  }
}

path CheckpointStore::set_aside(CheckpointRef ref) {
  const path checkpoint = locate(ref);
  const path corrupt = paths::checkpoint_corrupt(own_dir(ref.trial), ref.index);
  if (!files_.exists(checkpoint)) {
    remove_evicted(files_, checkpoint);
    return files_.exists(corrupt) ? corrupt : path();
  }
  files_.remove_tree(corrupt);
  files_.rename(checkpoint, corrupt);
  files_.sync_directory(trial_dir(ref.trial));
  return corrupt;
}

void CheckpointStore::remove(CheckpointRef checkpoint) {
  own_dir(checkpoint.trial);
  files_.remove_tree(locate(checkpoint));
  remove_evicted(files_, locate(checkpoint));
}

void CheckpointStore::discard(CheckpointRef checkpoint, int attempt) {
  own_dir(checkpoint.trial);
  files_.remove_tree(aside(checkpoint, attempt));
}

void CheckpointStore::discard(TrialId trial, const std::string& reported) {
  const HandedOver given = judge(trial, reported);
  if (given.is_made_for_this()) files_.remove_tree(given.directory());
}

/// One directory that cannot be removed does not keep the others.
void CheckpointStore::sweep(const path& directory, Swept& swept,
                            const std::function<bool(const DirectoryEntry&)>& is_unknown) {
  std::vector<DirectoryEntry> entries;
  try {
    const auto found = files_.entry(directory);
    if (!found || !found->is_directory) return;  // behind a link nothing is ours
    entries = files_.list(directory);
  } catch (const Error& error) {
    swept.problems.emplace_back(error.what());
  }
  for (const DirectoryEntry& entry : entries) {
    const bool is_ours = entry.is_directory || paths::parse_evicted(entry.name);
    if (!is_ours || !is_unknown(entry)) continue;
    try {
      files_.remove_tree(directory / entry.name);
      swept.removed.push_back(entry.name);
    } catch (const Error& error) {
      swept.problems.emplace_back(error.what());
    }
  }
}

CheckpointStore::Swept CheckpointStore::sweep(TrialId trial, const std::set<int>& known,
                                              bool runs) {
  Swept swept;
  path own;
  try {
    own = own_dir(trial);
  } catch (const Error& error) {
    return {{}, {error.what()}};
  }
  sweep(own, swept, [&](const DirectoryEntry& entry) {
    const std::optional<int> index =
        entry.is_directory ? paths::parse_checkpoint(entry.name) : paths::parse_evicted(entry.name);
    return (index && !known.contains(*index)) ||
           (!runs && paths::parse_checkpoint_aside(entry.name));
  });
  if (runs) return swept;
  const auto is_reported = [](const DirectoryEntry& entry) {
    return paths::is_reported_checkpoint(entry.name);
  };
  for (const path& directory : {own, paths::work(own)}) sweep(directory, swept, is_reported);
  return swept;
}

std::size_t CheckpointStore::set_aside_unknown(TrialId trial, const std::set<int>& known,
                                               std::vector<std::string>& problems) {
  std::size_t count = 0;
  try {
    for (const DirectoryEntry& entry : files_.list(own_dir(trial))) {
      const auto index = paths::parse_checkpoint(entry.name);
      if (!index || known.contains(*index)) continue;
      set_aside({trial, *index});
      ++count;
    }
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
  return count;
}

}  // namespace tune
