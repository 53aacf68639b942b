// When ranks on other nodes are launched, and what they are told of rank 0.
#include "tuner/cluster/rendezvous.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr LaunchId first{1}, second{2}, third{3};

LaunchSpec rank(int number) {
  LaunchSpec spec;
  spec.rank = Rank{.rank = number, .world_size = 3, .first = first};
  return spec;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("Ranks on other nodes wait until the port of rank 0 is known", "[cluster][unit]") {
  Rendezvous rendezvous;
  LaunchSpec early = rank(1);
  CHECK_FALSE(rendezvous.admit(second, early));
  auto waited = rendezvous.open(first, 4711);
  REQUIRE(waited.size() == 1);
  CHECK(waited[0].first == second);
  CHECK(waited[0].second.rank->rank == 1);
  CHECK(rendezvous.admit(second, waited[0].second));
  CHECK(waited[0].second.own_environment == Words{"MASTER_PORT=4711"});
  LaunchSpec late = rank(2);
  CHECK(rendezvous.admit(third, late));
  CHECK(late.own_environment == Words{"MASTER_PORT=4711"});
}

TEST_CASE("A port that the user gives is not waited for, and not another one", "[cluster][unit]") {
  Rendezvous rendezvous;
  LaunchSpec spec = rank(1);
  spec.environment = {"MASTER_PORT=29500"};
  CHECK(rendezvous.admit(second, spec));
  rendezvous.open(first, 4711);
  CHECK(rendezvous.admit(second, spec));
  CHECK(spec.own_environment.empty());
}

TEST_CASE("What waits for a rank 0 that ends is not launched, and its port is nobody's",
          "[cluster][unit]") {
  Rendezvous rendezvous;
  LaunchSpec one = rank(1), other = rank(2);
  rendezvous.admit(second, one);
  rendezvous.admit(third, other);
  CHECK(rendezvous.close(first) == std::vector{second, third});
  CHECK(rendezvous.close(first).empty());
  rendezvous.open(first, 4711);
  rendezvous.close(first);
  LaunchSpec late = rank(1);
  CHECK_FALSE(rendezvous.admit(second, late));
}

TEST_CASE("Who withdraws while it waits is not launched", "[cluster][unit]") {
  Rendezvous rendezvous;
  LaunchSpec one = rank(1), other = rank(2);
  rendezvous.admit(second, one);
  rendezvous.admit(third, other);
  CHECK(rendezvous.withdraw(second));
  CHECK_FALSE(rendezvous.withdraw(second));
  const auto waited = rendezvous.open(first, 4711);
  REQUIRE(waited.size() == 1);
  CHECK(waited[0].first == third);
}
