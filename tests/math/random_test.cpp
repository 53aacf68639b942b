#include "tuner/math/random.h"

#include <cmath>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

TEST_CASE("Random gives the published numbers of xoshiro256** for a known state",
          "[random][unit]") {
  Random random(0);
  random.load({1u, 2u, 3u, 4u});
  CHECK(random.bits() == 11520u);
  CHECK(random.bits() == 0u);
  CHECK(random.bits() == 1509978240u);
  CHECK(random.bits() == 1215971899390074240u);
}

TEST_CASE("Random seeds its state by splitmix64", "[random][unit]") {
  CHECK(Random(0).save()[0].get<std::uint64_t>() == 0xe220a8397b1dcdafu);
  CHECK(Random(0).save()[1].get<std::uint64_t>() == 0x6e789e6aa1b965f4u);
}

TEST_CASE("Random goes on from a saved state as if nothing had happened", "[random][unit]") {
  Random random(7);
  for (int i = 0; i < 10; ++i) random.normal(0, 1);
  const Json state = Json::parse(random.save().dump());
  Random other(8);
  other.load(state);
  for (int i = 0; i < 100; ++i) REQUIRE(other.bits() == random.bits());
}

TEST_CASE("Random refuses a state that is not four integers", "[random][unit]") {
  Random random(7);
  const Json before = random.save();
  for (const Json& bad : {Json(nullptr), Json(3), Json({1u, 2u, 3u}), Json({1u, 2u, 3u, "4"}),
                          Json({1u, 2u, 3u, -4})}) {
    CHECK_THROWS_AS(random.load(bad), Error);
  }
  CHECK(random.save() == before);
}

TEST_CASE("Random::uniform fills its interval evenly and never reaches the end",
          "[random][statistics]") {
  Random random(1);
  std::vector<int> bins(10);
  for (int i = 0; i < 100000; ++i) {
    const double value = random.uniform(-1, 4);
    REQUIRE(value >= -1);
    REQUIRE(value < 4);
    ++bins[static_cast<int>((value + 1) * 2)];
  }
  for (const int count : bins) CHECK(count == Approx(10000).margin(500));
}

TEST_CASE("Random::uniform stays below its end even where doubles are sparse", "[random][unit]") {
  Random random(2);
  const double lower = 0x1p53;
  const double upper = lower + 2;
  for (int i = 0; i < 100; ++i) REQUIRE(random.uniform(lower, upper) == lower);
}

TEST_CASE("Random::below is even for small and for very large numbers", "[random][statistics]") {
  Random random(3);
  std::vector<int> counts(6);
  for (int i = 0; i < 60000; ++i) ++counts[random.below(6)];
  for (const int count : counts) CHECK(count == Approx(10000).margin(500));
  // With a biased method, numbers below 2^62 would be twice as likely as the others.
  const std::uint64_t n = 3u * (std::uint64_t{1} << 62);
  int low = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t value = random.below(n);
    REQUIRE(value < n);
    low += value < (std::uint64_t{1} << 62) ? 1 : 0;
  }
  CHECK(low == Approx(10000).margin(400));
}

TEST_CASE("Random::normal has the mean and spread that were asked for", "[random][statistics]") {
  Random random(4);
  constexpr int n = 100000;
  double sum = 0;
  double squares = 0;
  int within_one = 0;
  for (int i = 0; i < n; ++i) {
    const double value = random.normal(3, 2);
    sum += value;
    squares += (value - 3) * (value - 3);
    within_one += std::abs(value - 3) < 2 ? 1 : 0;
  }
  CHECK(sum / n == Approx(3).margin(0.03));
  CHECK(std::sqrt(squares / n) == Approx(2).margin(0.03));
  CHECK(within_one / double{n} == Approx(0.6827).margin(0.01));
}
