// Divides a hyperparameter's domain into bins, summarises the metric in each, and words the trend.
#include "apps/tune/slice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/tune/output.h"
#include "tuner/base/decimal.h"
#include "tuner/view/judged_trials.h"

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
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
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

/// A part of an axis, in coordinates, and what is said of it.
struct Part {
  double lower = 0, upper = 0;
  Json shown_lower, shown_upper;
  bool is_upper_included = true;
};

/// A border as people read it, three digits, where that is between its neighbours.
double readable(double below, double value, double above) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", value);
  const double rounded = std::stod(buffer);
  return below < rounded && rounded < above ? rounded : value;
}

/// How many of `count` values that are evenly spread are in the first `bin` parts. In integers: no
/// double tells neighbours beyond 2^53 apart.
std::uint64_t even_end(std::uint64_t count, std::uint64_t bin) {
  const std::uint64_t rest = count % most_bins * bin;
  return count / most_bins * bin + (2 * rest + most_bins - 1) / (2 * most_bins);
}

/// Up to `most_bins` parts of a domain whose values can be counted, each with values of its own.
std::vector<Part> parts_of_values(const Domain& domain, const Axis& axis, std::uint64_t count) {
  const auto coordinate = [&](std::uint64_t i) {
    return axis.coordinate_of(nth_value(domain, i).get<double>());
  };
  const auto border = [&](std::uint64_t i) {
    if (i == 0) return axis.low;
    return i == count ? axis.high : (coordinate(i - 1) + coordinate(i)) / 2;
  };
  const std::uint64_t bins = std::min<std::uint64_t>(count, most_bins);
  std::vector<Part> parts;
  for (std::uint64_t bin = 1, begin = 0; bin <= bins; ++bin) {
    std::uint64_t end = bin;
    if (count > most_bins && !axis.log) {
      end = even_end(count, bin);
    } else if (count > most_bins) {  // those below an even part of the axis
      const double share = static_cast<double>(bin) / static_cast<double>(bins);
      const double at = axis.low + (axis.high - axis.low) * share;
      std::uint64_t most = count;
      for (end = begin; end < most;) {
        const std::uint64_t middle = end + (most - end) / 2;
        coordinate(middle) < at ? end = middle + 1 : most = middle;
      }
    }
    if (bin == bins) end = count;
    if (end == begin) continue;
    parts.push_back(
        {border(begin), border(end), nth_value(domain, begin), nth_value(domain, end - 1)});
    begin = end;
  }
  return parts;
}

std::vector<Part> parts_of(const Domain& domain, const Axis& axis) {
  std::vector<Part> parts;
  if (const auto* const choice = std::get_if<Choice>(&domain)) {
    for (std::size_t i = 0; i < axis.choices; ++i) {
      const Json& value = choice->values.at(i);
      parts.push_back({static_cast<double>(i), static_cast<double>(i + 1), value, value});
    }
    return parts;
  }
  if (const auto count = count_values(domain)) return parts_of_values(domain, axis, *count);
  const auto value_at = [&](std::size_t i) {
    const double share = static_cast<double>(i) / static_cast<double>(most_bins);
    const double at = axis.low + (axis.high - axis.low) * share;
    return axis.log ? std::exp(at) : at;
  };
  double lower = axis.low;
  Json shown_lower = axis.bounded ? Json(axis.first) : Json();
  for (std::size_t i = 1; i < most_bins; ++i) {
    // What is shown is the border by which trials are counted.
    const double border = readable(value_at(i - 1), value_at(i), value_at(i + 1));
    const double upper = axis.coordinate_of(border);
    parts.push_back({lower, upper, shown_lower, border, false});
    lower = upper;
    shown_lower = border;
  }
  parts.push_back({lower, axis.high, shown_lower, axis.bounded ? Json(axis.last) : Json()});
  return parts;
}

/// The part that a setting belongs to. Integers are compared as such.
std::size_t part_of(const std::vector<Part>& parts, const Domain& domain, const Json& setting,
                    double coordinate) {
  const bool is_exact = std::holds_alternative<Integer>(domain) && setting.is_number_integer();
  const auto above = std::find_if(parts.begin() + 1, parts.end(), [&](const Part& part) {
    return is_exact ? setting < part.shown_lower : coordinate < part.lower;
  });
  return static_cast<std::size_t>(above - parts.begin()) - 1;
}

/// Whether coordinates tell all of its values apart.
bool has_exact_coordinates(const Domain& domain, const Axis& axis) {
  constexpr double most = 0x1p53;
  return !std::holds_alternative<Integer>(domain) ||
         std::max(std::abs(axis.first), std::abs(axis.last)) < most;
}

std::string setting_text(const Json& value) {
  if (!value.is_number_float()) return shorten(value, 30);
  std::string text;
  append_decimal(text, value.get<double>());
  return text;
}

std::string bin_text(const SliceBin& bin) {
  const std::string lower = setting_text(bin.lower), upper = setting_text(bin.upper);
  if (bin.lower == bin.upper) return lower;
  if (!bin.has_borders) return lower + " to " + upper;
  if (bin.lower.is_null()) return "below " + upper;
  if (bin.upper.is_null()) return lower + " and more";
  return "[" + lower + ", " + upper + (bin.is_upper_included ? "]" : ")");
}

/// "from 1 to 3"; without bounds "below 3".
std::string setting_range(const SliceBin& first, const SliceBin& last) {
  const std::string lower = setting_text(first.lower), upper = setting_text(last.upper);
  if (last.has_borders && first.lower.is_null()) return "below " + upper;
  if (last.has_borders && last.upper.is_null()) return "from " + lower + " on";
  return lower == upper ? "at " + lower : "from " + lower + " to " + upper;
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
  const std::string good = "good " + setting_range(bins[*first], bins[*last]);
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

Slice slice_along(const SearchSpace& space, std::size_t leaf, const JudgedTrials& judged,
                  const ForestImportance& forest, Mode mode) {
  const SpaceLeaf& described = space.leaves()[leaf];
  const Axis axis = axis_of(described.domain);
  Slice slice{.name = parameter_name(described.pointer), .is_choice = axis.is_choice()};
  for (const Importance& one : forest.found()) {
    if (one.pointer == described.pointer) slice.share = one.share;
  }
  const std::vector<Part> parts = parts_of(described.domain, axis);
  std::vector<std::vector<double>> in_part(parts.size());
  for (std::size_t row = 0; row < judged.points.size(); ++row) {
    const double at = judged.points[row][leaf];
    if (std::isnan(at)) continue;
    in_part[part_of(parts, described.domain, judged.settings[row][leaf], at)].push_back(
        judged.values[row]);
  }
  const bool has_borders = !axis.is_choice() && !count_values(described.domain);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SliceBin& bin = slice.bins.emplace_back();
    bin.lower = parts[i].shown_lower;
    bin.upper = parts[i].shown_upper;
    bin.has_borders = has_borders;
    bin.is_upper_included = parts[i].is_upper_included;
    summarise(bin, std::move(in_part[i]), mode);
    if (axis.log || has_exact_coordinates(described.domain, axis)) {
      bin.marginal = forest.mean_within(leaf, parts[i].lower, parts[i].upper);
    }
  }
  slice.direction = direction_of(slice, mode);
  return slice;
}

void print_slice(const Slice& slice, const std::string& values) {
  std::vector<std::vector<std::string>> rows;
  for (const SliceBin& bin : slice.bins) {
    rows.push_back(
        {bin_text(bin), std::to_string(bin.trials), metric_text(bin.best), metric_text(bin.median),
         bin.trials == 0
             ? "-"
             : metric_text(bin.lower_quartile) + " to " + metric_text(bin.upper_quartile),
         metric_text(bin.marginal)});
  }
  print_table({{slice.name},
               {"trials", true},
               {"best " + values, true},
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
                    {"upper_included", bin.is_upper_included},
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
