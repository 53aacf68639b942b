#include "tuner/run/trials/circuit_breaker.h"

#include "tests/support/catch.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

TrialId id(unsigned i) { return TrialId{i}; }

void fail(CircuitBreaker& circuit_breaker, unsigned from, unsigned to, Seconds now) {
  for (unsigned i = from; i < to; ++i)
    circuit_breaker.on_failure(id(i), "it exited with code 1", Blame::unknown, now - 0.1, now);
}

}  // namespace

TEST_CASE("Failures of one trial, or with results between, are no fault of the machine",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  for (int i = 0; i < 50; ++i) circuit_breaker.on_failure(id(3), "again", Blame::unknown, 9, 10);
  CHECK(circuit_breaker.allows_launch(10));
  for (unsigned i = 0; i < 50; ++i) {
    circuit_breaker.on_failure(id(i), "bad luck", Blame::unknown, 9, 10);
    if (i % 7 == 6) circuit_breaker.on_result(9.5);
  }
  CHECK(circuit_breaker.allows_launch(10));
  CHECK(circuit_breaker.take_notices().empty());
}

TEST_CASE("After many different failures launches pause longer and longer, one trial at a time",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  fail(circuit_breaker, 0, 8, 100);
  Seconds now = 100;
  Seconds pause = 1;
  for (unsigned probe = 8; probe < 17; ++probe) {
    CAPTURE(probe);
    REQUIRE_FALSE(circuit_breaker.given_up());
    CHECK_FALSE(circuit_breaker.allows_launch(now + pause - 0.01));
    CHECK(circuit_breaker.deadline() == now + pause);
    now += pause;
    REQUIRE(circuit_breaker.allows_launch(now));
    circuit_breaker.on_launch(id(probe), now);
    CHECK_FALSE(circuit_breaker.allows_launch(now + 1));  // alone
    circuit_breaker.on_failure(id(probe), "it exited with code 1", Blame::unknown, now, now);
    pause = std::min(120.0, 2 * pause);
  }
  circuit_breaker.on_launch(id(17), now + pause);
  circuit_breaker.on_failure(id(17), "it exited with code 1", Blame::unknown, now + pause,
                             now + pause);
  REQUIRE(circuit_breaker.given_up());
  CHECK_THAT(*circuit_breaker.given_up(),
             Contains("18 trials that were started have all failed alike, the first of them "
                      "trial_00000: it exited with code 1"));
  CHECK(circuit_breaker.take_blameless().size() == 18);
  CHECK_FALSE(circuit_breaker.allows_launch(1e9));
}

TEST_CASE("A result lets all go on, and what had failed is tried once more, once",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  fail(circuit_breaker, 0, 8, 100);
  circuit_breaker.on_launch(id(8), 101);
  circuit_breaker.on_result(101);
  CHECK(circuit_breaker.allows_launch(101));
  CHECK(circuit_breaker.take_blameless().size() == 8);
  fail(circuit_breaker, 0, 8, 200);  // their own fault, after all
  CHECK(circuit_breaker.allows_launch(200));
  CHECK(circuit_breaker.take_blameless().empty());
}

TEST_CASE("Results of what was begun before do not speak for what is begun now",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  for (unsigned i = 0; i < 8; ++i) {
    circuit_breaker.on_failure(id(i), "ImportError", Blame::unknown, 99, 100);
    circuit_breaker.on_result(50);
  }
  CHECK_FALSE(circuit_breaker.allows_launch(100));
  circuit_breaker.on_result(50);
  CHECK_FALSE(circuit_breaker.allows_launch(100));
  circuit_breaker.on_launch(id(8), 101);
  circuit_breaker.on_result(101);
  CHECK(circuit_breaker.allows_launch(101));
}

TEST_CASE("A trial that lives longer than those that failed shows that it can",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  for (unsigned i = 0; i < 8; ++i)
    circuit_breaker.on_failure(id(i), "boom", Blame::unknown, 70, 100);
  circuit_breaker.on_launch(id(8), 101);
  CHECK(circuit_breaker.deadline() == 161);
  CHECK_FALSE(circuit_breaker.allows_launch(160));
  CHECK(circuit_breaker.allows_launch(161));
}

TEST_CASE("Numbers and places do not make failures different, words do", "[circuit_breaker]") {
  CircuitBreaker alike(5, false);
  for (unsigned i = 0; i < 5; ++i) {
    alike.on_failure(id(i), "process " + std::to_string(i) + " fell; see /x/" + std::to_string(i),
                     Blame::unknown, 1, 1);
  }
  CHECK_THAT(*alike.given_up(),
             Contains("5 trials that were started have all failed alike, the first of "
                      "them trial_00000: process 0 fell; see /x/0"));
  CircuitBreaker different(5, false);
  for (unsigned i = 0; i < 5; ++i) {
    different.on_failure(id(i), std::string(i + 1, 'x'), Blame::unknown, 1, 1);
  }
  CHECK_THAT(*different.given_up(),
             Contains("have all failed, the last of them trial_00004: xxxxx"));
}

TEST_CASE("A trial that is not among those that are counted is not named as their first",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  fail(circuit_breaker, 0, 2, 100);
  circuit_breaker.forgive({id(0)});
  fail(circuit_breaker, 2, 9, 100);
  CHECK_THAT(circuit_breaker.take_notices().at(0),
             Contains("8 trials that were started have all failed alike, the last of them "
                      "trial_00008: it exited"));
}

TEST_CASE("With -1 only launches that fail hold anything up", "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(-1, false);
  fail(circuit_breaker, 0, 100, 1);
  CHECK(circuit_breaker.allows_launch(1));
  circuit_breaker.on_launch_failed(id(100), "no processes left", 1);
  CHECK_FALSE(circuit_breaker.allows_launch(1));
  circuit_breaker.on_result(0.5);  // of what was launched before
  CHECK_FALSE(circuit_breaker.allows_launch(1));
}

TEST_CASE("Failures that configs explain hold up nothing once there is a result",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  for (unsigned i = 0; i < 500; ++i) {
    circuit_breaker.on_failure(id(i), "out of memory", Blame::config, 9, 10);
    REQUIRE(circuit_breaker.allows_launch(10));
  }
  CHECK(circuit_breaker.take_notices().empty());
  // They do not hide a fault of the machine's, either.
  for (unsigned i = 500; i < 508; ++i) {
    circuit_breaker.on_failure(id(i), "no such file", Blame::unknown, 9, 10);
    circuit_breaker.on_failure(id(i + 100), "out of memory", Blame::config, 9, 10);
  }
  CHECK_FALSE(circuit_breaker.allows_launch(10));
}

TEST_CASE("A kind of failure that comes and goes while other trials work is the configs'",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  const auto fall = [&](unsigned from, unsigned to, const std::string& why, Seconds now) {
    for (unsigned i = from; i < to; ++i)
      circuit_breaker.on_failure(id(i), why, Blame::unknown, now, now);
  };
  fall(0, 2, "it exited with code 1; the last line of its stderr: lr 0.7 is too large", 10);
  circuit_breaker.on_result(11);
  fall(2, 3, "it exited with code 1; the last line of its stderr: lr 0.9 is too large", 12);
  circuit_breaker.on_result(13);
  fall(3, 200, "it exited with code 1; the last line of its stderr: lr 0.8 is too large", 14);
  CHECK(circuit_breaker.allows_launch(14));
  CHECK(circuit_breaker.take_notices().empty());
  fall(200, 208, "it exited with code 1; the last line of its stderr: no such file", 15);
  CHECK_FALSE(circuit_breaker.allows_launch(15));
}

TEST_CASE("What failed while the machine was broken, or by its fault, is no kind of the configs'",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, true);
  for (int outage = 0; outage < 5; ++outage) {
    const Seconds now = 100.0 * outage + 100;
    const unsigned first = 20 * static_cast<unsigned>(outage);
    fail(circuit_breaker, first, first + 8, now);
    REQUIRE_FALSE(circuit_breaker.allows_launch(now));
    circuit_breaker.on_launch(id(first + 9), now + 1);
    circuit_breaker.on_result(now + 1);
    REQUIRE(circuit_breaker.allows_launch(now + 1));
  }
  for (unsigned i = 200; i < 203; ++i) {
    circuit_breaker.on_failure(id(i), "the disk is full", Blame::machine, i, i);
    circuit_breaker.on_result(i + 0.5);
  }
  for (unsigned i = 300; i < 308; ++i) {
    circuit_breaker.on_failure(id(i), "the disk is full", Blame::machine, 900, 900);
  }
  CHECK_FALSE(circuit_breaker.allows_launch(900));
}

TEST_CASE("Before any result, failures that configs explain are given up later than others",
          "[circuit_breaker]") {
  CircuitBreaker circuit_breaker(8, false);
  for (unsigned i = 0; i < 19; ++i) {
    circuit_breaker.on_failure(id(i), "out of memory", Blame::config, 9, 10);
    REQUIRE(circuit_breaker.allows_launch(10));
  }
  circuit_breaker.on_failure(id(19), "out of memory", Blame::config, 9, 10);
  REQUIRE(circuit_breaker.given_up());
  CHECK_THAT(*circuit_breaker.given_up(),
             Contains("the first 20 trials that were started have all failed "
                      "alike, the first of them trial_00000: out of memory"));
  CHECK(circuit_breaker.take_blameless().size() == 20);
}
