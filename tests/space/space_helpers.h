// Parses param spaces for tests. Knows no test framework.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tuner/space/search_space.h"

namespace tune {

/// The space of `json`; throws with all problems if there are any.
inline SearchSpace space_of(const Json& json) {
  std::vector<Problem> problems;
  SearchSpace space = SearchSpace::parse(json, "", problems);
  std::string all;
  for (const Problem& problem : problems) all += problem.pointer + ": " + problem.sentence + "\n";
  if (!problems.empty()) throw std::runtime_error(all);
  return space;
}

/// The problems of `json` as "pointer: sentence".
inline std::vector<std::string> problems_of(const Json& json) {
  std::vector<Problem> problems;
  SearchSpace::parse(json, "", problems);
  std::vector<std::string> texts;
  for (const Problem& problem : problems)
    texts.push_back(problem.pointer + ": " + problem.sentence);
  return texts;
}

}  // namespace tune
