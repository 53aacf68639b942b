// A handful of kinds, each with its first line.
#include "tuner/script/line_kinds.h"

#include <algorithm>
#include <utility>

namespace tune {

std::optional<std::string> LineKinds::take(std::string_view beginning, std::string_view line) {
  constexpr std::size_t least_lines = 2;
  constexpr std::size_t most_kinds = 8;
  // A bar tells its speed now as it/s, now as s/it.
  const bool is_bar = line.find('%') != line.npos && line.find('|') != line.npos;
  if (has_told_ || is_bar) return std::nullopt;
  const auto is_mine = [&](const Kind& kind) { return kind.beginning == beginning; };
  auto mine = std::find_if(kinds_.begin(), kinds_.end(), is_mine);
  if (mine == kinds_.end()) {
    if (kinds_.size() == most_kinds) return std::nullopt;
    mine = kinds_.insert(kinds_.end(), {std::string(beginning), std::string(line)});
  }
  if (++mine->lines != least_lines) return std::nullopt;
  const auto is_other = [&](const Kind& kind) {
    return kind.lines >= least_lines && kind.beginning != beginning;
  };
  const auto other = std::find_if(kinds_.begin(), kinds_.end(), is_other);
  if (other == kinds_.end()) return std::nullopt;
  has_told_ = true;
  return other->first_line;
}

}  // namespace tune
