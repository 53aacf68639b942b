// Looks for regions of failures, bests at the edge of a range, rungs that judge badly, free GPUs.
#include "tuner/view/findings.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "callbacks/console_table.h"
#include "searchers/coordinates.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/model/ancestry.h"
#include "tuner/view/best.h"
#include "tuner/view/ignored_config.h"
#include "tuner/view/judged_trials.h"

namespace tune {

namespace {

/// With fewer, what they have in common is chance.
constexpr std::size_t fewest_failures = 3;
/// A region is worth a sentence if so much of it fails, and so much of what fails is in it.
constexpr double least_share = 0.7;
/// With fewer trials the best ones are anywhere.
constexpr std::size_t fewest_for_edges = 20;
/// The outermost part of a range, and which part of the best must be there.
constexpr double edge_width = 0.1;
constexpr double edge_share = 0.5;
constexpr std::size_t fewest_at_both_rungs = 8;
constexpr double little_agreement = 0.3;
constexpr double much_agreement = 0.9;
constexpr double least_idle_share = 0.1;
constexpr std::size_t fewest_since_best = 20;

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
}

/// Trials as points of the space.
struct Points {
  SearchSpace space;
  std::vector<Axis> axes;
  std::vector<const Trial*> trials;
  std::vector<std::vector<double>> coordinates;  ///< by trial and leaf; NaN where it has none

  std::string name(std::size_t leaf) const { return parameter_name(space.leaves()[leaf].pointer); }
  /// Whether a choice's values are numbers that grow, so that a border between them means
  /// something.
  bool is_ascending(std::size_t leaf) const {
    const auto* const choice = std::get_if<Choice>(&space.leaves()[leaf].domain);
    if (choice == nullptr) return false;
    double last = -INFINITY;
    for (const Json& value : choice->values) {
      if (!value.is_number() || !(value.get<double>() > last)) return false;
      last = value.get<double>();
    }
    return true;
  }
  std::string value_text(std::size_t leaf, double coordinate) const {
    const Json value = leaf_value_at(space.leaves()[leaf].domain, axes[leaf], coordinate);
    if (const auto* const choice = std::get_if<Choice>(&space.leaves()[leaf].domain)) {
      return shorten(choice->values.at(value.get<std::size_t>()), 40);
    }
    return format_metric(value.get<double>());
  }
};

/// All that have begun; nothing where nothing is drawn.
std::optional<Points> points_of(const ResultGrid& grid) {
  try {
    Points points;
    points.space = space_to_judge(grid);
    points.axes = axes_of(points.space);
    for (const Trial& trial : grid.experiment().trials()) {
      if (trial.attempt == 0) continue;
      points.trials.push_back(&trial);
      points.coordinates.push_back(
          coordinates_of(points.space, points.axes, Json::parse(present_config(trial))));
    }
    return points;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// One side of a border, or one value of a choice.
struct Rule {
  enum class Side { at_least, at_most, equal };
  std::size_t leaf = 0;
  Side side{};
  double coordinate = 0;

  bool holds(const std::vector<double>& point) const {
    const double at = point[leaf];
    switch (side) {
      case Side::at_least:
        return at >= coordinate;
      case Side::at_most:
        return at <= coordinate;
      case Side::equal:
        return at == coordinate;
    }
    return false;
  }
  std::string text(const Points& points) const {
    const char* const sign = side == Side::at_least  ? " >= "
                             : side == Side::at_most ? " <= "
                                                     : " = ";
    return points.name(leaf) + sign + points.value_text(leaf, coordinate);
  }
};

/// How well a region tells the failed ones from the others.
struct Fit {
  std::size_t failed = 0, others = 0;

  double value(std::size_t all_failed) const {
    const auto hits = static_cast<double>(failed);
    return 2 * hits / (2 * hits + static_cast<double>(others + all_failed - failed));
  }
};

/// Finds one more rule for the trials in `among`; nothing if none tells them apart better than all
/// of `among` does.
std::optional<std::pair<Rule, Fit>> best_rule(const Points& points,
                                              const std::set<std::size_t>& failed,
                                              const std::vector<std::size_t>& among) {
  std::optional<std::pair<Rule, Fit>> best;
  Fit whole;
  for (const std::size_t i : among) ++(failed.contains(i) ? whole.failed : whole.others);
  double best_value = whole.value(failed.size());
  const auto offer = [&](const Rule& rule, const Fit& fit) {
    // A little better is chance.
    if (fit.value(failed.size()) <= best_value + 0.02) return;
    best_value = fit.value(failed.size());
    best = {rule, fit};
  };
  for (std::size_t leaf = 0; leaf < points.axes.size(); ++leaf) {
    if (!points.axes[leaf].is_modelled()) continue;
    std::map<double, Fit> at;
    for (const std::size_t i : among) {
      const double coordinate = points.coordinates[i][leaf];
      if (std::isnan(coordinate)) continue;
      ++(failed.contains(i) ? at[coordinate].failed : at[coordinate].others);
    }
    if (points.axes[leaf].is_choice()) {
      for (const auto& [coordinate, fit] : at) offer({leaf, Rule::Side::equal, coordinate}, fit);
      if (!points.is_ascending(leaf)) continue;
    }
    Fit below;
    for (const auto& [coordinate, fit] : at) {
      below = {below.failed + fit.failed, below.others + fit.others};
      if (fit.failed > 0) offer({leaf, Rule::Side::at_most, coordinate}, below);
    }
    Fit above;
    for (auto each = at.rbegin(); each != at.rend(); ++each) {
      above = {above.failed + each->second.failed, above.others + each->second.others};
      if (each->second.failed > 0) offer({leaf, Rule::Side::at_least, each->first}, above);
    }
  }
  return best;
}

/// "9 of the 10 failed trials have lr >= 0.1 and ...; of the 9 trials there 9 failed."
std::optional<Finding> failing_region(const Points& points, const std::set<std::size_t>& failed) {
  if (failed.size() < fewest_failures) return {};
  if (points.trials.size() < failed.size() + fewest_failures) return {};
  std::vector<std::size_t> among(points.trials.size());
  for (std::size_t i = 0; i < among.size(); ++i) among[i] = i;
  std::vector<Rule> rules;
  Fit fit;
  for (int conjuncts = 0; conjuncts < 2; ++conjuncts) {
    const auto found = best_rule(points, failed, among);
    if (!found) break;
    rules.push_back(found->first);
    fit = found->second;
    std::erase_if(among, [&](std::size_t i) { return !found->first.holds(points.coordinates[i]); });
  }
  const auto in = static_cast<double>(fit.failed);
  const bool is_region = !rules.empty() && in >= least_share * static_cast<double>(among.size()) &&
                         in >= least_share * static_cast<double>(failed.size());
  // Where nearly all fail, nothing is told by where they are.
  if (!is_region || 10 * failed.size() > 9 * points.trials.size()) return {};
  Finding finding{FindingKind::failures, ""};
  std::string region;
  for (const Rule& rule : rules) {
    region += (region.empty() ? "" : " and ") + rule.text(points);
    finding.parameters.push_back(points.name(rule.leaf));
  }
  for (const std::size_t i : among) {
    if (failed.contains(i)) finding.trials.push_back(points.trials[i]->id);
  }
  finding.sentence =
      (fit.failed == failed.size() ? "All " + std::to_string(failed.size()) + " failed trials have "
                                   : std::to_string(fit.failed) + " of the " +
                                         std::to_string(failed.size()) + " failed trials have ") +
      region + "; of the " + count_of(among.size(), "trial") + " there " +
      std::to_string(fit.failed) + " failed.";
  return finding;
}

/// The same for messages that differ in numbers alone.
std::string shape_of(const std::string& error) {
  std::string shape;
  for (const char c : error) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit)
      shape += c;
    else if (shape.empty() || shape.back() != '#')
      shape += '#';
  }
  return shape;
}

/// Also of one that would be tried again, had the driver not given up.
bool has_failed(const Experiment& experiment, const Trial& trial) {
  if (trial.end() == TrialEnd::failed) return true;
  return trial.state == TrialState::pending && !trial.error.empty() &&
         !why_given_up(experiment).empty();
}

void find_failures(const ResultGrid& grid, const std::optional<Points>& points,
                   std::vector<Finding>& all) {
  Finding finding{FindingKind::failures, ""};
  std::map<std::string, std::vector<const Trial*>> by_shape;
  for (const Trial& trial : grid.experiment().trials()) {
    if (!has_failed(grid.experiment(), trial)) continue;
    finding.trials.push_back(trial.id);
    by_shape[shape_of(*trial.error)].push_back(&trial);
  }
  if (finding.trials.empty()) return;
  const auto most = std::max_element(
      by_shape.begin(), by_shape.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::string error = headline(*most->second.front()->error);
  error.erase(std::min(error.find("; see "), error.size()));  // its own log, of one of many
  finding.sentence =
      std::to_string(finding.trials.size()) + " of " + count_of(grid.size(), "trial") + " failed" +
      (error.empty() ? "."
       : by_shape.size() == 1
           ? ": " + error
           : ", " + std::to_string(most->second.size()) + " of them like this: " + error);
  all.push_back(finding);
  if (!points) return;
  std::set<std::size_t> failed;
  for (std::size_t i = 0; i < points->trials.size(); ++i) {
    if (has_failed(grid.experiment(), *points->trials[i])) failed.insert(i);
  }
  if (auto region = failing_region(*points, failed)) all.push_back(std::move(*region));
}

/// A trial whose saves fail trains on, and has nothing to show for it at its end.
void find_failed_saves(const ResultGrid& grid, std::vector<Finding>& all) {
  const SaveStatistics& saves = grid.experiment().saves();
  if (saves.failed == 0) return;
  Finding finding{FindingKind::saves, ""};
  for (const Trial& trial : grid.experiment().trials()) {
    if (trial.failed_saves > 0) finding.trials.push_back(trial.id);
  }
  const std::string why = last_save_error(grid.experiment());
  finding.sentence = std::to_string(saves.failed) + " of " +
                     count_of(saves.failed + saves.committed, "save") + " failed" +
                     (why.empty() ? "." : ", " + why);
  all.push_back(std::move(finding));
}

void find_not_finite(const ResultGrid& grid, const Objective& objective,
                     std::vector<Finding>& all) {
  Finding finding{FindingKind::not_finite, ""};
  for (const Trial& trial : grid.experiment().trials()) {
    const MetricSummary* const summary = trial.summary(objective.metric);
    if (summary != nullptr && !std::isfinite(summary->last)) finding.trials.push_back(trial.id);
  }
  if (finding.trials.empty()) return;
  finding.sentence = "The last " + objective.metric + " of " +
                     count_of(finding.trials.size(), "trial") + " of " +
                     std::to_string(grid.size()) + " is no finite number.";
  all.push_back(std::move(finding));
}

void find_edges(const ResultGrid& grid, const Objective& objective, const Points& points,
                std::vector<Finding>& all) {
  const std::size_t wanted = std::max<std::size_t>(5, points.trials.size() / 20);
  const std::vector<TrialId> best = grid.best_trials(objective, Scope::all, wanted);
  if (points.trials.size() < fewest_for_edges || best.size() < wanted) return;
  std::map<TrialId, std::size_t> places;
  for (std::size_t i = 0; i < points.trials.size(); ++i) places[points.trials[i]->id] = i;
  for (std::size_t leaf = 0; leaf < points.axes.size(); ++leaf) {
    const Axis& axis = points.axes[leaf];
    if (axis.is_choice() || !axis.is_modelled() || !axis.bounded) continue;
    for (const bool is_upper : {false, true}) {
      Finding finding{FindingKind::edge, ""};
      std::size_t here = 0;
      const auto is_at_edge = [&](std::size_t i) {
        const double share = (points.coordinates[i][leaf] - axis.low) / (axis.high - axis.low);
        return is_upper ? share >= 1 - edge_width : share <= edge_width;
      };
      for (std::size_t i = 0; i < points.trials.size(); ++i) here += is_at_edge(i) ? 1 : 0;
      for (const TrialId id : best) {
        if (is_at_edge(places.at(id))) finding.trials.push_back(id);
      }
      const auto at_edge = static_cast<double>(finding.trials.size());
      if (at_edge < edge_share * static_cast<double>(best.size())) continue;
      // Of few values each is near an edge.
      if (axis.step > 0 && axis.last - axis.first < 10 * axis.step) continue;
      finding.parameters.push_back(points.name(leaf));
      finding.sentence =
          std::to_string(finding.trials.size()) + " of the best " + std::to_string(best.size()) +
          " trials have " + points.name(leaf) + " in the " + (is_upper ? "highest" : "lowest") +
          " tenth of its range (" + format_metric(axis.first) + " to " + format_metric(axis.last) +
          (axis.log ? ", logarithmic" : "") + "), where " + count_of(here, "trial") + " of " +
          std::to_string(points.trials.size()) + " are: better values may lie beyond it.";
      all.push_back(std::move(finding));
    }
  }
}

/// Places from 0 on, the mean of them for equal values.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

/// Spearman's; NaN where one side has equal values alone.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

void find_early_stopping(const std::vector<Judgement>& judgements, std::vector<Finding>& all) {
  const auto agreements = rung_agreements(judgements);
  if (agreements.empty()) return;
  const RungAgreement& first = agreements.front();
  const double ended = static_cast<double>(first.ended) / static_cast<double>(first.judged);
  char correlation[32];
  std::snprintf(correlation, sizeof correlation, "%.2f", first.correlation);
  const std::string facts = "of the " + count_of(first.trials, "trial") + " judged at both " +
                            format_metric(first.from) + " and " + format_metric(first.to) +
                            ", the order at " + format_metric(first.from);
  const std::string counts = std::to_string(first.ended) + " of the " +
                             count_of(first.judged, "trial") + " judged at " +
                             format_metric(first.from) + " went no further";
  if (first.correlation < little_agreement && ended >= 0.3) {
    all.push_back({FindingKind::early_stopping, "Early stopping may be too harsh: " + facts +
                                                    " says little about the later one "
                                                    "(rank correlation " +
                                                    correlation + "), yet " + counts +
                                                    ". A longer grace period judges later."});
  } else if (first.correlation > much_agreement && ended < 0.4) {
    all.push_back(
        {FindingKind::early_stopping,
         "Early stopping may be too mild: " + facts +
             " is nearly the later one (rank "
             "correlation " +
             correlation + "), and only " + counts +
             ". A larger reduction factor, or a shorter grace period, spends less on losers."});
  }
}

void find_idle(const ResultGrid& grid, const RunHistory& history, std::vector<Finding>& all) {
  const double running = grid.experiment().running_s(grid.experiment().last_time());
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> by_gpu;
  for (const IdleStretch& each : history.idle) {
    by_gpu[{each.node, each.gpu}][each.why] += each.to - each.from;
  }
  for (const auto& [gpu, whys] : by_gpu) {
    double idle = 0;
    for (const auto& [why, seconds] : whys) idle += seconds;
    if (idle < least_idle_share * running) continue;
    const auto most = std::max_element(
        whys.begin(), whys.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    all.push_back(
        {FindingKind::idle,
         "GPU " + gpu.second + (gpu.first.empty() ? "" : " of " + gpu.first) + " was free for " +
             format_duration(idle) + " of " + format_duration(running) + " (" +
             percent(idle / running) + "), " +
             (whys.size() > 1 ? "for " + format_duration(most->second) + " because " : "because ") +
             most->first + "."});
  }
}

}  // namespace

const char* to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::failures:
      return "failures";
    case FindingKind::saves:
      return "saves";
    case FindingKind::not_finite:
      return "not_finite";
    case FindingKind::config:
      return "config";
    case FindingKind::edge:
      return "edge";
    case FindingKind::early_stopping:
      return "early_stopping";
    case FindingKind::idle:
      return "idle";
    case FindingKind::stalled:
      return "stalled";
  }
  return "";
}

std::vector<RungAgreement> rung_agreements(const std::vector<Judgement>& judgements) {
  std::map<double, std::map<TrialId, double>> by_rung;
  for (const Judgement& each : judgements) {
    if (std::isfinite(each.score)) by_rung[each.rung][each.trial] = each.score;
  }
  std::vector<RungAgreement> all;
  for (auto rung = by_rung.begin(); rung != by_rung.end(); ++rung) {
    const auto next = std::next(rung);
    if (next == by_rung.end()) break;
    std::vector<double> before, after;
    std::size_t later = 0;
    for (const auto& [trial, score] : rung->second) {
      const auto found = next->second.find(trial);
      if (found != next->second.end()) {
        before.push_back(score);
        after.push_back(found->second);
      }
      later += std::any_of(next, by_rung.end(),
                           [id = trial](const auto& each) { return each.second.contains(id); })
                   ? 1
                   : 0;
    }
    if (before.size() < fewest_at_both_rungs) continue;
    const double correlation = rank_correlation(before, after);
    if (std::isnan(correlation)) continue;
    all.push_back({rung->first, next->first, before.size(), correlation,
                   rung->second.size() - later, rung->second.size()});
  }
  return all;
}

std::vector<Finding> findings_of(const ResultGrid& grid, const RunHistory& history,
                                 std::optional<std::size_t> started_by_best) {
  std::vector<Finding> all;
  const auto points = points_of(grid);
  const Objective* const objective = sole(grid.spec().objectives);
  find_failures(grid, points, all);
  find_failed_saves(grid, all);
  if (objective != nullptr) find_not_finite(grid, *objective, all);
  IgnoredConfig ignored = ignored_config(grid);
  if (!ignored.sentence.empty()) {
    all.push_back({FindingKind::config, std::move(ignored.sentence), std::move(ignored.trials)});
  }
  if (objective != nullptr && points) find_edges(grid, *objective, *points, all);
  find_early_stopping(history.judgements, all);
  find_idle(grid, history, all);
  const auto& trials = grid.experiment().trials();
  const auto started = static_cast<std::size_t>(std::count_if(
      trials.begin(), trials.end(), [](const Trial& trial) { return trial.attempt > 0; }));
  if (started_by_best && started >= *started_by_best + fewest_since_best &&
      started > 2 * *started_by_best) {
    all.push_back({FindingKind::stalled, "The " + count_of(started - *started_by_best, "trial") +
                                             " that started after the best result came have not "
                                             "improved on it."});
  }
  return all;
}

}  // namespace tune
