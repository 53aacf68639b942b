// Evicts checkpoints that the remote has, and fetches them back; several that wait for one
// checkpoint share its download.
#include "tuner/run/checkpoints/evictions.h"

#include <optional>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

namespace {

/// What came wrong may have become so on the way.
constexpr int most_downloads = 3;

}  // namespace

std::vector<CheckpointRef> all_but_newest(const Trial& trial, int keep) {
  std::vector<CheckpointRef> older;
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < trial.checkpoints.size(); ++i) {
    older.push_back({trial.id, trial.checkpoints[i].index});
  }
  return older;
}

void Evictions::apply(const Trial& trial, const std::function<bool(int index)>& is_in_use) {
  const auto limit = replicator_ != nullptr ? replicator_->keep_local() : std::nullopt;
  if (!limit) return;
  for (const CheckpointRef checkpoint : all_but_newest(trial, *limit)) {
    if (evicted_.contains(checkpoint) || is_in_use(checkpoint.index)) continue;
    const auto place = replicator_->place(checkpoint);
    if (!place) continue;
    evicted_.insert(checkpoint);
    leaving_[checkpoint];
    pool_.post(
        Lane::deletions,
        [this, checkpoint, place = *place]() -> std::string {
          try {
            store_.evict(checkpoint, place);
            return {};
          } catch (const Error& error) {
            return error.what();
          }
        },
        [this, checkpoint](const std::string& error) {
          if (!error.empty()) callbacks_.notice("a checkpoint stays on this disk: " + error);
          const auto waiting = leaving_.extract(checkpoint);
          for (const auto& then : waiting.mapped()) then();
        });
  }
}

void Evictions::when_settled(CheckpointRef checkpoint, std::function<void()> then) {
  const auto leaving = leaving_.find(checkpoint);
  if (leaving == leaving_.end()) {
    then();
  } else {
    leaving->second.push_back(std::move(then));
  }
}

void Evictions::fetch(CheckpointRef checkpoint, std::function<void(const Fetch&)> then) {
  const auto [coming, is_new] = coming_.try_emplace(checkpoint);
  coming->second.waiting.push_back(std::move(then));
  if (is_new) replicator_->fetch(checkpoint);
}

void Evictions::take(const std::vector<CheckpointReplicator::Fetched>& fetched) {
  for (const auto& [checkpoint, lost] : fetched) {
    lost.empty() ? accept(checkpoint) : finish(checkpoint, {lost, ""});
  }
}

void Evictions::accept(CheckpointRef checkpoint) {
  pool_.post(
      Lane::restores,
      [this, checkpoint]() -> Fetch {
        try {
          return {store_.accept(checkpoint).value_or(""), ""};
        } catch (const Error& error) {
          return {"", error.what()};
        }
      },
      [this, checkpoint](const Fetch& fetch) {
        Coming& coming = coming_.at(checkpoint);
        const bool is_another_try = !fetch.lost.empty() && coming.downloads < most_downloads;
        if (!is_another_try) {
          finish(checkpoint, fetch);
          return;
        }
        ++coming.downloads;
        replicator_->fetch(checkpoint);
      });
}

void Evictions::finish(CheckpointRef checkpoint, const Fetch& fetch) {
  evicted_.erase(checkpoint);
  const auto coming = coming_.extract(checkpoint);
  for (const auto& then : coming.mapped().waiting) then(fetch);
}

}  // namespace tune
