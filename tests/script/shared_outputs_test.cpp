#include "tuner/script/shared_outputs.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

constexpr TrialId first{0};
constexpr TrialId second{1};

FileVersion file(std::uint64_t inode, std::uint64_t bytes, std::int64_t changed_ns) {
  return {"model.pt", inode, bytes, changed_ns};
}

TEST_CASE("A file that two trials write one after the other is overwritten", "[unit][plain]") {
  const bool is_renamed = GENERATE(false, true);
  SharedOutputs outputs;
  CHECK_FALSE(outputs.take_in(first, 100, {file(1, 10, 150)}));
  const auto found = outputs.take_in(second, 120, {file(is_renamed ? 2 : 1, 10, 250)});
  REQUIRE(found);
  CHECK(found->name == "model.pt");
  CHECK(found->before == first);
  CHECK(found->after == second);
}

TEST_CASE("What is appended to, or was written by one trial, or before it, is not overwritten",
          "[unit][plain]") {
  SharedOutputs outputs;
  SECTION("a log grows") {
    CHECK_FALSE(outputs.take_in(first, 100, {file(1, 10, 150)}));
    CHECK_FALSE(outputs.take_in(second, 120, {file(1, 20, 250)}));
    CHECK_FALSE(outputs.take_in(first, 300, {file(1, 30, 350)}));
  }
  SECTION("only the first one wrote it") {
    CHECK_FALSE(outputs.take_in(first, 100, {file(1, 10, 150)}));
    CHECK_FALSE(outputs.take_in(second, 120, {file(1, 10, 150)}));
  }
  SECTION("it is older than both") {
    CHECK_FALSE(outputs.take_in(first, 100, {file(1, 10, 50)}));
    CHECK_FALSE(outputs.take_in(second, 120, {file(1, 10, 50)}));
  }
  SECTION("one trial writes it in two attempts") {
    CHECK_FALSE(outputs.take_in(first, 100, {file(1, 10, 150)}));
    CHECK_FALSE(outputs.take_in(first, 200, {file(1, 10, 250)}));
  }
}

}  // namespace
}  // namespace tune
