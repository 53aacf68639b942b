// Takes what has happened to the files of a launch, in its order: since when each of its
// checkpoints is being written.
#include <algorithm>
#include <utility>

#include "tuner/plain/save_tracker.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

using What = FileEvent::What;

}  // namespace

/// A save is of all that was printed by the events before it; where nothing was printed behind it,
/// the sizes that the logs have by now say how much that is.
void SaveTracker::take(const FileEvents& batch) {
  const bool may_have_printed_before = std::exchange(has_printed_since_, false);
  const auto is_print = [](const FileEvent& event) { return event.what == What::printed; };
  const auto behind_last =
      std::find_if(batch.events.rbegin(), batch.events.rend(), is_print).base();
  int bursts = may_have_printed_before ? 1 : 0;  // so far, and perhaps not in `sizes_`
  bool is_newer = false;                         // one of them is perhaps not in `batch.sizes`
  bool is_going_on = may_have_printed_before;    // nothing was saved since
  for (auto event = batch.events.begin(); event != batch.events.end(); ++event) {
    if (is_print(*event)) {
      if (!std::exchange(is_going_on, true)) ++bursts;
      is_newer =
          is_newer || static_cast<std::size_t>(event - batch.events.begin()) >= batch.first_read;
      continue;
    }
    is_going_on = false;
    const bool is_after_all = event >= behind_last && batch.sizes;
    Begun begun{is_after_all ? *batch.sizes : sizes_, place_.unix_ns()};
    begun.at_most = batch.later_sizes;
    begun.bursts = is_after_all ? (is_newer ? 1 : 0) : bursts;
    // What may be counted twice, in the sizes and as a burst, tells of no order.
    const bool is_unsure = is_after_all ? is_newer : may_have_printed_before;
    begun.is_late = batch.is_late || (is_unsure && is_more(begun.at_most, begun.printed));
    take(*event, begun);
  }
  if (batch.sizes) sizes_ = *batch.sizes;
  has_printed_since_ = is_newer && is_more(batch.later_sizes, sizes_);
}

/// What has been written within a directory before it was watched was begun after `printed`.
void SaveTracker::note_changed(const fs::path& within, const Begun& printed, bool is_moved) {
  for (const CheckpointFiles& files : place_.checkpoints()) {
    if (!within.empty() && !lies_in(files.name.string(), within.string())) continue;
    Unit& unit = units_[files.name];
    if (!unit.begun && files.files != unit.known) note_begin(files.name, unit, printed);
    const FileVersion* const complete =
        what_.complete.empty() ? nullptr : files.find(what_.complete);
    const bool is_known = complete != nullptr && std::find(unit.known.begin(), unit.known.end(),
                                                           *complete) != unit.known.end();
    const bool is_new = complete != nullptr && !is_known;
    unit.is_completed = unit.is_completed || is_new;
    unit.is_complete_closed = unit.is_complete_closed || (is_new && is_moved);
  }
}

/// Of whatever may be renamed to a checkpoint: since when it is written. Answers what had been
/// printed before the writing of what `event` is about.
SaveTracker::Writing SaveTracker::note_writing(const FileEvent& event, const fs::path& name,
                                               const Begun& printed) {
  const auto known = writing_.find(name);
  const bool is_known = known != writing_.end();
  const auto begun_before = is_known ? std::optional(known->second.begun) : std::nullopt;
  const auto begun_first = is_known && known->second.first ? known->second.first : begun_before;
  if (event.what == What::closed) {
    if (is_known) {
      known->second.is_closed = true;
    } else if (writing_.size() < most_writing) {
      // Nobody saw it begin: no sooner than the directory that it lies in was made, if that was
      // seen.
      Begun begun{begin_, began_ns_};
      for (fs::path above = event.directory; !above.empty(); above = above.parent_path()) {
        const auto made = writing_.find(above);
        if (made == writing_.end()) continue;
        begun = made->second.begun;
        break;
      }
      writing_[name] = {begun, true};
    }
  } else if (event.what == What::deleted) {
    writing_.erase(name);
  } else if (event.what == What::moved_from) {
    if (moving_.size() >= most_writing) moving_.clear();
    moving_[event.cookie] = is_known ? known->second : Writing{{begin_, place_.unix_ns()}, false};
    writing_.erase(name);
  } else if (event.what == What::moved_to) {
    const auto moved = moving_.extract(event.cookie);
    // What was written elsewhere was begun at a time that nobody has seen.
    const Writing written = moved.empty() ? Writing{{begin_, printed.ns}, false} : moved.mapped();
    Begun since = written.begun;
    since.printed = earlier(printed.printed, since.printed);
    const Writing named = {since, written.is_closed, begun_before, begun_first};
    if (is_known || writing_.size() < most_writing) writing_[name] = named;
    return named;
  } else if (event.what == What::created || (is_known && known->second.is_closed)) {
    if (is_known || writing_.size() < most_writing) {
      writing_[name] = {printed, false, begun_before, begun_first};
    }
  }
  return {printed, false};
}

void SaveTracker::note_write(Unit& unit, const FileEvent& event, const fs::path& name,
                             const LogSizes& printed) {
  constexpr std::size_t most_files = 16, most_writes = 16;
  if (event.what != What::closed && event.what != What::moved_to) return;
  const auto known = unit.writes.find(name.string());
  if (known == unit.writes.end() && unit.writes.size() >= most_files) return;
  std::vector<LogSizes>& writes = unit.writes[name.string()];
  if (writes.size() < most_writes) writes.push_back(printed);
}

/// What has happened to one name in a tree, after `printed` at least.
void SaveTracker::take(const FileEvent& event, const Begun& printed) {
  const fs::path name = event.directory / event.name;
  next_look_ = std::min(next_look_, place_.now() + busy_period_s);
  const auto open = writing_.find(name);
  const bool is_going_on =
      event.what == What::modified && open != writing_.end() && !open->second.is_closed;
  const Writing begun = note_writing(event, name, printed);
  if (event.is_new() || event.what == What::modified) {
    // The directories that it lies in are written with it.
    for (fs::path above = event.directory; !above.empty(); above = above.parent_path()) {
      const auto found = writing_.find(above);
      if (found != writing_.end() && found->second.is_closed) found->second = {printed, false};
    }
  }
  const bool is_new = event.is_new();
  if (event.is_directory && is_new) {
    place_.watch(name);
    // Whether it was written once or several times nobody has seen, if that is long ago.
    note_changed(name, printed.is_late ? unseen(begun.begun) : begun.begun,
                 event.what == What::moved_to);
  }
  const auto checkpoint = checkpoint_of(what_.pattern, name);
  if (!checkpoint) return;
  Unit& unit = units_[*checkpoint];
  unit.has_only_logs = unit.has_only_logs && is_going_on;
  note_write(unit, event, name, printed.printed);
  if (*checkpoint == name) {
    // A file that gets its name, or is written anew, has nothing of what was there before.
    if (event.what == What::closed) {
      unit.is_closed = true;
      return;
    }
    const bool is_moved = event.what == What::moved_to;
    unit.is_renamed = is_moved && begun.is_closed;
    if (is_moved || std::exchange(unit.is_closed, false)) unit.begun.reset();
    if (event.what == What::deleted) {
      unit.begun.reset();  // what gets its name next is another save
      return;
    }
  } else if (event.what != What::deleted && name == *checkpoint / what_.complete) {
    unit.is_completed = true;
    unit.is_complete_closed = event.what == What::closed ? place_.is_alive() : begun.is_closed;
  } else if (event.what != What::closed && std::exchange(unit.is_completed, false)) {
    unit.begun.reset();  // another save
  }
  if (std::exchange(unit.is_untold, false) || !unit.begun) {
    note_begin(*checkpoint, unit, begun.begun);
  }
}

void SaveTracker::note_begin(const fs::path& name, Unit& unit, const Begun& begun) {
  unit.begun = begun;
  unit.has_only_logs = false;
  begun_.insert(name);
}

}  // namespace tune
