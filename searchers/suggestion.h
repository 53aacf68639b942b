// What searchers do alike with a config that they have decided on.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/policy/searcher.h"
#include "tuner/space/search_space.h"

namespace tune {

/// The suggestion of the config that `decide` answers. A std::invalid_argument of it (an expression
/// of the space that has no value) becomes an Error (user).
template <class Decide>
Suggestion suggestion_of(const SearchSpace& space, const Decide& decide) {
  try {
    Json config = decide();
    std::string tag = space.tag(config);
    return {std::move(config), std::move(tag)};
  } catch (const std::invalid_argument& error) {
    throw user_error(error.what());
  }
}

/// To know a config again: FNV-1a, 64 bits (Fowler, Noll and Vo), of its text.
inline std::uint64_t hash_of(const Json& config) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text_of_same(config)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace tune
