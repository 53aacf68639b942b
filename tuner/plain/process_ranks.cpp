// Finds the numbers of processes in lines, and the lowest one that prints results.
#include "tuner/plain/process_ranks.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "tuner/plain/named_number.h"
#include "tuner/plain/printed_counts.h"

namespace tune {

namespace {

re2::StringPiece as_piece(std::string_view text) { return {text.data(), text.size()}; }

std::int64_t number_of(re2::StringPiece digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// Of "50%", "1.5 GB" and "3ms" none is a process.
bool ends_label(std::string_view behind) {
  if (behind.empty()) return true;
  if (behind.front() == '.') return behind.size() < 2 || !is_digit(behind[1]);
  if (behind.front() == '_' || is_letter(behind.front()) || is_digit(behind.front())) return false;
  const std::size_t next = behind.find_first_not_of(" \t");
  return next == behind.npos || behind[next] != '%';
}

/// Those behind words for processes in `text`; those of devices only if there are no others, as a
/// rank may have any of them.
void find_words(std::string_view text, bool in_brackets, ProcessLabel& label) {
  static const re2::RE2 anywhere(
      "(?i)(?:^|[^a-z0-9_./-])(?:((?:(?:local|global|world)[_ ]?)?rank)|(worker|node|process|proc|"
      "host)|(gpu|cuda|device)|(pid))['\"]?[ \\t]*[:=_#]?[ \\t]*(\\d{1,9})");
  static const re2::RE2 bracketed(
      "(?i)[\\[(<{](?:((?:(?:local|global|world)[_ ]?)?rank)|(worker|node|process|proc|host)|"
      "(gpu|cuda|device)|(pid))[ \\t]*[:=_#]?[ \\t]*(\\d{1,9})[\\])>}]");
  using Kind = ProcessLabel::Kind;
  constexpr std::int64_t most_devices = 16;  // more of "GPU: 45" are percents
  std::vector<std::int64_t> devices;
  re2::StringPiece rest = as_piece(text), rank, process, device, id, digits;
  while (re2::RE2::FindAndConsume(&rest, in_brackets ? bracketed : anywhere, &rank, &process,
                                  &device, &id, &digits)) {
    if (!in_brackets && !ends_label({rest.data(), rest.size()})) continue;
    const std::int64_t number = number_of(digits);
    if (!device.empty()) {
      if (number < most_devices) devices.push_back(number);
      continue;
    }
    if (!rank.empty()) {
      label.kind = Kind::rank;
    } else if (label.numbers.empty() || label.kind != Kind::rank) {
      label.kind = id.empty() ? Kind::process : Kind::id;
    }
    label.numbers.push_back(number);
  }
  if (!label.numbers.empty()) return;
  label.kind = Kind::device;
  label.numbers = std::move(devices);
}

/// The words in `text` and its counts: all of them, if none has a word such as "epoch".
std::string rest_of(std::string_view text, const std::vector<std::int64_t>& named,
                    const std::vector<std::int64_t>& label) {
  std::string rest;
  for (const char c : text) {
    if (is_letter(c)) {
      rest += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!rest.ends_with(' ')) {
      rest += ' ';
    }
  }
  std::vector<std::int64_t> counts = named;
  if (counts.empty()) {
    counts = counts_in(text);
    for (const std::int64_t number : label) {
      const auto mine = std::find(counts.begin(), counts.end(), number);
      if (mine != counts.end()) counts.erase(mine);
    }
  }
  for (const std::int64_t count : counts) rest += ' ' + std::to_string(count);
  return rest;
}

bool is_zero(const std::vector<std::int64_t>& rank) {
  return std::all_of(rank.begin(), rank.end(), [](std::int64_t each) { return each == 0; });
}

bool is_rank(ProcessLabel::Kind kind) {
  return kind == ProcessLabel::Kind::launcher || kind == ProcessLabel::Kind::rank;
}

}  // namespace

std::optional<ProcessLabel> process_label(std::string_view line, std::string_view name) {
  using Kind = ProcessLabel::Kind;
  constexpr std::size_t most_before = 512, most_unnamed = 64;
  if (line.find_first_of("0123456789") == line.npos) return std::nullopt;
  const auto place = name.empty() ? std::nullopt : place_of_number(line, name);
  const std::size_t at = place.value_or(most_unnamed);
  const std::string before = without_times(line.substr(0, std::min(at, most_before)));
  const std::vector<std::int64_t> named = named_counts_in(before);
  ProcessLabel label;
  static const re2::RE2 launcher(
      "^[^A-Za-z0-9]*\\[(?:(?i:rank|default|local_rank)[ :=_]*(\\d{1,6})\\]|(?:[^\\]\\s]*[^\\]\\s0-"
      "9])?(\\d{1,6})\\]<std(?:out|err)>)");
  static const re2::RE2 bare(
      "^[^A-Za-z0-9+.-]*[\\[(<{]?(\\d{1,5})(?:/\\d+)?[\\])>}]?[ \\t]*(?:[:|>-]|[ \\t])");
  re2::StringPiece by_torch, by_mpi, digits;
  if (re2::RE2::PartialMatch(as_piece(before), launcher, &by_torch, &by_mpi)) {
    label.kind = Kind::launcher;
    label.numbers = {number_of(by_torch.empty() ? by_mpi : by_torch)};
  } else {
    find_words(before, false, label);
    if (label.numbers.empty() && place) find_words(line.substr(at), true, label);
    if (label.numbers.empty() && !named.empty() &&
        re2::RE2::PartialMatch(as_piece(before), bare, &digits)) {
      label.kind = Kind::bare;
      label.numbers = {number_of(digits)};
    }
  }
  if (label.numbers.empty()) return std::nullopt;
  label.rest = rest_of(before, named, label.numbers);
  label.has_count = !named.empty();
  return label;
}

bool ProcessRanks::is_left_out(const ProcessLabel& label) {
  using Kind = ProcessLabel::Kind;
  const Sort& sort = sort_of(label);
  if (sort.lowest && *sort.lowest < label.numbers) return true;
  // Which nodes and devices a trial has may be others than those of the trials before.
  const bool has_zero =
      label.kind == Kind::bare ? known_.has_bare_zero : known_.has_zero && is_rank(label.kind);
  return has_zero && !is_zero(label.numbers);
}

/// Whether a line of another process was the same.
bool ProcessRanks::has_copy(const ProcessLabel& label) const {
  using Kind = ProcessLabel::Kind;
  return std::any_of(seen_.begin(), seen_.end(), [&](const ProcessLabel& other) {
    if (other.kind != label.kind || other.numbers == label.numbers || other.rest != label.rest) {
      return false;
    }
    const bool has_zero = is_zero(other.numbers) || is_zero(label.numbers);
    // A number without a word may count something, by ones or by hundreds: of processes there are
    // 0 and 1.
    if (label.kind == Kind::bare) {
      return has_zero && std::max(other.numbers, label.numbers).front() == 1;
    }
    const bool is_one_epoch = label.has_count && !is_rank(label.kind);
    return has_zero || is_one_epoch || has_gone_back_ || label.kind == Kind::id;
  });
}

ProcessRanks::Answer ProcessRanks::take(const ProcessLabel& label, bool may_close) {
  using Kind = ProcessLabel::Kind;
  using Count = Answer::Count;
  using Held = Answer::Held;
  constexpr std::size_t most_seen = 128;
  if (is_left_out(label)) return {Count::no};
  if (!may_close) return {};
  Sort& sort = sort_of(label);
  const std::optional<ProcessLabel> held = std::exchange(held_, std::nullopt);
  const bool is_first = seen_.empty();
  has_gone_back_ = has_gone_back_ || (!is_first && seen_.back().kind == label.kind &&
                                      label.numbers < seen_.back().numbers);
  sort.are_ranks = sort.are_ranks || label.kind == Kind::launcher || has_copy(label);
  seen_.push_back(label);
  if (seen_.size() > most_seen) seen_.pop_front();
  if (is_first && !is_zero(label.numbers)) {
    held_ = label;
    return {Count::later};
  }
  Answer answer;
  if (held) answer.held = Held::counts;
  if (sort.are_ranks) {
    const auto lower = [&](const std::vector<std::int64_t>& rank) {
      sort.lowest = std::min(sort.lowest.value_or(rank), rank);
    };
    lower(label.numbers);
    if (held && &sort_of(*held) == &sort) lower(held->numbers);
    if (!sort.counted.empty()) lower(*sort.counted.begin());
    if (held && &sort_of(*held) == &sort && held->numbers != *sort.lowest) {
      answer.held = Held::dropped;
    }
    if (label.numbers != *sort.lowest) answer.line = Count::no;
    answer.is_late =
        std::erase_if(sort.counted, [&](const auto& rank) { return rank != *sort.lowest; }) > 0;
    if (is_zero(*sort.lowest)) {
      known_.has_bare_zero = known_.has_bare_zero || label.kind == Kind::bare;
      known_.has_zero = known_.has_zero || is_rank(label.kind);
    }
  }
  if (held && answer.held == Held::counts) sort_of(*held).counted.insert(held->numbers);
  if (answer.line == Count::yes && sort.counted.size() < most_seen) {
    sort.counted.insert(label.numbers);
  }
  return answer;
}

}  // namespace tune
