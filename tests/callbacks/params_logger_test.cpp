// params.json and error.txt.
#include "callbacks/callbacks.h"
#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::testing;

TEST_CASE("The params log keeps the config, readable, in its own order", "[callbacks][params]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add(R"({"lr":0.01,"net":{"hidden":32}})").id;
  const auto callback = make_params_logger({});
  callback->setup(info_of(directory.path()), story.experiment);
  callback->on_trial_start(story.start(id));
  callback->on_experiment_end(story.experiment);
  CHECK(read(directory / "trial_00000/params.json") ==
        "{\n  \"lr\": 0.01,\n  \"net\": {\n    \"hidden\": 32\n  }\n}\n");
  CHECK_FALSE(std::filesystem::exists(directory / "trial_00000/error.txt"));
}

TEST_CASE("The params log adds a line for every failure", "[callbacks][params]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add().id;
  const auto callback = make_params_logger({});
  callback->setup(info_of(directory.path()), story.experiment);
  callback->on_trial_start(story.start(id));
  callback->on_trial_recover(
      story.end(id, Outcome::failed, "exit code 1\n\033[2Jsays no more", true));
  callback->on_trial_start(story.start(id));
  callback->on_trial_error(story.end(id, Outcome::failed, "killed by signal 9", false));
  callback->on_experiment_end(story.experiment);
  const auto lines = lines_of(read(directory / "trial_00000/error.txt"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].ends_with(" attempt 1: exit code 1  [2Jsays no more"));
  CHECK(lines[1].ends_with(" attempt 2: killed by signal 9"));
}

TEST_CASE("The params log restores a config that a killed driver had not written yet",
          "[callbacks][params]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add(R"({"lr":1})").id;
  story.start(id);
  story.end(id, Outcome::completed);
  story.resume();
  const auto callback = make_params_logger({});
  callback->setup(info_of(directory.path(), true), Experiment());
  callback->on_step_begin(story.experiment);
  callback->on_experiment_end(story.experiment);
  CHECK(read(directory / "trial_00000/params.json") == "{\n  \"lr\": 1\n}\n");
}
