// Making, opening and reading an experiment's directory, and appending to its journal.
// Knows events as numbered lines, not what they mean.
#include "tuner/store/experiment_store.h"

#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/store/journal.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Makes `directory` with its parents so that they outlive a power cut.
void make_durable_directories(FileSystem& files, const path& directory) {
  path there = directory.parent_path();
  while (there.has_relative_path() && !files.exists(there)) there = there.parent_path();
  files.make_directories(directory);
  bool is_new = true;
  for (path made = directory; made.has_relative_path(); made = made.parent_path()) {
    is_new = is_new && made != there;
    try {
      files.sync_directory(made.has_parent_path() ? made.parent_path() : path("."));
    } catch (const Error&) {
      // Those that were there are synced too, as who made them may not have lived to do it; but
      // some of them may be none of ours to open.
      if (is_new) throw;
    }
  }
}

std::string spec_text(const path& file, const Json& spec) {
  try {
    return spec.dump(2) + "\n";
  } catch (const Json::exception& error) {
    throw user_error("cannot write " + file.native() + ": " + error.what());
  }
}

int live_generation(FileSystem& files, const path& directory) {
  if (!ExperimentStore::exists(files, directory)) {
    throw user_error("no experiment in " + directory.native() + ": it has no file CURRENT");
  }
  const path file = paths::current(directory);
  const std::string text = files.read(file);
  int generation = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), generation);
  if (error != std::errc() || generation < 1 || text != std::to_string(generation) + "\n") {
    throw machine_error(file.native() + " is damaged: it does not hold the number of a generation" +
                        " (if there is one file journal-N.jsonl, N is that number)");
  }
  return generation;
}

/// Reads the journal of the live generation, and checks what a journal of events must hold.
JournalEnd read_events(FileSystem& files, const path& journal, int generation,
                       const std::function<void(Event&&)>& visit) {
  std::uint64_t expected = 1;
  const auto complain = [&](const JournalPlace& place, const std::string& what) {
    return machine_error("the journal " + journal.native() + " cannot be understood in line " +
                         std::to_string(place.line) + ", at byte " + std::to_string(place.byte) +
                         ": " + what);
  };
  const JournalEnd end =
      read_journal(files, journal, [&](std::string_view text, const JournalPlace& place) {
        Event event;
        try {
          event = parse_event(text);
        } catch (const std::invalid_argument& error) {
          throw complain(place, error.what());
        }
        if (event.number != expected) {
          throw complain(place, "it is event " + std::to_string(event.number) + ", expected was " +
                                    std::to_string(expected));
        }
        ++expected;
        visit(std::move(event));
      });
  if (end.header.generation != generation || end.header.first != 1) {
    throw machine_error("the journal " + journal.native() + " is not that of generation " +
                        std::to_string(generation) + " from its first event on");
  }
  return end;
}

std::string torn_notice(const path& journal, const JournalEnd& end) {
  return "the last line of " + journal.native() + " was never written to its end: its " +
         std::to_string(end.torn_bytes) + " bytes do not count, and event " +
         std::to_string(end.header.first + end.records - 1) + " is the last";
}

/// What a `replace` left aside when the machine went down in it. Only what the holder of the lock
/// writes: others may be making a lock just now.
void remove_leftovers(FileSystem& files, const path& directory, int generation) {
  const std::array written = {paths::spec(directory), paths::current(directory),
                              paths::journal(directory, generation)};
  for (const DirectoryEntry& entry : files.list(directory)) {
    for (const path& file : written) {
      if (entry.is_regular && entry.name.starts_with("." + file.filename().native() + ".tmp-")) {
        files.remove_file(directory / entry.name);
      }
    }
  }
}

}  // namespace

struct ExperimentStore::State {
  State(FileSystem& the_files, path the_directory, const LockOwner& self,
        std::vector<std::string>& notices)
      : files(the_files),
        directory(std::move(the_directory)),
        lock(files, paths::lock(directory), self, notices) {}

  FileSystem& files;
  path directory;
  DirectoryLock lock;
  std::unique_ptr<Journal> journal;
  std::string text;            // of the event being appended; keeps its memory
  std::uint64_t appended = 0;  // number of the last event in the batch
  std::uint64_t written = 0;
  StoreStatistics statistics;
};

ExperimentStore ExperimentStore::create(FileSystem& files, path directory, const Json& spec,
                                        const LockOwner& self) {
  const auto refuse_existing = [&] {
    if (exists(files, directory)) {
      throw user_error("there already is an experiment in " + directory.native() +
                       ": resume it, or choose another name");
    }
  };
  if (!directory.has_filename()) directory = directory.parent_path();  // a slash at its end
  refuse_existing();
  const std::string content = spec_text(paths::spec(directory), spec);
  make_durable_directories(files, directory);
  std::vector<std::string> notices;  // a dead creator's lock is nobody's concern
  auto state = std::make_unique<State>(files, directory, self, notices);
  refuse_existing();
  const path journal = paths::journal(directory, 1);
  try {
    remove_leftovers(files, directory, 1);
    files.replace(paths::spec(directory), content);
    create_journal(files, journal, {.generation = 1, .first = 1});
    state->journal = std::make_unique<Journal>(files, journal);
    files.replace(paths::current(directory), "1\n");
  } catch (...) {
    try {
      // In this order: without CURRENT the rest is no experiment.
      files.remove_file(paths::current(directory));
      files.remove_file(journal);
      files.remove_file(paths::spec(directory));
    } catch (const Error&) {
    }
    throw;
  }
  return ExperimentStore(std::move(state));
}

ExperimentStore ExperimentStore::open(FileSystem& files, path directory, const LockOwner& self,
                                      const std::function<void(Event&&)>& replay,
                                      std::vector<std::string>& notices) {
  live_generation(files, directory);  // before a lock is left in a directory that is none of ours
  auto state = std::make_unique<State>(files, directory, self, notices);
  const int generation = live_generation(files, directory);
  const path journal = paths::journal(directory, generation);
  const JournalEnd end = read_events(files, journal, generation, replay);
  remove_leftovers(files, directory, generation);
  remove_lock_leftovers(files, paths::lock(directory), self.host);
  if (end.torn_bytes > 0) {
    files.truncate(journal, end.intact_bytes);
    files.sync_file(journal);
    notices.push_back(torn_notice(journal, end));
  }
  state->journal = std::make_unique<Journal>(files, journal);
  state->appended = state->written = end.records;
  return ExperimentStore(std::move(state));
}

void ExperimentStore::read(FileSystem& files, const path& directory,
                           const std::function<void(Event&&)>& visit,
                           std::vector<std::string>& notices) {
  const int generation = live_generation(files, directory);
  const path journal = paths::journal(directory, generation);
  const JournalEnd end = read_events(files, journal, generation, visit);
  // While a driver writes, half a line is simply the end.
  if (end.torn_bytes > 0 && !driver(files, directory)) notices.push_back(torn_notice(journal, end));
}

bool ExperimentStore::exists(FileSystem& files, const path& directory) {
  return files.exists(paths::current(directory));
}

Json ExperimentStore::read_spec(FileSystem& files, const path& directory) {
  const path file = paths::spec(directory);
  try {
    return Json::parse(files.read(file));
  } catch (const Json::exception& error) {
    throw user_error("cannot understand " + file.native() + ": " + error.what());
  }
}

std::optional<LockOwner> ExperimentStore::driver(FileSystem& files, const path& directory) {
  std::optional<LockOwner> owner = read_lock(files, paths::lock(directory));
  if (owner && !is_running(*owner, this_process(0).host)) owner.reset();
  return owner;
}

ExperimentStore::ExperimentStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ExperimentStore::ExperimentStore(ExperimentStore&&) noexcept = default;
ExperimentStore& ExperimentStore::operator=(ExperimentStore&&) noexcept = default;
ExperimentStore::~ExperimentStore() = default;

void ExperimentStore::write_spec(const Json& spec) {
  const path file = paths::spec(state_->directory);
  state_->files.replace(file, spec_text(file, spec));
}

void ExperimentStore::append(const Event& event) {
  const Stopwatch watch;
  ensure(event.number == state_->appended + 1, "events are numbered without holes");
  state_->text.clear();
  append_json(state_->text, event);
  state_->journal->append(state_->text);
  ++state_->appended;
  state_->statistics.write_s += watch.seconds();
}

void ExperimentStore::write() {
  const Stopwatch watch;
  const std::uint64_t bytes = state_->journal->write();
  if (bytes == 0) return;
  StoreStatistics& statistics = state_->statistics;
  statistics.bytes += bytes;
  statistics.events += state_->appended - state_->written;
  ++statistics.writes;
  state_->written = state_->appended;
  statistics.write_s += watch.seconds();
}

void ExperimentStore::sync() { state_->journal->sync(); }

bool ExperimentStore::has_failed() const { return state_->journal->is_broken(); }
std::uint64_t ExperimentStore::written() const { return state_->written; }
const StoreStatistics& ExperimentStore::statistics() const { return state_->statistics; }

void ExperimentStore::count_sync(double seconds) {
  ++state_->statistics.syncs;
  state_->statistics.sync_s += seconds;
}

const path& ExperimentStore::directory() const { return state_->directory; }

}  // namespace tune
