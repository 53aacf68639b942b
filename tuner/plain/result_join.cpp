// Lines wait until the metrics have come again, and are then gone through once more.
#include "tuner/plain/result_join.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "tuner/model/metrics.h"

namespace tune {

namespace {

/// Lines that wait for one that tells which of them count: as many as a long epoch may have of
/// different ones.
constexpr std::size_t most_waiting = 256;

/// The number of "epoch 3", if `other` counts with the same word.
std::optional<std::int64_t> number_beside(const std::string& count, const std::string& other) {
  const std::size_t word = count.rfind(' ');
  if (word == count.npos || other.rfind(' ') != word || other.compare(0, word, count, 0, word) != 0)
    return std::nullopt;
  std::int64_t number = 0;
  const char* const end = count.data() + count.size();
  const auto parsed = std::from_chars(count.data() + word + 1, end, number);
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
  Part part{line, std::move(values)};
  if (counted_.empty()) {
    for (const PrintedValue& value : part.values) {
      if (is_closing(value.name)) ++times_[value.name][value.phase];
    }
  }
  std::vector<Result> results;
  if (!counted_.empty() || (!waits() && !has_named())) {
    if (auto result = join(std::move(part), counted_.empty() ? nullptr : &counted_)) {
      results.push_back(std::move(*result));
    }
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

std::vector<ResultJoin::Result> ResultJoin::settle() {
  if (waiting_.empty()) return {};
  return replay(choose(true).value_or(CountedPhases()));
}

std::vector<PrintedValue> ResultJoin::release() {
  std::erase_if(pending_, [this](const PrintedValue& value) { return is_closing(value.name); });
  return std::exchange(pending_, {});
}

void ResultJoin::begin_launch() {
  waiting_.clear();
  pending_.clear();
  times_.clear();
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

bool ResultJoin::is_closing(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

bool ResultJoin::has_closing(const Part& part) const {
  return std::any_of(part.values.begin(), part.values.end(),
                     [&](const PrintedValue& value) { return is_closing(value.name); });
}

bool ResultJoin::has_named() const {
  return std::any_of(times_.begin(), times_.end(), [](const auto& metric) {
    return std::any_of(metric.second.begin(), metric.second.end(),
                       [](const auto& phase) { return phase.first != Phase::unnamed; });
  });
}

/// A line right behind one with the same metrics replaces it: of the batches of an epoch the last
/// one stands, and what waits has a bound.
void ResultJoin::wait(Part part) {
  const auto names_like = [](const std::vector<PrintedValue>& one,
                             const std::vector<PrintedValue>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const PrintedValue& a, const PrintedValue& b) {
                        return a.name == b.name && a.phase == b.phase;
                      });
  };
  if (!waiting_.empty() && names_like(waiting_.back().values, part.values)) {
    waiting_.back() = std::move(part);
  } else {
    waiting_.push_back(std::move(part));
  }
}

/// The phase of each metric; nothing: more has to come. Lines that name none count before others,
/// once they have come twice; where one has come that may be a single one, such as a check before
/// the training, another phase must come a third time.
std::optional<CountedPhases> ResultJoin::choose(bool is_end) const {
  std::map<Phase, std::size_t> in_common;  ///< how many metrics have come in it
  for (const std::string& name : names_) {
    const auto times = times_.find(name);
    if (times == times_.end()) return std::nullopt;
    const auto unnamed = times->second.find(Phase::unnamed);
    const bool may_be_single = unnamed != times->second.end() && unnamed->second == 1;
    const std::size_t least = may_be_single ? 3 : 2;
    const bool has_repeated = std::any_of(times->second.begin(), times->second.end(),
                                          [&](const auto& of) { return of.second >= least; });
    if (!has_repeated && !is_end) return std::nullopt;
    for (const auto& [phase, count] : times->second) ++in_common[phase];
  }
  const auto tells_most = [&](const Times& times) {
    const auto first = times.find(Phase::unnamed);
    const bool has_unnamed = first != times.end() && (first->second > 1 || is_end);
    return has_unnamed ? Phase::unnamed : times.rbegin()->first;
  };
  CountedPhases counted;
  for (const std::string& name : names_) {
    Times common = times_.find(name)->second;
    std::erase_if(common, [&](const auto& of) { return in_common[of.first] < names_.size(); });
    counted[name] = tells_most(common.empty() ? times_.find(name)->second : common);
  }
  return counted;
}

/// Whether it is of a phase that does not count.
bool ResultJoin::is_left_out(const PrintedValue& value, const CountedPhases& counted) const {
  if (!is_closing(value.name)) return false;
  const auto phase = counted.find(value.name);
  return phase == counted.end() || phase->second != value.phase;
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
    put(pending_, std::move(value));
  }
  const bool is_whole = std::all_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return find(pending_, name) != nullptr;
  });
  if (!may_close || !is_whole) return std::nullopt;
  Result result{part.line, std::exchange(pending_, {})};
  result.phase = find(result.values, names_.front())->phase;
  for (const std::string& name : names_) {
    if (find(result.values, name)->phase != result.phase) result.phase = Phase::unnamed;
  }
  return result;
}

}  // namespace tune
