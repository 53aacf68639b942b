// Counts the results of each phase that stands beside them.
#include "tuner/plain/unread_phase.h"

#include <algorithm>
#include <utility>

#include "tuner/plain/named_number.h"

namespace tune {

namespace {

/// A longer line is no title.
constexpr std::size_t longest_title = 80;

}  // namespace

void UnreadPhase::see(std::string_view line) {
  if (has_told_ || std::none_of(line.begin(), line.end(), is_letter)) return;
  above_ = line.size() > longest_title ? Phase::unnamed : phase_named_in(line);
  title_ = above_ == Phase::unnamed ? "" : std::string(line);
}

std::optional<UnreadPhase::Two> UnreadPhase::take(const ClosingLine& line, std::string_view text) {
  if (has_told_ || line.phase != Phase::unnamed || line.is_bar) return std::nullopt;
  Phase phase = phase_named_in(text);
  std::string shown = "'" + std::string(text.substr(0, longest_title)) + "'";
  if (phase == Phase::unnamed && above_ != Phase::unnamed) {
    phase = above_;
    shown += " below '" + title_ + "'";
  }
  Kind& kind = kinds_.at(static_cast<std::size_t>(phase));
  if (++kind.lines == 1) kind.shown = std::move(shown);
  const auto has_come_again = [](const Kind& each) { return each.lines > 1; };
  const auto first = std::find_if(kinds_.rbegin(), kinds_.rend(), has_come_again);
  const auto second =
      first == kinds_.rend() ? first : std::find_if(first + 1, kinds_.rend(), has_come_again);
  if (second == kinds_.rend()) return std::nullopt;
  has_told_ = true;
  return Two{first->shown, second->shown};
}

}  // namespace tune
