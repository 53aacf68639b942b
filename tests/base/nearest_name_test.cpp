#include "tuner/base/nearest_name.h"

#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {
const std::vector<std::string> names{"uniform", "loguniform", "randint", "choice"};
}  // namespace

TEST_CASE("edit_distance counts insertions, deletions, replacements and swaps as one each",
          "[nearest_name][unit]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("abc", "abxc") == 1);
  CHECK(edit_distance("abc", "ac") == 1);
  CHECK(edit_distance("abc", "axc") == 1);
  CHECK(edit_distance("abc", "acb") == 1);
  CHECK(edit_distance("ca", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("nearest_name finds a misspelt name within two edits", "[nearest_name][unit]") {
  CHECK(nearest_name("unifrom", names) == "uniform");
  CHECK(nearest_name("chioce", names) == "choice");
  CHECK(nearest_name("rand_int", names) == "randint");
  CHECK(nearest_name("randnit", names) == "randint");
}

TEST_CASE("nearest_name allows a third of a long name's letters", "[nearest_name][unit]") {
  const std::vector<std::string> long_names{"max_concurrent_trials"};
  CHECK(nearest_name("maximum_concurrent_trial", long_names) == "max_concurrent_trials");
}

TEST_CASE("nearest_name finds nothing when all names are far", "[nearest_name][unit]") {
  CHECK_FALSE(nearest_name("gaussian", names));
  CHECK_FALSE(nearest_name("", names));
  CHECK_FALSE(nearest_name("q", std::vector<std::string>{"n"}));
  CHECK_FALSE(nearest_name("qq", std::vector<std::string>{"nn"}));
}

TEST_CASE("nearest_name prefers fewer edits and then the earlier candidate",
          "[nearest_name][unit]") {
  CHECK(nearest_name("abcd", std::vector<std::string>{"abxx", "abcx"}) == "abcx");
  CHECK(nearest_name("abcd", std::vector<std::string>{"abcx", "abcy"}) == "abcx");
}

TEST_CASE("unknown_name offers the nearest name, else lists what is known",
          "[nearest_name][unit]") {
  CHECK(unknown_name("option", "choise", names) ==
        "unknown option 'choise', did you mean 'choice'?");
  CHECK(unknown_name("searcher", "bohb", std::vector<std::string>{"random", "grid"}) ==
        "unknown searcher 'bohb', expected one of 'random', 'grid'");
  CHECK(unknown_name("option", "x", {}) == "unknown option 'x', there are none here");
}
