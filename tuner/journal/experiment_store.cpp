// Making, opening and reading an experiment's directory, and appending to its journal.
// Knows events as numbered lines, not what they mean.
#include "tuner/journal/experiment_store.h"

#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/journal/history.h"
#include "tuner/journal/snapshot.h"
#include "tuner/model/paths.h"

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

/// Read as JSON it takes several times its bytes.
constexpr std::size_t most_spec_bytes = std::size_t{256} << 20;

std::string spec_text(const path& file, const Json& spec) {
  std::string text;
  try {
    text = spec.dump(2) + "\n";
  } catch (const Json::exception& error) {
    throw user_error("cannot write " + file.native() + ": " + error.what());
  }
  if (text.size() <= most_spec_bytes) return text;
  throw user_error("cannot write " + file.native() + ": the spec has " +
                   std::to_string(text.size()) + " bytes, and may have " +
                   std::to_string(most_spec_bytes));
}

/// Puts the journals that nobody has to read any more into the history. Answers those that could
/// not be, which have to stay.
std::set<int> keep_history(FileSystem& files, const path& directory, int oldest,
                           HistoryFile& history, std::vector<std::string>& notices) {
  std::set<int> journals;
  for (const DirectoryEntry& entry : files.list(directory)) {
    const auto journal = paths::parse_journal(entry.name);
    if (entry.is_regular && journal && *journal < oldest) journals.insert(*journal);
  }
  try {
    while (!journals.empty()) {
      history.keep(paths::journal(directory, *journals.begin()));
      journals.erase(journals.begin());
    }
  } catch (const Error& error) {
    notices.push_back("older journals stay, as they could not be added to the history: " +
                      std::string(error.what()));
  }
  return journals;
}

/// What crashes have left: files written aside, generations that were never put in force or should
/// have been removed, but for the journals `to_keep`. Only what the holder of the lock writes:
/// others may be making a lock just now. Answers the numbers of the trials' files that stay.
std::set<int> remove_leftovers(FileSystem& files, const path& directory, const Generations& found,
                               const std::set<int>& trials_in_use, const std::set<int>& to_keep) {
  std::set<int> trials_files;
  for (const DirectoryEntry& entry : files.list(directory)) {
    if (!entry.is_regular) continue;
    const std::string& name = entry.name;
    const bool is_aside = paths::is_written_aside(name);
    const auto journal = paths::parse_journal(name);
    const auto snapshot = paths::parse_snapshot(name);
    const auto trials = paths::parse_trials(name);
    const bool is_old = (journal && *journal < found.base && !to_keep.contains(*journal)) ||
                        (snapshot && *snapshot < found.base);
    const bool never_in_force = snapshot && *snapshot > found.current;
    const bool is_unused = trials && !trials_in_use.contains(*trials);
    if (is_aside || is_old || never_in_force || is_unused) {
      files.remove_file(directory / name);
    } else if (trials) {
      trials_files.insert(*trials);
    }
  }
  return trials_files;
}

/// What a dying driver leaves that was making an experiment may be written over, and nothing else.
void refuse_to_write_over(FileSystem& files, const path& directory) {
  const auto refuse = [&](const std::string& what) {
    throw user_error(directory.native() + " has no file CURRENT, and so is no experiment, but " +
                     what + ": move that away, or choose another name");
  };
  if (has_experiments_files(files, directory)) {
    refuse(
        "it has files of one, which a new one would write over (tune resume says how to mend it)");
  }
  const path spec = paths::spec(directory);
  if (!files.exists(spec)) return;
  const Json content = parse_shallow(files.read(spec));
  if (!content.is_object() || !content.contains("param_space")) {
    refuse("its experiment.json is none of tune's");
  }
}

/// A free name for what must not be read again, which says so.
path damaged_name(FileSystem& files, const path& file) {
  for (int i = 1;; ++i) {
    path aside = file.native() + ".damaged-" + std::to_string(i);
    if (!files.exists(aside)) return aside;
  }
}

/// Cuts `file` to its first `bytes` and keeps the rest beside it.
void salvage_rest(FileSystem& files, const path& file, std::uint64_t bytes,
                  std::vector<std::string>& notices) {
  const std::string content = files.read(file);
  const path rest = damaged_name(files, file);
  files.replace(rest, std::string_view(content).substr(bytes));
  files.truncate(file, bytes);
  files.sync_file(file);
  notices.push_back("the " + std::to_string(content.size() - bytes) + " bytes of " + file.native() +
                    " from there on no longer count; they are kept in " + rest.native());
}

}  // namespace

struct ExperimentStore::State {
  State(FileSystem& the_files, path the_directory, const LockOwner& self,
        std::vector<std::string>& notices, LeaseWatch* watch)
      : files(the_files),
        directory(std::move(the_directory)),
        lock(files, paths::lock(directory), self, notices, watch),
        trials(files, directory),
        history(files, directory) {}

  void open_journal(const path& file) {
    journal = std::make_unique<Journal>(files, file);
    has_place = files.exists(file);
  }
  /// Opens the journal that was found.
  void begin_journal(const path& file) {
    open_journal(file);
    if (has_header) return;
    journal->append(journal_header({.generation = generation, .first = appended + 1}));
  }

  FileSystem& files;
  path directory;
  DirectoryLock lock;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Journal> finished;  // the one before, while it may not be on disk
  int generation = 1;                 // of `journal`
  std::string text;                   // of the event being appended; keeps its memory
  std::uint64_t appended = 0;         // number of the last event in the batch
  std::uint64_t closed = 0;           // of the last one in the batch that is being written
  std::uint64_t closed_bytes = 0;     // of that batch; of whoever writes it, until it is written
  std::uint64_t written = 0;
  std::uint64_t opened_bytes = 0;  // of the journal that was found
  bool has_header = true;          // that one
  bool has_place = false;          // nothing has in a simulation
  StateCost cost;

  // Of `publish`.
  TrialsFile trials;
  HistoryFile history;
  int current = 1;             // what CURRENT says
  int oldest = 1;              // generation of which there may be files
  int trials_of_current = 0;   // the trials' file that the snapshot in force needs
  std::set<int> trials_files;  // those that are there
};

ExperimentStore ExperimentStore::create(FileSystem& files, path directory, const Json& spec,
                                        const LockOwner& self, LeaseWatch* watch) {
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
  auto state = std::make_unique<State>(files, directory, self, notices, watch);
  refuse_existing();
  refuse_to_write_over(files, directory);
  const path journal = paths::journal(directory, 1);
  try {
    remove_leftovers(files, directory, {}, {}, {});
    files.replace(paths::spec(directory), content);
    create_journal(files, journal, {.generation = 1, .first = 1});
    state->open_journal(journal);
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
                                      StateReader& reader, std::vector<std::string>& notices,
                                      const std::function<void()>& before_salvage,
                                      LeaseWatch* watch) {
  current_generation(files,
                     directory);  // before a lock is left in a directory that is none of ours
  auto state = std::make_unique<State>(files, directory, self, notices, watch);
  const Generations found =
      read_generations(files, directory, state->trials, reader, before_salvage != nullptr);
  if (found.is_salvaged) before_salvage();
  notices.insert(notices.end(), found.notices.begin(), found.notices.end());
  const path journal = paths::journal(directory, found.newest);
  for (const int generation : found.cut_off) {
    const path file = paths::journal(directory, generation);
    const path aside = damaged_name(files, file);
    files.rename(file, aside);
    notices.push_back("what does not count is kept in " + aside.native());
  }
  if (found.is_salvaged) {
    salvage_rest(files, journal, found.intact_bytes, notices);
  }
  if (found.torn_bytes > 0) {
    files.truncate(journal, found.intact_bytes);
    files.sync_file(journal);
  }
  // A process that died may have left them to the kernel alone, and nobody else syncs them.
  for (int generation = found.base; generation < found.newest; ++generation) {
    files.sync_file(paths::journal(directory, generation));
  }
  // The snapshot before the one in force stays, in case that one gets damaged.
  Generations kept = found;
  std::set<int> trials_in_use = {state->trials.number()};
  for (int generation = found.base - 1; generation >= 1; --generation) {
    const path file = paths::snapshot(directory, generation);
    const bool is_first = generation == 1 && files.exists(paths::journal(directory, 1));
    if (!files.exists(file) && !is_first) continue;
    kept.base = generation;
    try {
      if (!is_first) trials_in_use.insert(read_snapshot(files, file).trials_file);
    } catch (const Error&) {
      kept.base = found.base;
    }
    break;
  }
  remove_lock_leftovers(files, paths::lock(directory), self);
  const auto to_keep = keep_history(files, directory, kept.base, state->history, notices);
  state->trials_files = remove_leftovers(files, directory, kept, trials_in_use, to_keep);
  state->generation = found.newest;
  state->current = found.base;
  state->oldest = to_keep.empty() ? kept.base : *to_keep.begin();
  state->trials_of_current = state->trials.number();
  state->appended = state->written = found.last_event;
  state->opened_bytes = found.intact_bytes;
  state->has_header = found.has_header;
  state->begin_journal(journal);
  const bool may_have_rival = state->lock.is_from_unseen();
  ExperimentStore store(std::move(state));
  if (may_have_rival) store.fence();
  return store;
}

void ExperimentStore::read(FileSystem& files, const path& directory, StateReader& reader,
                           std::vector<std::string>& notices) {
  constexpr int patience = 5;
  for (int attempt = 1;; ++attempt) {
    const int before = current_generation(files, directory);
    std::optional<Generations> found;
    try {
      TrialsFile trials(files, directory);
      found = read_generations(files, directory, trials, reader, false);
    } catch (const Error&) {
      // A driver may have removed what a new snapshot replaces.
      if (attempt == patience || current_generation(files, directory) == before) throw;
      continue;
    }
    // While a driver writes, half a line is simply the end, or was when it was read.
    const bool is_driven = driver(files, directory).has_value();
    if (is_driven && !found->cut_off.empty() && attempt < patience) continue;
    if (!is_driven) notices.insert(notices.end(), found->notices.begin(), found->notices.end());
    return;
  }
}

bool ExperimentStore::exists(FileSystem& files, const path& directory) {
  return files.exists(paths::current(directory));
}

Json ExperimentStore::read_spec(FileSystem& files, const path& directory) {
  const path file = paths::spec(directory);
  const std::string text = files.read(file);
  if (text.size() > most_spec_bytes || levels_of(text) > most_file_levels) {
    throw user_error("cannot understand " + file.native() +
                     ": it is longer, or nested deeper, than what a run writes there");
  }
  try {
    Json spec = Json::parse(text);
    if (spec.is_object()) return spec;
  } catch (const Json::exception& error) {
    throw user_error("cannot understand " + file.native() + ": " + error.what());
  }
  throw user_error("cannot understand " + file.native() + ": it is no JSON object");
}

std::optional<Json> ExperimentStore::read_snapshot_state(FileSystem& files, const path& directory) {
  const path file = paths::snapshot(directory, current_generation(files, directory));
  if (!files.exists(file)) return std::nullopt;
  try {
    return read_snapshot(files, file).state;
  } catch (const Error& error) {
    if (error.fault() == Fault::user) throw;
    return std::nullopt;
  }
}

std::optional<Driver> ExperimentStore::driver(FileSystem& files, const path& directory) {
  return find_driver(files, paths::lock(directory));
}

ExperimentStore::ExperimentStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ExperimentStore::ExperimentStore(ExperimentStore&&) noexcept = default;
ExperimentStore& ExperimentStore::operator=(ExperimentStore&&) noexcept = default;
ExperimentStore::~ExperimentStore() = default;

void ExperimentStore::fence() {
  State& state = *state_;
  ensure(state.written == state.appended && state.finished == nullptr && state.closed == 0,
         "an experiment is fenced before anything is written");
  const path file = paths::journal(state.directory, state.generation);
  const std::string content = state.files.read(file);
  state.lock.confirm();
  state.files.replace(file, std::string_view(content).substr(0, state.opened_bytes));
  state.begin_journal(file);
}

void ExperimentStore::refuse_if_lost() const { state_->lock.refuse_if_lost(); }
bool ExperimentStore::must_renew() const { return state_->lock.is_old(); }

void ExperimentStore::write_spec(const Json& spec) {
  state_->lock.confirm();
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
  state_->cost.write_s += watch.seconds();
}

void ExperimentStore::write() {
  const Stopwatch watch;
  close_batch();
  write_closed();
  finish_write();
  state_->cost.write_s += watch.seconds();
}

void ExperimentStore::close_batch() {
  state_->journal->close_batch();
  state_->closed = state_->appended;
}

void ExperimentStore::write_closed() {
  state_->lock.require();
  state_->closed_bytes = state_->journal->write_closed();
}

void ExperimentStore::finish_write() {
  const std::uint64_t bytes = std::exchange(state_->closed_bytes, 0);
  if (bytes == 0) return;
  StateCost& cost = state_->cost;
  cost.bytes += bytes;
  cost.events += state_->closed - state_->written;
  ++cost.writes;
  state_->written = state_->closed;
}

void ExperimentStore::sync() {
  // In this order: an event never outlives one before it.
  if (state_->finished != nullptr) state_->finished->sync();
  state_->journal->sync();
  state_->lock.confirm();
}

std::unique_ptr<Journal> ExperimentStore::make_next_journal() {
  state_->lock.confirm();
  const path file = paths::journal(state_->directory, state_->generation + 1);
  auto journal = std::make_unique<Journal>(state_->files, file);
  state_->files.sync_directory(state_->directory);
  return journal;
}

int ExperimentStore::start_generation(std::unique_ptr<Journal> next) {
  ensure(state_->written == state_->appended && state_->finished == nullptr,
         "a generation starts with nothing unwritten and after the one before is finished");
  state_->finished = std::exchange(state_->journal, std::move(next));
  ++state_->generation;
  state_->journal->append(
      journal_header({.generation = state_->generation, .first = state_->appended + 1}));
  return state_->generation;
}

void ExperimentStore::finish_generation() { state_->finished.reset(); }

std::uint64_t ExperimentStore::add_trials(const TrialLines& lines) {
  State& state = *state_;
  state.lock.confirm();
  const std::uint64_t written_before = state.trials.written_bytes();
  state.trials.append(lines);
  state.trials_files.insert(state.trials.number());
  return state.trials.written_bytes() - written_before;
}

std::uint64_t ExperimentStore::publish(const SnapshotParts& parts) {
  State& state = *state_;
  const std::uint64_t trials_bytes = add_trials(parts.trials);
  state.lock.confirm();
  const std::uint64_t bytes =
      write_snapshot(state.files, paths::snapshot(state.directory, parts.generation),
                     {.generation = parts.generation,
                      .event = parts.event,
                      .trials_file = state.trials.number(),
                      .trials_bytes = state.trials.bytes(),
                      .state = parts.state});
  state.lock.confirm();
  state.files.replace(paths::current(state.directory), std::to_string(parts.generation) + "\n");

  // From here on nothing can be lost any more; what cannot be removed now is at the next opening.
  const int before = std::exchange(state.current, parts.generation);
  const int trials_before = std::exchange(state.trials_of_current, state.trials.number());
  try {
    for (; state.oldest < before; ++state.oldest) {
      state.history.keep(paths::journal(state.directory, state.oldest));
      state.files.remove_file(paths::snapshot(state.directory, state.oldest));
      state.files.remove_file(paths::journal(state.directory, state.oldest));
    }
    std::erase_if(state.trials_files, [&](int number) {
      if (number == trials_before || number == state.trials_of_current) return false;
      state.files.remove_file(paths::trials(state.directory, number));
      return true;
    });
  } catch (const Error&) {
  }
  return bytes + trials_bytes;
}

void ExperimentStore::require_place() const {
  const path journal = paths::journal(state_->directory, state_->generation);
  if (!state_->has_place || state_->files.exists(journal)) return;
  throw machine_error(
      "cannot keep " + journal.native() +
      ": it was removed, moved or replaced while it was being written; put it back, or "
      "restore it from a backup");
}

bool ExperimentStore::has_failed() const {
  return state_->lock.is_lost() || state_->journal->is_broken() ||
         (state_->finished != nullptr && state_->finished->is_broken());
}
std::uint64_t ExperimentStore::written() const { return state_->written; }
const StateCost& ExperimentStore::cost() const { return state_->cost; }
StateCost& ExperimentStore::cost() { return state_->cost; }

const path& ExperimentStore::directory() const { return state_->directory; }

}  // namespace tune
