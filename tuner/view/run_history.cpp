// Replays the events and keeps of each what the state forgets.
#include "tuner/view/run_history.h"

#include <cmath>
#include <limits>
#include <optional>

#include "trainable/values.h"
#include "tuner/view/event_replay.h"

namespace tune {

namespace {

/// Shorter ones are what a launch takes.
constexpr Seconds shortest_idle_s = 1;
/// Of waiting trials, how many are asked whether they may start: there may be thousands.
constexpr int most_asked = 8;

const char* word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::paused:
      return "paused";
    case Outcome::exploiting:
      return "exploiting";
    case Outcome::failed:
      return "failed";
    case Outcome::interrupted:
      return "interrupted";
  }
  return "";
}

std::vector<std::string> split(const std::string& gpus) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < gpus.size();) {
    const std::size_t comma = std::min(gpus.find(',', at), gpus.size());
    parts.push_back(gpus.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

std::string gpus_of(const AttemptStarted& started) {
  if (!started.devices.empty()) return started.devices;
  std::string text;
  for (const int gpu : started.gpus) text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

}  // namespace

class HistoryReader::State {
 public:
  explicit State(const Experiment& experiment) : experiment_(experiment) {}

  /// The experiment has just taken it in.
  void take(const Event& event) {
    note_lack(event.time);
    time_ = event.time;
    std::visit([this](const auto& body) { on(body); }, event.body);
    if (!free_.empty()) lack_ = present_lack();
  }

  RunHistory history() && { return std::move(history_); }

 private:
  /// What kept a free device from a trial.
  enum class Lack { config, turn, backoff, room };
  struct Free {
    Seconds since = 0;
    std::optional<Lack> lack;  ///< as things were once it had been free for a while
  };
  using Device = std::pair<std::string, std::string>;  ///< node and GPU

  template <class Other>
  void on(const Other&) {}

  void on(const SessionStarted& event) {
    // A driver that died has recorded no end of what it ran.
    free_.clear();
    open_.clear();
    host_ = event.host;
  }

  void on(const AttemptStarted& event) {
    AttemptSpan span;
    span.trial = event.trial;
    span.attempt = event.attempt;
    span.node = event.node.empty() ? host_ : event.node;
    span.gpus = gpus_of(event);
    span.start = time_;
    span.restored = event.checkpoint;
    for (const std::string& gpu : split(span.gpus)) close({span.node, gpu}, true);
    open_[event.trial] = history_.attempts.size();
    history_.attempts.push_back(std::move(span));
  }

  void on(const AttemptEnded& event) {
    const auto found = open_.find(event.trial);
    if (found == open_.end()) return;
    AttemptSpan& span = history_.attempts[found->second];
    open_.erase(found);
    span.end = time_;
    span.outcome = word_of(event.outcome);
    span.reason = event.reason;
    for (const std::string& gpu : split(span.gpus)) free_[{span.node, gpu}] = {time_, {}};
  }

  void on(const SessionEnded&) {
    while (!free_.empty()) close(free_.begin()->first, false);
  }

  void on(const ResultReported& event) {
    const Decision& decision = event.decision;
    if (decision.why.empty()) return;
    const Json why = Json::parse(decision.why.text(), nullptr, false);
    const auto number = [&](const char* name) {
      const auto found = why.is_object() ? why.find(name) : why.end();
      const auto value = found != why.end() ? decode_number(*found) : std::nullopt;
      return value.value_or(std::numeric_limits<double>::quiet_NaN());
    };
    const double rung = number("rung");
    const double score = number("score");
    if (std::isnan(rung) || std::isnan(score)) return;
    history_.judgements.push_back({event.trial, event.result.training_iteration, rung, score,
                                   number("cutoff"), decision.action == Action::proceed});
  }

  void on(const CheckpointCommitted& event) { ++history_.checkpoints[event.trial].made; }
  void on(const CheckpointFailed& event) { ++history_.checkpoints[event.trial].failed; }
  void on(const CheckpointDamaged& event) { ++history_.checkpoints[event.trial].damaged; }
  void on(const CheckpointsDropped& event) {
    history_.checkpoints[event.trial].dropped += static_cast<int>(event.indices.size());
  }

  void note_lack(Seconds now) {
    for (auto& [device, free] : free_) {
      if (!free.lack && now > free.since + shortest_idle_s) free.lack = lack_;
    }
  }

  Lack present_lack() const {
    if (experiment_.pending().empty()) {
      return experiment_.paused().empty() ? Lack::config : Lack::turn;
    }
    int asked = 0;
    for (const auto& [place, id] : experiment_.pending()) {
      if (experiment_.may_start(id, time_)) return Lack::room;
      if (++asked == most_asked) break;
    }
    return Lack::backoff;
  }

  /// `device` may be the key in `free_` itself: it lives as long as what is taken out.
  void close(const Device& device, bool was_taken) {
    const auto taken = free_.extract(device);
    if (taken.empty()) return;
    const Free& free = taken.mapped();
    if (time_ <= free.since + shortest_idle_s) return;
    history_.idle.push_back(
        {device.first, device.second, free.since, time_, clause_of(free.lack, was_taken)});
  }

  static std::string clause_of(std::optional<Lack> lack, bool was_taken) {
    switch (lack.value_or(Lack::config)) {
      case Lack::config:
        return was_taken ? "the searcher had no new config yet" : "no trial was left to start";
      case Lack::turn:
        return "the trials that were left were paused until others had come as far";
      case Lack::backoff:
        return "those that waited had just failed, or waited for another trial's checkpoint";
      case Lack::room:
        return "what waited needed more than was free, or as many ran as may";
    }
    return "";
  }

  const Experiment& experiment_;
  RunHistory history_;
  Seconds time_ = 0;
  std::string host_;
  std::map<TrialId, std::size_t> open_;  ///< places in `attempts`
  std::map<Device, Free> free_;
  Lack lack_ = Lack::config;
};

HistoryReader::HistoryReader(const Experiment& experiment)
    : state_(std::make_unique<State>(experiment)) {}
HistoryReader::~HistoryReader() = default;
void HistoryReader::take(const Event& event) { state_->take(event); }
RunHistory HistoryReader::history() && { return std::move(*state_).history(); }

RunHistory read_run_history(const std::filesystem::path& directory) {
  Experiment experiment;
  HistoryReader reader(experiment);
  const auto missing =
      replay_events(directory, experiment, [&](const Event& event) { reader.take(event); });
  RunHistory history = std::move(reader).history();
  history.missing = missing;
  return history;
}

}  // namespace tune
