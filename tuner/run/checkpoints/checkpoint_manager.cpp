// The queue of commits for each trial, pins, retention and the budget; files are deleted only once
// the record of their removal is durable.
#include "tuner/run/checkpoints/checkpoint_manager.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "tuner/base/byte_size.h"
#include "tuner/base/error.h"

namespace tune {

using std::filesystem::path;

namespace {

/// What ranks have handed over for a save that failed; of one rank alone it stays, for its owner.
void discard_parts(CheckpointStorage& store, const Save& save,
                   const std::vector<std::string>& reported) {
  if (reported.size() < 2) return;
  try {
    store.discard({save.trial, save.checkpoint.index}, save.attempt);
    for (const std::string& each : reported) store.discard(save.trial, each);
  } catch (const Error&) {
    // Recovery sweeps what stays behind.
  }
}

}  // namespace

CheckpointManager::CheckpointManager(EventCommitter& committer, Workers& pool,
                                     CheckpointStorage& store, CallbackList& callbacks,
                                     const CheckpointConfig& config,
                                     CheckpointReplicator* replicator)
    : committer_(committer),
      pool_(pool),
      store_(store),
      callbacks_(callbacks),
      replicator_(replicator),
      evictions_(pool, store, callbacks, replicator),
      config_(config),
      retention_(make_retention(config)) {
  if (config_.max_checkpoint_bytes) budget_.emplace(config_, committer_.experiment().trials());
}

int CheckpointManager::take_index(TrialId trial) {
  int& last = indices_[trial];
  // Saves under way are not in the experiment yet: two with one index would share a directory.
  last = std::max(last, committer_.experiment().trial(trial).saves) + 1;
  return last;
}

void CheckpointManager::begin(TrialId trial, int attempt, int index,
                              std::function<void(std::optional<path>)> then) {
  struct Begun {
    path directory;
    std::string error;
  };
  pool_.post(
      Lane::prompt,
      [this, trial, attempt, index]() -> Begun {
        try {
          return {store_.begin({trial, index}, attempt), ""};
        } catch (const Error& error) {
          return {{}, error.what()};
        }
      },
      [this, trial, index, then = std::move(then)](const Begun& begun) {
        if (!begun.error.empty()) {
          record_failure(trial, index, begun.error);
          then(std::nullopt);
        } else {
          then(begun.directory);
        }
      });
}

void CheckpointManager::adopt_checkpoint(Save save, std::vector<std::string> reported,
                                         std::function<void(std::optional<Save>)> then) {
  struct Taken {
    Save save;
    std::string error;
  };
  pool_.post(
      Lane::restores,
      [this, save = std::move(save), reported = std::move(reported)]() mutable -> Taken {
        Taken taken{std::move(save), ""};
        try {
          const CheckpointRef checkpoint{taken.save.trial, taken.save.checkpoint.index};
          taken.save.origin =
              store_.adopt_checkpoint(checkpoint, taken.save.attempt, reported.front());
          for (std::size_t i = 1; i < reported.size(); ++i) {
            store_.add_part(checkpoint, taken.save.attempt, reported[i]);
          }
        } catch (const Error& error) {
          taken.error = error.what();
          discard_parts(store_, taken.save, reported);
        }
        return taken;
      },
      [this, then = std::move(then)](Taken taken) {
        if (taken.error.empty()) {
          then(std::move(taken.save));
        } else {
          record_failure(taken.save.trial, taken.save.checkpoint.index, taken.error);
          then(std::nullopt);
        }
      });
}

void CheckpointManager::copy(Save save, CheckpointFiles files,
                             std::function<void(std::optional<Save>)> then) {
  struct Copied {
    Save save;
    std::string error;
    bool has_changed = false;
  };
  pool_.post(
      Lane::restores,
      [this, save = std::move(save), files = std::move(files)]() mutable -> Copied {
        Copied copied{std::move(save), "", false};
        const CheckpointRef checkpoint{copied.save.trial, copied.save.checkpoint.index};
        try {
          store_.copy(checkpoint, copied.save.attempt, files.root, files.name);
        } catch (const Error& error) {
          copied.error = error.what();
        }
        // A program that wrote while its files were copied has made the copy a mixture of two
        // saves.
        const auto now = look_at_checkpoint(files.root, files.name);
        copied.has_changed = !now || now->files != files.files;
        return copied;
      },
      [this, then = std::move(then)](Copied copied) {
        const CheckpointRef checkpoint{copied.save.trial, copied.save.checkpoint.index};
        if (!copied.has_changed && copied.error.empty()) {
          then(std::move(copied.save));
          return;
        }
        // A change meanwhile is no failed save: the copy goes, and nothing is recorded.
        if (!copied.has_changed) {
          record_failure(checkpoint.trial, checkpoint.index, copied.error);
        } else if (copied.error.empty()) {
          discard(checkpoint, copied.save.attempt);
        }
        then(std::nullopt);
      });
}

void CheckpointManager::commit(Save save, std::function<void(bool)> then) {
  const TrialId trial = save.trial;
  auto& queue = commits_[trial];
  queue.push_back({std::move(save), std::move(then)});
  if (queue.size() == 1) begin_commit(trial);
}

/// The first of the trial's queue. Of two under way at once the later one might be recorded first,
/// and a driver that died just then would go on from the wrong one.
void CheckpointManager::begin_commit(TrialId trial) {
  struct Committed {
    std::uint64_t bytes = 0;
    Seconds took_s = 0;
    std::string error;
  };
  const Save& save = commits_.at(trial).front().save;
  ManifestHeader header{.checkpoint = {trial, save.checkpoint.index},
                        .attempt = save.attempt,
                        .iteration = save.checkpoint.iteration,
                        .metrics = save.metrics,
                        .config = committer_.experiment().trial(trial).config.text(),
                        .parts = save.parts,
                        .results = save.results,
                        .counts = save.counts,
                        .is_guess = save.checkpoint.is_guess};
  pool_.post(
      Lane::commits,
      [this, header = std::move(header), origin = save.origin, posted = committer_.steady()] {
        Committed committed;
        try {
          committed.bytes = store_.commit(header, origin).bytes;
          committed.took_s = committer_.steady() - posted;
        } catch (const Error& error) {
          committed.error = error.what();
        }
        return committed;
      },
      [this, trial](const Committed& committed) {
        auto& queue = commits_.at(trial);
        Commit done = std::move(queue.front());
        queue.pop_front();
        done.save.checkpoint.bytes = committed.bytes;
        done.save.checkpoint.commit_s = committed.took_s;
        if (queue.empty()) {
          commits_.erase(trial);
        } else {
          begin_commit(trial);
        }
        end_commit(std::move(done), committed.error);
      });
}

void CheckpointManager::end_commit(Commit commit, const std::string& error) {
  const Save& done = commit.save;
  if (!error.empty()) {
    record_failure(done.trial, done.checkpoint.index, error);
    commit.then(false);
    return;
  }
  // Before the record, with which a clone may stop needing its donor's checkpoint: `release` drops
  // that.
  const auto donor = committer_.experiment().trial(done.trial).donor;
  committer_.commit(CheckpointCommitted{done.trial, done.checkpoint});
  if (replicator_ != nullptr) {
    const auto present = committer_.experiment().trial(done.trial).present_checkpoints();
    const auto order = rank_checkpoints(present, config_);
    const bool is_best = !order.empty() && present[order.front()].index == done.checkpoint.index;
    replicator_->expect({done.trial, done.checkpoint.index}, is_best);
  }
  // Only once the record is on disk: otherwise a remote or a callback acts on a checkpoint that a
  // power loss may make unknown.
  committer_.when_durable([this, trial = done.trial, checkpoint = done.checkpoint] {
    if (replicator_ != nullptr) replicator_->committed({trial, checkpoint.index});
    callbacks_.call("on_checkpoint", [&](Callback& callback) {
      callback.on_checkpoint(committer_.experiment().trial(trial), checkpoint);
    });
  });
  apply_retention(done.trial);
  release(done.trial, donor);
  commit.then(true);
}

void CheckpointManager::fail(const Save& save, const std::string& reason) {
  record_failure(save.trial, save.checkpoint.index, reason);
  discard({save.trial, save.checkpoint.index}, save.attempt);
}

void CheckpointManager::discard(CheckpointRef checkpoint, int attempt) {
  pool_.post(
      Lane::deletions,
      [this, checkpoint, attempt] {
        try {
          store_.discard(checkpoint, attempt);
        } catch (const Error&) {
          // Recovery sweeps what stays behind.
        }
      },
      [] {});
}

void CheckpointManager::discard(TrialId trial, const std::string& reported) {
  pool_.post(
      Lane::deletions,
      [this, trial, reported] {
        try {
          store_.discard(trial, reported);
        } catch (const Error&) {
          // It is left alone.
        }
      },
      [] {});
}

/// How many saves have failed so, if that is to be said: where the disk is full all do, and the
/// first is said, then the 10th, the 100th ... Else 0.
std::uint64_t CheckpointManager::count_of(const std::string& reason) {
  constexpr std::size_t most_kinds = 100;
  std::string kind = reason;  // but for numbers, of trials and checkpoints
  std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (failures_.size() >= most_kinds && !failures_.contains(kind)) kind.clear();
  auto& [count, next] = failures_.try_emplace(std::move(kind), 0, 1).first->second;
  if (++count < next) return 0;
  next *= 10;
  return count;
}

void CheckpointManager::record_failure(TrialId trial, int index, const std::string& reason) {
  committer_.commit(CheckpointFailed{trial, index, reason});
  const std::uint64_t count = count_of(reason);
  if (count == 0) return;
  callbacks_.notice("checkpoint " + std::to_string(index) + " of " + to_string(trial) +
                    " could not be saved" +
                    (count > 1 ? " (" + std::to_string(count) + " by now)" : "") +
                    ", training goes on: " + reason);
}

void CheckpointManager::pin(TrialId trial, int index) { pins_[trial].insert(index); }

void CheckpointManager::unpin(TrialId trial, int index) {
  const auto pins = pins_.find(trial);
  if (pins == pins_.end()) return;
  const auto pin = pins->second.find(index);
  if (pin != pins->second.end()) pins->second.erase(pin);
  if (pins->second.empty()) pins_.erase(pins);
  apply_retention(trial);
}

void CheckpointManager::apply_retention(TrialId id) {
  const Trial& trial = committer_.experiment().trial(id);
  const bool ended = is_final(trial.state);
  if (ended) indices_.erase(id);
  if (trial.checkpoints.empty()) {
    keep_to_budget(id);
    return;
  }
  auto keep = retention_->keep(trial.checkpoints);
  // Once there is one of what the trial is now, those of before it became a clone go first.
  const auto present = trial.present_checkpoints();
  if (config_.num_to_keep && !present.empty()) {
    const auto kept = retention_->keep(present);
    std::fill(keep.begin(), keep.end(), false);
    std::copy_backward(kept.begin(), kept.end(), keep.end());
  }
  // What a retry, a resume or an unpause would start from.
  if (const Checkpoint* const latest = trial.latest_checkpoint()) {
    keep[static_cast<std::size_t>(latest - trial.checkpoints.data())] = true;
  }
  // Not before its end: a retry would have nothing to start from.
  if (ended && config_.num_to_keep == 0) keep.assign(keep.size(), false);
  CheckpointsDropped dropped{id, {}};
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const int index = trial.checkpoints[i].index;
    if (!keep[i] && !is_pinned(id, index)) dropped.indices.push_back(index);
  }
  if (!dropped.indices.empty()) {
    committer_.commit(dropped);
    remove_when_durable(id, std::move(dropped.indices));
  }
  keep_to_budget(id);
  evictions_.apply(committer_.experiment().trial(id),
                   [this, id](int index) { return is_in_use(id, index); });
}

bool CheckpointManager::is_in_use(TrialId trial, int index) const {
  const auto pins = pins_.find(trial);
  return (pins != pins_.end() && pins->second.contains(index)) ||
         committer_.experiment().is_donated(trial, index);
}

bool CheckpointManager::is_pinned(TrialId trial, int index) const {
  return is_in_use(trial, index) || (replicator_ != nullptr && replicator_->needs({trial, index}));
}

void CheckpointManager::release(TrialId clone, const std::optional<DonorCheckpoint>& before) {
  if (before && !committer_.experiment().trial(clone).donor) apply_retention(before->trial);
}

/// Gives up what all trials together have too much, after the checkpoints of `changed` are others.
void CheckpointManager::keep_to_budget(TrialId changed) {
  if (!budget_) return;
  const std::uint64_t limit = *config_.max_checkpoint_bytes;
  budget_->update(committer_.experiment().trial(changed));
  while (budget_->bytes() > limit) {
    const auto victim =
        budget_->expendable([this](TrialId trial, int index) { return is_pinned(trial, index); });
    if (!victim) break;
    const auto [trial, index] = *victim;
    committer_.commit(CheckpointsDropped{trial, {index}});
    remove_when_durable(trial, {index});
    budget_->update(committer_.experiment().trial(trial));
  }
  const bool is_over = budget_->bytes() > limit;
  if (is_over && !said_over_budget_) {
    callbacks_.notice("the checkpoints have " + show_byte_size(budget_->bytes()) +
                      ", more than max_checkpoint_bytes (" + show_byte_size(limit) +
                      "), and each of them is its trial's latest or best, or in use: none is "
                      "given up");
  }
  said_over_budget_ = is_over;
}

void CheckpointManager::requeue(const TrialRequeued& requeued) {
  std::vector<int> indices;
  // Listed before the record, with which the trial forgets them.
  if (requeued.from_scratch) {
    for (const auto& checkpoint : committer_.experiment().trial(requeued.trial).checkpoints) {
      indices.push_back(checkpoint.index);
    }
  }
  committer_.commit(requeued);
  keep_to_budget(requeued.trial);
  if (!indices.empty()) remove_when_durable(requeued.trial, std::move(indices));
}

void CheckpointManager::remove_when_durable(TrialId trial, std::vector<int> indices) {
  // Only once the record is on disk: after a power loss the journal would still name them, and a
  // restore would look for deleted files.
  committer_.when_durable([this, trial, indices = std::move(indices)] {
    if (replicator_ != nullptr) replicator_->dropped(trial, indices);
    pool_.post(
        Lane::deletions,
        [this, trial, indices]() -> std::string {
          try {
            for (const int index : indices) store_.remove({trial, index});
          } catch (const Error& error) {
            return error.what();
          }
          return {};
        },
        [this](const std::string& error) {
          if (!error.empty()) callbacks_.notice(error);
        });
  });
}

std::string CheckpointManager::look_at_mirror() {
  if (replicator_ == nullptr) return {};
  CheckpointReplicator::News news = replicator_->take_news();
  for (const auto& notice : news.notices) callbacks_.notice(notice);
  for (const TrialId trial : news.settled) apply_retention(trial);
  evictions_.take(news.fetched);
  return std::move(news.taken_over);
}

}  // namespace tune
