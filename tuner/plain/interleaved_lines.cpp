#include "tuner/plain/interleaved_lines.h"

#include <algorithm>
#include <utility>

namespace tune {

namespace {

constexpr std::size_t most_by_chance = 1;  // a program may begin an epoch anew

bool names_its_epoch(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small.find("epoch") != small.npos || small.find("step") != small.npos;
}

}  // namespace

/// One that is the same to its last letter, with its epoch, is no other epoch.
std::optional<InterleavedLines::Two> InterleavedLines::take_whole(std::string_view text) {
  if (text != whole_.text) {
    whole_.is_repeated = false;
    whole_.text = text;
    return std::nullopt;
  }
  if (!names_its_epoch(text)) return std::nullopt;
  if (!std::exchange(whole_.is_repeated, true)) ++whole_.repeats;
  has_told_ = whole_.repeats > most_by_chance;
  return has_told_ ? std::optional(Two{whole_.text, whole_.text}) : std::nullopt;
}

std::optional<InterleavedLines::Two> InterleavedLines::take(const ClosingLine& line,
                                                            std::string_view text) {
  constexpr std::size_t most_kinds = 8;
  if (has_told_ || line.is_bar) return std::nullopt;
  if (line.counts.empty()) return take_whole(text);
  const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& each) {
    return each.beginning == line.beginning && each.counts.size() == line.counts.size();
  });
  if (kind == kinds_.end()) {
    if (kinds_.size() < most_kinds) {
      kinds_.push_back({line.beginning, line.counts, std::string(text)});
    }
    return std::nullopt;
  }
  const std::vector<std::int64_t>&before = kind->counts, &now = line.counts;
  const auto place = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.end(), now.begin()).first - before.begin());
  if (place == now.size()) {
    if (!std::exchange(kind->is_repeated, true)) ++kind->repeats;
    has_told_ = kind->repeats > most_by_chance;
    kind->two = {kind->text, std::string(text)};
  } else {
    kind->is_repeated = false;
    const auto behind = static_cast<std::ptrdiff_t>(place) + 1;
    const bool is_alone = std::equal(before.begin() + behind, before.end(), now.begin() + behind);
    if (is_alone && place + 1 < now.size()) {
      kind->place = place;
      kind->two = {kind->text, std::string(text)};
    }
    const bool goes_on = std::lexicographical_compare(before.begin() + behind, before.end(),
                                                      now.begin() + behind, now.end());
    has_told_ = kind->place == place && now[place] < before[place] && (is_alone || goes_on);
  }
  kind->counts = line.counts;
  kind->text = text;
  return has_told_ ? std::optional(kind->two) : std::nullopt;
}

}  // namespace tune
