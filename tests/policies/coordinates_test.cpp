#include "searchers/coordinates.h"

#include <cmath>

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

/// The only leaf of a space {"x": domain}.
SpaceLeaf leaf_of(const Json& domain) { return space_of({{"x", domain}}).leaves()[0]; }

const std::vector<Json> all_domains = {{{"uniform", {-1, 2}}},
                                       {{"quniform", {-1, 2, 0.1}}},
                                       {{"loguniform", {1e-6, 10}}},
                                       {{"qloguniform", {0.5, 32, 0.5}}},
                                       {{"randn", {3, 2}}},
                                       {{"qrandn", {3, 2, 0.25}}},
                                       {{"randint", {-4, 9}}},
                                       {{"qrandint", {-7, 21, 7}}},
                                       {{"lograndint", {1, 1000}}},
                                       {{"qlograndint", {15, 400, 10}}},
                                       {{"randint", {5, 6}}},
                                       {{"choice", {"a", "b", {{"uniform", {0, 1}}}}}},
                                       {{"quniform", {0.3, 0.3 + 1e-1, 0.1}}},
                                       {{"randint", {-9223372036854775807, 9223372036854775807}}}};

}  // namespace

TEST_CASE("Every drawn value has a coordinate within bounds that leads back to it",
          "[coordinates][unit]") {
  Random random(1);
  for (const Json& domain : all_domains) {
    INFO(domain);
    const SpaceLeaf leaf = leaf_of(domain);
    const Axis axis = axis_of(leaf.domain);
    for (int i = 0; i < 200; ++i) {
      const Json value = draw_leaf(leaf.domain, random);
      const double x = axis.coordinate_of(value.get<double>());
      if (axis.bounded) CHECK((x >= axis.low && x <= axis.high));
      const Json back = leaf_value_at(leaf.domain, axis, x);
      CHECK(back.type() == value.type());
      CHECK(back.get<double>() == Approx(value.get<double>()).epsilon(1e-12));
    }
  }
}

TEST_CASE("A value at a bound is the bound, whatever rounding its coordinate has seen",
          "[coordinates][unit]") {
  for (const Json& bounds : std::vector<Json>{{0.1, 3}, {1e-4, 3}, {0.3, 0.9}, {1e-5, 1e-1}}) {
    for (const char* const kind : {"uniform", "loguniform"}) {
      INFO(kind << " " << bounds);
      const SpaceLeaf leaf = leaf_of({{kind, bounds}});
      const Axis axis = axis_of(leaf.domain);
      const auto at = [&](double coordinate) {
        return leaf_value_at(leaf.domain, axis, coordinate).get<double>();
      };
      const double range = axis.high - axis.low;
      for (const double last : {axis.high, axis.low + range, axis.low + 0.1 * (10 * range)}) {
        CHECK(at(last) == bounds[1]);
        CHECK(at(std::nextafter(last, axis.low)) == bounds[1]);
      }
      CHECK(at(axis.low) == bounds[0]);
      CHECK(at(axis.low + 1e-9 * range) > bounds[0].get<double>());
      CHECK(leaf_quantile(leaf.domain, 0) == bounds[0]);
    }
  }
}

TEST_CASE("Every coordinate within bounds leads to a value of the domain", "[coordinates][unit]") {
  for (const Json& domain : all_domains) {
    INFO(domain);
    const SpaceLeaf leaf = leaf_of(domain);
    const Axis axis = axis_of(leaf.domain);
    for (int i = 0; i <= 100; ++i) {
      const double x = axis.low + (axis.high - axis.low) * i / 100;
      const Json value = leaf_value_at(leaf.domain, axis, x);
      INFO(x << " " << value);
      if (axis.is_choice()) {
        CHECK(value.get<std::size_t>() < axis.choices);
      } else {
        CHECK(contains(leaf.domain, value));
      }
    }
  }
}

TEST_CASE("Steps widen an axis by half of one on both sides, so that all are as long",
          "[coordinates][unit]") {
  const Axis whole = axis_of(leaf_of({{"randint", {3, 6}}}).domain);
  CHECK(whole.low == 2.5);
  CHECK(whole.high == 5.5);
  const Axis log = axis_of(leaf_of({{"qlograndint", {15, 45, 10}}}).domain);
  CHECK(log.first == 20);
  CHECK(log.last == 40);
  CHECK(log.low == std::log(15));
  CHECK(log.high == std::log(45));
  const Axis endless = axis_of(leaf_of({{"randn", {3, 2}}}).domain);
  CHECK_FALSE(endless.bounded);
  CHECK(endless.low == -1);
  CHECK(endless.high == 7);
}

TEST_CASE("What a config lacks has no coordinate, and what is outside is brought to the bounds",
          "[coordinates][unit]") {
  const SearchSpace space = space_of(R"({"a": {"choice": [{"b": {"uniform": [0, 1]}}, 2]},
                                         "c": {"randint": [0, 10]}})"_json);
  const auto axes = axes_of(space);
  const auto point = coordinates_of(space, axes, R"({"a": 2, "c": 12})"_json);
  REQUIRE(point.size() == 3);
  CHECK(point[0] == 1);
  CHECK(std::isnan(point[1]));
  CHECK(point[2] == 9);
}

}  // namespace tune
