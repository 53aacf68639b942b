#include "tuner/view/sampled_curve.h"

#include <cmath>

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("A sampled curve hides no spike", "[sampled_curve][unit]") {
  std::vector<CurvePoint> points;
  for (int i = 1; i <= 1000; ++i) points.push_back({i, i == 555 ? 1e6 : 1.0});
  const auto buckets = sample_curve(points, 10);
  REQUIRE(buckets.size() == 10);
  CHECK(buckets[5].max.value() == 1e6);
  CHECK(buckets[5].last.value() == 1);
  CHECK(buckets.back().iteration == 1000);
}

TEST_CASE("A short curve is all there", "[sampled_curve][unit]") {
  const auto buckets = sample_curve({{3, 0.5}, {7, 0.25}}, 100);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].iteration == 3);
  CHECK(buckets[1].last.value() == 0.25);
  CHECK(sample_curve({}, 100).empty());
}

TEST_CASE("Values that are no numbers are no extremes", "[sampled_curve][unit]") {
  const auto buckets = sample_curve({{1, NAN}, {2, 5}, {3, INFINITY}, {4, NAN}}, 2);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].min.value() == 5);
  CHECK(std::isnan(buckets[1].max.value()));
}

TEST_CASE("Extremes of whole numbers keep all digits", "[sampled_curve][unit]") {
  const Int128 base = Int128{1} << 60;
  std::vector<CurvePoint> points;
  for (const int more : {1, 0, 3, 2})
    points.push_back({4 - more, ExactNumber::of_whole(base + more)});
  const auto buckets = sample_curve(points, 1);
  REQUIRE(buckets.size() == 1);
  CHECK(buckets[0].min.whole() == base);
  CHECK(buckets[0].max.whole() == base + 3);
  CHECK(buckets[0].last.whole() == base + 2);
}

}  // namespace
}  // namespace tune
