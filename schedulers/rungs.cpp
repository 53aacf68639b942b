// Rung milestones and bracket shapes of successive halving and HyperBand, and a rung's sorted
// scores with their quantiles.
#include "schedulers/rungs.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "schedulers/progress.h"
#include "tuner/base/error.h"
#include "tuner/base/whole_number.h"
#include "tuner/model/objective.h"
#include "tuner/policy/policy_state.h"

namespace tune {

std::vector<double> rung_milestones(double first, double last, double factor) {
  ensure(first > 0 && factor > 1, "milestones grow");
  constexpr double rounding = 1 + 1e-9;
  std::vector<double> milestones;
  for (double next = first; next <= last * rounding; next *= factor) milestones.push_back(next);
  return milestones;
}

std::vector<BracketShape> hyperband_shapes(double max_t, double factor) {
  constexpr double rounding = 1e-9;
  const int s_max = static_cast<int>(rung_milestones(1, max_t, factor).size()) - 1;
  std::vector<BracketShape> shapes;
  for (int s = s_max; s >= 0; --s) {
    const double trials = std::ceil((s_max + 1.0) / (s + 1) * std::pow(factor, s) - rounding);
    BracketShape& shape = shapes.emplace_back();
    for (int i = 0; i <= s; ++i) {
      shape.sizes.push_back(static_cast<std::int64_t>(trials / std::pow(factor, i) + rounding));
      shape.milestones.push_back(std::floor(max_t * std::pow(factor, i - s) + rounding));
    }
    shape.milestones.back() = max_t;
  }
  return shapes;
}

int draw_bracket(int brackets, int rungs, Random& random) {
  if (brackets == 1) return 0;
  // Relative to the first bracket, so that nothing overflows.
  double sum = 0;
  for (int s = 0; s < brackets && s < rungs; ++s) sum += std::exp(-s);
  double drawn = random.uniform() * sum;
  for (int s = 0; s < brackets - 1; ++s) {
    drawn -= std::exp(-s);
    if (drawn < 0) return s;
  }
  return brackets - 1;
}

Json save_tallies(const std::vector<std::vector<RungTally>>& tallies) {
  Json state = Json::array();
  for (const auto& bracket : tallies) {
    Json& saved = state.emplace_back(Json::array());
    for (const RungTally& tally : bracket) saved.push_back({tally.reached, tally.went_on});
  }
  return state;
}

bool load_tallies(const Json& state, std::vector<std::vector<RungTally>>& tallies) {
  if (state.is_null()) return false;
  for (std::size_t s = 0; s < tallies.size(); ++s) {
    for (std::size_t k = 0; k < tallies[s].size(); ++k) {
      const Json& saved = state.at(s).at(k);
      tallies[s][k] = {load_whole<std::uint64_t>(saved.at(0)),
                       load_whole<std::uint64_t>(saved.at(1))};
    }
  }
  return true;
}

bool BestFirst::operator()(const RungEntry& a, const RungEntry& b) const {
  if (better(Mode::max, a.score, b.score)) return true;
  return !better(Mode::max, b.score, a.score) && a.trial < b.trial;
}

Rung::Neighbours Rung::around(double fraction) const {
  ensure(size() > 0, "there is a score to take a quantile of");
  constexpr double rounding = 1e-9;
  const double place = fraction * static_cast<double>(size() - 1);
  const double below = std::floor(place + rounding);
  const double part = std::max(place - below, 0.0);
  const std::size_t worse = size() - 1 - static_cast<std::size_t>(below);
  const double lower = at(worse).score;
  if (part < rounding || worse == 0) return {lower, lower, 0};
  return {lower, at(worse - 1).score, part};
}

double Rung::quantile(double fraction) const {
  const auto [lower, upper, part] = around(fraction);
  if (lower == upper || std::isinf(lower)) return lower;
  return std::lerp(lower, upper, part);  // which does not overflow
}

bool Rung::is_reached(double score, double fraction) const {
  const auto [lower, upper, part] = around(fraction);
  if (lower == upper) return score >= lower;  // somebody's score: nothing was rounded
  return reaches(score, quantile(fraction), std::max(std::abs(lower), std::abs(upper)));
}

Json Rung::save() const {
  Json trials = Json::array();
  Json scores = Json::array();
  for (const RungEntry& entry : entries_) {
    trials.push_back(index_of(entry.trial));
    scores.push_back(encode_number(entry.score));
  }
  return Json::array({std::move(trials), std::move(scores)});
}

Rung Rung::loaded(const Json& state) {
  const Json& trials = state.at(0);
  const Json& scores = state.at(1);
  if (trials.size() != scores.size()) throw std::invalid_argument("a score lacks its trial");
  Rung rung;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    rung.add({load_number(scores.at(i)), TrialId(load_whole<std::uint32_t>(trials.at(i)))});
  }
  return rung;
}

}  // namespace tune
