// A handful of kinds, each with its first line, and the lines that wait until a kind comes again.
#include "tuner/plain/line_kinds.h"

#include <algorithm>
#include <utility>

namespace tune {

LineKinds::Answer LineKinds::take(const ClosingLine& line, std::string_view text) {
  if (is_left_out_bar(line)) return {Count::no};
  const bool is_first_to_name = line.phase != Phase::unnamed && !counted_;
  if (!counted_) {
    counted_ = settled_by(line);
    known_.is_by_bars = counted_ && line.is_bar;
  }
  const bool is_open = !counted_ && (is_first_to_name || !held_.empty());
  if (is_open && held_.size() < most_held) {
    held_.push_back({line, std::string(text)});
    return {Count::later};
  }
  has_named_ = has_named_ || line.phase != Phase::unnamed || !held_.empty();
  Answer answer;
  for (const Held& held : std::exchange(held_, {})) {
    answer.held.push_back(is_counted(held.line));
    if (answer.held.back()) note(held.line, held.text);
  }
  if (!is_counted(line)) {
    answer.counts = Count::no;
    return answer;
  }
  if (must_wait(line)) {
    odd_.push_back({line, std::string(text)});
    return {Count::later};
  }
  has_many_forms_ = has_many_forms_ || odd_.size() == most_held;
  for (const Held& odd : std::exchange(odd_, {})) {
    answer.held.push_back(true);
    note(odd.line, odd.text);
  }
  // What waited may have told that bars do not count.
  if (is_left_out_bar(line)) {
    answer.counts = Count::no;
  } else {
    note(line, text);
  }
  return answer;
}

bool LineKinds::is_left_out_bar(const ClosingLine& line) const {
  const auto is_mine = [&](const Kind& kind) {
    return kind.is_bar && kind.beginning == line.beginning;
  };
  return known_.has_lines && (line.is_bar || std::any_of(kinds_.begin(), kinds_.end(), is_mine));
}

/// The words before the metric are the same, or have others in front of them ("New best! epoch 3").
/// A number that all lines of the kind have may be missing in one, but not have another, which none
/// has, in its place.
bool LineKinds::is_like(const Kind& kind, const ClosingLine& line) {
  if (kind.beginning == line.beginning) {
    const auto has_all = [](const auto& names, const auto& of) {
      return std::includes(names.begin(), names.end(), of.begin(), of.end());
    };
    return kind.lines < 2 || has_all(line.neighbours, kind.neighbours) ||
           has_all(kind.some_neighbours, line.neighbours);
  }
  const bool has_words = kind.beginning.find_first_not_of(" :\t") != kind.beginning.npos;
  const bool may_sum_up = line.sums_up && line.beginning.find("new") == line.beginning.npos;
  return has_words && !may_sum_up && line.beginning.ends_with(' ' + kind.beginning);
}

/// A bar has other words as its speed turns round.
bool LineKinds::is_odd(const ClosingLine& line) const {
  if (!has_repeated_ || line.is_bar || has_many_forms_ || kinds_.size() == most_kinds) return false;
  return std::none_of(kinds_.begin(), kinds_.end(),
                      [&](const Kind& kind) { return is_like(kind, line); });
}

bool LineKinds::must_wait(const ClosingLine& line) const {
  const auto is_same = [&](const Held& odd) { return odd.line.beginning == line.beginning; };
  return is_odd(line) && odd_.size() < most_held && std::none_of(odd_.begin(), odd_.end(), is_same);
}

/// Which lines count is known once a kind has come again, so that a single one at the begin or the
/// end chooses nothing. Where lines that name no phase have come, a phase must come a third time,
/// as theirs may be the next to.
std::optional<Phase> LineKinds::settled_by(const ClosingLine& line) const {
  // What bars name tells nothing of lines.
  const auto is_unnamed = [&](const Kind& kind) {
    return kind.phase == Phase::unnamed && (line.is_bar || !kind.is_bar);
  };
  const auto begins_alike = [&](const Held& held) {
    return held.line.phase == Phase::unnamed && held.line.beginning == line.beginning;
  };
  if (line.phase == Phase::unnamed) {
    const bool has_come = std::any_of(held_.begin(), held_.end(), begins_alike) ||
                          std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
                            return is_unnamed(kind) && kind.beginning == line.beginning;
                          });
    return has_come && !held_.empty() ? std::optional(Phase::unnamed) : std::nullopt;
  }
  std::size_t unnamed = 0, alike = 0;
  Phase most = line.phase;
  for (const Kind& kind : kinds_) {
    if (is_unnamed(kind) && kind.lines > 1) return Phase::unnamed;
    if (is_unnamed(kind)) ++unnamed;
  }
  for (const Held& held : held_) {
    most = std::max(most, held.line.phase);
    if (held.line.phase == Phase::unnamed) ++unnamed;
    if (held.line.phase == line.phase) ++alike;
  }
  const bool is_settled = unnamed == 0 ? !held_.empty() : alike > 1;
  return is_settled ? std::optional(most) : std::nullopt;
}

std::vector<bool> LineKinds::settle_at_end() {
  const auto is_unnamed = [&](const Kind& kind) {
    return kind.phase == Phase::unnamed && !(kind.is_bar && known_.has_lines);
  };
  Phase most = Phase::unnamed;
  bool has_unnamed = std::any_of(kinds_.begin(), kinds_.end(), is_unnamed);
  for (const Held& held : held_) {
    most = std::max(most, held.line.phase);
    has_unnamed = has_unnamed || held.line.phase == Phase::unnamed;
  }
  const Phase counted = counted_.value_or(has_unnamed ? Phase::unnamed : most);
  std::vector<bool> counts;
  for (const Held& held : std::exchange(held_, {})) counts.push_back(held.line.phase == counted);
  counts.resize(counts.size() + std::exchange(odd_, {}).size(), false);
  return counts;
}

/// A line before the first one that names a phase has counted when it came: in all launches alike.
bool LineKinds::is_counted(const ClosingLine& line) const {
  if (known_.is_by_bars && !line.is_bar) return true;
  return !counted_ || line.phase == *counted_ || (line.phase == Phase::unnamed && !has_named_);
}

/// Which bars count tells nothing of lines.
void LineKinds::prefer_lines() {
  known_.has_lines = true;
  if (!std::exchange(known_.is_by_bars, false)) return;
  counted_.reset();
  has_named_ = false;
}

void LineKinds::note(const ClosingLine& line, std::string_view text) {
  after_words_ |= line.after_words;
  last_ = line.beginning;
  const auto is_mine = [&](const Kind& kind) { return kind.beginning == line.beginning; };
  auto mine = std::find_if(kinds_.begin(), kinds_.end(), is_mine);
  if (mine == kinds_.end()) {
    if (kinds_.size() == most_kinds) return;
    mine = kinds_.insert(kinds_.end(), {line.beginning, line.phase, std::string(text), line.is_bar,
                                        line.neighbours, line.neighbours});
  }
  std::erase_if(mine->neighbours, [&](const std::string& name) {
    return !std::binary_search(line.neighbours.begin(), line.neighbours.end(), name);
  });
  constexpr std::size_t most_neighbours = 256;
  for (const std::string& name : line.neighbours) {
    auto& some = mine->some_neighbours;
    const auto at = std::lower_bound(some.begin(), some.end(), name);
    if ((at == some.end() || *at != name) && some.size() < most_neighbours) some.insert(at, name);
  }
  ++mine->lines;
  ++mine->lines_of_launch;
  has_repeated_ = has_repeated_ || mine->lines > 1;
  const auto is_bar = [](const Kind& kind) { return kind.is_bar; };
  const bool comes_again = !mine->is_bar && mine->lines > 1;
  if (comes_again && !known_.has_lines && std::any_of(kinds_.begin(), kinds_.end(), is_bar)) {
    prefer_lines();
  }
}

void LineKinds::begin_launch() {
  held_.clear();
  odd_.clear();
  for (Kind& kind : kinds_) kind.lines_of_launch = 0;
}

std::optional<LineKinds::Two> LineKinds::take_mixed() {
  if (has_told_ || kinds_.size() < 2) return std::nullopt;
  const auto usual = std::find_if(kinds_.begin(), kinds_.end(), [](const Kind& kind) {
    return kind.lines_of_launch > 1 && !kind.is_bar;
  });
  if (usual == kinds_.end()) return std::nullopt;
  const auto other = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    const bool has_more_words = kind.beginning.ends_with(' ' + usual->beginning);
    return kind.lines_of_launch > 0 && !kind.is_bar && &kind != &*usual && !has_more_words;
  });
  if (other == kinds_.end()) return std::nullopt;
  has_told_ = true;
  return Two{usual->first_line, other->first_line};
}

}  // namespace tune
