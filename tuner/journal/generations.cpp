// Finds the newest whole snapshot, replays the journals behind it in order, and says what is wrong
// or what was meant where there is none.
#include "tuner/journal/generations.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/journal/journal.h"
#include "tuner/journal/snapshot.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr std::size_t most_empty_bytes = 4096;

/// Gives the events of one journal to `reader`, and checks what a journal of events must hold.
JournalEnd read_events(FileSystem& files, const path& journal, std::uint64_t first,
                       StateReader& reader) {
  std::uint64_t expected = first;
  JournalEnd before;
  return read_journal(files, journal, [&](std::string_view text, const JournalPlace& place) {
    before.records = expected - first;
    before.intact_bytes = place.byte;
    before.has_header = true;
    const auto complain = [&](const std::string& what) {
      return DamageError(
          machine_error("the journal " + journal.native() + " cannot be understood in line " +
                        std::to_string(place.line) + ", at byte " + std::to_string(place.byte) +
                        ": " + what),
          before);
    };
    try {
      Event event = parse_event(text);
      if (event.number != expected) {
        throw complain("it is event " + std::to_string(event.number) + ", expected was " +
                       std::to_string(expected));
      }
      reader.on_event(std::move(event));
    } catch (const std::invalid_argument& error) {
      throw complain(error.what());
    }
    ++expected;
  });
}

/// Whether it is what a driver leaves that dies while it makes an experiment: a header, or less.
bool is_empty_journal(FileSystem& files, const path& journal) {
  const auto entry = files.entry(journal);
  if (!entry || !entry->is_regular || entry->bytes > most_empty_bytes) return false;
  const std::string text = files.read(journal);
  if (text.empty()) return true;
  const std::size_t newline = text.find('\n');
  return newline == text.size() - 1 && parse_journal_header(journal, text.substr(0, newline));
}

constexpr const char* current_should_be =
    "the largest N of the files journal-N.jsonl that has a snapshot-N.json, or 1 if there is none";

std::string where(const Generations& found) {
  return "event " + std::to_string(found.last_event) + " is the last";
}

/// `others`: the snapshots that cannot take the place of the one with `first_error`, by name.
Error nowhere_to_begin(const Error& first_error, const std::string& others) {
  return machine_error(std::string(first_error.what()) +
                       (others.empty() ? "; there is no snapshot before it"
                                       : "; neither can " + others + " be used") +
                       ". Restore one of the snapshots, with the trials' file, from a backup, and "
                       "leave all journals and CURRENT as they are. Without a snapshot the "
                       "experiment cannot go on; its results (result.json) and checkpoints are in "
                       "the trials' directories");
}

/// The snapshot of the newest generation up to `current` that has one which is whole; nothing if
/// generation 1 is where to begin, which has none.
std::optional<Snapshot> newest_snapshot(FileSystem& files, const path& directory,
                                        TrialsFile& trials, StateReader& reader,
                                        Generations& found) {
  std::optional<Error> first_error;
  std::string others;  // that are no better
  for (int generation = found.current; generation > 1; --generation) {
    const path file = paths::snapshot(directory, generation);
    if (generation != found.current && !files.exists(file)) continue;
    reader.restart();
    try {
      Snapshot snapshot = read_snapshot(files, file);
      if (snapshot.generation != generation) {
        throw machine_error("the snapshot " + file.native() + " is that of another generation");
      }
      if (reader.wants_trials()) {
        trials.load(snapshot.trials_file, snapshot.trials_bytes,
                    [&](std::string_view line) { reader.on_trial(line); });
      }
      try {
        reader.on_snapshot(snapshot.state);
      } catch (const std::invalid_argument& error) {
        throw machine_error("the snapshot " + file.native() + " is damaged: " + error.what());
      }
      found.base = generation;
      if (first_error) {
        found.notices.push_back(std::string(first_error->what()) + "; generation " +
                                std::to_string(generation) +
                                " and the journals since lead to the same state");
      }
      return snapshot;
    } catch (const Error& error) {
      if (error.fault() == Fault::user) throw;
      if (first_error) others += (others.empty() ? "" : ", ") + file.filename().native();
      if (!first_error) first_error = error;
    }
  }
  const bool has_first = files.exists(paths::journal(directory, 1));
  if (first_error && !has_first) throw nowhere_to_begin(*first_error, others);
  if (first_error) {
    found.notices.push_back(std::string(first_error->what()) +
                            "; the journals from the beginning lead to the same state");
  }
  reader.restart();
  found.base = 1;
  return std::nullopt;
}

}  // namespace

bool has_experiments_files(FileSystem& files, const path& directory) {
  for (const DirectoryEntry& entry : files.list(directory)) {
    const auto trial = parse_trial_id(entry.name);
    if ((trial && entry.name == to_string(*trial)) || paths::parse_snapshot(entry.name) ||
        paths::parse_trials(entry.name)) {
      return true;
    }
    const auto journal = paths::parse_journal(entry.name);
    if (journal && (*journal > 1 || !is_empty_journal(files, directory / entry.name))) return true;
  }
  return false;
}

namespace {

/// What cannot be looked into is none here.
bool is_experiment(FileSystem& files, const path& directory) {
  try {
    return files.exists(paths::current(directory));
  } catch (const Error&) {
    return false;
  }
}

/// The first experiment by name that lies directly in `folder`.
std::optional<path> first_within(FileSystem& files, const path& folder) {
  std::optional<path> first;
  try {
    if (!files.exists(folder)) return first;
    for (const DirectoryEntry& entry : files.list(folder)) {
      const path place = folder / entry.name;
      if (is_experiment(files, place) && (!first || place < *first)) first = place;
    }
  } catch (const Error&) {
    // It cannot be listed, or is no directory: nothing is meant there.
  }
  return first;
}

/// The experiment beside `place` whose name is the nearest to its name.
std::optional<path> neighbour_meant(FileSystem& files, const path& place) {
  std::vector<std::string> names;
  try {
    for (const DirectoryEntry& entry : files.list(place.parent_path())) {
      if (is_experiment(files, place.parent_path() / entry.name)) names.push_back(entry.name);
    }
  } catch (const Error&) {
    return std::nullopt;  // it cannot be listed
  }
  std::sort(names.begin(), names.end());
  const auto near = nearest_name(place.filename().native(), names);
  return near ? std::optional(place.parent_path() / *near) : std::nullopt;
}

/// Which one is probably meant by `directory`, which is none; empty if none is.
std::string experiment_meant(FileSystem& files, const path& directory) {
  const path place = directory.has_filename() ? directory : directory.parent_path();
  for (const path& folder : {place, place / usual_storage}) {
    const auto first = first_within(files, folder);
    if (!first) continue;
    return folder.native() + " holds experiments and is none: name one of them, " +
           first->native() + "; tune ls " + folder.native() + " lists them";
  }
  const path stored = place.parent_path() / usual_storage / place.filename();
  const auto meant =
      is_experiment(files, stored) ? std::optional(stored) : neighbour_meant(files, place);
  if (!meant) return "";
  return "there is no experiment in " + place.native() + ", did you mean " + meant->native() + "?";
}

}  // namespace

Error no_experiment(FileSystem& files, const path& directory) {
  if (files.exists(directory / "LEASE.json") && files.exists(directory / "state")) {
    return user_error(directory.native() +
                      " is what a remote holds of an experiment: tune pull takes a copy of it, and "
                      "tune resume --remote goes on with it");
  }
  const bool is_lost = files.exists(directory) && has_experiments_files(files, directory);
  const std::string meant = is_lost ? "" : experiment_meant(files, directory);
  if (!meant.empty()) return user_error(meant);
  return user_error("there is no experiment in " + directory.native() +
                    (is_lost ? std::string(": it has files of one, but no CURRENT; if that was "
                                           "removed, write into it ") +
                                   current_should_be
                             : ""));
}

Error lacks_header(const path& journal) {
  return machine_error("the journal " + journal.native() +
                       " is damaged in line 1, at byte 0; it does not even have a header: "
                       "restore it from a backup. Without one the experiment cannot go on; its "
                       "results (result.json) and checkpoints are in the trials' directories");
}

Error is_gone(const path& journal) {
  return machine_error("the journal " + journal.native() +
                       " is not there: put it back, or restore it from a backup. Without it the "
                       "experiment cannot go on; its results (result.json) and checkpoints are in "
                       "the trials' directories");
}

int current_generation(FileSystem& files, const path& directory) {
  const path file = paths::current(directory);
  if (!files.exists(file)) {
    throw no_experiment(files, directory);
  }
  const std::string text = files.read(file);
  int generation = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), generation);
  if (error != std::errc() || generation < 1 || text != std::to_string(generation) + "\n") {
    throw machine_error(file.native() +
                        " is damaged: it does not hold the number of a generation, " +
                        current_should_be);
  }
  return generation;
}

Generations read_generations(FileSystem& files, const path& directory, TrialsFile& trials,
                             StateReader& reader, bool salvage) {
  Generations found;
  found.current = current_generation(files, directory);
  const auto snapshot = newest_snapshot(files, directory, trials, reader, found);
  found.last_event = snapshot ? snapshot->event : 0;
  for (int generation = found.base;; ++generation) {
    const path journal = paths::journal(directory, generation);
    const bool is_first = generation == found.base;
    const bool is_there = files.exists(journal);
    if (is_first && !is_there) throw is_gone(journal);
    if (!is_there) break;
    if (!found.cut_off.empty() || found.is_salvaged) {
      found.cut_off.push_back(generation);
      continue;
    }
    const auto header = read_journal_header(files, journal);
    if (!header) {
      // A line of its own in `read_events`, or none.
    } else if (header->generation != generation ||
               (is_first && header->first != found.last_event + 1)) {
      throw machine_error("the journal " + journal.native() + " is not that of generation " +
                          std::to_string(generation) + " from event " +
                          std::to_string(found.last_event + 1) + " on");
    } else if (header->first != found.last_event + 1) {
      found.cut_off.push_back(generation);
      continue;
    }
    JournalEnd end;
    try {
      end = read_events(files, journal, found.last_event + 1, reader);
    } catch (const DamageError& damage) {
      if (!salvage || !damage.intact.has_header) throw;
      end = damage.intact;
      found.notices.push_back(damage.what());
      found.is_salvaged = true;
    }
    // All journals but the first get their header with their first event.
    if (!end.has_header && generation == 1) {
      throw lacks_header(journal);
    }
    found.newest = generation;
    found.last_event += end.records;
    found.intact_bytes = end.intact_bytes;
    found.torn_bytes = end.torn_bytes;
    found.has_header = end.has_header;
    if (end.torn_bytes > 0 && end.has_header) {
      found.notices.push_back(
          "the last line of " + journal.native() + " was never written to its end: its " +
          std::to_string(end.torn_bytes) + " bytes do not count, and " + where(found));
    }
  }
  if (!found.cut_off.empty() && !found.is_salvaged) {
    found.notices.push_back(paths::journal(directory, found.cut_off.front()).native() +
                            " does not follow on what was on disk when the power failed: it does "
                            "not count, and " +
                            where(found));
  }
  return found;
}

}  // namespace tune
