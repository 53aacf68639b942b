// A table with a row for each trial, found by its id; saved column by column.
#include "searchers/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

bool are_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

History::State state_of(const std::vector<double>& scores, Ended how) {
  if (how == Ended::lost) return History::State::lost;
  if (how == Ended::stopped) return History::State::stopped;
  const bool is_failure = how == Ended::failed || !are_finite(scores);
  return is_failure ? History::State::failed : History::State::complete;
}

History::State read_state(char letter) {
  for (const auto state : {History::State::running, History::State::complete,
                           History::State::stopped, History::State::failed, History::State::lost}) {
    if (letter == static_cast<char>(state)) return state;
  }
  throw std::invalid_argument("no state of a trial");
}

}  // namespace

bool History::Row::has_failed() const {
  if (state == State::failed) return true;
  return state == State::stopped && iteration > 0 && !are_finite(scores);
}

bool History::Row::has_worked() const {
  const bool has_ended = state == State::complete || state == State::stopped;
  return has_ended && are_finite(scores);
}

History::History(SearchSpace space, std::size_t objectives, Curves curves)
    : space_(std::move(space)), axes_(axes_of(space_)), objectives_(objectives), kept_(curves) {}

std::size_t History::add(TrialId id, const std::string& config) {
  const auto [entry, is_new] = places_.try_emplace(id, rows_.size());
  if (is_new) {
    rows_.push_back({.id = id});
    if (kept_ == Curves::kept) curves_.emplace_back();
  } else {
    --counts_[rows_[entry->second].state];
  }
  Row& row = rows_[entry->second];
  row.state = State::running;
  row.iteration = 0;
  row.scores.clear();
  row.constraints.clear();
  if (kept_ == Curves::kept) curves_[entry->second] = {};
  row.point = coordinates_of(space_, axes_, Json::parse(config));
  ++counts_[row.state];
  return entry->second;
}

std::optional<std::size_t> History::find(TrialId id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

void History::report(TrialId id, const Observation& result) {
  if (kept_ == Curves::none) return;
  if (const auto place = find(id)) add_to_curve(*place, result);
}

/// What comes once more replaces what was told of it and of what came after it.
void History::add_to_curve(std::size_t place, const Observation& result) {
  if (result.iteration == 0) return;  // it has no result
  auto& [iterations, scores] = curves_[place];
  while (!iterations.empty() && iterations.back() >= result.iteration) iterations.pop_back();
  scores.resize(iterations.size() * objectives_);
  iterations.push_back(result.iteration);
  scores.insert(scores.end(), result.scores.begin(), result.scores.end());
  scores.resize(iterations.size() * objectives_, no_number);
}

const History::Curve& History::curve(std::size_t place) const {
  static const Curve none;
  return kept_ == Curves::kept ? curves_.at(place) : none;
}

std::optional<std::size_t> History::end(TrialId id, const Observation& last, Ended how) {
  const auto place = find(id);
  if (!place) return std::nullopt;
  Row& row = rows_[*place];
  --counts_[row.state];
  row.scores = last.scores;
  row.scores.resize(objectives_, no_number);
  row.constraints = last.constraints;
  row.iteration = last.iteration;
  row.state = state_of(row.scores, how);
  if (kept_ == Curves::kept) add_to_curve(*place, last);
  ++counts_[row.state];
  return place;
}

std::size_t History::count(State state) const {
  const auto found = counts_.find(state);
  return found == counts_.end() ? 0 : found->second;
}

// Columns, not rows, so that names are not repeated for each trial.
Json History::save() const {
  Json ids = Json::array(), iterations = Json::array();
  Json scores = Json::array(), points = Json::array();
  Json constraints = Json::array();
  bool is_constrained = false;
  std::string states;
  for (const Row& row : rows_) {
    ids.push_back(row.id);
    states += static_cast<char>(row.state);
    if (row.state != State::running) {
      iterations.push_back(row.iteration);
      for (const double score : row.scores) scores.push_back(encode_number(score));
      constraints.push_back(save_numbers(row.constraints));
      is_constrained |= !row.constraints.empty();
    }
    for (const double x : row.point) points.push_back(std::isnan(x) ? Json() : Json(x));
  }
  Json state = {{"ids", ids},
                {"states", states},
                {"iterations", iterations},
                {"scores", scores},
                {"points", points}};
  if (is_constrained) state["constraints"] = std::move(constraints);
  if (kept_ == Curves::kept) {
    Json& curves = state["curves"] = Json::array();
    for (const Curve& curve : curves_) {
      curves.push_back({curve.iterations, save_numbers(curve.scores)});
    }
  }
  return state;
}

void History::load(const Json& state) {
  const Json &ids = state.at("ids"), &iterations = state.at("iterations");
  const Json &scores = state.at("scores"), &points = state.at("points");
  const auto constraints = state.find("constraints");  // only of an experiment that has some
  const auto states = state.at("states").get<std::string>();
  const std::size_t width = axes_.size();
  if (!ids.is_array() || states.size() != ids.size() || points.size() != ids.size() * width) {
    throw std::invalid_argument("columns of different length");
  }
  std::vector<Row> rows(ids.size());
  std::map<TrialId, std::size_t> places;
  std::map<State, std::size_t> counts;
  std::vector<Curve> curves(kept_ == Curves::kept ? rows.size() : 0);
  std::size_t ended = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    row.id = TrialId(load_whole<std::uint32_t>(ids[i]));
    row.state = read_state(states[i]);
    for (std::size_t leaf = 0; leaf < width; ++leaf) {
      const Json& x = points[i * width + leaf];
      row.point.push_back(x.is_null() ? no_number : x.get<double>());
    }
    if (row.state != State::running) {
      row.iteration = load_whole<std::int64_t>(iterations.at(ended));
      for (std::size_t j = 0; j < objectives_; ++j) {
        row.scores.push_back(load_number(scores.at(ended * objectives_ + j)));
      }
      if (constraints != state.end()) row.constraints = load_numbers(constraints->at(ended));
      ++ended;
    }
    if (!places.try_emplace(row.id, i).second) throw std::invalid_argument("a trial twice");
    ++counts[row.state];
  }
  if (iterations.size() != ended || scores.size() != ended * objectives_) {
    throw std::invalid_argument("columns of different length");
  }
  const auto saved = state.find("curves");  // of whom has kept them
  for (std::size_t i = 0; saved != state.end() && i < curves.size(); ++i) {
    const Json& curve = saved->at(i);
    curves[i] = {curve.at(0).get<std::vector<std::int64_t>>(), load_numbers(curve.at(1))};
    if (curves[i].scores.size() != curves[i].iterations.size() * objectives_) {
      throw std::invalid_argument("a curve with too many scores or too few");
    }
  }
  rows_ = std::move(rows);
  curves_ = std::move(curves);
  places_ = std::move(places);
  counts_ = std::move(counts);
}

}  // namespace tune
