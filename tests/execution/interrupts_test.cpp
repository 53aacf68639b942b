// Which signal is a second interrupt.
// Knows no process.
#include "tuner/process/interrupts.h"

#include <csignal>

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("the first signal is the first interrupt, whichever it is") {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    CHECK(InterruptRule().feed(signal, 100) == Interrupt::first);
  }
}

TEST_CASE("a signal that comes at once again is the same wish, from whomever") {
  InterruptRule rule;
  rule.feed(SIGTERM, 100);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    CHECK(rule.feed(signal, 100) == Interrupt::ignored);
    CHECK(rule.feed(signal, 101.5) == Interrupt::ignored);
  }
}

TEST_CASE("a signal that comes later is a second interrupt, and so are all after it") {
  InterruptRule rule;
  rule.feed(SIGINT, 100);
  CHECK(rule.feed(SIGINT, 101) == Interrupt::ignored);
  CHECK(rule.feed(SIGINT, 101.6) == Interrupt::second);
  CHECK(rule.feed(SIGTERM, 101.6) == Interrupt::second);
}

TEST_CASE("a window that closes is never a second interrupt, however late") {
  InterruptRule rule;
  rule.feed(SIGHUP, 100);
  CHECK(rule.feed(SIGHUP, 100.2) == Interrupt::ignored);
  CHECK(rule.feed(SIGHUP, 160) == Interrupt::ignored);
  CHECK(rule.feed(SIGTERM, 161) == Interrupt::second);

  InterruptRule asked_before;
  asked_before.feed(SIGINT, 100);
  CHECK(asked_before.feed(SIGHUP, 160) == Interrupt::ignored);
}

TEST_CASE("echoes do not make the time for echoes longer") {
  InterruptRule rule;
  rule.feed(SIGINT, 100);
  rule.feed(SIGINT, 101.4);
  CHECK(rule.feed(SIGINT, 101.6) == Interrupt::second);
}
