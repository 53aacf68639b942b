// What several processes have answered, put together as the answer of one.
#include "tuner/run/workers/rank_set.h"

#include <algorithm>

#include "tuner/base/error.h"

namespace tune {

namespace {

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

std::string RankProcess::name() const { return rank ? name_of(rank->rank) : "it"; }

RankProcess& RankSet::add(const LaunchSpec& spec) {
  RankProcess& added = all_.emplace_back();
  added.rank = spec.rank;
  added.is_unmonitored = spec.plain && spec.plain->is_unmonitored;
  added.hears_stop = !added.is_unmonitored || spec.plain->stop_signal;
  added.stdout_log = spec.stdout_path;
  added.stderr_log = spec.stderr_path;
  return added;
}

RankProcess& RankSet::at(LaunchId id) {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [id](const RankProcess& each) { return each.id == id; });
  ensure(found != all_.end(), "a process speaks in its own worker group");
  return *found;
}

RankProcess RankSet::remove(LaunchId id) {
  const auto place = all_.begin() + (&at(id) - all_.data());
  RankProcess left = std::move(*place);
  all_.erase(place);
  return left;
}

bool RankSet::all_have_answered() const { return unanswered() == nullptr; }

bool RankSet::all_run() const {
  return std::all_of(all_.begin(), all_.end(), [](const RankProcess& each) { return each.runs; });
}

const RankProcess* RankSet::disconnected() const {
  const auto found = std::find_if(all_.begin(), all_.end(), [](const RankProcess& each) {
    return each.is_disconnected && !each.is_unmonitored;
  });
  return found == all_.end() ? nullptr : &*found;
}

const RankProcess* RankSet::unanswered() const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [](const RankProcess& each) { return !each.has_answered; });
  return found == all_.end() ? nullptr : &*found;
}

void RankSet::ask_all(bool for_hello) {
  reported_bytes_ = 0;
  for (RankProcess& each : all_) each.has_answered = each.is_unmonitored && !for_hello;
}

std::string RankSet::wrong_iteration(RankProcess& speaker, std::optional<std::int64_t> iteration,
                                     std::int64_t asked) {
  const bool echoes = std::exchange(speaker.echoes, iteration.has_value());
  if (!iteration && echoes) {
    return speaker.prefix() +
           "its answer names no iteration, as its answers did before: does it answer twice?";
  }
  if (!iteration || *iteration == asked) return "";
  return speaker.name() + " answered iteration " + std::to_string(*iteration) +
         ", and was asked for iteration " + std::to_string(asked) + ": does it answer twice?";
}

bool RankSet::note_reported(RankProcess& speaker, Reported reported) {
  if (speaker.rank && reported.metrics) reported_bytes_ += reported.metrics->text.size();
  if (reported_bytes_ > most_metric_bytes) return false;
  speaker.has_answered = true;
  if (reported.load_s) speaker.load_s = reported.load_s;
  speaker.reported = std::move(reported);
  return true;
}

std::optional<RankSet::Disagreement> RankSet::disagreement() const {
  const RankProcess* done = nullptr;
  const RankProcess* goes_on = nullptr;
  for (const RankProcess& each : all_) {
    if (!each.reported) continue;
    const RankProcess*& first = each.reported->done ? done : goes_on;
    if (first == nullptr) first = &each;
  }
  if (goes_on == nullptr || (done == nullptr && ended_.empty())) {
    return std::nullopt;
  }
  const RankProcess& who = done != nullptr ? *done : ended_.front();
  return Disagreement{
      &who, who.name() + (done != nullptr ? " says that it is done" : " has left with code 0") +
                ", and " + goes_on->name() +
                " goes on: all ranks of a trial end with the same iteration"};
}

Reported RankSet::take_result() {
  RankProcess& first = all_.front();
  Reported whole =
      first.reported ? *std::exchange(first.reported, std::nullopt) : Reported{.done = true};
  std::vector<std::pair<int, Metrics>> others;
  for (RankProcess& each : all_) {
    auto reported = std::exchange(each.reported, std::nullopt);
    if (!reported) continue;
    whole.should_checkpoint = whole.should_checkpoint || reported->should_checkpoint;
    whole.can_save = whole.can_save && reported->can_save;
    if (reported->checkpoint && !whole.checkpoint) {
      whole.checkpoint = std::move(reported->checkpoint);
    } else if (reported->checkpoint && reported->checkpoint != whole.checkpoint) {
      whole.more_checkpoints.push_back(*std::move(reported->checkpoint));
    }
    if (reported->metrics) others.emplace_back(each.number(), *std::move(reported->metrics));
  }
  if (first.number() != 0) whole.metrics.reset();  // rank 0 has left: only its metrics count
  if (whole.metrics && !others.empty()) {
    whole.metrics = with_workers(*std::move(whole.metrics), others);
  }
  return whole;
}

std::vector<RankPart> RankSet::saved_parts() const {
  std::vector<RankPart> parts;
  for (const RankProcess& each : all_) {
    if (each.rank && !each.is_unmonitored) parts.push_back(each.saved);
  }
  return parts;
}

std::vector<std::int64_t> RankSet::process_groups() const {
  std::vector<std::int64_t> groups;
  for (const RankProcess& each : all_) groups.push_back(each.pid);
  return groups;
}

std::vector<LateRank> RankSet::all_late() const {
  std::vector<LateRank> late;
  for (const RankProcess& each : all_) {
    if (each.has_answered || !each.runs) continue;
    late.push_back(
        {each.rank ? each.name() : "its process", each.pid, {each.stdout_log, each.stderr_log}});
  }
  return late;
}

std::string RankSet::late() const {
  constexpr std::size_t most_named = 4;
  std::vector<int> ranks;
  for (const RankProcess& each : all_) {
    if (!each.has_answered && each.rank) ranks.push_back(each.rank->rank);
  }
  if (ranks.empty() || ended_.size() + all_.size() < 2) return "";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < most_named; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > most_named) {
    text += " and " + std::to_string(ranks.size() - most_named) + " others";
  }
  return text;
}

}  // namespace tune
