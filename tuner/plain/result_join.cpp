// Lines wait until the metrics have come again, and are then gone through once more.
#include "tuner/plain/result_join.h"

#include <algorithm>
#include <charconv>
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
  if (!counted_.empty() && !std::exchange(goes_by_counted_, true)) results = replay(counted_);
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
    goes_by_counted_ = true;
    results = replay(counted_);
  } else if (waiting_.size() > most_waiting) {
    results = settle();
  }
  return results;
}

/// "Best acc: 6.8" behind lines with "acc: 6.1" is of no epoch, or of one that has its own.
void ResultJoin::note(std::vector<PrintedValue>& values) {
  std::erase_if(values, [this](const PrintedValue& value) {
    const auto seen = seen_.find(value.name);
    return value.sums_up && seen != seen_.end() && seen->second.has_plain_line;
  });
  for (const PrintedValue& value : values) {
    if (!is_closing(value.name)) continue;
    Seen& seen = seen_[value.name];
    if (!value.is_bar && !seen.first) seen.first = value.phase;
    ++(value.is_bar ? seen.bars : seen.lines)[value.phase];
    seen.has_plain_line = seen.has_plain_line || (!value.sums_up && !value.is_bar);
    const auto counted = counted_.find(value.name);
    if (counted == counted_.end()) continue;
    const auto lines = seen.lines.find(counted->second.phase);
    if (lines != seen.lines.end() && lines->second > 1) counted->second.has_lines = true;
  }
}

std::vector<ResultJoin::Result> ResultJoin::settle() {
  if (waiting_.empty()) return {};
  if (!counted_.empty()) return replay(counted_);
  return replay(choose(true).value_or(CountedPhases()));
}

std::vector<PrintedValue> ResultJoin::release() {
  for (const auto& [name, times] : since_) most_since_ = std::max(most_since_, times);
  since_.clear();
  std::erase_if(pending_, [this](const PrintedValue& value) { return is_closing(value.name); });
  return std::exchange(pending_, {});
}

void ResultJoin::begin_launch() {
  goes_by_counted_ = false;
  waiting_.clear();
  pending_.clear();
  recent_.clear();
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

std::optional<ResultJoin::Uneven> ResultJoin::uneven(bool is_end) const {
  if (times_uneven_ > (is_end ? 0U : 1U)) return uneven_;
  if (!is_end || names_epochs_ || most_since_ > 0) return std::nullopt;
  // Each came once before each result: one that is left over may have come before the first epoch.
  const auto is_left = [this](const std::string& name) { return since_.contains(name); };
  const auto left = std::find_if(names_.begin(), names_.end(), is_left);
  const auto other = std::find_if_not(names_.begin(), names_.end(), is_left);
  if (!has_joined_ || left == names_.end() || other == names_.end()) return std::nullopt;
  return Uneven{*left, *other};
}

/// `values`: of a result, by lines of their own.
void ResultJoin::note_uneven(const std::vector<PrintedValue>& values) {
  const std::string& count = find(values, names_.front())->count;
  names_epochs_ = std::all_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return number_beside(find(values, name)->count, count).has_value();
  });
  has_joined_ = true;
  if (names_epochs_ || since_.empty()) return;
  const auto [least, most] =
      std::minmax_element(since_.begin(), since_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least->second == most->second) return;
  ++times_uneven_;
  uneven_ = {most->first, least->first};
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

/// Where the first one has come a single time, and another one again and again, that was a check
/// before the training: it is none. One that has begun later may come each third epoch.
ResultJoin::Times ResultJoin::phases_of(const std::string& name, bool is_end) const {
  const auto seen = seen_.find(name);
  if (seen == seen_.end()) return {};
  Times times = seen->second.times();
  const std::size_t many = is_end ? 2 : 4;
  const bool has_habit =
      std::any_of(times.begin(), times.end(), [&](const auto& of) { return of.second >= many; });
  if (has_habit) {
    std::erase_if(times, [&](const auto& of) {
      return of.second == 1 && (is_end || of.first == seen->second.first);
    });
  }
  return times;
}

/// That of metrics which have come so often in each phase at least: where lines that name none have
/// come again, these, else the phase that tells most. Nothing: more has to come. A single line of
/// a phase that tells more may be the first of many, and then the others have to come once more.
std::optional<Phase> ResultJoin::choose(const Times& least, bool is_end) {
  const auto times_of = [&](Phase phase) {
    const auto of = least.find(phase);
    return of == least.end() ? 0 : of->second;
  };
  const std::size_t unnamed = times_of(Phase::unnamed);
  if (unnamed > (is_end ? 0U : 1U)) return Phase::unnamed;
  std::size_t needed = is_end ? 1 : unnamed > 0 ? 3 : 2;
  for (const Phase phase : {Phase::validation, Phase::test, Phase::training}) {
    const std::size_t times = times_of(phase);
    if (times >= needed) return phase;
    if (times > 0) ++needed;
  }
  return std::nullopt;
}

/// What counts of each metric; nothing: more has to come.
std::optional<CountedPhases> ResultJoin::choose(bool is_end) const {
  std::map<std::string, Times> times;
  Times common;  ///< of the phases in which all have come, how often at least
  for (const std::string& name : names_) {
    const Times& own = times[name] = phases_of(name, is_end);
    if (own.empty()) return std::nullopt;
    if (name == names_.front()) common = own;
    std::erase_if(common, [&](const auto& of) { return !own.contains(of.first); });
    for (auto& [phase, least] : common) least = std::min(least, own.at(phase));
  }
  CountedPhases counted;
  for (const std::string& name : names_) {
    const auto phase = choose(common.empty() ? times[name] : common, is_end);
    if (!phase) return std::nullopt;
    counted[name] = {*phase, !seen_.find(name)->second.lines.empty()};
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

/// Whether the lines of another metric are ahead: an evaluation that takes longer than an epoch.
bool ResultJoin::is_behind(const Part& part) const {
  return std::any_of(part.values.begin(), part.values.end(), [&](const PrintedValue& value) {
    return is_closing(value.name) &&
           std::any_of(pending_.begin(), pending_.end(), [&](const PrintedValue& other) {
             return is_closing(other.name) && other.name != value.name &&
                    is_of_earlier_epoch(value, other);
           });
  });
}

/// The result of the epoch that the part names, if all others of that have come.
std::optional<ResultJoin::Result> ResultJoin::join_earlier(const Part& part) {
  Result result{part.line, part.values};
  const auto closing = std::find_if(part.values.begin(), part.values.end(),
                                    [&](const auto& value) { return is_closing(value.name); });
  for (const std::string& name : names_) {
    if (find(part.values, name) != nullptr) continue;
    const auto same = std::find_if(recent_.rbegin(), recent_.rend(), [&](const auto& value) {
      return value.name == name && value.count == closing->count;
    });
    if (same == recent_.rend()) return std::nullopt;
    put(result.values, *same);
  }
  result.phase = find(result.values, names_.front())->phase;
  for (const std::string& name : names_) {
    if (find(result.values, name)->phase != result.phase) result.phase = Phase::unnamed;
  }
  begin_anew_behind(result);
  return result;
}

/// What is in it is in no other one, however often its epoch is named again.
void ResultJoin::begin_anew_behind(const Result& result) {
  for (const auto& [name, times] : since_) most_since_ = std::max(most_since_, times - 1);
  since_.clear();
  std::erase_if(recent_, [&](const PrintedValue& value) {
    const PrintedValue* const used = find(result.values, value.name);
    return used != nullptr && used->count == value.count;
  });
}

/// The result that it closes. `counted`: null where all lines so far name no phase, and all count.
std::optional<ResultJoin::Result> ResultJoin::join(Part part, const CountedPhases* counted) {
  if (counted != nullptr) {
    std::erase_if(part.values, [&](const auto& value) { return is_left_out(value, *counted); });
  }
  const bool may_close = has_closing(part);
  const bool has_all = std::all_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return find(part.values, name) != nullptr;
  });
  for (const PrintedValue& value : part.values) {
    constexpr std::size_t most_recent = 256;
    if (!is_closing(value.name) || value.count.empty() || value.is_bar) continue;
    recent_.push_back(value);
    if (recent_.size() > most_recent) recent_.pop_front();
  }
  if (!has_all && is_behind(part)) return join_earlier(part);
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
  if (!has_all) note_uneven(pending_);
  Result result{part.line, std::exchange(pending_, {})};
  begin_anew_behind(result);
  result.phase = find(result.values, names_.front())->phase;
  for (const std::string& name : names_) {
    if (find(result.values, name)->phase != result.phase) result.phase = Phase::unnamed;
  }
  return result;
}

}  // namespace tune
