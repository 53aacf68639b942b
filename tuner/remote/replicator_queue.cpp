// What is to go up, to come back and to be removed: told by the loop, taken by the thread.
#include <limits>
#include <utility>

#include "tuner/remote/replicator.h"

namespace tune {

void Replicator::begin(const std::vector<Known>& known) {
  std::set<CheckpointRef> all;
  for (const Known& one : known) {
    if (one.evicted_to.empty()) continue;
    const std::lock_guard lock(mutex_);
    shared_.evicted[one.checkpoint] = one.evicted_to;
    shared_.up[one.checkpoint] = one.evicted_to;
  }
  for (const Known& one : known) {
    all.insert(one.checkpoint);
    expect(one.checkpoint, one.is_best);
    committed(one.checkpoint);
  }
  const std::lock_guard lock(mutex_);
  const bool keeps_all = options_.config.checkpoints == RemoteConfig::Checkpoints::all;
  for (const auto& [checkpoint, directory] : shared_.up) {
    const bool is_known = all.contains(checkpoint);
    if (!is_known && !keeps_all) shared_.removals.push_back(directory);
  }
  std::erase_if(shared_.up, [&](const auto& each) { return !all.contains(each.first); });
  // What an earlier driver did not come to evict, or under another number.
  for (const Known& one : known) {
    auto& settled = shared_.news.settled;
    const TrialId trial = one.checkpoint.trial;
    if (keep_local() && (settled.empty() || settled.back() != trial)) settled.push_back(trial);
  }
  shared_.has_begun = true;
  changed_.notify_all();
}

void Replicator::expect(CheckpointRef checkpoint, bool is_best) {
  using Which = RemoteConfig::Checkpoints;
  const Which which = options_.config.checkpoints;
  if (which == Which::none || (which == Which::best && !is_best)) return;
  const std::lock_guard lock(mutex_);
  if (!shared_.up.contains(checkpoint)) shared_.expected.insert(checkpoint);
}

void Replicator::committed(CheckpointRef checkpoint) {
  const std::lock_guard lock(mutex_);
  if (shared_.expected.erase(checkpoint) == 0) return;
  if (options_.config.checkpoints == RemoteConfig::Checkpoints::best) {
    // The best until now, which is not wanted any more: were it put up later, it would replace
    // this.
    std::erase_if(shared_.queue,
                  [&](const CheckpointRef& other) { return other.trial == checkpoint.trial; });
  }
  shared_.queue.insert(checkpoint);
  changed_.notify_all();
}

void Replicator::dropped(TrialId trial, const std::vector<int>& indices) {
  const bool keeps_all = options_.config.checkpoints == RemoteConfig::Checkpoints::all;
  const std::lock_guard lock(mutex_);
  for (const int index : indices) {
    const CheckpointRef checkpoint{trial, index};
    shared_.expected.erase(checkpoint);
    shared_.queue.erase(checkpoint);
    shared_.unfit.erase(checkpoint);
    const auto up = shared_.up.find(checkpoint);
    if (up == shared_.up.end()) continue;
    if (!keeps_all) shared_.removals.push_back(up->second);
    shared_.up.erase(up);
  }
  changed_.notify_all();
}

bool Replicator::needs(CheckpointRef checkpoint) const {
  const std::lock_guard lock(mutex_);
  const bool waits = shared_.expected.contains(checkpoint) || shared_.queue.contains(checkpoint);
  if (waits && options_.config.checkpoints == RemoteConfig::Checkpoints::all) return true;
  // Of a trial that saves faster than that goes up, there would never be one.
  if (shared_.under_way == checkpoint && waits) return true;
  const auto up = shared_.up.find(checkpoint);
  if (up == shared_.up.end()) return false;
  const auto next_up = std::next(up);
  const bool is_newest = next_up == shared_.up.end() || next_up->first.trial != checkpoint.trial;
  const auto is_newer = [&](const std::set<CheckpointRef>& coming) {
    const auto next = coming.upper_bound(checkpoint);
    return next != coming.end() && next->trial == checkpoint.trial;
  };
  return is_newest && (is_newer(shared_.expected) || is_newer(shared_.queue));
}

std::optional<RemotePlace> Replicator::place(CheckpointRef checkpoint) const {
  const std::lock_guard lock(mutex_);
  const auto up = shared_.up.find(checkpoint);
  if (up == shared_.up.end()) return std::nullopt;
  return RemotePlace{root_, up->second};
}

void Replicator::fetch(CheckpointRef checkpoint) {
  const std::lock_guard lock(mutex_);
  shared_.fetches.insert(checkpoint);
  if (shared_.unreachable_since != 0) say_it_waits(shared_, checkpoint, shared_.last_error);
  changed_.notify_all();
}

std::optional<CheckpointRef> Replicator::next_fetch() const {
  const std::lock_guard lock(mutex_);
  if (shared_.fetches.empty() || shared_.is_finishing) return std::nullopt;
  return *shared_.fetches.begin();
}

void Replicator::note_fetched(CheckpointRef checkpoint, const std::string& lost) {
  const std::lock_guard lock(mutex_);
  shared_.fetches.erase(checkpoint);
  shared_.said.erase(checkpoint);
  shared_.news.fetched.push_back({checkpoint, lost});
}

CheckpointReplicator::News Replicator::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(shared_.news, {});
}

bool Replicator::is_wanted(CheckpointRef checkpoint) const {
  const std::lock_guard lock(mutex_);
  return shared_.queue.contains(checkpoint);
}

/// The newest of a trial, which is what a resume wants; the trials take turns.
std::optional<CheckpointRef> Replicator::next_checkpoint() {
  const std::lock_guard lock(mutex_);
  const auto& queue = shared_.queue;
  if (queue.empty()) return std::nullopt;
  constexpr int no_more = std::numeric_limits<int>::max();
  auto next = queue.upper_bound({last_trial_, no_more});
  if (next == queue.end()) next = queue.begin();
  last_trial_ = next->trial;
  shared_.under_way = *std::prev(queue.upper_bound({last_trial_, no_more}));
  return shared_.under_way;
}

void Replicator::note_nothing_under_way() {
  const std::lock_guard lock(mutex_);
  if (!shared_.under_way) return;
  shared_.news.settled.push_back(shared_.under_way->trial);
  shared_.under_way.reset();
}

void Replicator::note_up(CheckpointRef checkpoint, const std::string& directory) {
  const std::lock_guard lock(mutex_);
  ++shared_.uploaded;
  shared_.under_way.reset();
  if (shared_.queue.erase(checkpoint) == 0) {
    shared_.removals.push_back(directory);  // dropped meanwhile
    return;
  }
  shared_.up[checkpoint] = directory;
  shared_.news.settled.push_back(checkpoint.trial);
  if (options_.config.checkpoints != RemoteConfig::Checkpoints::best) return;
  for (auto other = shared_.up.lower_bound({checkpoint.trial, 0});
       other != shared_.up.end() && other->first.trial == checkpoint.trial;) {
    if (other->first == checkpoint) {
      ++other;
    } else {
      shared_.removals.push_back(other->second);
      other = shared_.up.erase(other);
    }
  }
}

/// Said once: what its program names so, it names so each time.
void Replicator::note_unfit(CheckpointRef checkpoint, const Error& error) {
  note_lost(checkpoint);
  const std::lock_guard lock(mutex_);
  shared_.last_error = error.what();
  ++shared_.failures;
  if (shared_.unfit.empty()) {
    shared_.news.notices.push_back(shared_.last_error +
                                   ": until then such checkpoints stay on this disk alone");
  }
  shared_.unfit.insert(checkpoint);
}

void Replicator::note_lost(CheckpointRef checkpoint) {
  const std::lock_guard lock(mutex_);
  shared_.queue.erase(checkpoint);
  shared_.under_way.reset();
  shared_.news.settled.push_back(checkpoint.trial);
}

}  // namespace tune
