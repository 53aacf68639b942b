// Lines wait until the metrics have come again, and are then gone through once more.
#include "tuner/plain/result_join.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "tuner/model/metrics.h"

namespace tune {

namespace {

/// Lines that wait for one that tells which of them count: as many as a long epoch may have of
/// different ones.
constexpr std::size_t most_waiting = 256;

/// The number of "epoch 3", if `other` counts with the same word.
std::optional<std::int64_t> number_beside(const std::string& count, const std::string& other) {
  const std::size_t at = count.find_first_of("0123456789");
  if (at == count.npos || at == 0 || other.find_first_of("0123456789") != at ||
      other.compare(0, at, count, 0, at) != 0) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  const char* const end = count.data() + count.size();
  const auto parsed = std::from_chars(count.data() + at, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

/// Whether `earlier` is of an epoch before that of `later`, as both lines say.
bool is_of_earlier_epoch(const PrintedValue& earlier, const PrintedValue& later) {
  const auto before = number_beside(earlier.count, later.count);
  const auto now = number_beside(later.count, earlier.count);
  return before && now && *before < *now;
}

}  // namespace

void put(std::vector<PrintedValue>& values, PrintedValue value) {
  const auto known = std::find_if(values.begin(), values.end(),
                                  [&](const auto& each) { return each.name == value.name; });
  if (known != values.end()) {
    *known = std::move(value);
  } else if (values.size() < most_metric_names) {
    values.push_back(std::move(value));
  }
}

const PrintedValue* find(const std::vector<PrintedValue>& values, std::string_view name) {
  for (const PrintedValue& each : values) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

ResultJoin::ResultJoin(std::vector<std::string> names, CountedPhases& counted)
    : names_(std::move(names)), counted_(counted) {}

std::vector<ResultJoin::Result> ResultJoin::take(std::size_t line,
                                                 std::vector<PrintedValue> values) {
  note(values);
  Part part{line, std::move(values)};
  std::vector<Result> results;
  // Another launch of the program may have come to know it meanwhile.
  if (!counted_.empty()) results = replay(counted_);
  if (!counted_.empty() || (!waits() && !may_have_others())) {
    if (auto result = join(std::move(part), counted_.empty() ? nullptr : &counted_)) {
      results.push_back(std::move(*result));
    }
    if (counted_.empty()) counted_ = choose(false).value_or(CountedPhases());
    return results;
  }
  wait(std::move(part));
  if (auto counted = choose(false)) {
    counted_ = std::move(*counted);
    results = replay(counted_);
  } else if (waiting_.size() > most_waiting) {
    results = settle();
  }
  return results;
}

/// "Best acc: 6.8" behind lines with "acc: 6.1" is of no epoch, or of one that has its own; and a
/// bar shows running values of what lines have.
void ResultJoin::note(std::vector<PrintedValue>& values) {
  std::erase_if(values, [this](const PrintedValue& value) {
    const auto seen = seen_.find(value.name);
    return value.sums_up && seen != seen_.end() && seen->second.has_plain_line;
  });
  for (const PrintedValue& value : values) {
    if (!is_closing(value.name)) continue;
    Seen& seen = seen_[value.name];
    ++(value.is_bar ? seen.bars : seen.lines)[value.phase];
    seen.has_plain_line = seen.has_plain_line || (!value.sums_up && !value.is_bar);
    const auto counted = counted_.find(value.name);
    if (counted != counted_.end() && seen.lines[counted->second.phase] > 1) {
      counted->second.has_lines = true;
    }
  }
}

std::vector<ResultJoin::Result> ResultJoin::settle() {
  if (waiting_.empty()) return {};
  if (!counted_.empty()) return replay(counted_);
  return replay(choose(true).value_or(CountedPhases()));
}

std::vector<PrintedValue> ResultJoin::release() {
  std::erase_if(pending_, [this](const PrintedValue& value) { return is_closing(value.name); });
  return std::exchange(pending_, {});
}

void ResultJoin::begin_launch() {
  waiting_.clear();
  pending_.clear();
  seen_.clear();
  since_.clear();
}

bool ResultJoin::waits_for(std::size_t line) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Part& part) { return part.line == line; });
}

bool ResultJoin::has(std::string_view name) const {
  return find(pending_, name) != nullptr ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Part& part) { return find(part.values, name) != nullptr; });
}

std::size_t ResultJoin::times_waiting() const {
  constexpr std::size_t unusual = 3;
  std::size_t most = 0;
  for (const auto& [name, times] : since_) most = std::max(most, times);
  return !waits() && most > unusual * most_since_ ? most : 0;
}

bool ResultJoin::is_closing(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

bool ResultJoin::has_closing(const Part& part) const {
  return std::any_of(part.values.begin(), part.values.end(),
                     [&](const PrintedValue& value) { return is_closing(value.name); });
}

/// Whether lines have come that may be left out: those that name a phase, and bars.
bool ResultJoin::may_have_others() const {
  return std::any_of(seen_.begin(), seen_.end(), [](const auto& metric) {
    const Seen& seen = metric.second;
    return !seen.bars.empty() ||
           std::any_of(seen.lines.begin(), seen.lines.end(),
                       [](const auto& of) { return of.first != Phase::unnamed; });
  });
}

/// Of the lines with the same metrics that follow each other the first one and the last one stay:
/// either may close a result, and what waits has a bound.
void ResultJoin::wait(Part part) {
  const auto is_like = [](const Part& one, const Part& other) {
    return std::equal(one.values.begin(), one.values.end(), other.values.begin(),
                      other.values.end(), [](const PrintedValue& a, const PrintedValue& b) {
                        return a.name == b.name && a.phase == b.phase && a.is_bar == b.is_bar;
                      });
  };
  const std::size_t count = waiting_.size();
  if (count > 1 && is_like(waiting_[count - 1], part) && is_like(waiting_[count - 2], part)) {
    waiting_.back() = std::move(part);
  } else {
    waiting_.push_back(std::move(part));
  }
}

/// That of all metrics together, if each has come in it; nothing: there is none, or more has to
/// come. Lines that name no phase count before others, once all have come so twice; a single one
/// may be a check before the training.
std::optional<Phase> ResultJoin::choose_common(bool is_end) const {
  const auto least_in = [this](Phase phase) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const std::string& name : names_) {
      const Times& times = seen_.find(name)->second.times();
      const auto of = times.find(phase);
      least = std::min(least, of == times.end() ? 0 : of->second);
    }
    return least;
  };
  const std::size_t unnamed = least_in(Phase::unnamed);
  if (unnamed > (is_end ? 0U : 1U)) return Phase::unnamed;
  std::size_t needed = is_end ? 1 : unnamed > 0 ? 3 : 2;
  for (const Phase phase : {Phase::validation, Phase::test, Phase::training}) {
    const std::size_t least = least_in(phase);
    if (least >= needed) return phase;
    if (least > 0) ++needed;  // this one is the next to come again, unless it was a single check
  }
  return std::nullopt;
}

/// What counts of each metric; nothing: more has to come.
std::optional<CountedPhases> ResultJoin::choose(bool is_end) const {
  std::map<Phase, std::size_t> in_common;  ///< how many metrics have come in it
  for (const std::string& name : names_) {
    const auto seen = seen_.find(name);
    if (seen == seen_.end()) return std::nullopt;
    for (const auto& [phase, count] : seen->second.times()) ++in_common[phase];
  }
  const auto is_common = [&](const auto& of) { return of.second == names_.size(); };
  const bool has_common = std::any_of(in_common.begin(), in_common.end(), is_common);
  const std::optional<Phase> common = choose_common(is_end);
  if (has_common && !common) return std::nullopt;
  CountedPhases counted;
  for (const std::string& name : names_) {
    const Seen& seen = seen_.find(name)->second;
    const Times& times = seen.times();
    const auto unnamed = times.find(Phase::unnamed);
    const std::size_t most_named =
        std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->second;
    const bool may_be_single = unnamed != times.end() && unnamed->second == 1;
    if (!common && !is_end && most_named < (may_be_single ? 3 : 2)) return std::nullopt;
    const bool has_unnamed = unnamed != times.end() && (unnamed->second > 1 || is_end);
    const Phase alone = has_unnamed ? Phase::unnamed : times.rbegin()->first;
    counted[name] = {common.value_or(alone), !seen.lines.empty()};
  }
  return counted;
}

/// Whether it is of a phase that does not count, or a running value beside those that count.
bool ResultJoin::is_left_out(const PrintedValue& value, const CountedPhases& counted) const {
  if (!is_closing(value.name)) return false;
  const auto phase = counted.find(value.name);
  return phase == counted.end() ||
         (value.is_bar ? phase->second.has_lines : phase->second.phase != value.phase);
}

std::vector<ResultJoin::Result> ResultJoin::replay(const CountedPhases& counted) {
  std::vector<Result> results;
  std::erase_if(pending_, [&](const PrintedValue& value) { return is_left_out(value, counted); });
  for (Part& part : std::exchange(waiting_, {})) {
    if (auto result = join(std::move(part), &counted)) results.push_back(std::move(*result));
  }
  return results;
}

/// The result that it closes. `counted`: null where all lines so far name no phase, and all count.
std::optional<ResultJoin::Result> ResultJoin::join(Part part, const CountedPhases* counted) {
  if (counted != nullptr) {
    std::erase_if(part.values, [&](const auto& value) { return is_left_out(value, *counted); });
  }
  const bool may_close = has_closing(part);
  for (PrintedValue& value : part.values) {
    if (is_closing(value.name)) {
      std::erase_if(pending_, [&](const PrintedValue& earlier) {
        return is_closing(earlier.name) && is_of_earlier_epoch(earlier, value);
      });
    }
    if (is_closing(value.name) && !value.is_bar) ++since_[value.name];
    put(pending_, std::move(value));
  }
  const bool is_whole = std::all_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return find(pending_, name) != nullptr;
  });
  if (!may_close || !is_whole) return std::nullopt;
  for (const auto& [name, times] : since_) most_since_ = std::max(most_since_, times - 1);
  since_.clear();
  Result result{part.line, std::exchange(pending_, {})};
  result.phase = find(result.values, names_.front())->phase;
  for (const std::string& name : names_) {
    if (find(result.values, name)->phase != result.phase) result.phase = Phase::unnamed;
  }
  return result;
}

}  // namespace tune
