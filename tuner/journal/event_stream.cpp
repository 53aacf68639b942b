// Follows one journal, then the next; what has been removed meanwhile is in the history.
#include "tuner/journal/event_stream.h"

#include <limits>
#include <map>
#include <string>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/journal/generations.h"
#include "tuner/journal/history.h"
#include "tuner/journal/journal.h"
#include "tuner/journal/snapshot.h"
#include "tuner/model/paths.h"

namespace tune {

using std::filesystem::path;

EventStream::EventStream(FileSystem& files, path directory, std::uint64_t next)
    : files_(files), directory_(std::move(directory)), next_(next) {}

void EventStream::read(const Visit& visit) {
  for (;;) {
    if (!position_ && !find_journal(visit)) return require_newest();
    try {
      read_journal_on(visit);
    } catch (const DamageError&) {
      throw;
    } catch (const Error&) {
      // A driver may have removed it just now: its lines are in the history then.
      if (files_.exists(paths::journal(directory_, position_->generation))) throw;
      position_.reset();
      continue;
    }
    if (!next_journal(visit)) return require_newest();
  }
}

/// Error (machine) if the journal in force is gone, or is the first one and has no header: that
/// nothing is there is not that nothing has happened.
void EventStream::require_newest() {
  for (int current = 0;;) {
    const int before = std::exchange(current, current_generation(files_, directory_));
    if (position_ && position_->generation >= current) return;
    try {
      if (read_journal_header(files_, paths::journal(directory_, current)) || current > 1) return;
      throw lacks_header(paths::journal(directory_, current));
    } catch (const Error&) {
      if (before == current) throw;  // else the driver may have gone on to the next one just now
    }
  }
}

/// Finds the journal that has the next event, or will have it, and gives what comes before it from
/// the history. Answers false if there is none.
bool EventStream::find_journal(const Visit& visit) {
  // Says what is the matter if this is no experiment.
  const int current = current_generation(files_, directory_);
  std::map<std::uint64_t, int> journals;  // by their first events; of several the newest
  for (const DirectoryEntry& entry : files_.list(directory_)) {
    const auto generation = paths::parse_journal(entry.name);
    // The driver may be about to put one more in force; what comes after that is not its own.
    if (!entry.is_regular || !generation || *generation > current + 1) continue;
    std::optional<JournalHeader> header;
    try {
      header = read_journal_header(files_, directory_ / entry.name);
    } catch (const Error&) {
      // A driver may have removed it just now: its lines are in the history then.
      if (files_.exists(directory_ / entry.name)) throw;
      continue;
    }
    if (!header) continue;
    int& newest = journals[header->first];
    newest = std::max(newest, *generation);
  }
  if (journals.empty()) {
    read_history(visit, std::numeric_limits<std::uint64_t>::max());
    const path snapshot = paths::snapshot(directory_, current);
    const std::uint64_t end =
        files_.exists(snapshot) ? read_snapshot(files_, snapshot).event + 1 : 0;
    if (next_ < end) {
      missing_ += end - next_;
      next_ = end;
    }
    return false;
  }
  auto found = journals.upper_bound(next_);
  if (found == journals.begin()) {
    const std::uint64_t end = found->first;
    read_history(visit, end);
    if (next_ < end) {
      missing_ += end - next_;
      next_ = end;
    }
  } else {
    --found;
  }
  position_ = Position{found->second, 0};
  return true;
}

void EventStream::read_history(const Visit& visit, std::uint64_t end) {
  const path file = paths::history(directory_);
  if (!files_.exists(file)) return;
  for_each_line(files_, file, [&](std::string_view line) {
    const auto text = journal_line_text(line);
    if (text) refuse_newer_history(file, *text);
    const auto number = text ? event_number(*text) : std::nullopt;
    if (!number) return true;  // the header, or damaged
    if (*number >= end) return false;
    take(*text, *number, visit);
    return true;
  });
}

void EventStream::read_journal_on(const Visit& visit) {
  const path file = paths::journal(directory_, position_->generation);
  const auto entry = files_.entry(file);
  // One that is shorter was cut at a resume: what is written to it since has numbers of its own.
  if (entry && entry->bytes < position_->bytes) position_->bytes = 0;
  std::uint64_t bad_bytes = 0;  // of a line that is damaged, unless others follow: then it is torn
  for_each_line(
      files_, file,
      [&](std::string_view line) {
        if (bad_bytes > 0) {
          throw DamageError(machine_error("the journal " + file.native() +
                                          " is damaged after event " + std::to_string(next_ - 1) +
                                          ", at byte " + std::to_string(position_->bytes)),
                            {});
        }
        const auto text = journal_line_text(line);
        if (!text) {
          bad_bytes = line.size() + 1;
          return true;
        }
        if (const auto number = event_number(*text)) take(*text, *number, visit);
        position_->bytes += line.size() + 1;
        return true;
      },
      position_->bytes);
}

/// Gives it unless it was given already.
void EventStream::take(std::string_view text, std::uint64_t number, const Visit& visit) {
  if (number < next_) return;
  missing_ += number - next_;
  next_ = number + 1;
  visit(text);
}

/// Goes on to the next journal if that begins where this one has ended. It is begun when this one
/// is written to its end.
bool EventStream::next_journal(const Visit& visit) {
  const path file = paths::journal(directory_, position_->generation + 1);
  if (!files_.exists(file)) return false;
  const auto header = read_journal_header(files_, file);
  if (!header) return false;
  if (header->first > next_) {
    // Once it is in force, what this one does not have was cut off or damaged.
    if (current_generation(files_, directory_) <= position_->generation) return false;
    read_journal_on(visit);  // what was written since it was read last
    if (header->first > next_) {
      missing_ += header->first - next_;
      next_ = header->first;
    }
  }
  position_ = Position{position_->generation + 1, 0};
  return true;
}

}  // namespace tune
