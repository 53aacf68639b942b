#include "tuner/remote/pull.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/remote/checkpoint_fetches.h"
#include "tuner/remote/checkpoint_uploads.h"
#include "tuner/remote/overlap.h"
#include "tuner/remote/remote_lease.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"
#include "tuner/store/checkpoint_store.h"
#include "tuner/store/checkpoint_tree.h"
#include "tuner/store/checksum.h"
#include "tuner/store/experiment_store.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

using Listing = std::map<std::string, std::uint64_t>;

/// After an interrupt, with a store that may not answer.
constexpr Seconds give_back_limit_s = 2;

std::string checksum_of(FileSystem& files, const path& file) {
  Checksum checksum;
  files.read_pieces(file, [&](std::string_view piece) { checksum.add(piece); });
  return checksum.digits();
}

/// Of what lies in `state/`, the markers, newest first.
std::vector<StateMarkerName> state_markers(const Listing& state) {
  std::vector<StateMarkerName> names;
  for (const auto& [name, bytes] : state) {
    if (const auto parsed = parse_state_marker_name(name)) names.push_back(*parsed);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
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

/// Downloads the parts into `to`; what is wrong with one of them, as a sentence.
std::optional<std::string> get_parts(FileSystem& files, RemoteStore& store,
                                     const StateMarker& marker, const path& to) {
  std::vector<std::string> names;
  for (const StateFile& file : marker.files) {
    for (const StatePart& part : file.parts) names.push_back("state/" + part.name);
  }
  store.get_files(names, to);
  for (const StateFile& file : marker.files) {
    for (const StatePart& part : file.parts) {
      const path got = to / "state" / part.name;
      if (!files.exists(got)) return "state/" + part.name + " is missing";
      if (checksum_of(files, got) != part.xxh3) {
        return "state/" + part.name + " has changed: its checksum is another";
      }
    }
  }
  return std::nullopt;
}

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
/// to `problems`.
StateMarker get_state(FileSystem& files, RemoteStore& store, const path& to,
                      std::vector<std::string>& problems) {
  constexpr int patience = 3;
  std::string wrong;
  std::string wrong_name;
  for (int attempt = 0; attempt < patience; ++attempt) {
    const Listing state = store.list("state", false);
    for (const auto& [session, number] : state_markers(state)) {
      const std::string name = state_marker_name(session, number);
      const auto text = store.get_text(name);
      const auto marker = text ? parse_state_marker(*text) : std::nullopt;
      auto why = marker ? wrong_parts(*marker, state)
                        : std::optional(name + " is damaged, or was removed");
      if (!why) why = get_parts(files, store, *marker, to);
      if (!why) {
        // What was replaced meanwhile was not damaged.
        const bool is_there = !wrong.empty() && store.get_text(wrong_name).has_value();
        if (is_there) problems.push_back(wrong + ": the state before it is taken");
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
  throw user_error("there is no experiment on " + store.root() +
                   (wrong.empty() ? names_below(store) : " that is whole: " + wrong));
}

/// All markers of checkpoints that are whole by their sizes; of several of one, the last by name.
std::map<CheckpointRef, CheckpointMarker> get_markers(FileSystem& files, RemoteStore& store,
                                                      const Listing& all, const path& to,
                                                      std::vector<std::string>& problems) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : all) {
    if (parse_checkpoint_marker_name(name)) names.push_back(name);
  }
  store.get_files(names, to);
  std::map<CheckpointRef, CheckpointMarker> markers;
  for (const std::string& name : names) {
    const path got = to / name;
    if (!files.exists(got)) continue;  // removed meanwhile
    const auto marker = parse_checkpoint_marker(files.read(got));
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
      problems.push_back(*wrong + ": the checkpoint does not count");
      continue;
    }
    markers[marker->checkpoint] = *marker;
  }
  return markers;
}

/// Why what is in `here` is not the checkpoint, whole.
std::optional<std::string> damage_of(FileSystem& files, const CheckpointMarker& marker,
                                     const path& here) {
  const path manifest = paths::manifest(here);
  if (!files.exists(manifest) || checksum_of(files, manifest) != marker.manifest_xxh3) {
    return marker.directory + "/manifest.json is missing, or has changed";
  }
  const auto damage = CheckpointStore(files, here.parent_path()).verify_foreign(here);
  return damage ? std::optional(marker.directory + ": " + *damage) : std::nullopt;
}

/// Downloads a checkpoint to `to`, which it is whole in when nothing is answered.
std::optional<std::string> get_checkpoint(FileSystem& files, RemoteStore& store,
                                          const CheckpointMarker& marker, const path& to) {
  files.remove_tree(to);
  store.get_tree(marker.directory, to);
  for (const auto& [name, target] : marker.links) {
    const path link = to / name;
    const path leads_to = (link.parent_path() / target).lexically_normal();
    if (path(target).is_absolute() || !is_within(to, leads_to)) {
      return marker.directory + ": the link " + name + " leads out of it";
    }
    files.make_directories(link.parent_path());
    if (!files.exists(link)) files.make_link(target, link);
  }
  return damage_of(files, marker, to);
}

/// The names of what is neither of the state nor of a checkpoint.
std::vector<std::string> other_files(const Listing& all) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : all) {
    const std::size_t slash = name.find('/');
    if (slash == name.npos) {
      if (name != lease_name && name != "experiment.json") names.push_back(name);
      continue;
    }
    const std::string first = name.substr(0, slash);
    const auto trial = parse_trial_id(first);
    const std::string rest = name.substr(slash + 1);
    if (trial && first == to_string(*trial) && rest.find('/') == rest.npos &&
        !rest.starts_with("checkpoint_")) {
      names.push_back(name);
    }
  }
  return names;
}

/// Directories of checkpoints, with a marker or without.
std::set<std::string> checkpoint_directories(const Listing& all) {
  std::set<std::string> found;
  for (const auto& [name, bytes] : all) {
    const std::size_t slash = name.find('/');
    const std::size_t end = slash == name.npos ? slash : name.find('/', slash + 1);
    if (end == name.npos || !parse_trial_id(name.substr(0, slash))) continue;
    if (name.substr(slash + 1).starts_with("checkpoint_")) found.insert(name.substr(0, end));
  }
  return found;
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

/// The names of the manifests of those checkpoints.
std::vector<std::string> manifests_of(const std::map<CheckpointRef, CheckpointMarker>& markers) {
  std::vector<std::string> names;
  names.reserve(markers.size());
  for (const auto& [checkpoint, marker] : markers)
    names.push_back(marker.directory + "/manifest.json");
  return names;
}

/// All but the state. `with_content`: of checkpoints not only where they are.
Pulled get_rest(FileSystem& files, RemoteStore& store, UploadMemory& memory,
                RemoteLeaseHolder& lease, const path& directory, const path& scratch,
                bool with_content) {
  Pulled pulled;
  pulled.is_whole = with_content;
  const Listing all = store.list("", true);
  const auto markers = get_markers(files, store, all, scratch / "markers", pulled.problems);
  store.get_files(other_files(all), directory);
  if (!with_content) store.get_files(manifests_of(markers), scratch / "manifests");
  std::set<std::string> whole;
  for (const auto& [checkpoint, marker] : markers) {
    lease.renew();
    const path trial = paths::trial(directory, checkpoint.trial);
    const path place = paths::checkpoint(trial, checkpoint.index);
    const bool is_here = files.exists(place) && !damage_of(files, marker, place);
    if (!is_here && !with_content) {
      const path manifest = scratch / "manifests" / marker.directory / "manifest.json";
      if (const auto wrong = note_evicted(files, store.root(), marker, manifest, place)) {
        pulled.problems.push_back(*wrong + ": the checkpoint does not count");
        continue;
      }
    } else if (!is_here) {
      const path aside = paths::checkpoint_aside(trial, checkpoint.index, 0);
      if (const auto wrong = get_checkpoint(files, store, marker, aside)) {
        pulled.problems.push_back(*wrong + ": the checkpoint does not count");
        files.remove_tree(aside);
        continue;
      }
      files.remove_tree(place);
      files.rename(aside, place);
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

/// CURRENT last: until then it is no experiment.
void put_together(FileSystem& files, const StateMarker& marker, const path& parts,
                  const path& directory) {
  const auto write = [&](const StateFile& file) {
    const path to = directory / file.name;
    files.remove_file(to);
    const auto out = files.open_append(to);
    for (const StatePart& part : file.parts) {
      out->append(files.read(parts / "state" / part.name));
    }
    out->sync();
  };
  const StateFile* current = nullptr;
  for (const StateFile& file : marker.files) {
    file.name == "CURRENT" ? void(current = &file) : write(file);
  }
  if (current == nullptr || current->parts.empty()) {
    throw machine_error("the state on the remote names no CURRENT");
  }
  files.sync_directory(directory);
  files.replace(paths::current(directory), files.read(parts / "state" / current->parts[0].name));
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
  StateMarker state;
  try {
    state = get_state(files, store, scratch / "state", problems);
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
      state = get_state(files, store, scratch / "state", problems);
      memory.set_state(state);
    }
    Pulled pulled = get_rest(files, store, memory, lease, directory, scratch, !options.takes_over);
    pulled.time = state.time;
    pulled.problems.insert(pulled.problems.begin(), problems.begin(), problems.end());
    if (stop) throw interrupted(options.root);
    put_together(files, state, scratch / "state", directory);
    files.remove_tree(scratch);
    return pulled;
  } catch (const Error&) {
    rcd.allow(give_back_limit_s);
    lease.release();
    if (stop) throw interrupted(options.root);
    throw;
  }
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

bool is_experiment_there(FileSystem& files, const std::string& root, const path& scratch) {
  const std::atomic<bool> stop = false;
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, root, scratch);
  store.check_name();
  const auto markers = state_markers(store.list("state", false));
  // One that died as it put up its first state has not begun.
  const bool is_first_alone = markers.size() == 1 && markers.front() == StateMarkerName{1, 1};
  if (!is_first_alone) return !markers.empty();
  const auto text = store.get_text(state_marker_name(1, 1));
  files.remove_tree(scratch);
  return text && parse_state_marker(*text).has_value();
}

RemoteCheck check_remote(FileSystem& files, const std::string& root, const path& scratch,
                         bool reads) {
  const std::atomic<bool> stop = false;
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, root, scratch);
  store.check_name();
  RemoteCheck check;
  const Listing state = store.list("state", false);
  for (const auto& [session, number] : state_markers(state)) {
    const std::string name = state_marker_name(session, number);
    const auto text = store.get_text(name);
    const auto marker = text ? parse_state_marker(*text) : std::nullopt;
    auto wrong = marker ? wrong_parts(*marker, state) : std::optional(name + " is damaged");
    if (!wrong && reads) wrong = get_parts(files, store, *marker, scratch / "state");
    files.remove_tree(scratch / "state");
    if (wrong) {
      check.damage.push_back(*wrong);
    } else if (!check.state) {
      check.state = marker;
    }
  }
  if (!check.state) check.damage.push_back("there is no whole state of an experiment on " + root);
  const Listing all = store.list("", true);
  check.is_empty = state.empty() && !all.contains(lease_name) && !all.contains("experiment.json");
  auto directories = checkpoint_directories(all);
  const auto markers = get_markers(files, store, all, scratch / "markers", check.damage);
  for (const auto& [checkpoint, marker] : markers) {
    directories.erase(marker.directory);
    std::optional<std::string> wrong;
    if (reads) {
      wrong = get_checkpoint(files, store, marker, scratch / "checkpoint");
      files.remove_tree(scratch / "checkpoint");
    }
    if (wrong) {
      check.damage.push_back(*wrong);
      continue;
    }
    ++check.checkpoints;
    check.bytes += marker.bytes();
  }
  for (const auto& name : directories) {
    if (!all.contains(checkpoint_marker_name(name))) check.unmarked.push_back(name);
  }
  files.remove_tree(scratch);
  return check;
}

}  // namespace tune
