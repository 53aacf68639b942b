// Compares digests of metrics between trials with different configs.
#include "tuner/run/trials/config_effect.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/decimal.h"
#include "tuner/space/domain.h"

namespace tune {

namespace {

/// Of the machine, not of the model: no two runs have the same.
bool is_measured(std::string_view name) {
  constexpr std::string_view words[] = {"time", "sec", "speed", "throughput", "memory", "fps"};
  return std::any_of(std::begin(words), std::end(words), [name](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

std::size_t digest_of(const Metrics& metrics) {
  std::size_t digest = 0;
  const auto mix = [&digest](std::size_t more) {
    digest ^= more + 0x9e3779b97f4a7c15 + (digest << 6) + (digest >> 2);
  };
  for (const Metric& metric : metrics.numbers) {
    if (is_measured(metric.name)) continue;
    mix(std::hash<std::string_view>()(metric.name));
    mix(std::hash<std::uint64_t>()(std::bit_cast<std::uint64_t>(metric.value)));
  }
  return digest;
}

/// Significant ones of the shortest decimal that reads back as `value`.
int digits_of(double value) {
  std::string text;
  append_decimal(text, value);
  int digits = 0;
  int zeros = 0;  // which count only where another digit follows
  for (const char c : std::string_view(text).substr(0, text.find_first_of("eE"))) {
    if (c == '0') {
      zeros += digits > 0 ? 1 : 0;
    } else if (c > '0' && c <= '9') {
      digits += std::exchange(zeros, 0) + 1;
    }
  }
  return digits;
}

}  // namespace

void ConfigEffect::on_result(const Trial& before, const Result& result) {
  // What a trial has of another one's model says nothing of its own config.
  if (is_over_ || before.repeats(result)) return;
  if (!before.lineage.empty() || !before.start_checkpoint.empty()) return;
  Point point{digest_of(result.metrics), {}, 0};
  for (const Objective& objective : spec_.objectives) {
    point.objectives.push_back(result.find(objective.metric).value_or(std::nan("")));
  }
  if (const auto last = course_.find(before.iteration); last != course_.end()) {
    const std::vector<double>& values = last->second.objectives;
    const bool has_changed =
        !std::equal(values.begin(), values.end(), point.objectives.begin(),
                    [](double a, double b) { return !std::isfinite(a - b) || a == b; });
    point.changes = last->second.changes + (has_changed ? 1 : 0);
  }
  const auto known = course_.find(result.training_iteration);
  if (known != course_.end()) {
    is_over_ = known->second.digest != point.digest;
  } else if (course_.size() < most_iterations) {
    course_.emplace(result.training_iteration, std::move(point));
  }
  if (is_over_) course_.clear();
}

std::string ConfigEffect::on_end(const Trial& trial) {
  const auto last = is_over_ ? course_.end() : course_.find(trial.iteration);
  if (last == course_.end()) return "";
  const Point& point = last->second;
  const bool is_short = point.changes < least_changes;
  int digits = 0;
  for (const double value : point.objectives) {
    if (std::isfinite(value)) digits = std::max(digits, digits_of(value));
  }
  if (is_short && digits < least_blunt_digits) return "";
  if (!trial.lineage.empty() || !trial.start_checkpoint.empty()) return "";
  Json config = Json::parse(trial.config.text());
  // A trial that is repeated has its number in the config, and is to come to the same.
  config.erase(spec_.searcher.value("repeat_key", "repeat_index"));
  // Nor does a program that knows nothing of tune get what is for expressions alone.
  if (spec_.plain) {
    for (auto one = config.begin(); one != config.end();) {
      one = one.key().starts_with("_") ? config.erase(one) : std::next(one);
    }
  }
  if (!configs_.insert(text_of_same(std::move(config))).second) return "";
  alike_.push_back(trial.id);
  const std::size_t enough = !is_short                ? least_trials
                             : digits >= least_digits ? least_short_trials
                                                      : least_blunt_trials;
  if (alike_.size() < enough) return "";
  is_over_ = true;
  course_.clear();
  return sentence();
}

std::string ConfigEffect::sentence() const {
  std::string trials;
  for (const TrialId id : alike_) {
    trials += (trials.empty() ? "" : id == alike_.back() ? " and " : ", ") + to_string(id);
  }
  std::string start = trials +
                      " have different configs, and all of their results are equal to the last "
                      "digit: the program seems to ignore its config. ";
  if (!spec_.plain) {
    return start +
           "Does it use the config that it is given at its start, and not values of its own?";
  }
  std::string command;
  for (const std::string& word : spec_.command) command += (command.empty() ? "" : " ") + word;
  return start + "It is started as `" + clean_text(command) +
         "`: are those the arguments that it reads? (docs/plain.md has the words for others; "
         "${args} is --NAME=VALUE)";
}

}  // namespace tune
