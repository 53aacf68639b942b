// Every pair of an attempt's state and what can happen in it, and the way to its end.
#include "tuner/run/trials/attempt_state.h"

#include <set>
#include <sstream>

#include "tests/support/catch.h"

using namespace tune;

using State = AttemptState;
using Event = AttemptEvent;

namespace {

constexpr const char* states[] = {
    "preparing",    "starting",          "training",  "opening_save",     "saving",
    "handing_over", "blocked_on_commit", "draining",  "draining_blocked", "leaving",
    "keeping_warm", "awaiting_shutdown", "examining", "examined",         "closed"};
constexpr const char* events[] = {
    "begin", "step",      "open_save", "save", "hand_over", "block",   "replaced", "ran_to_end",
    "leave", "keep_warm", "signalled", "gone", "wait_over", "examine", "examined", "close"};
static_assert(std::size(states) == attempt_states && std::size(events) == attempt_events);

constexpr const char* table = R"(
preparing: begin>starting leave>leaving gone>preparing
starting: step>training open_save>opening_save block>blocked_on_commit replaced>starting leave>leaving signalled>awaiting_shutdown
training: step>training open_save>opening_save hand_over>handing_over block>blocked_on_commit replaced>starting leave>leaving keep_warm>keeping_warm signalled>awaiting_shutdown
opening_save: step>training save>saving block>blocked_on_commit replaced>starting leave>leaving keep_warm>keeping_warm signalled>awaiting_shutdown
saving: step>training block>blocked_on_commit replaced>starting leave>leaving keep_warm>keeping_warm signalled>awaiting_shutdown
handing_over: step>training block>blocked_on_commit leave>leaving keep_warm>keeping_warm signalled>awaiting_shutdown
blocked_on_commit: step>training block>blocked_on_commit replaced>starting leave>leaving keep_warm>keeping_warm signalled>awaiting_shutdown
draining: step>draining block>draining_blocked leave>leaving signalled>awaiting_shutdown
draining_blocked: step>draining block>draining_blocked leave>leaving signalled>awaiting_shutdown
leaving: ran_to_end>draining gone>leaving examine>examining close>closed
keeping_warm: gone>leaving close>closed
awaiting_shutdown: gone>awaiting_shutdown wait_over>leaving
examining: gone>examining examined>examined
examined: gone>examined close>closed
closed:
)";

AttemptLife in(State state) {
  // The shortest way there, over all that may happen.
  std::set<State> seen = {State::preparing};
  std::vector<AttemptLife> lives(1);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].state() == state) return lives[i];
    for (std::size_t event = 0; event < attempt_events; ++event) {
      AttemptLife next = lives[i];
      if (next.accept(Event(event)) && seen.insert(next.state()).second) lives.push_back(next);
    }
  }
  FAIL("no way leads to " << states[static_cast<std::size_t>(state)]);
  return {};
}

}  // namespace

TEST_CASE("All that can happen to an attempt has one meaning in every state, or is refused",
          "[attempt_state]") {
  std::ostringstream all;
  all << '\n';
  for (std::size_t state = 0; state < attempt_states; ++state) {
    all << states[state] << ':';
    for (std::size_t event = 0; event < attempt_events; ++event) {
      AttemptLife life = in(State(state));
      const bool is_accepted = life.accept(Event(event));
      if (is_accepted) {
        all << ' ' << events[event] << '>' << states[static_cast<std::size_t>(life.state())];
      } else {
        CHECK(life.state() == State(state));
      }
    }
    all << '\n';
  }
  CHECK(all.str() == table);
}

TEST_CASE("From every state of an attempt a way leads to its end, and none from there",
          "[attempt_state]") {
  std::set<State> ending = {State::closed};
  for (std::size_t round = 0; round < attempt_states; ++round) {
    for (std::size_t state = 0; state < attempt_states; ++state) {
      for (std::size_t event = 0; event < attempt_events; ++event) {
        const auto next = state_after(State(state), Event(event));
        if (next && ending.contains(*next)) ending.insert(State(state));
      }
    }
  }
  CHECK(ending.size() == attempt_states);
  for (std::size_t event = 0; event < attempt_events; ++event) {
    CHECK_FALSE(state_after(State::closed, Event(event)));
  }
}

TEST_CASE("Of an attempt whose end is known only a plain program that had ended goes on",
          "[attempt_state]") {
  for (std::size_t state = 0; state < attempt_states; ++state) {
    for (std::size_t event = 0; event < attempt_events; ++event) {
      AttemptLife life = in(State(state));
      const bool was_ending = life.is_ending();
      if (!was_ending || !life.accept(Event(event)) || life.is_ending()) continue;
      CHECK(Event(event) == Event::ran_to_end);
      CHECK(life.state() == State::draining);
    }
  }
}
