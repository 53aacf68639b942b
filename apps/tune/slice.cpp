#include "apps/tune/slice.h"

#include <algorithm>
#include <cmath>

#include "apps/tune/judged_trials.h"
#include "apps/tune/output.h"

namespace tune {

namespace {

constexpr std::size_t most_bins = 8;
/// A hyperparameter that explains less has no direction worth a sentence.
constexpr double least_share = 0.03;
/// What is within this part of the way from the best bin to the worst is as good as the best.
constexpr double nearly_part = 0.2;

/// Of a sorted list that is not empty, interpolated.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void summarise(SliceBin& bin, std::vector<double> values, Mode mode) {
  bin.trials = values.size();
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  bin.best = mode == Mode::min ? values.front() : values.back();
  bin.median = quantile(values, 0.5);
  bin.lower_quartile = quantile(values, 0.25);
  bin.upper_quartile = quantile(values, 0.75);
}

/// Borders between parts of the axis, as coordinates; integers that are few have a part each.
std::vector<double> borders_of(const Domain& domain, const Axis& axis) {
  std::vector<double> borders;
  const auto count = axis.is_choice() ? std::nullopt : count_values(domain);
  if (axis.is_choice()) {
    for (std::size_t i = 0; i <= axis.choices; ++i) borders.push_back(static_cast<double>(i));
    return borders;
  }
  if (count && *count <= most_bins) {
    borders.push_back(axis.low);
    for (std::uint64_t i = 1; i < *count; ++i) {
      const double a = axis.coordinate_of(nth_value(domain, i - 1).get<double>());
      const double b = axis.coordinate_of(nth_value(domain, i).get<double>());
      borders.push_back((a + b) / 2);
    }
    borders.push_back(axis.high);
    return borders;
  }
  for (std::size_t i = 0; i <= most_bins; ++i) {
    borders.push_back(axis.low + (axis.high - axis.low) * static_cast<double>(i) /
                                     static_cast<double>(most_bins));
  }
  return borders;
}

/// A border as a number that people read: three digits.
Json number_at(const Axis& axis, double coordinate) {
  const double value = axis.log ? std::exp(coordinate) : coordinate;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", value);
  return std::stod(buffer);
}

void set_borders(SliceBin& bin, const Domain& domain, const Axis& axis, double lower, double upper,
                 std::size_t i) {
  if (const auto* const choice = std::get_if<Choice>(&domain)) {
    bin.lower = bin.upper = choice->values.at(i);
    return;
  }
  const auto count = count_values(domain);
  if (count && *count <= most_bins) {
    bin.lower = bin.upper = nth_value(domain, i);
    return;
  }
  bin.lower = number_at(axis, lower);
  bin.upper = number_at(axis, upper);
}

std::string setting_text(const Json& value) {
  if (value.is_number()) return format_metric(value.get<double>());
  return shorten(value, 30);
}

std::string setting_range(const SliceBin& first, const SliceBin& last) {
  const std::string lower = setting_text(first.lower), upper = setting_text(last.upper);
  return lower == upper ? lower : lower + " to " + upper;
}

/// What a bin is judged by: where the forest knows, what is left once the others are averaged out.
std::optional<double> level_of(const SliceBin& bin, Mode mode) {
  if (bin.trials == 0) return std::nullopt;
  const auto value = bin.marginal ? bin.marginal : bin.median;
  return value ? std::optional(mode == Mode::max ? *value : -*value) : std::nullopt;
}

std::string direction_of(const Slice& slice, Mode mode) {
  const auto& bins = slice.bins;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (level_of(bins[i], mode)) seen.push_back(i);
  }
  if (seen.size() < 2) return "all trials are in one part: nothing can be compared";
  const auto level = [&](std::size_t i) { return *level_of(bins[i], mode); };
  const auto better_of = [&](std::size_t a, std::size_t b) { return level(a) < level(b); };
  const std::size_t best = *std::max_element(seen.begin(), seen.end(), better_of);
  const std::size_t worst = *std::min_element(seen.begin(), seen.end(), better_of);
  if (slice.share && *slice.share < least_share) {
    return "it hardly matters: no part is clearly better";
  }
  const double least = level(best) - nearly_part * (level(best) - level(worst));
  if (slice.is_choice) {
    std::string good;
    for (const std::size_t i : seen) {
      if (level(i) >= least) good += (good.empty() ? "" : ", ") + setting_text(bins[i].lower);
    }
    return "best: " + good + "; worst: " + setting_text(bins[worst].lower);
  }
  // The parts around the best one that are nearly as good.
  auto first = std::find(seen.begin(), seen.end(), best);
  auto last = first;
  while (first != seen.begin() && level(*(first - 1)) >= least) --first;
  while (last + 1 != seen.end() && level(*(last + 1)) >= least) ++last;
  const std::string good = "good from " + setting_range(bins[*first], bins[*last]);
  const bool from_start = first == seen.begin(), to_end = last + 1 == seen.end();
  if (from_start && to_end) return "no part is clearly better";
  if (from_start) return good + "; lower is better above " + setting_text(bins[*last].upper);
  if (to_end) return good + "; higher is better below " + setting_text(bins[*first].lower);
  return good + "; higher is better below that, lower above";
}

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::string metric_text(const std::optional<double>& number) {
  return number ? format_metric(*number) : "-";
}

}  // namespace

Slice slice_along(const SearchSpace& space, std::size_t leaf,
                  const std::vector<std::vector<double>>& points, const std::vector<double>& values,
                  const ForestImportance& forest, Mode mode) {
  const SpaceLeaf& described = space.leaves()[leaf];
  const Axis axis = axis_of(described.domain);
  Slice slice{.name = parameter_name(described.pointer), .is_choice = axis.is_choice()};
  for (const Importance& one : forest.found()) {
    if (one.pointer == described.pointer) slice.share = one.share;
  }
  const std::vector<double> borders = borders_of(described.domain, axis);
  std::vector<std::vector<double>> in_bin(borders.size() - 1);
  for (std::size_t row = 0; row < points.size(); ++row) {
    const double at = points[row][leaf];
    if (std::isnan(at)) continue;
    const auto above = std::upper_bound(borders.begin() + 1, borders.end() - 1, at);
    in_bin[static_cast<std::size_t>(above - borders.begin()) - 1].push_back(values[row]);
  }
  for (std::size_t i = 0; i < in_bin.size(); ++i) {
    SliceBin& bin = slice.bins.emplace_back();
    set_borders(bin, described.domain, axis, borders[i], borders[i + 1], i);
    summarise(bin, std::move(in_bin[i]), mode);
    bin.marginal = forest.mean_within(leaf, borders[i], borders[i + 1]);
  }
  slice.direction = direction_of(slice, mode);
  return slice;
}

void print_slice(const Slice& slice, const std::string& metric) {
  std::vector<std::vector<std::string>> rows;
  for (const SliceBin& bin : slice.bins) {
    rows.push_back({setting_range(bin, bin), std::to_string(bin.trials), metric_text(bin.best),
                    metric_text(bin.median),
                    bin.trials == 0 ? "-"
                                    : metric_text(bin.lower_quartile) + " to " +
                                          metric_text(bin.upper_quartile),
                    metric_text(bin.marginal)});
  }
  print_table({{slice.name},
               {"trials", true},
               {"best " + metric, true},
               {"median", true},
               {"middle half", true},
               {"mean, others averaged", true}},
              rows);
  print(slice.name + ": " + slice.direction + "\n");
}

Json to_json(const Slice& slice) {
  Json bins = Json::array();
  for (const SliceBin& bin : slice.bins) {
    bins.push_back({{"lower", bin.lower},
                    {"upper", bin.upper},
                    {"trials", bin.trials},
                    {"best", json_of(bin.best)},
                    {"median", json_of(bin.median)},
                    {"lower_quartile", json_of(bin.lower_quartile)},
                    {"upper_quartile", json_of(bin.upper_quartile)},
                    {"marginal", json_of(bin.marginal)}});
  }
  return {{"name", slice.name},
          {"importance", json_of(slice.share)},
          {"direction", slice.direction},
          {"bins", bins}};
}

}  // namespace tune
