// Attempts: processes that wait for their own trial while it is paused, or about to be a clone.
#include <cmath>
#include <limits>

#include "tuner/run/trials/attempts.h"

namespace tune {

namespace {

/// Memory that somebody else takes is seen so late.
constexpr Seconds between_looks_s = 2;

}  // namespace

/// Whether the process of an attempt that ends so is kept for its trial. Where nobody has said so,
/// the machine must be able to tell what that costs, and devices are for those that train.
bool Attempts::may_keep(const Attempt& attempt, Outcome outcome) const {
  const WorkerGroup& worker_group = *attempt.worker_group;
  const auto& limit = spec_.keep_paused;
  if (shutdown_ || spec_.plain || (limit && limit->processes == 0u)) return false;
  const bool may_by_default = memory_.of && memory_.available &&
                              !spec_.reuse_processes.value_or(false) &&
                              worker_group.allocation().gpus().empty();
  if (!limit && !may_by_default) return false;
  if (outcome == Outcome::exploiting) return worker_group.can_reset();
  if (outcome != Outcome::paused || trial(attempt.trial).held) return false;
  // What it has in memory is what it would be given back.
  const auto [owner, checkpoint] = committer_.experiment().restore_point(attempt.trial);
  return owner == attempt.trial && checkpoint != nullptr &&
         checkpoint->iteration == trial(attempt.trial).iteration;
}

/// The end of its attempt is recorded.
void Attempts::keep(TrialId id, WorkerGroup& worker_group) {
  const Trial& waiting = trial(id);
  WarmPool::Kept kept;
  kept.worker_group = &worker_group;
  kept.groups = worker_group.process_groups();
  kept.clonings = waiting.lineage.size();
  kept.eviction_priority = -std::numeric_limits<double>::infinity();
  if (waiting.state == TrialState::paused) {
    const auto [owner, checkpoint] = committer_.experiment().restore_point(id);
    if (owner == id && checkpoint != nullptr) kept.checkpoint = checkpoint->index;
    const Objective* const first = spec_.objectives.empty() ? nullptr : &spec_.objectives.front();
    const MetricSummary* const metric = first != nullptr ? waiting.summary(first->metric) : nullptr;
    const double score = score_of(first != nullptr ? first->mode : Mode::max,
                                  metric != nullptr ? std::optional(metric->last) : std::nullopt);
    if (!std::isnan(score)) kept.eviction_priority = score;
  } else {
    kept.eviction_priority = std::numeric_limits<double>::infinity();  // a clone: it goes on soon
  }
  worker_group.trial.reset();
  kept.held = worker_group.release_allocation();
  resources_.release(kept.held);
  kept_.add(id, std::move(kept));
  give_up_surplus();
}

/// Nothing has become of the trial since its process began to wait.
bool Attempts::has_restore_point(TrialId id, const WarmPool::Kept& kept) const {
  const auto [owner, checkpoint] = committer_.experiment().restore_point(id);
  return owner == id && checkpoint != nullptr && checkpoint->index == kept.checkpoint &&
         trial(id).lineage.size() == kept.clonings;
}

void Attempts::give_up(TrialId id) {
  const WarmPool::Kept* const kept = kept_.find(id);
  if (kept == nullptr) return;
  WorkerGroup& worker_group = *kept->worker_group;
  kept_.remove(id);
  worker_group.leave(WorkerGroup::StopLevel::request);
}

void Attempts::give_up_surplus() {
  while (const auto trial = kept_.next_to_evict(spec_.keep_paused)) give_up(*trial);
}

void Attempts::look_at_kept() {
  if (kept_due() > committer_.steady()) return;
  kept_looked_at_ = committer_.steady();
  is_measuring_ = true;
  struct Seen {
    std::vector<MemoryMeter::Use> uses;
    std::uint64_t available = 0;
  };
  const auto groups = kept_.groups();
  workers_.post(
      Lane::prompt,
      [groups, memory = memory_] {
        return Seen{memory.of(groups), memory.available()};
      },
      [this, groups](const Seen& seen) {
        is_measuring_ = false;
        kept_.measured(groups, seen.uses, seen.available);
        give_up_surplus();
      });
}

Seconds Attempts::kept_due() const {
  const bool counts_bytes = !spec_.keep_paused || spec_.keep_paused->bytes;
  const bool is_wanted = !kept_.empty() && counts_bytes && memory_.of && !is_measuring_;
  if (!is_wanted) return never_s;
  return kept_.has_unmeasured() ? committer_.steady() : kept_looked_at_ + between_looks_s;
}

}  // namespace tune
