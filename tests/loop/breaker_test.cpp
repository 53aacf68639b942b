#include "tuner/loop/breaker.h"

#include "tests/support/catch.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

TrialId id(unsigned i) { return TrialId{i}; }

void fail(Breaker& breaker, unsigned from, unsigned to, Seconds now) {
  for (unsigned i = from; i < to; ++i)
    breaker.on_failure(id(i), "it exited with code 1", now - 0.1, now);
}

}  // namespace

TEST_CASE("Failures of one trial, or with results between, are no fault of the machine",
          "[breaker]") {
  Breaker breaker(8, true);
  for (int i = 0; i < 50; ++i) breaker.on_failure(id(3), "again", 9, 10);
  CHECK(breaker.allows_launch(10));
  for (unsigned i = 0; i < 50; ++i) {
    breaker.on_failure(id(i), "bad luck", 9, 10);
    if (i % 7 == 6) breaker.on_result(9.5);
  }
  CHECK(breaker.allows_launch(10));
  CHECK(breaker.take_notices().empty());
}

TEST_CASE("After many different failures launches pause longer and longer, one trial at a time",
          "[breaker]") {
  Breaker breaker(8, true);
  fail(breaker, 0, 8, 100);
  Seconds now = 100;
  Seconds pause = 1;
  for (unsigned probe = 8; probe < 17; ++probe) {
    CAPTURE(probe);
    REQUIRE_FALSE(breaker.given_up());
    CHECK_FALSE(breaker.allows_launch(now + pause - 0.01));
    CHECK(breaker.deadline() == now + pause);
    now += pause;
    REQUIRE(breaker.allows_launch(now));
    breaker.on_launch(id(probe), now);
    CHECK_FALSE(breaker.allows_launch(now + 1));  // alone
    breaker.on_failure(id(probe), "it exited with code 1", now, now);
    pause = std::min(120.0, 2 * pause);
  }
  breaker.on_launch(id(17), now + pause);
  breaker.on_failure(id(17), "it exited with code 1", now + pause, now + pause);
  REQUIRE(breaker.given_up());
  CHECK_THAT(*breaker.given_up(), Contains("18 trials that were started have all failed alike: it "
                                           "exited with code 1"));
  CHECK(breaker.take_blameless().size() == 18);
  CHECK_FALSE(breaker.allows_launch(1e9));
}

TEST_CASE("A result lets all go on, and what had failed is tried once more, once", "[breaker]") {
  Breaker breaker(8, true);
  fail(breaker, 0, 8, 100);
  breaker.on_launch(id(8), 101);
  breaker.on_result(101);
  CHECK(breaker.allows_launch(101));
  CHECK(breaker.take_blameless().size() == 8);
  fail(breaker, 0, 8, 200);  // their own fault, after all
  CHECK(breaker.allows_launch(200));
  CHECK(breaker.take_blameless().empty());
}

TEST_CASE("Results of what was begun before do not speak for what is begun now", "[breaker]") {
  Breaker breaker(8, true);
  for (unsigned i = 0; i < 8; ++i) {
    breaker.on_failure(id(i), "ImportError", 99, 100);
    breaker.on_result(50);
  }
  CHECK_FALSE(breaker.allows_launch(100));
  breaker.on_result(50);
  CHECK_FALSE(breaker.allows_launch(100));
  breaker.on_launch(id(8), 101);
  breaker.on_result(101);
  CHECK(breaker.allows_launch(101));
}

TEST_CASE("A trial that lives longer than those that failed shows that it can", "[breaker]") {
  Breaker breaker(8, true);
  for (unsigned i = 0; i < 8; ++i) breaker.on_failure(id(i), "boom", 70, 100);
  breaker.on_launch(id(8), 101);
  CHECK(breaker.deadline() == 161);
  CHECK_FALSE(breaker.allows_launch(160));
  CHECK(breaker.allows_launch(161));
}

TEST_CASE("Numbers and places do not make failures different, words do", "[breaker]") {
  Breaker alike(5, false);
  for (unsigned i = 0; i < 5; ++i) {
    alike.on_failure(id(i), "process " + std::to_string(i) + " fell; see /x/" + std::to_string(i),
                     1, 1);
  }
  CHECK_THAT(*alike.given_up(), Contains("all failed alike: process 4 fell"));
  Breaker different(5, false);
  for (unsigned i = 0; i < 5; ++i) different.on_failure(id(i), std::string(i + 1, 'x'), 1, 1);
  CHECK_THAT(*different.given_up(), Contains("have all failed, the last: xxxxx"));
}

TEST_CASE("With -1 only launches that fail hold anything up", "[breaker]") {
  Breaker breaker(-1, false);
  fail(breaker, 0, 100, 1);
  CHECK(breaker.allows_launch(1));
  breaker.on_launch_failed(id(100), "no processes left", 1);
  CHECK_FALSE(breaker.allows_launch(1));
  breaker.on_result(0.5);  // of what was launched before
  CHECK_FALSE(breaker.allows_launch(1));
}
