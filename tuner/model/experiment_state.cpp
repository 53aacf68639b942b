// The whole state of an experiment as text, and back: what a snapshot holds. Of a trial it is a
// line (trial_line.cpp).
#include <algorithm>
#include <stdexcept>

#include "tuner/base/whole_number.h"
#include "tuner/model/experiment.h"

namespace tune {

Json Experiment::save_totals(const StateCost& session) const {
  Json totals = {{"trials", trials_.size()},
                 {"last_event", last_event_},
                 {"results", results_},
                 {"stop_reason", stop_reason_},
                 {"stop_keeps", stop_keeps_},
                 {"started", started_},
                 {"session_started", session_started_},
                 {"earlier_sessions_s", earlier_sessions_s_},
                 {"last_time", last_time_},
                 {"sessions", sessions_},
                 {"host", host_},
                 {"session_end", session_end_},
                 {"saves",
                  {{"committed", saves_.committed},
                   {"failed", saves_.failed},
                   {"bytes", saves_.bytes},
                   {"save_s", saves_.save_s},
                   {"commit_s", saves_.commit_s},
                   {"max_save_s", saves_.max_save_s},
                   {"max_commit_s", saves_.max_commit_s}}},
                 {"cost", to_json(cost_)},
                 {"session_cost", to_json(session)}};
  for (const auto& [rank, count] : saves_.slowest) {
    totals["saves"]["slowest"][std::to_string(rank)] = count;
  }
  if (session_ended_) totals["session_ended"] = to_string(*session_ended_);
  if (lifetimes_.count() > 0) totals["lifetimes"] = lifetimes_.save();
  if (!spec_changes_.empty()) totals["spec_changes"] = spec_changes_;
  for (const auto& [kind, order] : save_orders_) totals["save_orders"][kind] = to_string(order);
  if (!ran_.empty()) totals["ran"] = Json::parse(ran_);
  return totals;
}

void Experiment::load_totals(const Json& totals) {
  try {
    const auto trials = load_whole<std::size_t>(totals.at("trials"));
    if (trials != trials_.size()) {
      throw std::invalid_argument("it speaks of " + std::to_string(trials) + " trials, there are " +
                                  std::to_string(trials_.size()));
    }
    last_event_ = load_whole<std::uint64_t>(totals.at("last_event"));
    results_ = load_whole<std::uint64_t>(totals.at("results"));
    stop_reason_ = totals.at("stop_reason").get<std::string>();
    stop_keeps_ = totals.value("stop_keeps", false);
    started_ = totals.at("started").get<Seconds>();
    session_started_ = totals.at("session_started").get<Seconds>();
    earlier_sessions_s_ = totals.at("earlier_sessions_s").get<Seconds>();
    last_time_ = totals.at("last_time").get<Seconds>();
    sessions_ = load_whole<int>(totals.at("sessions"));
    host_ = totals.at("host").get<std::string>();
    session_end_ = totals.at("session_end").get<std::string>();
    session_ended_ = parse_session_end(totals.value("session_ended", ""));
    // An older program has recorded the sentence alone.
    if (!session_ended_ && !session_end_.empty()) session_ended_ = session_end_in(session_end_);
    const Json& saves = totals.at("saves");
    saves_ = {.committed = load_whole<std::uint64_t>(saves.at("committed")),
              .failed = load_whole<std::uint64_t>(saves.at("failed")),
              .bytes = load_whole<std::uint64_t>(saves.at("bytes")),
              .save_s = saves.at("save_s").get<double>(),
              .commit_s = saves.at("commit_s").get<double>(),
              .max_save_s = saves.at("max_save_s").get<double>(),
              .max_commit_s = saves.at("max_commit_s").get<double>(),
              .slowest = {}};
    const Json slowest = saves.value("slowest", Json::object());
    for (const auto& [rank, count] : slowest.items()) {
      saves_.slowest[load_whole<int>(Json::parse(rank))] = load_whole<std::uint64_t>(count);
    }
    cost_ = parse_state_cost(totals.at("cost"));
    session_cost_ = parse_state_cost(totals.at("session_cost"));
    lifetimes_ = Lifetimes::loaded(totals.value("lifetimes", Json::array()));
    spec_changes_ = totals.value("spec_changes", Json::object());
    save_orders_.clear();
    const Json orders = totals.value("save_orders", Json::object());
    for (const auto& [kind, order] : orders.items()) {
      if (const auto when = parse_saved_when(order.get<std::string>())) save_orders_[kind] = *when;
    }
    if (const auto ran = totals.find("ran"); ran != totals.end()) ran_ = ran->dump();
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("its totals are broken: ") + error.what());
  }
  // Queues, counts and pins are derived from the trials, not saved: so they cannot contradict them.
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    const Trial& trial = trials_[i];
    const bool waits = trial.state == TrialState::pending || trial.state == TrialState::paused;
    // A trial that no line was for stands as the default made it.
    if (index_of(trial.id) != i || (waits && !queued_.contains(trial.id))) {
      throw std::invalid_argument("there is no line for " +
                                  to_string(TrialId{static_cast<std::uint32_t>(i)}));
    }
    take_its_place(trial, waits ? queued_.at(trial.id) : 0);
    added_by_hand_ += trial.by_hand ? 1 : 0;
    const auto is_known = [this](TrialId id) { return index_of(id) < trials_.size(); };
    const bool knows_donors =
        (!trial.donor || (is_known(trial.donor->trial) && !trial.lineage.empty())) &&
        std::all_of(trial.lineage.begin(), trial.lineage.end(),
                    [&](const Cloning& cloning) { return is_known(cloning.donor); });
    if (!knows_donors) {
      throw std::invalid_argument(to_string(trial.id) + " is a clone of an unknown trial");
    }
    if (trial.donor) donated_[trial.donor->trial].insert(trial.donor->index);
  }
}

std::string Experiment::save() const {
  std::string text = save_totals({}).dump();
  for (const auto& trial : trials_) {
    text += '\n';
    append_trial(text, trial.id);
  }
  return text;
}

}  // namespace tune
