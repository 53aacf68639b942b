// Names of states, running summaries of metrics, and look-ups of a trial's checkpoints.
#include "tuner/model/trial.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace tune {

namespace {
constexpr std::string_view id_prefix = "trial_";
constexpr std::size_t id_digits = 5;  ///< at least
constexpr std::pair<TrialState, std::string_view> state_names[] = {
    {TrialState::pending, "PENDING"}, {TrialState::running, "RUNNING"},
    {TrialState::paused, "PAUSED"},   {TrialState::terminated, "TERMINATED"},
    {TrialState::error, "ERROR"},
};

/// Nothing if the trial has ended, or had, and the metric was not reported since.
const RecentValues* recent_of(const Trial& trial, const MetricSummary& summary) {
  const auto i = static_cast<std::size_t>(&summary - trial.summaries.data());
  return i < trial.recent.size() && trial.recent[i].seen > 0 ? &trial.recent[i] : nullptr;
}

}  // namespace

std::string to_string(TrialId id) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, index_of(id)).ptr;
  const auto count = static_cast<std::size_t>(end - digits);
  std::string text(id_prefix);
  text.append(id_digits - std::min(count, id_digits), '0').append(digits, count);
  return text;
}

std::optional<TrialId> parse_trial_id(std::string_view text) {
  if (text.starts_with(id_prefix)) text.remove_prefix(id_prefix.size());
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return TrialId{number};
}

const char* to_string(TrialState state) {
  for (const auto& [value, name] : state_names) {
    if (value == state) return name.data();
  }
  return "?";
}

namespace {

constexpr std::pair<EndedBy, const char*> ended_by_names[] = {
    {EndedBy::nobody, ""},   {EndedBy::done, "done"},           {EndedBy::exit, "exit"},
    {EndedBy::rule, "rule"}, {EndedBy::scheduler, "scheduler"}, {EndedBy::user, "user"},
    {EndedBy::run, "run"},   {EndedBy::failure, "failure"}};

}  // namespace

const char* to_string(TrialEnd end) {
  switch (end) {
    case TrialEnd::completed:
      return "completed";
    case TrialEnd::pruned:
      return "pruned";
    case TrialEnd::stopped:
      return "stopped";
    case TrialEnd::failed:
      return "failed";
  }
  return "?";
}

const char* to_string(EndedBy by) {
  for (const auto& [known, name] : ended_by_names) {
    if (known == by) return name;
  }
  return "";
}

std::optional<EndedBy> parse_ended_by(std::string_view text) {
  for (const auto& [by, name] : ended_by_names) {
    if (text == name) return by;
  }
  return std::nullopt;
}

std::optional<TrialState> parse_trial_state(std::string_view text) {
  for (const auto& [value, name] : state_names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

namespace {

/// What the last place of a finite double counts.
double last_place_of(double value) {
  constexpr int digits = std::numeric_limits<double>::digits;
  constexpr double least = std::numeric_limits<double>::denorm_min();
  return value == 0 ? least : std::max(least, std::scalbn(1.0, std::ilogb(value) - digits + 1));
}

}  // namespace

WideSum MetricSummary::total() const {
  const double rest = sum_rest == 0 ? 0 : static_cast<double>(sum_rest) * last_place_of(sum);
  return {sum, rest, is_sum_divided != 0};
}

void MetricSummary::set_total(const WideSum& total) {
  const WideSum kept = total.normalized();
  sum = kept.value;
  sum_rest = kept.rest == 0 ? 0 : static_cast<float>(kept.rest / last_place_of(kept.value));
  is_sum_divided = kept.is_divided ? 1 : 0;
}

double MetricSummary::average() const {
  return count > 0 ? total().average_of(count) : std::numeric_limits<double>::quiet_NaN();
}

double MetricSummary::best(Mode mode) const {
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  return mode == Mode::max ? max : min;
}

double RecentValues::average_of_last(std::size_t n) const {
  WideSum total;
  std::size_t numbers = 0;
  const std::size_t available = std::min<std::size_t>({n, seen, ring.size()});
  for (std::size_t back = 1; back <= available; ++back) {
    const double value = ring[(seen - back) % ring.size()];
    if (!std::isfinite(value)) continue;
    total.add(value);
    ++numbers;
  }
  return numbers > 0 ? total.average_of(static_cast<double>(numbers))
                     : std::numeric_limits<double>::quiet_NaN();
}

std::optional<TrialEnd> Trial::end() const {
  if (state == TrialState::error) return TrialEnd::failed;
  if (state != TrialState::terminated) return std::nullopt;
  if (ended_by == EndedBy::user || ended_by == EndedBy::run) return TrialEnd::stopped;
  return ended_by == EndedBy::scheduler && !at_max ? TrialEnd::pruned : TrialEnd::completed;
}

const MetricSummary* Trial::summary(std::string_view metric) const {
  for (const auto& summary : summaries) {
    if (summary.name == metric) return &summary;
  }
  return nullptr;
}

std::optional<double> Trial::last_value(std::string_view name) const {
  if (last_metrics.empty()) return std::nullopt;
  if (name == "training_iteration") return static_cast<double>(iteration);
  if (name == "time_total_s") return time_total_s;
  if (name == "timesteps_total") return timesteps_total;
  if (name == "episodes_total") return episodes_total;
  const MetricSummary* const found = summary(name);
  return found != nullptr ? std::optional(found->last) : std::nullopt;
}

double Trial::average_of_last_5(const MetricSummary& summary) const {
  const auto* const values = recent_of(*this, summary);
  return values != nullptr ? values->average_of_last(5) : summary.ended_average_5;
}

double Trial::average_of_last_10(const MetricSummary& summary) const {
  const auto* const values = recent_of(*this, summary);
  return values != nullptr ? values->average_of_last(10) : summary.ended_average_10;
}

const Cloning* Trial::present_cloning() const {
  const auto begun = std::find_if(lineage.rbegin(), lineage.rend(),
                                  [](const Cloning& cloning) { return cloning.started != 0; });
  return begun != lineage.rend() ? &*begun : nullptr;
}

std::span<const Checkpoint> Trial::present_checkpoints() const {
  const Cloning* const cloning = present_cloning();
  if (cloning == nullptr) return checkpoints;
  const auto first =
      std::partition_point(checkpoints.begin(), checkpoints.end(),
                           [&](const auto& each) { return each.index <= cloning->saves; });
  return {first, checkpoints.end()};
}

const Checkpoint* Trial::latest_checkpoint() const {
  if (const auto present = present_checkpoints(); !present.empty()) return &present.back();
  const Cloning* const cloning = present_cloning();
  return cloning != nullptr && cloning->donor == id ? checkpoint(cloning->checkpoint) : nullptr;
}

const Checkpoint* Trial::checkpoint(int index) const {
  for (const auto& checkpoint : checkpoints) {
    if (checkpoint.index == index) return &checkpoint;
  }
  return nullptr;
}

}  // namespace tune
