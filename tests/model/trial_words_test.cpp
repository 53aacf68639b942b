// What is said of a trial to whoever looks at it.
#include "tuner/model/trial_words.h"

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("What a pause was decided by is said to be of that time", "[core][trial_words]") {
  Trial trial;
  trial.state = TrialState::paused;
  CHECK(why_of(trial).empty());
  trial.why = "rung 4, score 0.5, of 2";
  CHECK(why_of(trial) == "when it was paused: rung 4, score 0.5, of 2");
  trial.state = TrialState::terminated;
  CHECK(why_of(trial) == "rung 4, score 0.5, of 2");
}

TEST_CASE("A trial that ends behind where it was says which results were taken back",
          "[core][trial_words]") {
  Trial trial;
  trial.state = TrialState::terminated;
  trial.iteration = trial.counted_iteration = 6;
  CHECK(taken_back(trial).empty());
  trial.iteration = trial.restored_iteration = 4;
  CHECK(why_of(trial) ==
        "its results of iterations 5 to 6 were taken back when it went on from iteration 4");
  trial.why = "stopped";
  trial.iteration = 5;
  CHECK(why_of(trial) ==
        "stopped; its result of iteration 6 was taken back when it went on from iteration 4");
  trial.restored_iteration = 0;
  CHECK(why_of(trial) == "stopped; its result of iteration 6 was taken back when it began anew");
  trial.state = TrialState::running;  // it may still come to it
  CHECK(why_of(trial) == "stopped");
}
