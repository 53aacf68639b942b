// Finds ranks at the begin of lines, and the lowest one that prints results.
#include "tuner/plain/process_ranks.h"

#include <re2/re2.h>

#include <string>
#include <utility>

namespace tune {

std::optional<ProcessRank> rank_of(std::string_view line) {
  constexpr std::string_view first_signs = "[rR";
  if (line.empty() || first_signs.find(line.front()) == line.npos) return std::nullopt;
  static const re2::RE2 expression(
      "^(?:\\[(?i:rank|default|local_rank)[ "
      ":=_]*(\\d{1,6})\\]|\\[\\d+,(\\d{1,6})\\]<std(?:out|err)>|"
      "(?i:rank)[ :=_]*(\\d{1,6})\\b)");
  re2::StringPiece in_brackets, of_mpi, behind_word;
  if (!re2::RE2::PartialMatch({line.data(), line.size()}, expression, &in_brackets, &of_mpi,
                              &behind_word)) {
    return std::nullopt;
  }
  const re2::StringPiece number = !in_brackets.empty() ? in_brackets
                                  : !of_mpi.empty()    ? of_mpi
                                                       : behind_word;
  return ProcessRank{std::stoll(std::string(number.data(), number.size())), !behind_word.empty()};
}

ProcessRanks::Answer ProcessRanks::take(const ProcessRank& rank, bool may_close) {
  using Count = Answer::Count;
  using Held = Answer::Held;
  if (are_none_) return {};
  if (lowest_ && rank.rank > *lowest_) return {Count::no};
  if (!may_close) return {};
  const std::optional<ProcessRank> held = std::exchange(held_, std::nullopt);
  if (lowest_ || rank.rank == 0) {
    lowest_ = rank.rank;
    return {Count::yes, Held::dropped};
  }
  if (held && rank.is_word) {
    are_none_ = true;
    return {Count::yes, Held::counts};
  }
  if (held && rank.rank >= held->rank) {
    lowest_ = held->rank;
    return {rank.rank == held->rank ? Count::yes : Count::no, Held::counts};
  }
  held_ = rank;
  return {Count::later, Held::dropped};
}

}  // namespace tune
