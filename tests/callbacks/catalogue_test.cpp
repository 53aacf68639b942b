// Callbacks by name, and their options.
#include "callbacks/callbacks.h"
#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"
#include "tuner/space/search_space.h"

using namespace tune;
using namespace tune::testing;

namespace {

std::unique_ptr<Callback> make(const std::string& name, const std::string& options) {
  Catalogue catalogue;
  add_callbacks(catalogue);
  const SearchSpace space;
  return catalogue.callbacks.at(name)(Json::parse(options), {space, {}, 1, 0});
}

}  // namespace

TEST_CASE("The catalogue makes each built-in callback under its name", "[callbacks][catalogue]") {
  for (const std::string name : {"json", "csv", "tensorboard", "params", "exploits", "console"}) {
    CHECK(make(name, "{}")->name() == name);
  }
  CHECK_NOTHROW(make("csv", R"({"flush_period_s":0.5,"memory_limit_mb":8})"));
  CHECK_NOTHROW(make("console", R"({"style":"lines","status_period_s":60,"best_trials":3})"));
}

TEST_CASE("The catalogue refuses options that are unknown or out of range",
          "[callbacks][catalogue]") {
  CHECK_THROWS_AS(make("json", R"({"flush_periods":1})"), OptionError);
  CHECK_THROWS_AS(make("json", R"({"flush_period_s":-1})"), OptionError);
  CHECK_THROWS_AS(make("json", R"({"enabled":false})"), OptionError);
  CHECK_THROWS_AS(make("tensorboard", R"({"enabled":1})"), OptionError);
  CHECK_THROWS_AS(make("csv", R"({"memory_limit_mb":0})"), OptionError);
  CHECK_THROWS_AS(make("console", R"({"style":"fancy"})"), OptionError);
  CHECK_THROWS_AS(make("console", R"({"redraw_period_s":0})"), OptionError);
}

TEST_CASE("A callback that is switched off writes nothing", "[callbacks][catalogue]") {
  for (const bool enabled : {true, false}) {
    const TemporaryDirectory directory;
    const auto callback =
        make("tensorboard", enabled ? R"({"enabled":true})" : R"({"enabled":false})");
    CHECK(callback->name() == "tensorboard");
    Story story;
    story.add();
    callback->setup(info_of(directory.path()), story.experiment);
    callback->on_trial_start(story.start(TrialId{0}));
    Result result = result_of(1);
    callback->on_trial_result(story.experiment.trial(TrialId{0}), result);
    callback->on_experiment_end(story.experiment);
    CHECK(std::filesystem::exists(directory / "trial_00000") == enabled);
  }
}

TEST_CASE("The catalogue sends a callback's notices where it was told to",
          "[callbacks][catalogue]") {
  const TemporaryDirectory directory;
  write(directory / "trial_00000", "in the way");
  Notices notices;
  Catalogue catalogue;
  add_callbacks(catalogue);
  const SearchSpace space;
  const auto callback =
      catalogue.callbacks.at("params")(Json::object(), {space, {}, 1, 0, notices.taker()});
  Story story;
  story.add();
  callback->setup(info_of(directory.path()), story.experiment);
  callback->on_trial_start(story.start(TrialId{0}));
  callback->on_experiment_end(story.experiment);
  CHECK(notices.all().size() == 1);
}
