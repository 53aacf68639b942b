// Population-based bandits: a Gaussian process learns from all trials how fast which
// hyperparameters make progress at what time, and copies get those from which most is expected.
#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedulers/copy_on_write.h"
#include "schedulers/population.h"
#include "tuner/math/gaussian_process.h"
#include "tuner/math/minimize.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// The loop waits meanwhile: a fit costs the cube of the rows, some 3 ms with these numbers.
constexpr std::size_t most_stretches = 100;
constexpr int most_fits = 10;  ///< steps, from where the last fit has ended

constexpr int starts = 10;
constexpr int most_evaluations = 50;  ///< of the acquisition, from each start

/// Before the hyperparameters, in each point: time, and the score before the stretch.
constexpr std::size_t contexts = 2;

using Values = std::vector<double>;

/// A stretch of training under the same hyperparameters.
struct Stretch {
  double time = 0;          ///< at its end
  double score_before = 0;  ///< at its beginning
  Values values;            ///< of the hyperparameters, from 0 to 1
  double progress = 0;      ///< change of the score by time
};

/// Where a trial was at the end of its last interval.
struct Mark {
  double time = 0;
  double score = 0;
  Values values;  ///< of what it trains with now
  /// Time and `score_before` of the last stretch; nothing: it has none.
  std::optional<std::pair<double, double>> last_stretch;
};

/// Between 0 and 1.
struct Scale {
  explicit Scale(const Domain& domain) {
    if (const auto* const real = std::get_if<Uniform>(&domain)) {
      lower = real->lower, upper = real->upper, log = real->log;
    } else {
      const auto& whole = std::get<Integer>(domain);
      lower = static_cast<double>(whole.lower);
      upper = static_cast<double>(whole.q > 1 ? whole.upper : whole.upper - 1);
      log = whole.log;
    }
  }

  double to_unit(double value) const {
    const double share =
        log ? std::log(value / lower) / std::log(upper / lower) : (value - lower) / (upper - lower);
    return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  }
  double from_unit(double share) const {
    const double value =
        log ? lower * std::pow(upper / lower, share) : lower + share * (upper - lower);
    return std::clamp(value, lower, upper);
  }

  double lower = 0, upper = 1;
  bool log = false;
};

class Bandit : public Explorer {
 public:
  explicit Bandit(std::vector<Mutation> bounds) : bounds_(std::move(bounds)) {
    for (const Mutation& bound : bounds_) scales_.emplace_back(std::get<Domain>(bound.values));
  }

  void on_score(TrialId id, const TrialProgress& reached, const std::string& config) override {
    latest_ = std::max(latest_, reached.time);
    Values values = values_of(Json::parse(config));
    const bool is_new = !marks_.contains(id);
    Mark& mark = marks_[id];
    if (!is_new && mark.values == values) learn(mark, reached);
    mark.time = reached.time;
    mark.score = reached.score;
    mark.values = std::move(values);
  }

  void on_clone(TrialId clone, TrialId donor, const std::string& config) override {
    const Mark* const found = std::as_const(marks_).find(donor);
    if (found == nullptr) return;
    Mark mark = *found;
    mark.values = values_of(Json::parse(config));
    round_.push_back(mark.values);
    marks_[clone] = std::move(mark);
  }

  void on_end(TrialId id) override { marks_.erase(id); }

  Json explore(TrialId donor, Json config, Random& random) override {
    if (latest_ > explored_) round_.clear();
    explored_ = latest_;
    const Values chosen = choose(std::as_const(marks_).find(donor), random);
    for (std::size_t j = 0; j < bounds_.size(); ++j) {
      const Json::json_pointer place(bounds_[j].pointer);
      const auto& domain = std::get<Domain>(bounds_[j].values);
      const double number = scales_[j].from_unit(chosen[j]);
      config[place] = nearest_in(domain, number);
    }
    return config;
  }

  std::unique_ptr<Explorer> copy() const override { return std::make_unique<Bandit>(*this); }

  Json save() const override {
    Json stretches = Json::array();
    for (const Stretch& s : stretches_) {
      stretches.push_back({s.time, s.score_before, s.values, s.progress});
    }
    Json marks = Json::array();
    marks_.for_each([&](TrialId id, const Mark& mark) {
      marks.push_back({index_of(id), encode_number(mark.time), encode_number(mark.score),
                       mark.values, mark.last_stretch ? Json(*mark.last_stretch) : Json()});
    });
    return {{"stretches", std::move(stretches)},
            {"marks", std::move(marks)},
            {"round", round_},
            {"latest", encode_number(latest_)},
            {"explored", encode_number(explored_)},
            {"fitted", fitted_},
            {"is_fitted", is_fitted_}};
  }

  void load(const Json& state) override {
    Bandit other(bounds_);
    for (const Json& saved : state.at("stretches")) {
      other.stretches_.push_back({saved.at(0).get<double>(), saved.at(1).get<double>(),
                                  load_values(saved.at(2)), saved.at(3).get<double>()});
    }
    for (const Json& saved : state.at("marks")) {
      Mark& mark = other.marks_[TrialId(load_whole<std::uint32_t>(saved.at(0)))];
      mark.time = load_number(saved.at(1));
      mark.score = load_number(saved.at(2));
      mark.values = load_values(saved.at(3));
      if (!saved.at(4).is_null()) {
        mark.last_stretch = saved.at(4).get<std::pair<double, double>>();
      }
    }
    for (const Json& saved : state.at("round")) other.round_.push_back(load_values(saved));
    other.latest_ = load_number(state.at("latest"));
    other.explored_ = load_number(state.at("explored"));
    other.fitted_ = state.at("fitted").get<Values>();
    if (other.fitted_.size() != fitted_.size()) throw std::invalid_argument("hyperparameters");
    is_fitted_ = state.at("is_fitted").get<bool>();
    fitted_.swap(other.fitted_);
    stretches_.swap(other.stretches_);
    marks_ = std::move(other.marks_);
    round_.swap(other.round_);
    latest_ = other.latest_;
    explored_ = other.explored_;
  }

 private:
  void learn(Mark& mark, const TrialProgress& reached) {
    const double progress = (reached.score - mark.score) / (reached.time - mark.time);
    const bool is_later = std::isfinite(reached.time) && reached.time > mark.time;
    if (!is_later || !std::isfinite(progress)) return;
    mark.last_stretch = {reached.time, mark.score};
    stretches_.push_back({reached.time, mark.score, mark.values, progress});
    if (stretches_.size() > most_stretches) stretches_.pop_front();
    is_fitted_ = false;
  }

  /// Where the upper confidence bound is highest for a copy of the donor; anywhere, if nothing is
  /// known of it.
  Values choose(const Mark* donor, Random& random) {
    const std::size_t n = bounds_.size();
    std::vector<Values> tries(starts, Values(n));
    for (Values& start : tries) {
      for (double& value : start) value = random.uniform();
    }
    if (donor == nullptr || !donor->last_stretch || stretches_.empty()) {
      return tries.front();
    }
    const auto times = range([](const Stretch& s) { return s.time; });
    const auto scores = range([](const Stretch& s) { return s.score_before; });
    const auto share_of = [](double value, const std::pair<double, double>& of) {
      const double share = (value - of.first) / (of.second - of.first + 1e-8);
      return std::isfinite(share) ? std::clamp(share, -1.0, 2.0) : 0;
    };
    const auto point = [&](double time, double score, const Values& values) {
      Values all = {share_of(time, times), share_of(score, scores)};
      all.insert(all.end(), values.begin(), values.end());
      return all;
    };
    Values points, progress;
    for (const Stretch& s : stretches_) {
      const Values all = point(s.time, s.score_before, s.values);
      points.insert(points.end(), all.begin(), all.end());
      progress.push_back(s.progress);
    }
    progress = standardize(std::move(progress)).values;
    for (double& value : progress) value = std::clamp(value, -2.0, 2.0);
    GaussianProcess model(make_time_varying_kernel(contexts + n), contexts + n, points, progress);
    if (is_fitted_) {
      model.set(fitted_);
    } else {
      fitted_ =
          model.fit(fitted_, {{1e-3, 1e-2, 1e-6, 1e-4}, {1e3, 1, 0.5, 10}, {}, most_fits, 1e-2});
      is_fitted_ = true;
    }

    const double time = donor->last_stretch->first;
    const double score = donor->last_stretch->second;
    // What the round has chosen already: means stay as they are, variances shrink.
    for (const Values& values : round_) {
      const Values there = point(time, score, values);
      model.add(there, model.predict(there).mean);
    }
    const double trust =
        std::sqrt(0.2 + std::max(0.0, std::log(0.4 * static_cast<double>(stretches_.size()))));
    const auto bound = [&](const Values& values, Values& gradient) {
      GaussianProcess::Slopes slopes;
      const Prediction there = model.predict(point(time, score, values), slopes);
      const double deviation = std::sqrt(std::max(there.variance, 1e-12));
      gradient.resize(n);
      for (std::size_t j = 0; j < n; ++j) {
        gradient[j] =
            -slopes.mean[contexts + j] - trust * slopes.variance[contexts + j] / (2 * deviation);
      }
      return -there.mean - trust * deviation;
    };
    Minimum best = minimize(bound, tries[0], Values(n, 0), Values(n, 1), {most_evaluations, 1e-4});
    for (int i = 1; i < starts; ++i) {
      Minimum other = minimize(bound, tries[static_cast<std::size_t>(i)], Values(n, 0),
                               Values(n, 1), {most_evaluations, 1e-4});
      if (other.value < best.value) best = std::move(other);
    }
    return best.x;
  }

  template <class Get>
  std::pair<double, double> range(Get get) const {
    std::pair<double, double> range{get(stretches_.front()), get(stretches_.front())};
    for (const Stretch& s : stretches_) {
      range.first = std::min(range.first, get(s));
      range.second = std::max(range.second, get(s));
    }
    return range;
  }

  /// What is missing, or no number, is at the lower end.
  Values values_of(const Json& config) const {
    Values values;
    for (std::size_t j = 0; j < bounds_.size(); ++j) {
      const Json::json_pointer place(bounds_[j].pointer);
      const bool is_number = config.contains(place) && config.at(place).is_number();
      values.push_back(is_number ? scales_[j].to_unit(config.at(place).get<double>()) : 0);
    }
    return values;
  }

  Values load_values(const Json& saved) const {
    Values values = saved.get<Values>();
    if (values.size() != bounds_.size()) throw std::invalid_argument("values of another space");
    return values;
  }

  const std::vector<Mutation> bounds_;
  std::vector<Scale> scales_;
  std::deque<Stretch> stretches_;
  TrialTable<Mark> marks_;
  std::vector<Values> round_;  ///< chosen since there were newer results
  double latest_ = 0;
  double explored_ = -1;            ///< `latest_` at the last choice
  Values fitted_ = {1, 1, 0.1, 1};  ///< variance, length, forgetting, noise
  bool is_fitted_ = false;          ///< to these stretches
};

}  // namespace

std::unique_ptr<Scheduler> make_pb2(Pb2Options options) {
  auto explorer = std::make_unique<Bandit>(std::move(options.bounds));
  return make_population(std::move(options), std::move(explorer));
}

}  // namespace tune
