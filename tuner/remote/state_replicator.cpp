// Uploads append-only files in parts that are merged as they grow (as the levels of a
// log-structured store), then a marker that names them.
#include "tuner/remote/state_replicator.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/checksum.h"
#include "tuner/disk/liveness.h"
#include "tuner/journal/snapshot.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr std::size_t kept_markers = 2;
constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();

std::string name_of(const path& file) { return file.filename().native(); }

std::string digits_of(std::string_view text) {
  const ChecksumDigits digits = checksum(text);
  return {digits.begin(), digits.end()};
}

}  // namespace

StateReplicator::StateReplicator(FileSystem& files, path directory, RemoteStore& store,
                                 UploadMemory& memory)
    : files_(files), directory_(std::move(directory)), store_(store), memory_(memory) {}

int StateReplicator::current_generation() const {
  const std::string text = files_.read(paths::current(directory_));
  int generation = 0;
  std::from_chars(text.data(), text.data() + text.size(), generation);
  return generation;
}

StateFile* StateReplicator::find(const std::string& name) {
  const auto found = std::find_if(next_.files.begin(), next_.files.end(),
                                  [&](const StateFile& file) { return file.name == name; });
  return found == next_.files.end() ? nullptr : &*found;
}

void StateReplicator::begin_session() {
  next_ = memory_.state().value_or(StateMarker{});
  const auto& identity = memory_.identity();
  next_.experiment = identity.experiment;
  next_.session = identity.session;
  next_.host = this_identity().host;
  base_ = newest_ = 0;  // which generation that was is soon found anew
  has_changed_ = true;  // a marker of this session says who goes on
  replaced_.clear();
  retired_.clear();
  to_remove_.clear();
  markers_.clear();
  // What is not of the last marker is an earlier driver's, which had no time to remove it.
  std::set<std::string> named;
  for (const StateFile& file : next_.files) {
    for (const StatePart& part : file.parts) named.insert(part.name);
  }
  const auto last = memory_.state();
  const std::string marker = last ? state_marker_name(last->session, last->number) : "";
  for (const auto& [name, bytes] : store_.list("state", false)) {
    if ("state/" + name == marker) {
      markers_.push_back(marker);
    } else if (!named.contains(name)) {
      to_remove_.push_back(name);
    }
  }
  for (StateFile& file : next_.files) {
    for (std::size_t i = 0; i < file.parts.size(); ++i) {
      const StatePart& part = file.parts[i];
      bool is_same = false;
      try {
        is_same = digits_of(read_range(file.name, part.begin, part.end)) == part.xxh3;
      } catch (const Error&) {
        // A journal that is gone here was replaced by a snapshot: what is up goes on from there.
        is_same = !files_.exists(directory_ / file.name);
      }
      if (is_same) continue;
      for (std::size_t j = i; j < file.parts.size(); ++j) replaced_.push_back(file.parts[j].name);
      file.parts.resize(i);
      break;
    }
  }
}

bool StateReplicator::wants_base() const {
  if (base_ == 0) return true;
  // The driver removes journals that snapshots have replaced, and does not wait.
  for (int generation = newest_; generation <= current_generation(); ++generation) {
    if (!files_.exists(paths::journal(directory_, generation))) return true;
  }
  return false;
}

/// Shapes what is to be up: the generation's own files, and what came before as history.
void StateReplicator::begin_base(int generation) {
  base_ = 0;
  std::vector<StateFile> before = std::move(next_.files);
  next_.files.clear();
  const auto keep = [&](const std::string& name) {
    const auto found = std::find_if(before.begin(), before.end(),
                                    [&](const StateFile& file) { return file.name == name; });
    if (found == before.end()) return;
    next_.files.push_back(std::move(*found));
    before.erase(found);
  };
  // Those that only ever grow go on where they were.
  keep(name_of(paths::history(directory_)));
  keep(name_of(paths::spec(directory_)));
  keep(name_of(paths::current(directory_)));
  keep(name_of(paths::snapshot(directory_, generation)));
  int trials_file = 0;
  if (generation > 1) {
    const Snapshot snapshot = read_snapshot(files_, paths::snapshot(directory_, generation));
    trials_file = snapshot.trials_file;
    if (trials_file > 0) {
      const std::string name = name_of(paths::trials(directory_, trials_file));
      keep(name);
      if (StateFile* const file = find(name); file && file->bytes() > snapshot.trials_bytes) {
        // Beyond what counts it may have been cut off and written anew.
        for (const StatePart& part : file->parts) replaced_.push_back(part.name);
        file->parts.clear();
      }
      extend(name, snapshot.trials_bytes);
    }
  }
  keep(name_of(paths::journal(directory_, generation - 1)));
  keep(name_of(paths::journal(directory_, generation)));
  for (const StateFile& file : before) {
    for (const StatePart& part : file.parts) replaced_.push_back(part.name);
  }
  const auto set_file = [this](const path& file) { set_whole(name_of(file), files_.read(file)); };
  set_file(paths::spec(directory_));
  if (generation > 1) {
    set_file(paths::snapshot(directory_, generation));
    const path previous = paths::journal(directory_, generation - 1);
    if (files_.exists(previous)) extend(name_of(previous), all_bytes);
  }
  set_whole(name_of(paths::current(directory_)), std::to_string(generation) + "\n");
  if (files_.exists(paths::history(directory_))) {
    extend(name_of(paths::history(directory_)), all_bytes);
  }
  base_ = newest_ = generation;
}

/// Of a file that is replaced as a whole.
void StateReplicator::set_whole(const std::string& name, const std::string& content) {
  StateFile* file = find(name);
  if (file == nullptr) {
    next_.files.push_back({name, {}});
    file = &next_.files.back();
  }
  if (file->parts.size() == 1 && file->parts[0].xxh3 == digits_of(content)) return;
  for (const StatePart& part : file->parts) replaced_.push_back(part.name);
  file->parts.clear();
  for (std::uint64_t begin = 0; begin < content.size(); begin += most_part_bytes) {
    put_part(*file, begin, std::string_view(content).substr(begin, most_part_bytes));
  }
  has_changed_ = true;
}

std::string StateReplicator::read_range(const std::string& name, std::uint64_t begin,
                                        std::uint64_t end) {
  struct Enough {};
  std::string text;
  text.reserve(end - begin);
  try {
    files_.read_pieces(
        directory_ / name,
        [&](std::string_view piece) {
          text += piece.substr(0, end - begin - text.size());
          if (text.size() == end - begin) throw Enough{};
        },
        begin);
  } catch (const Enough&) {
  }
  if (text.size() != end - begin) {
    throw machine_error((directory_ / name).native() + " has become shorter");
  }
  return text;
}

void StateReplicator::put_part(StateFile& file, std::uint64_t begin, std::string_view text) {
  const StatePart part{file.name + "." + std::to_string(begin) + "-" + random_name(), begin,
                       begin + text.size(), digits_of(text)};
  store_.put_text(text, "state/" + part.name);
  file.parts.push_back(part);
}

/// Of a file that grows: what is new up to the end of a line. Parts that are no larger than what
/// follows them are put up once more with it, so that there are few: as many as the logarithm of
/// their bytes, each of which goes up as often.
void StateReplicator::extend(const std::string& name, std::uint64_t limit) {
  StateFile* file = find(name);
  if (file == nullptr) {
    next_.files.push_back({name, {}});
    file = &next_.files.back();
  }
  const std::uint64_t old_end = file->bytes();
  const auto entry = files_.entry(directory_ / name);
  std::uint64_t end = std::min(limit, entry ? entry->bytes : 0);
  if (end < old_end) throw machine_error((directory_ / name).native() + " has become shorter");
  // A line that is being written is for the next time.
  constexpr std::uint64_t block = 1 << 16;
  while (end > old_end) {
    const std::uint64_t from = end - std::min(block, end - old_end);
    const std::string text = read_range(name, from, end);
    const std::size_t newline = text.rfind('\n');
    if (newline != text.npos) {
      end = from + newline + 1;
      break;
    }
    end = from;
  }
  if (end <= old_end) return;
  std::uint64_t begin = old_end;
  while (!file->parts.empty()) {
    const StatePart& last = file->parts.back();
    if (last.end - last.begin > end - begin || end - last.begin > most_part_bytes) break;
    begin = last.begin;
    replaced_.push_back(last.name);
    file->parts.pop_back();
  }
  for (; begin < end; begin += most_part_bytes) {
    put_part(*file, begin, read_range(name, begin, std::min(end, begin + most_part_bytes)));
  }
  has_changed_ = true;
}

bool StateReplicator::upload(bool rebase, Seconds unix_time) {
  if (rebase || wants_base()) begin_base(current_generation());
  // What has a header has a whole one before it: asked before anything is read.
  int last = newest_;
  for (;; ++last) {
    const auto next = files_.entry(paths::journal(directory_, last + 1));
    if (!next || next->bytes == 0) break;
  }
  for (int generation = base_; generation <= last; ++generation) {
    const path journal = paths::journal(directory_, generation);
    if (generation < newest_ && !files_.exists(journal)) continue;  // it is up
    extend(name_of(journal), all_bytes);
  }
  newest_ = last;
  if (!has_changed_) return false;
  check_sizes();
  ++next_.number;
  next_.time = unix_time;
  const std::string name = state_marker_name(next_.session, next_.number);
  store_.put_text(to_text(next_), name);
  memory_.set_state(next_);
  has_changed_ = false;
  markers_.push_back(name);
  to_remove_.insert(to_remove_.end(), retired_.begin(), retired_.end());
  retired_ = std::exchange(replaced_, {});
  return true;
}

/// A store that cuts objects off is found out before a marker relies on them.
void StateReplicator::check_sizes() {
  const auto there = store_.list("state", false);
  for (StateFile& file : next_.files) {
    for (std::size_t i = 0; i < file.parts.size(); ++i) {
      const StatePart part = file.parts[i];
      const auto found = there.find(part.name);
      if (found != there.end() && found->second == part.end - part.begin) continue;
      for (std::size_t j = i; j < file.parts.size(); ++j) replaced_.push_back(file.parts[j].name);
      file.parts.resize(i);
      base_ = 0;
      throw RemoteError(
          RemoteError::Kind::damaged,
          "state/" + part.name + " was put up with " + std::to_string(part.end - part.begin) +
              " bytes and " +
              (found == there.end() ? "is not there" : "has " + std::to_string(found->second)));
    }
  }
}

void StateReplicator::remove_replaced() {
  while (markers_.size() > kept_markers) {
    store_.remove(markers_.front());
    markers_.erase(markers_.begin());
  }
  while (!to_remove_.empty()) {
    store_.remove("state/" + to_remove_.back());
    to_remove_.pop_back();
  }
}

}  // namespace tune
