// What the replicator says: to the user, and in a file for `tune status`.
#include <algorithm>

#include "trainable/values.h"
#include "tuner/base/count_of.h"
#include "tuner/model/paths.h"
#include "tuner/remote/replicator.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

/// Said once, until it is well again.
void Replicator::note_failure(const Error& error) {
  const std::lock_guard lock(mutex_);
  ++shared_.failures;
  shared_.last_error = error.what();
  if (shared_.unreachable_since == 0) {
    shared_.unreachable_since = unix_now();
    shared_.news.notices.push_back(shared_.last_error +
                                   "; training goes on, and what is to be on the remote waits");
  }
  for (const CheckpointRef& each : shared_.fetches) say_it_waits(shared_, each, error.what());
}

void Replicator::note_slow_fetch(CheckpointRef checkpoint) {
  const std::lock_guard lock(mutex_);
  shared_.news.notices.push_back("checkpoint " + std::to_string(checkpoint.index) + " of " +
                                 to_string(checkpoint.trial) + " is still on its way from " +
                                 root_ + "; who is to start from it waits, and the others go on");
}

void Replicator::note_fetch_failure(CheckpointRef checkpoint, const Error& error) {
  const std::lock_guard lock(mutex_);
  ++shared_.failures;
  shared_.last_error = error.what();
  say_it_waits(shared_, checkpoint, error.what());
}

/// Once, until it has come.
void Replicator::say_it_waits(Shared& shared, CheckpointRef checkpoint, const std::string& why) {
  if (!shared.said.insert(checkpoint).second) return;
  shared.news.notices.push_back("checkpoint " + std::to_string(checkpoint.index) + " of " +
                                to_string(checkpoint.trial) +
                                " is only on the remote and cannot be fetched: " + why +
                                "; who is to start from it waits, and the others go on");
}

void Replicator::note_success() {
  const std::lock_guard lock(mutex_);
  if (shared_.unreachable_since == 0) return;
  shared_.news.notices.push_back(
      "the remote is well again after " +
      std::to_string(std::max(0L, static_cast<long>(unix_now() - shared_.unreachable_since))) +
      " s, and what waited goes up");
  shared_.unreachable_since = 0;
}

void Replicator::write_status() noexcept {
  Json json;
  {
    const std::lock_guard lock(mutex_);
    if (shared_.refusal) return;  // nothing was made yet, and nothing stays behind
    Json fetches = Json::array();
    for (const auto& [trial, index] : shared_.fetches) {
      fetches.push_back(paths::checkpoint(to_string(trial), index).native());
    }
    json = {{"remote", root_},
            {"time", unix_now()},
            {"checkpoints_up", shared_.up.size()},
            {"checkpoints_waiting", shared_.queue.size() + shared_.expected.size()},
            {"uploaded", shared_.uploaded},
            {"state_time", shared_.state_time == 0 ? Json() : Json(shared_.state_time)},
            {"failures", shared_.failures},
            {"last_error", shared_.last_error},
            {"unreachable_since",
             shared_.unreachable_since == 0 ? Json() : Json(shared_.unreachable_since)},
            {"fetching", std::move(fetches)},
            {"all_up", shared_.is_done && shared_.unfit.empty()}};
  }
  try {
    files_.make_directories(remote_directory(options_.directory));
    files_.replace(remote_directory(options_.directory) / "status.json",
                   json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const std::exception&) {
    // A status that cannot be written is shown as an old one.
  }
}

std::string Replicator::left_now(const Shared& shared) {
  const std::size_t checkpoints =
      shared.queue.size() + shared.expected.size() + shared.unfit.size();
  return checkpoints > 0 ? count_of(checkpoints, "checkpoint") : "the last part of the state";
}

std::string Replicator::waiting() const {
  const std::lock_guard lock(mutex_);
  const std::size_t count = shared_.queue.size() + shared_.expected.size();
  if (count == 0) return "";
  return std::to_string(count) + (count == 1 ? " more checkpoint is" : " more checkpoints are");
}

}  // namespace tune
