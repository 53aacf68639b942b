// The decorator around each searcher: deduplication, constraints, given points, repeats,
// concurrency limits, and reading of their options.
#include "searchers/suggestion_filter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "searchers/priors.h"
#include "searchers/suggestion.h"
#include "tuner/base/error.h"
#include "tuner/base/whole_number.h"
#include "tuner/math/random.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// How often the searcher is asked for another config before one is drawn at random.
constexpr int max_asks = 10;
constexpr int max_draws = 1000;
/// A discrete space of at most so many configs is looked through for those that are left.
constexpr std::uint64_t max_counted = 1 << 20;
/// And of at most so many it is counted beforehand how many different ones can be tried.
constexpr std::uint64_t max_counted_at_once = 1024;

/// A trial that nobody has to run: known scores are told as its.
TrialId known_trial(std::size_t i) {
  return TrialId{std::numeric_limits<std::uint32_t>::max() - static_cast<std::uint32_t>(i)};
}

class SuggestionFilter : public Searcher {
 public:
  SuggestionFilter(const SearchSpace& space, std::unique_ptr<Searcher> searcher,
                   SuggestionFilterOptions options)
      : space_(space),
        options_(std::move(options)),
        searcher_(std::move(searcher)),
        priors_(space_),
        is_constrained_(any_about_configs(options_.constraints)),
        random_(options_.seed) {
    if (prefers_new()) size_ = count_configs();
    std::size_t i = 0;
    for (const auto& [config, outcome, how] : options_.evaluated) {
      const TrialId trial = known_trial(i++);
      searcher_->on_trial_add(trial, encode_numbers(config).dump());
      searcher_->on_trial_end(trial, outcome, how);
      if (prefers_new()) seen_.insert(hash_of(config));
    }
  }

  Answer suggest(TrialId id) override {
    if (options_.num_samples >= 0 && sample_ >= options_.num_samples) return suggest_waiting();
    std::optional<Answer> other;
    std::optional<Json> config = next(id, other);
    if (other) return *other;
    if (!config) return suggest_waiting();
    ++sample_;
    if (prefers_new()) seen_.insert(hash_of(*config));
    std::string tag = space_.tag(*config);
    return Suggestion{std::move(*config), std::move(tag)};
  }

  Answer suggest_waiting() override { return searcher_->suggest_waiting(); }

  void on_trial_resume(TrialId id) override { searcher_->on_trial_resume(id); }
  void on_trial_hold(TrialId id, bool released) override { searcher_->on_trial_hold(id, released); }
  void on_trial_add(TrialId id, const std::string& config) override {
    searcher_->on_trial_add(id, config);
  }
  void on_result(TrialId id, const Observation& result) override {
    searcher_->on_result(id, result);
  }
  void on_trial_pause(TrialId id, const Observation& last) override {
    searcher_->on_trial_pause(id, last);
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    searcher_->on_trial_end(id, last, how);
  }

  std::optional<std::uint64_t> total() const override {
    // How many configs of a discrete space can be tried, nobody has counted.
    if (size_ && !is_counted_ && !may_repeat() && has_unfit(space_, options_.constraints)) {
      return std::nullopt;
    }
    if (options_.num_samples < 0) return size_;
    const auto samples = static_cast<std::uint64_t>(options_.num_samples);
    return size_ && !may_repeat() ? std::min(samples, *size_) : samples;
  }
  bool may_take_long() const override { return searcher_->may_take_long(); }
  SuggestionLimits limits() const override { return options_.batching.limits; }

  Json save() const override {
    return {{"searcher", searcher_->save()},
            {"sample", sample_},
            {"seen", seen_},
            {"random", random_.save()}};
  }

  void load(const Json& state) override {
    load_state("the searcher", [&] {
      Random random(0);
      random.load(state.at("random"));
      const auto sample = state.at("sample").get<std::int64_t>();
      auto seen = state.at("seen").get<std::set<std::uint64_t>>();
      searcher_->load(state.at("searcher"));
      random_ = random;
      sample_ = sample;
      seen_ = std::move(seen);
    });
  }

 private:
  /// Nothing: there is none left, or the searcher has `other` things to answer than a config.
  std::optional<Json> next(TrialId id, std::optional<Answer>& other) {
    const auto& points = options_.points_to_evaluate;
    std::optional<std::string> unfit;
    if (sample_ < std::ssize(points)) {
      for (int draws = 0; draws < max_draws; ++draws) {
        Json config = space_.sample(0, random_, points[static_cast<std::size_t>(sample_)]);
        unfit = why_unfit(space_, options_.constraints, config);
        if (!unfit) return config;
      }
      throw nothing_fits(*unfit);
    }
    if (options_.begins_at_priors && priors_.any() && sample_ == std::ssize(points)) {
      std::optional<std::string> why;
      Json config = priors_.sample(DrawnFrom::values, random_);
      if (is_good(config, prefers_new(), why)) return config;
    }
    const bool is_exhausted = size_ && *size_ > 0 && seen_.size() >= *size_;
    if (!is_exhausted) {
      if (auto config = find(id, prefers_new(), unfit, other)) return config;
      if (other) return std::nullopt;
      if (auto config = look_through(unfit)) return config;
    }
    const bool has_all = size_ && sample_ > 0;
    if (has_all && may_repeat()) return find(id, false, unfit, other);
    if (unfit && !has_all) throw nothing_fits(*unfit);
    return std::nullopt;
  }

  /// A good one: the searcher's, or else a random one.
  std::optional<Json> find(TrialId id, bool only_new, std::optional<std::string>& unfit,
                           std::optional<Answer>& other) {
    // What costs little may be asked until it comes to what can be tried.
    const auto most = [&] {
      return (is_constrained_ || unfit) && !may_take_long() ? max_draws : max_asks;
    };
    // Of a space without a choice there is nothing to be learnt.
    const bool has_choice = !space_.leaves().empty();
    for (int asks = 0; has_choice && asks < most(); ++asks) {
      Answer answer = searcher_->suggest(id);
      auto* const suggestion = std::get_if<Suggestion>(&answer);
      if (suggestion == nullptr) {
        other = std::move(answer);
        return std::nullopt;
      }
      if (is_good(suggestion->config, only_new, unfit)) return std::move(suggestion->config);
    }
    for (int draws = 0; draws < max_draws; ++draws) {
      Json config = space_.sample(0, random_);
      if (is_good(config, only_new, unfit)) return config;
    }
    return std::nullopt;
  }

  bool prefers_new() const { return options_.duplicates != Duplicates::always; }
  bool may_repeat() const {
    return options_.duplicates == Duplicates::when_exhausted && options_.num_samples >= 0;
  }

  Error nothing_fits(const std::string& last_reason) const {
    const std::string place = "among " + std::to_string(max_draws) + " drawn at random";
    return user_error(all_unfit(space_, options_.constraints, place, last_reason));
  }

  /// `unfit`: of what nobody can try it says why, and is else left as it is.
  bool is_good(const Json& config, bool only_new, std::optional<std::string>& unfit) const {
    if (only_new && seen_.contains(hash_of(config))) return false;
    auto reason = why_unfit(space_, options_.constraints, config);
    if (!reason) return true;
    unfit = std::move(reason);
    return false;
  }

  /// The first good one that is new, from a random place on.
  std::optional<Json> look_through(std::optional<std::string>& unfit) {
    const std::uint64_t all = size_ ? combinations() : 0;
    if (all == 0 || all > max_counted) return std::nullopt;
    const std::uint64_t start = random_.below(all);
    for (std::uint64_t i = 0; i < all; ++i) {
      Json config = combination((start + i) % all);
      if (is_good(config, prefers_new(), unfit)) return config;
    }
    return std::nullopt;
  }

  /// Of a discrete space: how many different configs there are that can be tried; an upper bound if
  /// they are too many to be looked at.
  std::optional<std::uint64_t> count_configs() {
    const auto size = space_.size();
    const std::uint64_t all = size ? combinations() : 0;
    is_counted_ = all > 0 && all <= max_counted_at_once;
    if (!is_counted_) return size;
    std::set<std::uint64_t> different;
    for (std::uint64_t i = 0; i < all; ++i) {
      const Json config = combination(i);
      if (!why_unfit(space_, options_.constraints, config)) different.insert(hash_of(config));
    }
    return different.size();
  }

  /// Of the values of all leaves. Those that a config does not have make some of them the same.
  std::uint64_t combinations() const {
    std::uint64_t all = 1;
    for (const SpaceLeaf& leaf : space_.leaves()) all = multiply_sizes(all, count(leaf));
    return all;
  }

  Json combination(std::uint64_t digits) const {
    std::size_t done = 0;  // leaves whose digit is taken
    return space_.assemble(0, [&](std::size_t leaf) {
      for (; done < leaf; ++done) digits /= count(space_.leaves()[done]);
      return nth(space_.leaves()[leaf], digits % count(space_.leaves()[leaf]));
    });
  }

  static std::uint64_t count(const SpaceLeaf& leaf) {
    const auto* const choice = std::get_if<Choice>(&leaf.domain);
    return choice != nullptr ? choice->values.size() : *count_values(leaf.domain);
  }
  static Json nth(const SpaceLeaf& leaf, std::uint64_t i) {
    return std::holds_alternative<Choice>(leaf.domain) ? Json(i) : nth_value(leaf.domain, i);
  }

  const SearchSpace space_;
  const SuggestionFilterOptions options_;
  std::optional<std::uint64_t> size_;  ///< of a discrete space, where new configs come first
  bool is_counted_ = false;            ///< `size_`: how many can be tried
  std::unique_ptr<Searcher> searcher_;
  const Priors priors_;
  const bool is_constrained_;  ///< in what may be suggested
  std::int64_t sample_ = 0;
  std::set<std::uint64_t> seen_;  ///< hashes of configs, where new ones come first
  Random random_;
};

/// A reward: a number, or a list of them, one for each objective.
std::vector<double> scores_of(const Json& rewards, const std::string& pointer,
                              const PolicyContext& context) {
  const Json list = rewards.is_array() ? rewards : Json::array({rewards});
  const std::size_t expected = std::max<std::size_t>(1, context.objectives.size());
  if (list.size() != expected) {
    throw OptionError(pointer, "a point needs one reward for each metric, " +
                                   std::to_string(expected) + " in all, got " + shorten(rewards));
  }
  std::vector<double> scores;
  for (std::size_t j = 0; j < list.size(); ++j) {
    const auto number = decode_number(list[j]);
    if (!number) throw OptionError(pointer, "a reward must be a number, got " + shorten(list[j]));
    const bool is_min = !context.objectives.empty() && context.objectives[j].mode == Mode::min;
    scores.push_back(is_min ? -*number : *number);
  }
  return scores;
}

/// `point` as a config; nothing if something of it is to be drawn.
std::optional<Json> whole_config(const Json& point, const SearchSpace& space) {
  bool is_whole = space.grid_size(point) == 1;
  Random random(0);
  const auto draw = [&](std::size_t leaf) {
    is_whole = false;
    return draw_leaf(space.leaves()[leaf].domain, random);
  };
  Json config = space.assemble(0, draw, point);
  return is_whole ? std::optional(std::move(config)) : std::nullopt;
}

/// Values of the constraints that need metrics, in their order: one or a list of them.
std::vector<double> constraints_at(const Json& values, const std::string& pointer,
                                   std::ptrdiff_t expected) {
  const Json list = values.is_array() ? values : Json::array({values});
  std::vector<double> numbers;
  for (const Json& value : list) {
    if (const auto number = decode_number(value)) numbers.push_back(*number);
  }
  if (std::ssize(numbers) < std::ssize(list) || std::ssize(numbers) != expected) {
    throw OptionError(pointer,
                      "a point with a reward needs the value of each constraint with a metric, " +
                          std::to_string(expected) + " in all, got " + shorten(values));
  }
  return numbers;
}

/// Takes what `evaluated_rewards` has scores for out of `points`.
void read_evaluated(OptionReader& reader, const PolicyContext& context,
                    SuggestionFilterOptions& options, std::vector<Json>& points) {
  const std::string name = "evaluated_rewards", values_name = "evaluated_constraints";
  const Json rewards = reader.get(name, Json::array());
  reader.require(rewards.is_array(), name, "a list of numbers");
  const Json values = reader.get(values_name, Json::array());
  reader.require(values.is_array(), values_name, "a list of numbers");
  const std::string iterations_name = "evaluated_iterations";
  const Json iterations = reader.get(iterations_name, Json::array());
  reader.require(iterations.is_array(), iterations_name, "a list of numbers and null");
  if (!reader.is_good() || context.is_partial) return;
  if (!iterations.empty() && iterations.size() != rewards.size()) {
    throw OptionError("/" + iterations_name,
                      "each of " + std::to_string(rewards.size()) +
                          " evaluated_rewards needs the iteration at which the trial was stopped, "
                          "or null, got " +
                          std::to_string(iterations.size()));
  }
  if (rewards.size() > points.size()) {
    throw OptionError("/" + name, "there are " + std::to_string(rewards.size()) + " rewards for " +
                                      std::to_string(points.size()) + " points_to_evaluate");
  }
  const auto expected = std::count_if(context.constraints.begin(), context.constraints.end(),
                                      [](const auto& one) { return one.needs_metrics(); });
  if (values.size() != (expected > 0 ? rewards.size() : 0)) {
    throw OptionError("/" + values_name, "each of " + std::to_string(rewards.size()) +
                                             " evaluated_rewards needs the values of " +
                                             std::to_string(expected) +
                                             " constraints with metrics, got values for " +
                                             std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    const std::string at = "/" + std::to_string(i);
    auto config = whole_config(points[i], context.space);
    if (!config) {
      throw OptionError("/points_to_evaluate" + at,
                        "a point with a reward must be a whole config: nothing is to be drawn");
    }
    Observation outcome{1, scores_of(rewards[i], "/" + name + at, context)};
    if (expected > 0) {
      outcome.constraints = constraints_at(values[i], "/" + values_name + at, expected);
    }
    const Json stopped_at = iterations.empty() ? Json() : iterations[i];
    const auto last = whole_number<std::int64_t>(stopped_at);
    if (!stopped_at.is_null() && (!last || *last < 1)) {
      throw OptionError("/" + iterations_name + at,
                        "the iteration at which the trial was stopped, from 1, or null: it was "
                        "trained as long as it was to; got " +
                            shorten(stopped_at));
    }
    outcome.iteration = last.value_or(0);
    options.evaluated.push_back(
        {*std::move(config), std::move(outcome), last ? Ended::stopped : Ended::complete});
  }
  // Who has trained as long as it was to, has come farther than who was stopped.
  std::int64_t farthest = 0;
  for (const auto& known : options.evaluated) {
    farthest = std::max(farthest, known.outcome.iteration);
  }
  for (auto& known : options.evaluated) {
    if (known.how == Ended::complete) known.outcome.iteration = farthest + 1;
  }
  points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(rewards.size()));
}

}  // namespace

std::vector<Json> read_points(OptionReader& reader, const PolicyContext& context) {
  const std::string name = "points_to_evaluate";
  const Json points = reader.get(name, Json::array());
  reader.require(points.is_array(), name, "a list of points");
  if (!points.is_array() || context.is_partial) return {};
  std::vector<Problem> wrong;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string place = "/" + name + "/" + std::to_string(i);
    const auto problems = context.space.check_preset(points[i]);
    for (const Problem& each : problems) wrong.push_back({place + each.pointer, each.sentence});
    if (!problems.empty()) continue;
    const auto config = whole_config(points[i], context.space);
    const auto unfit =
        config ? why_unfit(context.space, context.constraints, *config) : std::nullopt;
    if (unfit) wrong.push_back({place, *unfit});
  }
  for (const Problem& each : wrong) reader.complain(each.pointer, each);
  return wrong.empty() ? points.get<std::vector<Json>>() : std::vector<Json>();
}

void require_room(const std::vector<Json>& points, const PolicyContext& context) {
  if (context.num_samples < 0 || std::ssize(points) <= context.num_samples) return;
  throw OptionError("/points_to_evaluate", std::to_string(points.size()) +
                                               " points to evaluate are more than num_samples = " +
                                               std::to_string(context.num_samples));
}

Batching read_batching(OptionReader& reader) {
  Batching batching;
  batching.repeat = reader.get("repeat", batching.repeat);
  reader.require(batching.repeat >= 1, "repeat", "at least 1");
  batching.repeat_at_least = reader.get("repeat_at_least", batching.repeat);
  const bool is_race = batching.repeat_at_least != batching.repeat;
  reader.require(
      !is_race || (batching.repeat_at_least >= 2 && batching.repeat_at_least < batching.repeat),
      "repeat_at_least", "from 2 to repeat");
  batching.repeat_key = reader.get("repeat_key", batching.repeat_key);
  batching.limits.ahead = reader.get("suggest_ahead", batching.limits.ahead);
  reader.require(batching.limits.ahead >= 0, "suggest_ahead", "at least 0");
  batching.limits.max_concurrent = reader.get_optional<std::int64_t>("max_concurrent");
  reader.require(batching.limits.max_concurrent.value_or(1) >= 1, "max_concurrent", "at least 1");
  batching.limits.batch = reader.get("batch", batching.limits.batch);
  reader.require(!batching.limits.batch || batching.limits.max_concurrent, "batch",
                 "given together with max_concurrent, the size of a batch");
  return batching;
}

SuggestionFilterOptions read_suggestion_filter(OptionReader& reader, const PolicyContext& context) {
  if (context.space.has_grid()) {
    throw OptionError(
        "",
        "this searcher chooses for itself what to try, and has no use for a "
        "'grid_search' in the param space: write 'choice', or use 'random' or 'grid'");
  }
  SuggestionFilterOptions options;
  options.num_samples = context.num_samples;
  // Two generators with one seed would draw the same numbers.
  options.seed = context.seed ^ 0x5851f42d4c957f2du;

  options.points_to_evaluate = read_points(reader, context);
  read_evaluated(reader, context, options, options.points_to_evaluate);
  require_room(options.points_to_evaluate, context);
  options.constraints = context.constraints;
  if (const auto skips = reader.get_optional<bool>("skip_duplicates")) {
    options.duplicates = *skips ? Duplicates::never : Duplicates::always;
  }
  options.batching = read_batching(reader);
  return options;
}

std::unique_ptr<Searcher> make_suggestion_filter(const SearchSpace& space,
                                                 std::unique_ptr<Searcher> searcher,
                                                 SuggestionFilterOptions options) {
  const Batching batching = options.batching;
  return make_repeat(
      std::make_unique<SuggestionFilter>(space, std::move(searcher), std::move(options)), batching);
}

}  // namespace tune
