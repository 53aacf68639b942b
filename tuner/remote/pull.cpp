// Lease, newest whole state, markers, checkpoints, small files, and CURRENT last.
#include "tuner/remote/pull.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/paths.h"
#include "tuner/remote/checkpoint_fetches.h"
#include "tuner/remote/object_names.h"
#include "tuner/remote/overlap.h"
#include "tuner/remote/remote_contents.h"
#include "tuner/remote/remote_lease.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

namespace {

using std::filesystem::path;

/// After an interrupt, with a store that may not answer.
constexpr Seconds give_back_limit_s = 2;

/// Where there is none, those that are one level below, for whoever has named the place above.
std::string names_below(RemoteStore& store) {
  constexpr std::size_t most_looked_at = 20;
  const auto directories = store.directories();
  std::string names;
  for (std::size_t i = 0; i < std::min(most_looked_at, directories.size()); ++i) {
    if (!store.list(directories[i], false).contains(lease_name)) continue;
    names += (names.empty() ? ": name one of those below it, " : ", ") + directories[i];
  }
  return names;
}

/// The newest state that is whole; its parts are in `to`. What is wrong with a newer one is added
/// to `problems`; `unmarked`: a newer one has an empty marker.
StateMarker get_state(FileSystem& files, RemoteStore& store, const path& to,
                      std::vector<std::string>& problems, std::optional<std::string>& unmarked) {
  constexpr int patience = 3;
  std::string wrong;
  std::string wrong_name;
  std::string empty;
  for (int attempt = 0; attempt < patience; ++attempt) {
    const Listing state = store.list("state", false);
    for (const auto& [name, bytes] : state) {
      if (parse_state_marker_name(name) && bytes == 0) empty = "state/" + name + " is empty";
    }
    for (const StateMarkerName& newest : state_markers(state)) {
      const std::string name = state_marker_name(newest.session, newest.number);
      const auto text = store.get_text(name, most_state_marker_bytes);
      const auto marker = text ? parse_state_marker(*text, newest) : std::nullopt;
      auto why = marker ? wrong_parts(*marker, state)
                        : std::optional(name + " is damaged, or was removed");
      if (!why) why = get_parts(files, store, *marker, to);
      if (!why) {
        // What was replaced meanwhile was not damaged.
        const bool is_there =
            !wrong.empty() && store.get_text(wrong_name, most_state_marker_bytes).has_value();
        if (is_there) problems.push_back(wrong + ": the state before it is taken");
        unmarked = newer_empty_marker(state, *marker);
        return *marker;
      }
      if (wrong.empty()) {
        wrong = *why;
        wrong_name = name;
      }
      files.remove_tree(to);
    }
    // A driver that runs removes what it has replaced: the next look finds what is newer.
  }
  const std::string nothing = "there is no experiment on " + store.root();
  if (!wrong.empty()) throw machine_error(nothing + " that is whole: " + wrong);
  throw user_error(nothing + (empty.empty() ? names_below(store) : " that is whole: " + empty));
}

/// Why what is in `here` is not the checkpoint, whole.
std::optional<std::string> damage_of(FileSystem& files, const CheckpointMarker& marker,
                                     const path& here) {
  if (auto wrong = wrong_manifest(marker, manifest_in(files, marker, here))) return wrong;
  const auto damage = CheckpointStore(files, here.parent_path()).verify_foreign(here);
  return damage ? std::optional(marker.directory + ": " + *damage) : std::nullopt;
}

/// Those of what is neither of the state nor of a checkpoint, to their places in `directory`.
void get_small_files(FileSystem& files, RemoteStore& store, const Listing& all, const path& scratch,
                     OpenDirectory& directory) {
  std::vector<std::string> names;
  std::uint64_t all_bytes = 0;
  for (const auto& [name, bytes] : all) {
    if (!is_small_file(name) || name == "experiment.json") continue;
    names.push_back(name);
    all_bytes += std::min(bytes, std::uint64_t{1} << 40);
  }
  files.remove_tree(scratch);
  store.get_files(names, scratch, all_bytes);
  for (const std::string& name : names) {
    const auto got = files.entry(scratch / name);
    if (got && got->is_regular) directory.take(scratch / name, name);
  }
}

void require_room(FileSystem& files, const path& directory) {
  if (ExperimentStore::exists(files, directory)) {
    throw user_error(directory.native() + " holds an experiment already: go on with that (tune " +
                     "resume " + directory.native() + "), or name another directory");
  }
  const auto there = files.entry(directory);
  if (!there) return;
  if (!there->is_directory && !there->is_link) {
    throw user_error(directory.native() + " is a file: name a directory");
  }
  const bool is_interrupted_pull = files.exists(remote_directory(directory) / "pulling");
  const auto entries = files.list(directory);
  // A run that was refused leaves that much.
  const bool is_refused_run =
      entries.size() == 1 && directory / entries.front().name == remote_directory(directory) &&
      entries.front().is_directory && files.list(remote_directory(directory)).empty();
  if (!is_interrupted_pull && !is_refused_run && !entries.empty()) {
    throw user_error(directory.native() + " is not empty: name another directory");
  }
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_link) continue;
    throw user_error((directory / entry.name).native() +
                     " is a link, and nothing is taken into what is behind it: remove it");
  }
}

WaitInterrupted interrupted(const std::string& root) {
  return WaitInterrupted("interrupted while it took the experiment from " + root +
                         ": nothing was begun");
}

void wait_for_lease(RemoteLeaseHolder& lease, const PullOptions& options) {
  for (;;) {
    try {
      lease.acquire(true);
      return;
    } catch (const RemoteLeaseHeld& held) {
      if (options.on_wait) options.on_wait(held.what());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

void get_manifests(FileSystem& files, RemoteStore& store,
                   const std::map<CheckpointRef, CheckpointMarker>& markers, const path& to) {
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  names.reserve(markers.size());
  for (const auto& [checkpoint, marker] : markers) {
    names.push_back(marker.directory + "/manifest.json");
    bytes += marker.manifest_bytes;
  }
  files.remove_tree(to);
  store.get_files(names, to, bytes);
}

/// All but the state. `with_content`: of checkpoints not only where they are.
Pulled get_rest(FileSystem& files, RemoteStore& store, UploadMemory& memory,
                RemoteLeaseHolder& lease, const path& directory, const path& scratch,
                bool with_content) {
  Pulled pulled;
  pulled.is_whole = with_content;
  const auto own = files.open_directory(directory);
  const Listing all = store.list("", true);
  const auto markers = get_markers(files, store, all, scratch / "markers", pulled.problems);
  for (const auto& [name, bytes] : all) {
    if (bytes != 0 || !parse_checkpoint_marker_name(name)) continue;
    pulled.unmarked.push_back(clean_text(name) +
                              " is empty: its checkpoint was put up and does not count, since a "
                              "driver died before it wrote that, or somebody has emptied it");
  }
  get_small_files(files, store, all, scratch / "files", *own);
  if (!with_content) get_manifests(files, store, markers, scratch / "manifests");
  std::set<std::string> whole;
  for (const auto& [checkpoint, marker] : markers) {
    lease.renew();
    const path place = paths::checkpoint(directory, checkpoint);
    const bool is_here = files.exists(place) && !damage_of(files, marker, place);
    std::optional<std::string> wrong;
    if (!is_here && !with_content) {
      const path manifest = scratch / "manifests" / marker.directory / "manifest.json";
      wrong = note_evicted(files, directory, store.root(), marker, manifest);
    } else if (!is_here) {
      const path arrived = scratch / "checkpoint";
      wrong = get_checkpoint(files, store, marker, arrived);
      if (!wrong) {
        const path name = place.lexically_relative(directory);
        files.remove_tree(scratch / "replaced");
        own->give(name, scratch / "replaced");
        own->take(arrived, name);
      }
    }
    if (wrong) {
      pulled.problems.push_back(clean_text(*wrong) + ": the checkpoint does not count");
      continue;
    }
    memory.commit(checkpoint, marker.directory);
    whole.insert(marker.directory);
    ++pulled.checkpoints;
    pulled.bytes += marker.bytes();
  }
  // What nobody will make whole, the next driver removes.
  for (const auto& name : checkpoint_directories(all)) {
    if (!whole.contains(name)) memory.begin(name);
  }
  return pulled;
}

path copy_note(const path& directory) { return remote_directory(directory) / "copy.json"; }

void note_copy(FileSystem& files, const CopyNote& note, const path& directory) {
  const Json json = {{"of", note.of}, {"time", note.time}};
  files.replace(copy_note(directory), json.dump() + "\n");
}

/// CURRENT last: until then it is no experiment.
void put_together(FileSystem& files, const StateMarker& marker, const path& scratch,
                  const path& directory) {
  const auto own = files.open_directory(directory);
  const path whole = scratch / "whole";
  files.remove_tree(whole);
  files.make_directories(whole);
  const auto put = [&](const StateFile& file) {
    {
      const auto out = files.open_append(whole / file.name);
      for (const StatePart& part : file.parts) {
        out->append(files.read(scratch / "state" / "state" / part.name));
      }
      out->sync();
    }
    own->take(whole / file.name, file.name);
    files.sync_directory(directory);
  };
  const StateFile* current = nullptr;
  for (const StateFile& file : marker.files) {
    file.name == "CURRENT" ? void(current = &file) : put(file);
  }
  if (current == nullptr || current->parts.empty()) {
    throw machine_error("the state on the remote names no CURRENT");
  }
  put(*current);
}

}  // namespace

Pulled pull(FileSystem& files, const PullOptions& options) {
  const path& directory = options.directory;
  if (const auto why = overlap(options.root, directory)) throw user_error(*why);
  require_room(files, directory);
  const std::atomic<bool> never = false;
  const std::atomic<bool>& stop = options.stop != nullptr ? *options.stop : never;
  const bool was_there = files.exists(directory);
  const path scratch = remote_directory(directory) / "pulling";
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, options.root, remote_directory(directory));
  store.check_name();
  files.make_directories(scratch);
  std::vector<std::string> problems;
  std::optional<std::string> unmarked;
  StateMarker state;
  try {
    state = get_state(files, store, scratch / "state", problems, unmarked);
  } catch (const Error&) {
    if (!was_there) files.remove_tree(directory);
    if (stop) throw interrupted(options.root);
    throw;
  }
  UploadMemory memory(files, directory, options.root);
  RemoteLeaseHolder lease(store, memory, options.lease_s);
  try {
    memory.set_identity({state.experiment, memory.identity().owner, state.session});
    memory.set_state(state);
    if (options.takes_over) {
      wait_for_lease(lease, options);
      // The driver that had it may have gone on for a while.
      problems.clear();
      state = get_state(files, store, scratch / "state", problems, unmarked);
      memory.set_state(state);
    }
    Pulled pulled = get_rest(files, store, memory, lease, directory, scratch, !options.takes_over);
    pulled.time = state.time;
    pulled.problems.insert(pulled.problems.begin(), problems.begin(), problems.end());
    if (unmarked) {
      pulled.unmarked.push_back(
          *unmarked +
          " is empty: the state before it is taken, since a driver is about to "
          "write it, or died there, or somebody has emptied it");
    }
    if (stop) throw interrupted(options.root);
    if (!options.takes_over) note_copy(files, {options.root, state.time}, directory);
    put_together(files, state, scratch, directory);
    files.remove_tree(scratch);
    return pulled;
  } catch (const Error&) {
    rcd.allow(give_back_limit_s);
    lease.release();
    if (stop) throw interrupted(options.root);
    throw;
  }
}

std::optional<CopyNote> read_copy_note(FileSystem& files, const path& directory) {
  if (!files.exists(copy_note(directory))) return std::nullopt;
  const Json json = parse_shallow(files.read(copy_note(directory)));
  if (!json.is_object()) return std::nullopt;
  const Json of = json.value("of", Json());
  const Json time = json.value("time", Json());
  if (!of.is_string() || !time.is_number()) return std::nullopt;
  return CopyNote{of.get<std::string>(), time.get<double>()};
}

void give_back(FileSystem& files, const std::string& root, const path& directory) noexcept {
  try {
    const std::atomic<bool> stop = false;
    Rcd rcd(std::nullopt, stop);
    RemoteStore store(rcd, files, root, remote_directory(directory));
    UploadMemory memory(files, directory, root);
    RemoteLeaseHolder(store, memory, 0).release_left();
  } catch (const std::exception&) {
    // Whoever comes next waits for the whole lease.
  }
}

}  // namespace tune
