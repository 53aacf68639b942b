#include "tuner/plain/interleaved_lines.h"

#include <algorithm>
#include <utility>

namespace tune {

std::optional<InterleavedLines::Two> InterleavedLines::take(const ClosingLine& line,
                                                            std::string_view text) {
  constexpr std::size_t most_kinds = 8;
  if (has_told_ || line.is_bar || line.counts.empty()) return std::nullopt;
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
    constexpr std::size_t most_by_chance = 1;  // a program may begin an epoch anew
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
