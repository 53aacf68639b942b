// Events say in which order it printed and wrote. Where one is missing, the time before the look
// that found a change counts, which may be too early and never too late.
#include "tuner/plain/save_tracker.h"

#include <algorithm>
#include <utility>

namespace tune {

namespace fs = std::filesystem;

namespace {

using What = FileEvent::What;

// Between looks at what changes; at what is only to be looked at; at what events tell of.
constexpr Seconds busy_period_s = 0.05;
constexpr Seconds blind_period_s = 0.25;
constexpr Seconds idle_period_s = 1;
/// So long nothing may change before what is there counts as whole.
constexpr Seconds quiet_s = 1;
/// The same of one file that was closed: hardly anybody opens it again to go on with it; and of a
/// directory where all has been written anew.
constexpr Seconds closed_quiet_s = 0.25;
/// A clock of a file system stands still for so long: another write might have the same time.
constexpr std::int64_t clock_step_ns = 20'000'000;

constexpr std::size_t most_writing = 1'000;

LogSizes earlier(const LogSizes& a, const LogSizes& b) {
  return {std::min(a.stdout_bytes, b.stdout_bytes), std::min(a.stderr_bytes, b.stderr_bytes)};
}

bool is_more(const LogSizes& a, const LogSizes& b) {
  return a.stdout_bytes > b.stdout_bytes || a.stderr_bytes > b.stderr_bytes;
}

bool lies_in(const std::string& file, const std::string& place) {
  return file.starts_with(place) && (file.size() == place.size() || file[place.size()] == '/');
}

}  // namespace

SaveTracker::SaveTracker(Launch launch, const std::vector<Other>& others,
                         std::set<std::string>& logs, Place& place, Seconds patience_s)
    : what_(std::move(launch.what)),
      begin_(launch.begin),
      logs_(logs),
      place_(place),
      patience_s_(patience_s),
      began_ns_(place.unix_ns()),
      sizes_(launch.seen),
      sizes_at_look_(launch.begin),
      looked_at_(place.now()) {
  const LogSizes now = place.log_sizes();
  has_printed_since_ = is_more(now, sizes_);
  unseen_ = unseen({begin_, began_ns_, now});
  for (const CheckpointFiles& known : what_.known) note_known(known);
  for (const Other& other : others) {
    if (writing_.size() >= most_writing) break;
    writing_[other.name] = {unseen_, other.is_old};
  }
  note_begun();
  note_changed({}, unseen_, false);
}

void SaveTracker::quiesce(Seconds time_to_begin_s) {
  constexpr double ns_per_s = 1e9;
  settles_at_ = place_.now() + time_to_begin_s;
  too_late_ns_ = place_.unix_ns() + static_cast<std::int64_t>(time_to_begin_s * ns_per_s);
  next_look_ = 0;
}

bool SaveTracker::take_settled() {
  const bool is_settled = settles_at_ <= place_.now() && !is_waited_for_;
  if (is_settled) settles_at_ = never_s;
  return is_settled;
}

/// What has changed logs alone is not known to be no save where nothing tells when one is complete.
SavesSeen SaveTracker::seen() {
  SavesSeen seen{.until = later(sizes_, sizes_at_look_), .told = told_};
  std::erase_if(begun_, [&](const fs::path& name) {
    const auto unit = units_.find(name);
    if (unit == units_.end() || !unit->second.begun) return true;
    if (unit->second.has_only_logs) return false;
    const LogSizes& printed = unit->second.begun->printed;
    const auto [of_kind, is_first] =
        seen.unfinished.try_emplace(kind_of_file(name.string()), printed);
    if (!is_first) of_kind->second = earlier(of_kind->second, printed);
    return false;
  });
  return seen;
}

std::optional<CheckpointFiles> SaveTracker::take_restless() {
  return std::exchange(restless_, std::nullopt);
}

/// Of what was written while nobody saw it: between which results is not known, if some were
/// printed meanwhile.
SaveTracker::Begun SaveTracker::unseen(Begun begun) {
  if (!is_more(begun.at_most, begun.printed)) return begun;
  begun.bursts = std::max(begun.bursts, 1);
  begun.is_late = true;
  return begun;
}

/// What was put back is written from its first change on, as what lies beside it is.
void SaveTracker::note_known(const CheckpointFiles& known) {
  units_[known.name].known = known.files;
  if (known.is_file) return;
  const auto now = place_.checkpoint(known.name);
  for (const FileVersion& file : known.files) {
    if (writing_.size() >= most_writing) return;
    const FileVersion* const found = now ? now->find(file.name) : nullptr;
    const bool is_old = found != nullptr && *found == file;
    writing_[known.name / file.name] = {unseen_, is_old};
  }
}

/// What it has written before it was watched is written anew by its next change.
void SaveTracker::note_begun() {
  for (const CheckpointFiles& files : place_.checkpoints()) {
    for (const FileVersion& file : files.files) {
      if (files.is_file || writing_.size() >= most_writing) break;
      writing_.try_emplace(files.name / file.name, Writing{unseen_, true});
    }
  }
}

std::vector<SavedFiles> SaveTracker::look(std::optional<bool> ended_well,
                                          const std::set<fs::path>& cut_off) {
  const LogSizes sizes = place_.log_sizes();
  const Seconds rest_s = place_.has_events() ? idle_period_s : blind_period_s;
  std::vector<SavedFiles> whole;
  if (place_.is_alive()) alive_at_ = place_.now();
  is_busy_ = is_waited_for_ = false;
  std::vector<CheckpointFiles> all = place_.checkpoints();
  std::set<fs::path> names;
  for (const CheckpointFiles& files : all) names.insert(files.name);
  // Before more events are taken: those may tell of what has come since.
  std::erase_if(units_, [&](const auto& unit) { return !names.contains(unit.first); });
  for (CheckpointFiles& files : all) {
    Unit& unit = units_[files.name];
    if (is_known(unit, files)) {
      unit.begun.reset();
      begun_.erase(files.name);
      unit.is_untold = false;
      unit.busy_since = never_s;
      continue;
    }
    if (!unit.begun) place_.catch_up(files.name);
    if (!unit.begun) {
      // Of this change no event tells: what earlier ones have told is not of it.
      unit.is_renamed = unit.is_closed = unit.is_complete_closed = false;
      unit.is_untold = true;
      const Begun begun{sizes_at_look_, files.changed_ns(), sizes};
      const bool is_late = place_.now() - looked_at_ > late_s + rest_s;
      note_begin(files.name, unit, is_late ? unseen(begun) : begun);
      unit.begun->is_by_look = !is_late && !place_.has_events();
    }
    if (files.files != unit.seen) {
      unit.seen = files.files;
      unit.seen_since = place_.now();
      // Perhaps another save, of which nothing tells but the times of its files: before these, all
      // may have been printed that is there by now.
      if (unit.begun->is_by_look) unit.begun->at_most = later(unit.begun->at_most, sizes);
    }
    const auto ended = cut_off.contains(files.name) ? std::optional(false) : ended_well;
    if (!is_whole(unit, files, ended) || !is_as_seen(files)) {
      note_half_written(unit, files);
      continue;
    }
    unit.busy_since = never_s;
    unit.is_untold = false;
    unit.known = unit.seen;
    const Begun begun = begun_at(files, *std::exchange(unit.begun, std::nullopt));
    begun_.erase(files.name);
    auto printed_before_first = this->printed_before_first(files, begun.ns);
    std::vector<LogSizes> writes;
    for (auto& [name, each] : std::exchange(unit.writes, {})) {
      if (each.size() > writes.size()) writes = std::move(each);
    }
    whole.push_back({std::move(files), begun.printed, begun.ns, begun.at_most, begun.bursts,
                     begun.is_late, begun.is_by_look, printed_before_first, std::move(writes)});
  }
  // By time, and not by name: step-10 comes before step-9.
  std::stable_sort(whole.begin(), whole.end(), [](const SavedFiles& a, const SavedFiles& b) {
    return a.files.changed_ns() < b.files.changed_ns();
  });
  sizes_at_look_ = sizes;
  told_ += whole.size();
  const Seconds now = place_.now();
  looked_at_ = now;
  next_look_ = now + (is_busy_ ? busy_period_s : rest_s);
  if (settles_at_ > now) next_look_ = std::min(next_look_, settles_at_);
  return whole;
}

void SaveTracker::note_half_written(Unit& unit, const CheckpointFiles& files) {
  const FileVersion* const complete = what_.complete.empty() ? nullptr : files.find(what_.complete);
  unit.has_only_logs = complete != nullptr && !unit.is_completed &&
                       !is_written_since(files, *complete, place_.is_alive());
  is_busy_ = true;
  is_waited_for_ = is_waited_for_ || unit.begun->ns <= too_late_ns_;
  unit.busy_since = std::min(unit.busy_since, place_.now());
  const bool is_restless = place_.now() - unit.busy_since > patience_s_;
  if (is_restless && !std::exchange(is_restless_, true)) restless_ = files;
}

/// What its program holds open from one save to the next does not make the saves half-written: of
/// such a log, each save has what was written to it by then.
bool SaveTracker::is_held_for_logs(const CheckpointFiles& files) {
  constexpr std::size_t most_logs = 100;
  const auto open = place_.being_written(files);
  if (open.empty()) return true;
  std::vector<FileWrites> closed;
  for (const FileVersion& file : files.files) {
    const auto written = writing_.find(files.name / file.name);
    if (written == writing_.end() || open.contains(file.name)) continue;
    const auto& [begun, is_closed, before, first] = written->second;
    if (!is_closed) continue;
    closed.push_back(
        {file.name, write_of(begun), before ? std::optional(write_of(*before)) : std::nullopt});
  }
  return std::all_of(open.begin(), open.end(), [&](const std::string& name) {
    if (name.empty()) return false;
    if (logs_.contains(kind_of_file(name))) return true;
    const auto opened = writing_.find(files.name / name);
    const bool is_log_too = opened != writing_.end() && !opened->second.is_closed &&
                            is_log(write_of(opened->second.begun), closed);
    if (is_log_too && logs_.size() < most_logs) logs_.insert(kind_of_file(name));
    return is_log_too;
  });
}

/// A program that overwrites its model in a directory faster than that rests would have no
/// checkpoint at all. All files that it writes each time are new and closed: so it is between two
/// saves.
bool SaveTracker::is_written_anew(const CheckpointFiles& files) const {
  std::vector<FileWrites> writes;
  for (const FileVersion& file : files.files) {
    if (logs_.contains(kind_of_file(file.name))) continue;
    const auto written = writing_.find(files.name / file.name);
    if (written == writing_.end() || !written->second.is_closed) return false;
    const auto& [begun, is_closed, before, first] = written->second;
    writes.push_back(
        {file.name, write_of(begun), before ? std::optional(write_of(*before)) : std::nullopt});
  }
  return is_full_round(writes);
}

/// Whether what lies in a directory may be of the save after that which `complete` has completed:
/// all that was changed later, but for logs, which were open before and still are.
bool SaveTracker::is_written_since(const CheckpointFiles& files, const FileVersion& complete,
                                   bool has_logs) const {
  return std::any_of(files.files.begin(), files.files.end(), [&](const FileVersion& file) {
    if (file.changed_ns <= complete.changed_ns) return false;
    const auto written = writing_.find(files.name / file.name);
    return !has_logs || written == writing_.end() || written->second.is_closed ||
           written->second.begun.ns > complete.changed_ns;
  });
}

/// Whether it is still as it was looked at, once all is read that was told of it until then: of two
/// saves that were not told apart the files would be those of the later one, and the begin that of
/// the earlier.
bool SaveTracker::is_as_seen(const CheckpointFiles& files) {
  place_.catch_up(files.name);
  const auto now = place_.checkpoint(files.name);
  return now && now->files == files.files;
}

/// Nothing of it was saved since it was whole last: what a log has more is no new checkpoint.
bool SaveTracker::is_known(const Unit& unit, const CheckpointFiles& files) const {
  if (logs_.empty() || files.is_file) return files.files == unit.known;
  const auto saved = [this](std::vector<FileVersion> all) {
    std::erase_if(
        all, [this](const FileVersion& file) { return logs_.contains(kind_of_file(file.name)); });
    return all;
  };
  return saved(files.files) == saved(unit.known);
}

WriteBegin SaveTracker::write_of(const Begun& begun) {
  return {begun.ns, begun.printed.stdout_bytes + begun.printed.stderr_bytes};
}

/// A directory that never rests is found after several saves: then what it has is of the last one.
/// What no event has told of, as in a directory that was made just before, was begun no sooner than
/// the first of all.
SaveTracker::Begun SaveTracker::begun_at(const CheckpointFiles& files, const Begun& first) const {
  if (files.is_file || !what_.complete.empty()) return first;
  std::vector<FileWrites> writes;
  std::vector<Begun> begun;
  for (const FileVersion& file : files.files) {
    const auto written = writing_.find(files.name / file.name);
    if (written == writing_.end()) {
      if (logs_.contains(kind_of_file(file.name))) continue;
      begun.push_back(first);
      writes.push_back({file.name, write_of(first), {}});
      continue;
    }
    if (!written->second.is_closed && logs_.contains(kind_of_file(file.name))) continue;
    const auto& before = written->second.before;
    begun.push_back(written->second.begun);
    writes.push_back({file.name, write_of(begun.back()),
                      before ? std::optional(write_of(*before)) : std::nullopt});
  }
  const auto last = first_of_last_save(writes, began_ns_);
  Begun since = last && begun[*last].ns > first.ns ? begun[*last] : first;
  // Of what was begun while nobody looked nothing tells which was first.
  for (const Begun& each : begun) {
    if (!each.is_late || each.ns < since.ns) continue;
    since.at_most = later(each.at_most, since.at_most);
    since = unseen(since);
  }
  return since;
}

/// Of all that are of the kinds which this save has written.
std::optional<LogSizes> SaveTracker::printed_before_first(const CheckpointFiles& files,
                                                          std::int64_t since_ns) const {
  const auto writing_of = [&](const FileVersion& file) {
    return writing_.find(files.is_file ? files.name : files.name / file.name);
  };
  std::set<std::string> kinds;
  for (const FileVersion& file : files.files) {
    const auto written = writing_of(file);
    const bool is_new = written != writing_.end() && written->second.begun.ns >= since_ns;
    if (is_new && !logs_.contains(kind_of_file(file.name))) kinds.insert(kind_of_file(file.name));
  }
  std::optional<LogSizes> least;
  for (const FileVersion& file : files.files) {
    const auto written = writing_of(file);
    if (written == writing_.end() || !kinds.contains(kind_of_file(file.name))) continue;
    const Writing& of = written->second;
    const Begun& first = of.first ? *of.first : of.begun;
    if (first.is_late) continue;
    least = least ? earlier(*least, first.printed) : first.printed;
  }
  return least;
}

/// Whether the file that completes it is written to its end. Of one that was not seen to be closed,
/// such as a link, nobody has it open, while its writer lives.
bool SaveTracker::has_closed(Unit& unit, const CheckpointFiles& files) {
  if (!unit.is_complete_closed) {
    const bool is_open = place_.being_written(files).contains(what_.complete);
    unit.is_complete_closed = !is_open && place_.is_alive();
  }
  return unit.is_complete_closed;
}

bool SaveTracker::is_whole(Unit& unit, const CheckpointFiles& files,
                           std::optional<bool> ended_well) {
  const bool needs_file = !what_.complete.empty() && !files.is_file;
  const FileVersion* const complete = needs_file ? files.find(what_.complete) : nullptr;
  if (needs_file && complete == nullptr) return false;
  if (ended_well == true) return true;
  const std::int64_t age_ns = place_.unix_ns() - files.changed_ns();
  if (!ended_well && age_ns >= 0 && age_ns < clock_step_ns) return false;
  if (files.is_file && unit.is_renamed) return true;
  const auto is_complete = [&](const FileVersion& file) { return file == *complete; };
  const bool is_new = needs_file && std::none_of(unit.known.begin(), unit.known.end(), is_complete);
  // Of a dead one no log is open any more.
  const bool has_logs = !ended_well;
  if (is_new && !is_written_since(files, *complete, has_logs) && has_closed(unit, files)) {
    return true;
  }
  const bool is_closed = files.is_file ? unit.is_closed : is_written_anew(files);
  const Seconds quiet = is_closed ? closed_quiet_s : quiet_s;
  // Rest counts while it lives: its death closes a file, too, in the middle of a save.
  // Its writer may write more and close it between the look and the search for a writer: that is
  // looked for once more then.
  return alive_at_ - unit.seen_since >= quiet && is_held_for_logs(files);
}

}  // namespace tune
