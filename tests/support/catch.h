// Catch2 2 or 3, whichever is installed. Write only what both understand.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#include <concepts>
#include <string>
#include <utility>

using Catch::Approx;

namespace Catch::Matchers {

/// Of a text, as in version 2; in version 3 without this it is an element of a range.
template <typename Text>
requires std::convertible_to<Text, std::string> StringContainsMatcher Contains(Text&& text) {
  return ContainsSubstring(std::forward<Text>(text));
}

}  // namespace Catch::Matchers
#else
#include <catch2/catch.hpp>
#endif
