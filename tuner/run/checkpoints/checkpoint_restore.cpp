// What a trial starts from: found, verified, fetched, put back, or given up as damaged.
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/model/own_checkpoint.h"
#include "tuner/run/checkpoints/checkpoint_manager.h"

namespace tune {

using std::filesystem::path;

namespace {

/// A disk reads that in a blink.
constexpr std::uint64_t most_prompt_bytes = 16 << 20;

std::string cannot_be_trusted(CheckpointRef checkpoint, const path& kept_as) {
  return "checkpoint " + std::to_string(checkpoint.index) + " of " + to_string(checkpoint.trial) +
         " cannot be trusted" + (kept_as.empty() ? "" : " and is kept as " + kept_as.native());
}

/// What the checkpoint has behind `iteration`, to its last one. Error if that is missing: what the
/// program prints next would be taken for it.
std::vector<PrintedResult> results_behind(std::int64_t iteration, std::int64_t last,
                                          const std::vector<ResultAhead>& results) {
  std::vector<PrintedResult> ahead;
  for (const ResultAhead& result : results) {
    if (result.iteration <= iteration) continue;
    try {
      ahead.push_back({result.iteration, parse_metrics(result.metrics)});
    } catch (const std::invalid_argument& bad) {
      throw machine_error("its manifest has a result that is none: " + std::string(bad.what()));
    }
  }
  if (last > iteration && (ahead.empty() || ahead.back().iteration != last)) {
    throw machine_error("its manifest lacks results of its iterations");
  }
  return ahead;
}

}  // namespace

/// Whatever else is there of the kind may be half-written, or later than what it goes on from.
PlainSource CheckpointManager::put_back(TrialId trial, const Source& source,
                                        const std::string& start, const PlainCheckpoints& plain) {
  PlainSource put = source.plain;
  const path within = plain.in_working_directory ? "" : plain_checkpoint_dir;
  put.root = within.empty() ? source.work : source.work / within;
  store_.clear(trial, within, names_of_checkpoints(put.root, plain.pattern));
  const path from = source.directory.empty() ? path(start) : source.directory;
  if (!from.empty()) {
    store_.put_back(from, put.root);
    put.known = look_at_checkpoints(put.root, plain.pattern);
    put.checkpoint = put.known.empty() ? put.root : put.known.back().place();
  }
  put.others = look_at_others(put.root, plain.pattern);
  return put;
}

void CheckpointManager::prepare(TrialId id, const Needs& needs, Prepare then) {
  const auto [owner, checkpoint] = committer_.experiment().restore_point(id);
  const CheckpointRef wanted{owner, checkpoint != nullptr ? checkpoint->index : 0};
  if (wanted.index != 0) pin(wanted.trial, wanted.index);
  evictions_.when_settled(
      wanted, [this, id, needs, wanted, then = std::move(then)] { look(id, needs, wanted, then); });
}

/// `wanted` is pinned.
void CheckpointManager::look(TrialId id, const Needs& needs, CheckpointRef wanted, Prepare then) {
  struct Prepared {
    Source source;
    std::string error;
    std::optional<Damage> damage;
    bool is_evicted = false;
  };
  const Checkpoint* const checkpoint = committer_.experiment().restore_point(id).second;
  // What is large may have to be read as a whole, and nothing small is to wait for that.
  const Trial& trial = committer_.experiment().trial(id);
  const std::string start = trial.start_checkpoint;
  // The attempt has begun: where its trial is at another iteration than its checkpoint, it stays.
  const bool is_ahead = checkpoint != nullptr && is_ahead_of(*checkpoint, wanted.trial, trial);
  const Trial& from = committer_.experiment().trial(wanted.trial);
  const bool counts_from_guess =
      checkpoint != nullptr && from.is_guess(std::min(checkpoint->iteration, from.iteration));
  const bool is_large =
      checkpoint != nullptr ? checkpoint->bytes > most_prompt_bytes : !start.empty();
  const Lane lane = is_large ? Lane::restores : Lane::prompt;
  pool_.post(
      lane,
      [this, id, wanted, start, needs, is_ahead, counts_from_guess, iteration = trial.iteration,
       last = checkpoint != nullptr ? checkpoint->iteration : 0,
       config = needs.config_file ? committer_.experiment().trial(id).config.text()
                                  : std::string()]() -> Prepared {
        Prepared prepared{{wanted, {}, {}, {}}, "", std::nullopt, false};
        try {
          prepared.source.work = store_.make_working_directory(id);
          if (needs.config_file) {
            const Json given = config_for_program(Json::parse(config));
            prepared.source.plain.config_file = store_.write_config(id, given.dump());
          }
          if (wanted.index == 0 && !start.empty()) {
            const auto damage = store_.verify_foreign(start);
            if (damage) prepared.error = start + " cannot be trusted: " + *damage;
          }
          if (wanted.index != 0 && store_.is_evicted(wanted)) {
            prepared.is_evicted = true;
            return prepared;
          }
          auto damage = wanted.index == 0 ? std::nullopt : store_.verify(wanted);
          if (wanted.index != 0 && needs.checkpoints && !damage) {
            try {
              SavedResults saved = store_.results(wanted);
              prepared.source.plain.is_guess = saved.is_guess;
              prepared.source.plain.metrics = read_metrics(saved.metrics);
              prepared.source.plain.counts = std::move(saved.counts);
              if (is_ahead) {
                prepared.source.plain.ahead = results_behind(iteration, last, saved.ahead);
              }
            } catch (const Error& error) {
              damage = error.what();
            }
          }
          if (damage) {
            prepared.damage = {*damage, store_.set_aside(wanted)};
            return prepared;
          }
          if (wanted.index != 0) prepared.source.directory = store_.locate(wanted);
          if (needs.checkpoints && prepared.error.empty()) {
            prepared.source.plain = put_back(id, prepared.source, start, *needs.checkpoints);
            prepared.source.plain.counts_from_guess = counts_from_guess;
          }
        } catch (const NotMade& error) {
          prepared.error = error.what();
          prepared.source.is_unmade = true;
        } catch (const Error& error) {
          prepared.error = error.what();
        }
        return prepared;
      },
      [this, id, needs, then = std::move(then)](Prepared prepared) {
        if (prepared.is_evicted) {
          fetch(id, needs, std::move(prepared.source), then);
          return;
        }
        if (!prepared.damage) {
          then(std::move(prepared.source), prepared.error);
          return;
        }
        if (can_refetch(prepared.source.checkpoint, *prepared.damage)) {
          fetch(id, needs, std::move(prepared.source), then);
          return;
        }
        record_damage(id, prepared.source.checkpoint, *prepared.damage);
        prepare(id, needs, then);
      });
}

/// Its checkpoint is evicted, or lost here. What the remote does not have any more is as good as
/// damaged here.
void CheckpointManager::fetch(TrialId id, const Needs& needs, Source source, Prepare then) {
  const CheckpointRef wanted = source.checkpoint;
  if (!evictions_.can_fetch()) {
    then(std::move(source), "checkpoint " + std::to_string(wanted.index) + " of " +
                                to_string(wanted.trial) +
                                " is only on a remote, and the spec names none: tune fetch " +
                                store_.locate(wanted).native() + " brings it back");
    return;
  }
  evictions_.fetch(wanted, [this, id, needs, source = std::move(source),
                            then = std::move(then)](const Evictions::Fetch& fetched) {
    const CheckpointRef checkpoint = source.checkpoint;
    if (!fetched.error.empty()) {
      then(source, fetched.error);
    } else if (fetched.lost.empty()) {
      look(id, needs, checkpoint, then);
    } else {
      pool_.post(
          Lane::prompt,
          [this, checkpoint] {
            try {
              store_.discard(checkpoint, 0);  // what has come of it
              store_.set_aside(checkpoint);
            } catch (const Error&) {
              // Recovery sweeps what stays behind.
            }
          },
          [this, id, needs, checkpoint, then, lost = fetched.lost] {
            record_damage(id, checkpoint, {lost, {}, /*is_lost_there=*/true});
            prepare(id, needs, then);
          });
    }
  });
}

/// Whether the remote has what is damaged here. Once: a disk that damages it again would do so for
/// ever.
bool CheckpointManager::can_refetch(CheckpointRef checkpoint, const Damage& damage) {
  if (evictions_.is_coming(checkpoint)) return true;
  if (replicator_ == nullptr || !replicator_->place(checkpoint)) return false;
  if (!refetched_.insert(checkpoint).second) return false;
  callbacks_.notice(cannot_be_trusted(checkpoint, damage.kept_as) +
                    "; it is fetched from the remote: " + damage.reason);
  return true;
}

void CheckpointManager::record_damage(TrialId id, CheckpointRef source, const Damage& damage) {
  committer_.require_place();
  const auto [owner, index] = source;
  const auto clone = owner == id ? std::nullopt : std::optional(id);
  committer_.commit(CheckpointDamaged{owner, index, damage.reason, clone});
  if (damage.is_lost_there && replicator_ != nullptr) {
    committer_.when_durable(
        [this, owner = owner, index = index] { replicator_->dropped(owner, {index}); });
  }
  unpin(owner, index);
  keep_to_budget(owner);
  const auto [next_owner, next] = committer_.experiment().restore_point(id);
  const std::string& start = committer_.experiment().trial(id).start_checkpoint;
  std::string instead = "NO OTHER IS LEFT, it starts from scratch";
  if (next != nullptr) {
    instead = "checkpoint " + std::to_string(next->index) +
              (next_owner == owner ? "" : " of " + to_string(next_owner)) + " of iteration " +
              std::to_string(next->iteration) + " is used instead";
  } else if (!start.empty()) {
    instead = "NO OTHER IS LEFT, it starts from " + start;
  }
  callbacks_.notice(cannot_be_trusted(source, damage.kept_as) + "; " + instead + ": " +
                    damage.reason);
}

}  // namespace tune
