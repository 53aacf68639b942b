// A block of numbers for each kind of mark, then the commands that draw them.
#include "apps/tune/plot_script.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/decimal.h"
#include "tuner/base/error.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

constexpr std::array all_plots = {"curves", "best", "parallel", "importance", "rungs", "timeline"};

constexpr const char *accent_ink = "'#1d6fb8'", *muted_ink = "'#9aa5b1'", *good_ink = "'#2e8b57'",
                     *bad_ink = "'#c0392b'", *warn_ink = "'#d98e04'";

/// Between apostrophes gnuplot obeys nothing; two of them are one.
std::string label(std::string_view text) {
  std::string all = "'";
  for (const char c : clean_text(text)) all += c == '\'' ? "''" : std::string(1, c);
  return all + "'";
}

/// NaN: no finite number.
double number_of(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_of(double value) {
  if (!std::isfinite(value)) return "NaN";
  std::string text;
  append_decimal(text, value);
  return text;
}

/// Rows of numbers under a name, in lines that gnuplot takes for nothing else.
class Block {
 public:
  explicit Block(std::string name) : name_(std::move(name)) {}
  void add(std::initializer_list<double> row) {
    for (const double value : row) rows_ += text_of(value) + " ";
    rows_ += "\n";
    is_empty_ = false;
  }
  void part() { rows_ += "\n"; }  ///< what follows is another line of the picture
  bool is_empty() const { return is_empty_; }
  const std::string& name() const { return name_; }
  std::string text() const { return "$" + name_ + " << EOD\n" + rows_ + "EOD\n"; }

 private:
  std::string name_, rows_;
  bool is_empty_ = true;
};

/// Blocks with how each is drawn; empty ones are left out.
class Picture {
 public:
  void set(const std::string& command) { commands_ += "set " + command + "\n"; }
  void draw(const Block& block, const std::string& how) {
    if (block.is_empty()) return;
    blocks_ += block.text();
    drawn_ += (drawn_.empty() ? "plot $" : ", \\\n  $") + block.name() + " " + how;
  }
  std::string text() const { return blocks_ + commands_ + drawn_ + "\n"; }

 private:
  std::string blocks_, commands_, drawn_;
};

/// What a scale shows, by the page's rule: all, but for a few values far away from nine in ten of
/// the others, which stand at its edge.
struct Range {
  double low = 0, high = 0;
  bool is_log = false;
  double inside(double value) const {
    return std::isnan(value) ? value : std::clamp(value, low, high);
  }
};

std::optional<Range> range_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  Range range{values.front(), values.back()};
  range.is_log = range.low > 0 && range.high / range.low > 30;
  if (range.is_log) return range;
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  const double a = at(0.05), b = at(0.95), width = b - a;
  if (values.size() >= 10 && width > 0) {
    if (range.high - b > 5 * width) range.high = b + 0.2 * width;
    if (a - range.low > 5 * width) range.low = a - 0.2 * width;
  }
  return range;
}

void set_scale(Picture& picture, const std::string& axis, const Range& range) {
  if (range.is_log) picture.set("logscale " + axis);
  constexpr double most = std::numeric_limits<double>::max();
  const double pad = range.high * 0.04 - range.low * 0.04;  // the difference may be no double
  const bool is_one = range.high == range.low;
  const double low = range.is_log ? range.low / 1.1 : range.low - (is_one ? 1 : pad);
  const double high = range.is_log ? range.high * 1.1 : range.high + (is_one ? 1 : pad);
  picture.set(axis + "range [" + text_of(std::max(low, -most)) + ":" +
              text_of(std::min(high, most)) + "]");
}

std::string mark(const char* color, const char* size = "0.7") {
  return std::string("with points pt 7 ps ") + size + " lc rgb " + color;
}
std::string line(const char* color, const char* width = "1") {
  return std::string("with lines lw ") + width + " lc rgb " + color;
}

class Drawing {
 public:
  explicit Drawing(const Json& report) : report_(report) {}

  void curves();
  void best();
  void parallel();
  void importance();
  void rungs();
  void timeline();
  std::string text() const { return picture_.text(); }

 private:
  [[noreturn]] void nothing(const std::string& why) const { throw user_error(why); }
  void titles(const std::string& title, const std::string& x, const std::string& y) {
    const auto& status = report_.at("status");
    picture_.set("title " + label(status.at("name").get<std::string>() + ": " + title));
    picture_.set("xlabel " + label(x));
    picture_.set("ylabel " + label(y));
  }
  const Json& needed(const char* name) const {
    const Json& part = report_.at(name);
    if (part.is_null()) nothing(report_.at(name + std::string("_problem")).get<std::string>());
    return part;
  }
  /// By trial; a list of words is written once.
  std::vector<Json> column(const std::string& name) const;
  std::string best_trial() const {
    const Json& best = report_.at("status").at("best");
    return best.is_object() ? best.at("trial_id").get<std::string>() : "";
  }
  double started() const { return number_of(report_.at("status").at("started")); }

  const Json& report_;
  Picture picture_;
};

std::vector<Json> values_of(const Json& column) {
  if (column.contains("values")) return column.at("values").get<std::vector<Json>>();
  std::vector<Json> values;
  for (const Json& at : column.at("at")) {
    values.push_back(column.at("words").at(at.get<std::size_t>()));
  }
  return values;
}

std::vector<Json> Drawing::column(const std::string& name) const {
  for (const Json& each : report_.at("trials").at("columns")) {
    if (each.at("name") == name) return values_of(each);
  }
  return std::vector<Json>(report_.at("trials").at("count").get<std::size_t>());
}

void Drawing::curves() {
  const Json& curves = needed("curves");
  std::vector<double> all;
  for (const Json& curve : curves.at("trials")) {
    for (const Json& value : curve.at("last")) all.push_back(number_of(value));
  }
  const auto range = range_of(all);
  if (!range) nothing("no trial has a number for the metric yet");
  const auto ids = column("trial_id");
  const std::string best = best_trial();
  Block others("others"), front("front"), ends("ends");
  for (const Json& curve : curves.at("trials")) {
    const bool is_best = ids.at(curve.at("trial").get<std::size_t>()) == best;
    Block& block = is_best ? front : others;
    const auto& iterations = curve.at("iterations");
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      const double value = range->inside(number_of(curve.at("last")[i]));
      block.add({number_of(iterations[i]), value});
      if (i + 1 == iterations.size()) ends.add({number_of(iterations[i]), value});
    }
    block.part();
  }
  const std::string metric = curves.at("metric").get<std::string>();
  titles(metric + " of " + curves.at("which").get<std::string>(), "training iteration", metric);
  set_scale(picture_, "y", *range);
  picture_.draw(others, "using 1:2 " + line(muted_ink) + " notitle");
  picture_.draw(ends, "using 1:2 " + mark(muted_ink, "0.4") + " notitle");
  picture_.draw(front,
                "using 1:2 " + line(accent_ink, "3") + " title " + label(best + ", the best"));
}

/// Seconds as the unit that has few digits: "min", 60.
std::pair<const char*, double> unit_for(double seconds) {
  if (seconds > 2 * 86'400) return {"d", 86'400};
  if (seconds > 2 * 3'600) return {"h", 3'600};
  if (seconds > 2 * 60) return {"min", 60};
  return {"s", 1};
}

void Drawing::best() {
  const auto& improvements = needed("over_time").at("improvements");
  const auto bests = column("best"), begins = column("started"), ends = column("ended"),
             durations = column("duration_s");
  std::vector<double> all;
  for (const Json& value : bests) all.push_back(number_of(value));
  for (const Json& each : improvements) all.push_back(number_of(each.at("value")));
  const auto range = range_of(all);
  if (!range) nothing("no trial has a number for the metric yet");
  double last = 0;
  std::vector<std::pair<double, double>> dots;
  for (std::size_t i = 0; i < bests.size(); ++i) {
    double time = number_of(ends[i]);
    if (std::isnan(time)) time = number_of(begins[i]) + number_of(durations[i]);
    if (std::isnan(time) || std::isnan(number_of(bests[i]))) continue;
    dots.emplace_back(time - started(), number_of(bests[i]));
    last = std::max(last, dots.back().first);
  }
  for (const Json& each : improvements) {
    last = std::max(last, number_of(each.at("time")) - started());
  }
  const auto [unit, seconds] = unit_for(last);
  Block trials("trials"), steps("steps");
  for (const auto& [time, value] : dots) trials.add({time / seconds, range->inside(value)});
  double best = 0;
  for (const Json& each : improvements) {
    best = range->inside(number_of(each.at("value")));
    steps.add({(number_of(each.at("time")) - started()) / seconds, best});
  }
  if (!improvements.empty()) steps.add({last / seconds, best});
  const Json& objective = report_.at("objectives").at(0);
  const std::string metric = objective.at("metric").get<std::string>();
  titles("the best " + metric + " so far", std::string("time since the start (") + unit + ")",
         metric + (objective.at("mode") == "min" ? ", smaller is better" : ", larger is better"));
  set_scale(picture_, "y", *range);
  picture_.draw(trials, "using 1:2 " + mark(muted_ink) + " title 'best of a trial, at its end'");
  picture_.draw(steps, "using 1:2 with steps lw 2 lc rgb " + std::string(accent_ink) +
                           " title 'best so far'");
}

/// One hyperparameter, or the metric: where each trial stands on it, from 0 to 1.
struct ParallelAxis {
  std::string name, low, high;
  std::vector<double> places;
};

ParallelAxis axis_of(const std::string& name, const std::vector<Json>& values, const Json& domain) {
  ParallelAxis axis{name, "", "", std::vector<double>(values.size(), number_of(Json()))};
  const bool has_words = domain.is_object() && domain.at("values").is_array();
  const bool is_number = std::all_of(values.begin(), values.end(), [](const Json& value) {
    return value.is_null() || value.is_number();
  });
  if (has_words || !is_number) {
    std::vector<Json> words = has_words ? domain.at("values").get<std::vector<Json>>() : values;
    if (!has_words) {
      std::sort(words.begin(), words.end());
      words.erase(std::unique(words.begin(), words.end()), words.end());
    }
    const auto shown = [](const Json& word) {
      return word.is_string() ? word.get<std::string>() : word.dump();
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto found = std::find(words.begin(), words.end(), values[i]);
      if (found == words.end()) continue;
      axis.places[i] = words.size() < 2 ? 0.5
                                        : static_cast<double>(found - words.begin()) /
                                              static_cast<double>(words.size() - 1);
    }
    if (words.empty()) return axis;
    axis.low = shown(words.front());
    axis.high = shown(words.back());
    return axis;
  }
  std::vector<double> numbers;
  for (const Json& value : values) numbers.push_back(number_of(value));
  auto range = range_of(numbers);
  if (!range) return axis;
  if (domain.is_object() && domain.at("lower").is_number()) {
    range = Range{number_of(domain.at("lower")), number_of(domain.at("upper")),
                  domain.at("log").get<bool>()};
  }
  const auto place = [&](double value) {
    value = range->inside(value);
    if (range->high == range->low) return std::isnan(value) ? value : 0.5;
    return range->is_log ? std::log(value / range->low) / std::log(range->high / range->low)
                         : (value - range->low) / (range->high - range->low);
  };
  for (std::size_t i = 0; i < numbers.size(); ++i) axis.places[i] = place(numbers[i]);
  axis.low = cell_text(range->low);
  axis.high = cell_text(range->high);
  return axis;
}

/// From 0 for the worst to 1 for the best, by rank; NaN without a number.
std::vector<double> goodness(const std::vector<Json>& values, bool is_min) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(number_of(values[i]))) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = number_of(values[a]), y = number_of(values[b]);
    return is_min ? x > y : x < y;
  });
  std::vector<double> ranks(values.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ranks[order[i]] =
        order.size() < 2 ? 1 : static_cast<double>(i) / static_cast<double>(order.size() - 1);
  }
  return ranks;
}

void Drawing::parallel() {
  if (report_.at("objectives").size() != 1) nothing("there is no single metric that counts");
  std::vector<ParallelAxis> axes;
  for (const Json& domain : report_.at("domains")) {
    const std::string name = domain.at("name").get<std::string>();
    axes.push_back(axis_of(name.substr(name.find('.') + 1), column(name), domain));
  }
  if (axes.empty()) nothing("the search draws no hyperparameters");
  const Json& objective = report_.at("objectives").at(0);
  const auto values = column("best");
  const auto ranks = goodness(values, objective.at("mode") == "min");
  axes.push_back(axis_of(objective.at("metric").get<std::string>(), values, Json()));
  // The best ones are drawn last, over the others.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!std::isnan(ranks[i])) order.push_back(i);
  }
  if (order.empty()) nothing("no trial has a number for the metric yet");
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  Block lines("lines"), poles("poles");
  for (const std::size_t trial : order) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      lines.add({static_cast<double>(i), axes[i].places[trial], ranks[trial]});
    }
    lines.part();
  }
  std::string ticks;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double x = static_cast<double>(i);
    poles.add({x, 0});
    poles.add({x, 1});
    poles.part();
    ticks += (i == 0 ? "" : ", ") + label(axes[i].name) + " " + std::to_string(i);
    picture_.set("label at " + text_of(x) + ",-0.05 center " + label(axes[i].low));
    picture_.set("label at " + text_of(x) + ",1.05 center " + label(axes[i].high));
  }
  titles(count_of(order.size(), "trial") + " by their best " + axes.back().name, "", "");
  picture_.set("xtics (" + ticks + ") scale 0");
  picture_.set("noytics");
  picture_.set("noborder");
  picture_.set("xrange [-0.3:" + text_of(static_cast<double>(axes.size()) - 0.7) + "]");
  picture_.set("yrange [-0.12:1.12]");
  picture_.set("palette defined (0 '#d5dbe1', 0.6 '#8fb8d9', 0.9 '#1d6fb8', 1 '#c0392b')");
  picture_.set("cbrange [0:1]");
  picture_.set("cbtics ('worst' 0, 'best' 1)");
  picture_.draw(lines, "using 1:2:3 with lines lc palette notitle");
  picture_.draw(poles, "using 1:2 " + line("'#333333'", "1.5") + " notitle");
}

void Drawing::importance() {
  const Json& found = needed("importance");
  std::vector<std::pair<std::string, double>> rows;
  for (const Json& each : found.at("importances")) {
    rows.emplace_back(each.at("name").get<std::string>(), number_of(each.at("importance")));
  }
  if (found.at("several_together").is_number() && rows.size() > 1) {
    rows.emplace_back("(several together)", number_of(found.at("several_together")));
  }
  Block bars("bars");
  std::string ticks;
  double largest = 1e-9;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = -static_cast<double>(i), share = 100 * rows[i].second;
    largest = std::max(largest, share);
    bars.add({share / 2, y, 0, share, y - 0.35, y + 0.35});
    ticks += (i == 0 ? "" : ", ") + label(rows[i].first) + " " + text_of(y);
    picture_.set("label at " + text_of(share) + "," + text_of(y) + " offset 1,0 " +
                 label(cell_text(std::round(10 * share) / 10) + " %"));
  }
  if (rows.empty()) nothing("no hyperparameter varies");
  titles("what each hyperparameter alone explains of " + found.at("metric").get<std::string>(),
         "% of the variance, by " + found.at("method").get<std::string>() + " over " +
             count_of(found.at("trials").get<std::size_t>(), "trial"),
         "");
  picture_.set("ytics (" + ticks + ")");
  picture_.set("xrange [0:" + text_of(1.15 * largest) + "]");
  picture_.set("yrange [" + text_of(0.4 - static_cast<double>(rows.size())) + ":0.6]");
  picture_.set("style fill solid 0.8");
  picture_.draw(bars,
                "using 1:2:3:4:5:6 with boxxyerror lc rgb " + std::string(accent_ink) + " notitle");
}

void Drawing::rungs() {
  const Json& judged = report_.at("judgements");
  const Json& now = report_.at("status").at("rungs");
  std::vector<double> scores;
  std::set<std::int64_t> milestones;
  for (const Json& score : judged.at("score")) scores.push_back(number_of(score));
  for (const Json& rung : judged.at("rung")) milestones.insert(rung.get<std::int64_t>());
  const auto range = range_of(scores);
  // With freeze_thaw a model decides who goes on, not a trial's place at a rung.
  const bool has_come =
      now.is_object() && std::any_of(now.at("rungs").begin(), now.at("rungs").end(),
                                     [](const Json& rung) { return rung.at("reached") > 0; });
  if (!range && has_come)
    nothing(
        "no trial is judged by its score alone: tune status shows how many came to each decision "
        "epoch, and how many went on");
  if (!range)
    nothing("no trial has been judged yet: the scheduler has no rungs, or none is reached");
  std::map<std::int64_t, double> places;
  std::string ticks;
  for (const std::int64_t each : milestones) {
    const std::size_t place = places.size();
    places[each] = static_cast<double>(place);
    ticks += (place == 0 ? "" : ", ") + label(std::to_string(each)) + " " + std::to_string(place);
  }
  Block went_on("went_on"), ended("ended"), cutoffs("cutoffs");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // Spread, as those of one rung would lie on each other.
    const double trial = number_of(judged.at("trial")[i]);
    const double x = places.at(judged.at("rung")[i].get<std::int64_t>()) +
                     0.6 * (std::fmod(trial * 0.618, 1.0) - 0.5);
    (judged.at("went_on")[i].get<bool>() ? went_on : ended).add({x, range->inside(scores[i])});
  }
  if (now.is_object()) {
    for (const Json& rung : now.at("rungs")) {
      const double cutoff = number_of(rung.at("cutoff"));
      const auto place = places.find(rung.at("milestone").get<std::int64_t>());
      if (place == places.end() || std::isnan(cutoff)) continue;
      cutoffs.add({place->second - 0.4, range->inside(cutoff)});
      cutoffs.add({place->second + 0.4, range->inside(cutoff)});
      cutoffs.part();
    }
  }
  const std::string metric = now.is_object()
                                 ? now.at("metric").get<std::string>()
                                 : report_.at("objectives").at(0).at("metric").get<std::string>();
  const std::size_t count = judged.at("count").get<std::size_t>();
  titles(
      count_of(count, "judgement") +
          (scores.size() < count ? ", the first " + std::to_string(scores.size()) + " shown" : ""),
      "judged at " +
          (now.is_object() ? now.at("time_attr").get<std::string>() : "training_iteration"),
      metric);
  set_scale(picture_, "y", *range);
  picture_.set("xtics (" + ticks + ")");
  picture_.set("xrange [-0.6:" + text_of(static_cast<double>(places.size()) - 0.4) + "]");
  picture_.draw(ended, "using 1:2 " + mark(muted_ink) + " title 'ended, or waits'");
  picture_.draw(went_on, "using 1:2 " + mark(good_ink) + " title 'went on'");
  picture_.draw(cutoffs, "using 1:2 " + line(bad_ink, "2") + " title 'cutoff now'");
}

void Drawing::timeline() {
  const Json& attempts = report_.at("attempts");
  const std::size_t count = attempts.at("trial").size();
  if (count == 0) nothing("nothing has been launched yet");
  const auto nodes = values_of(attempts.at("node")), gpus = values_of(attempts.at("gpus")),
             outcomes = values_of(attempts.at("outcome"));
  double end = started();
  for (std::size_t i = 0; i < count; ++i) {
    for (const char* const name : {"start", "end"}) {
      const double time = number_of(attempts.at(name)[i]);
      if (!std::isnan(time)) end = std::max(end, time);
    }
  }
  // A lane for each GPU; what has none takes the first place of its node that is free.
  std::map<std::pair<std::string, std::string>, std::size_t> lanes;
  std::vector<std::string> lane_names;
  std::map<std::string, std::vector<double>> free;
  std::set<std::string> all_nodes;
  for (const Json& node : nodes) all_nodes.insert(node.get<std::string>());
  const auto lane_of = [&](const std::string& node, const std::string& name) {
    const auto [lane, is_new] = lanes.try_emplace({node, name}, lanes.size());
    if (is_new) lane_names.push_back(all_nodes.size() > 1 ? node + " " + name : name);
    return static_cast<double>(lane->second);
  };
  const auto [unit, seconds] = unit_for(end - started());
  std::map<std::string, Block> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string node = nodes[i].get<std::string>(), own = gpus[i].get<std::string>();
    const double from = number_of(attempts.at("start")[i]);
    const double until = number_of(attempts.at("end")[i]);
    const double to = std::isnan(until) ? end : until;
    std::vector<double> own_lanes;
    for (std::size_t at = 0; !own.empty() && at != own.npos;) {
      const std::size_t comma = own.find(',', at);
      own_lanes.push_back(lane_of(node, "GPU " + own.substr(at, comma - at)));
      at = comma == own.npos ? comma : comma + 1;
    }
    if (own.empty()) {
      auto& ends = free[node];
      std::size_t place = 0;
      while (place < ends.size() && ends[place] > from) ++place;
      if (place == ends.size()) ends.push_back(0);
      ends[place] = to;
      own_lanes.push_back(lane_of(node, "place " + std::to_string(place + 1)));
    }
    const std::string outcome = outcomes[i].get<std::string>();
    const std::string kind = outcome == "failed"        ? "failed"
                             : outcome == "paused"      ? "paused"
                             : outcome == "exploiting"  ? "exploiting"
                             : outcome == "interrupted" ? "interrupted"
                             : outcome.empty()          ? "running"
                                                        : "ended";
    Block& block = blocks.try_emplace(kind, kind).first->second;
    for (const double lane : own_lanes) {
      block.add({(from - started()) / seconds, -lane, (to - from) / seconds});
    }
  }
  std::string ticks;
  const std::size_t each = 1 + lane_names.size() / 40;
  for (std::size_t i = 0; i < lane_names.size(); i += each) {
    ticks += (i == 0 ? "" : ", ") + label(lane_names[i]) + " -" + std::to_string(i);
  }
  const std::size_t attempt_count = attempts.at("count").get<std::size_t>();
  titles("who ran where and when" +
             (count < attempt_count ? ", the first " + count_of(count, "attempt") : ""),
         std::string("time since the start (") + unit + ")", "");
  picture_.set("ytics (" + ticks + ")");
  picture_.set("yrange [" + text_of(0.3 - static_cast<double>(lane_names.size())) + ":0.7]");
  picture_.set("xrange [0:*]");
  static const std::map<std::string, const char*> colors = {
      {"ended", good_ink},  {"running", accent_ink}, {"exploiting", accent_ink},
      {"paused", warn_ink}, {"failed", bad_ink},     {"interrupted", muted_ink}};
  for (const auto& [kind, block] : blocks) {
    picture_.draw(block, "using 1:2:3:(0) with vectors nohead lw 5 lc rgb " +
                             std::string(colors.at(kind)) + " title '" + kind + "'");
  }
}

}  // namespace

std::span<const char* const> plot_names() { return all_plots; }

std::optional<Plot> parse_plot(std::string_view name) {
  const auto found = std::find(all_plots.begin(), all_plots.end(), name);
  if (found == all_plots.end()) return std::nullopt;
  return static_cast<Plot>(found - all_plots.begin());
}

std::string plot_script(const Json& report, Plot plot) {
  Drawing drawing(report);
  switch (plot) {
    case Plot::curves:
      drawing.curves();
      break;
    case Plot::best:
      drawing.best();
      break;
    case Plot::parallel:
      drawing.parallel();
      break;
    case Plot::importance:
      drawing.importance();
      break;
    case Plot::rungs:
      drawing.rungs();
      break;
    case Plot::timeline:
      drawing.timeline();
      break;
  }
  // A name such as train_loss is no formula.
  return "set termoption noenhanced\nset datafile missing 'NaN'\nset key outside top center "
         "horizontal\n" +
         drawing.text();
}

}  // namespace tune
