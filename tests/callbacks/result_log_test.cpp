// result.json and progress.csv through the hooks of a callback, over crashes and restores.
#include <functional>

#include "callbacks/callbacks.h"
#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"
#include "trainable/values.h"
#include "tuner/base/csv_text.h"

using namespace tune;
using namespace tune::testing;

namespace {

struct Log {
  std::string file;
  std::unique_ptr<Callback> (*make)(FileLogOptions);
};

const Log logs[] = {{"result.json", make_json_logger}, {"progress.csv", make_csv_logger}};

/// iteration=loss of each row.
std::string rows_of(const TemporaryDirectory& directory, const std::string& file,
                    const std::string& trial = "trial_00000") {
  const auto lines = lines_of(read(directory.path() / trial / file));
  std::string text;
  for (std::size_t i = file == "progress.csv" ? 1 : 0; i < lines.size(); ++i) {
    if (file == "progress.csv") {
      const auto cells = csv::split(lines[i]);
      text += cells.front() + "=" + cells.back() + " ";
    } else {
      const auto row = Json::parse(lines[i]);
      text += row.at("training_iteration").dump() + "=" + row.at("loss").dump() + " ";
    }
  }
  return text;
}

std::string loss(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "{\"loss\":%g}", value);
  return buffer;
}

/// A driver: told as the loop tells, committed or not.
struct Driver {
  Story& story;
  std::unique_ptr<Callback> callback;

  Driver(Story& the_story, const Log& log, const TemporaryDirectory& directory, bool resumed)
      : story(the_story), callback(log.make({})) {
    // At a resume, the experiment is folded after the setup.
    callback->setup(info_of(directory.path(), resumed), Experiment());
  }
  void start(TrialId id, int checkpoint = 0) {
    const Trial before = story.experiment.trial(id);
    const Trial& trial = story.start(id, checkpoint);
    callback->on_trial_start(trial);
    if (checkpoint > 0) callback->on_trial_restore(trial, trial.checkpoint(checkpoint));
    if (checkpoint == 0 && before.iteration > 0) callback->on_trial_restore(trial, nullptr);
  }
  Result report(TrialId id, int iteration, double value, bool committed = true) {
    Result result = result_of(iteration, loss(value));
    callback->on_trial_result(story.experiment.trial(id), result);
    if (committed) story.report(id, result);
    return result;
  }
};

}  // namespace

TEST_CASE("The json log has one object a line with the driver's fields and the metrics",
          "[callbacks][log]") {
  const TemporaryDirectory directory;
  Story story;
  story.add();
  Driver driver(story, logs[0], directory, false);
  driver.start(TrialId{0});
  Result result = result_of(1, R"({ "val_loss": 0.1, "a": {"b": NaN}, "note": "x\ny", "l": [1] })");
  result.episodes_total = 4;
  result.done = true;
  driver.callback->on_trial_result(story.experiment.trial(TrialId{0}), result);
  driver.callback->on_experiment_end(story.experiment);
  const auto lines = lines_of(read(directory / "trial_00000/result.json"));
  REQUIRE(lines.size() == 1);
  CHECK(
      lines[0].starts_with("{\"training_iteration\":1,\"timestamp\":1700000000.25,\"date\":\"20"));
  CHECK(lines[0].ends_with(
      R"("time_this_iter_s":0.5,"time_total_s":0.5,"time_since_restore":0.5,)"
      R"("iterations_since_restore":1,"episodes_total":4,"trial_id":"trial_00000","done":true,)"
      R"("val_loss": 0.1, "a": {"b": "NaN"}, "note": "x\ny", "l": [1]})"));
  CHECK(Json::parse(lines[0]).size() == 14);
}

TEST_CASE("The driver's own stands, once, where a metric has the name of its field",
          "[callbacks][log]") {
  const TemporaryDirectory directory;
  Story story;
  story.add();
  Driver driver(story, logs[0], directory, false);
  driver.start(TrialId{0});
  for (
      const std::string metrics :
      {R"({"date":"mine","training_iteration":7,"loss":1})",
       R"({"loss":1,"x":{"timestamp":3},"date":"mine"})",
       R"({"d\u0061te":"mine","x":{"timestamp":3},"s":"\"done\":","training_iteration":7})",
       R"( { "done" : [1, {"done":2}] , "trial_id" : {"a":1} , "timestamp":1, "x":{}, "date":0 } )",
       R"({"date":1})"}) {
    Result result = result_of(1, metrics);
    driver.callback->on_trial_result(story.experiment.trial(TrialId{0}), result);
  }
  driver.callback->on_experiment_end(story.experiment);
  const auto lines = lines_of(read(directory / "trial_00000/result.json"));
  REQUIRE(lines.size() == 5);
  CHECK(Json::parse(lines[3]).size() == 10);
  for (const auto& line : lines) {
    std::map<std::string, int> seen;
    int depth = 0;
    const auto row = Json::parse(line, [&](int at, Json::parse_event_t event, Json& value) {
      depth = at;
      if (event == Json::parse_event_t::key && depth == 1) ++seen[value.get<std::string>()];
      return true;
    });
    for (const auto& [key, count] : seen) CHECK(count == 1);
    CHECK(row.at("date").get<std::string>().starts_with("20"));
    CHECK(row.at("trial_id") == "trial_00000");
    CHECK(row.at("training_iteration") == 1);
    CHECK(row.at("timestamp") == 1700000000.25);
    CHECK(row.at("done") == false);
  }
}

TEST_CASE("A log has each iteration once after a retry from a checkpoint or from scratch",
          "[callbacks][log]") {
  for (const auto& log : logs) {
    const TemporaryDirectory directory;
    Story story;
    const TrialId id = story.add().id;
    Driver driver(story, log, directory, false);
    driver.start(id);
    for (int i = 1; i <= 3; ++i) driver.report(id, i, i);
    story.save(id);
    for (int i = 4; i <= 6; ++i) driver.report(id, i, i);
    story.end(id, Outcome::failed, "exit code 1", true);
    driver.start(id, 1);
    for (int i = 4; i <= 5; ++i) driver.report(id, i, i + 0.5);
    driver.callback->on_experiment_end(story.experiment);
    CHECK(rows_of(directory, log.file) == "1=1 2=2 3=3 4=4.5 5=5.5 ");

    story.end(id, Outcome::failed, "exit code 1", true);
    driver.start(id);
    driver.report(id, 1, 9);
    driver.callback->on_experiment_end(story.experiment);
    CHECK(rows_of(directory, log.file) == "1=9 ");
  }
}

TEST_CASE("A log has each accepted iteration once however much of it a killed driver had written",
          "[callbacks][log]") {
  for (const auto& log : logs) {
    Story story;
    const TrialId id = story.add().id;
    std::vector<Result> accepted;
    std::string full;
    {
      const TemporaryDirectory directory;
      Driver driver(story, log, directory, false);
      driver.start(id);
      for (int i = 1; i <= 2; ++i) accepted.push_back(driver.report(id, i, i));
      driver.report(id, 3, 3, /*committed=*/false);
      driver.callback->on_experiment_end(story.experiment);
      full = read(directory.path() / "trial_00000" / log.file);
    }
    story.resume();
    int cases = 0;
    for (std::size_t length = 0; length <= full.size(); ++length) {
      const TemporaryDirectory directory;
      write(directory.path() / "trial_00000" / log.file, full.substr(0, length));
      Driver driver(story, log, directory, true);
      for (const auto& result : accepted) {
        driver.callback->on_trial_replay(story.experiment.trial(id), result);
      }
      driver.callback->on_step_begin(story.experiment);
      driver.callback->on_experiment_end(story.experiment);
      REQUIRE(rows_of(directory, log.file) == "1=1 2=2 ");
      ++cases;
    }
    CHECK(cases == static_cast<int>(full.size()) + 1);
  }
}

TEST_CASE("A log forgets rows of a first attempt whose results were never recorded",
          "[callbacks][log]") {
  for (const auto& log : logs) {
    const TemporaryDirectory directory;
    Story story;
    const TrialId id = story.add().id;
    {
      Driver driver(story, log, directory, false);
      driver.start(id);
      driver.report(id, 1, 1, /*committed=*/false);
    }
    story.resume();
    Driver driver(story, log, directory, true);
    driver.callback->on_step_begin(story.experiment);
    driver.start(id);
    driver.report(id, 1, 2);
    driver.callback->on_experiment_end(story.experiment);
    CHECK(rows_of(directory, log.file) == "1=2 ");
  }
}

TEST_CASE("A log drops rewound rows also of a trial that does not start again",
          "[callbacks][log]") {
  for (const auto& log : logs) {
    const TemporaryDirectory directory;
    Story story;
    const TrialId id = story.add().id;
    std::vector<Result> accepted;
    {
      Driver driver(story, log, directory, false);
      driver.start(id);
      accepted.push_back(driver.report(id, 1, 1));
      story.save(id);
      accepted.push_back(driver.report(id, 2, 2));
      story.end(id, Outcome::failed, "exit code 1", true);
    }
    story.start(id, 1);
    story.end(id, Outcome::failed, "exit code 1", false);
    story.resume();
    Driver driver(story, log, directory, true);
    for (const auto& result : accepted) {
      driver.callback->on_trial_replay(story.experiment.trial(id), result);
    }
    driver.callback->on_experiment_end(story.experiment);
    CHECK(rows_of(directory, log.file) == "1=1 ");
  }
}

TEST_CASE("A replay leaves no row of an attempt that the next one went back behind and left out",
          "[callbacks][log]") {
  for (const auto& log : logs) {
    const TemporaryDirectory directory;
    Story story;
    const TrialId id = story.add().id;
    std::vector<Result> accepted;
    {
      Driver driver(story, log, directory, false);
      driver.start(id);
      for (int i = 1; i <= 3; ++i) {
        accepted.push_back(driver.report(id, i, i));
        accepted.back().iterations_since_restore = i;
      }
      // From a checkpoint of the second one, the program goes on with the fourth.
      driver.callback->on_trial_restore(story.experiment.trial(id), nullptr);
      accepted.push_back(driver.report(id, 4, 4));
      accepted.back().iterations_since_restore = 2;
    }
    story.resume();
    Driver driver(story, log, directory, true);
    for (const auto& result : accepted) {
      driver.callback->on_trial_replay(story.experiment.trial(id), result);
    }
    driver.callback->on_experiment_end(story.experiment);
    CHECK(rows_of(directory, log.file) == "1=1 2=2 4=4 ");
  }
}

TEST_CASE("A log gives a notice for a directory it cannot write to and the run goes on",
          "[callbacks][log]") {
  for (const auto& log : logs) {
    const TemporaryDirectory directory;
    write(directory / "trial_00000", "in the way");
    Notices notices;
    Story story;
    const TrialId bad = story.add().id;
    const TrialId good = story.add().id;
    Driver driver(story, log, directory, false);
    driver.callback = log.make({.notice = notices.taker()});
    driver.callback->setup(info_of(directory.path()), story.experiment);
    for (const TrialId id : {bad, good}) {
      driver.start(id);
      driver.report(id, 1, 1);
    }
    driver.callback->on_experiment_end(story.experiment);
    CHECK(rows_of(directory, log.file, "trial_00001") == "1=1 ");
    REQUIRE(notices.all().size() == 1);
    CHECK(notices.all()[0].starts_with("cannot open " + (directory / "trial_00000/")));
  }
}

TEST_CASE("The csv log keeps a metric that appears late", "[callbacks][log]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add().id;
  Driver driver(story, logs[1], directory, false);
  driver.start(id);
  const auto tell = [&](int iteration, const std::string& metrics) {
    Result result = result_of(iteration, metrics);
    driver.callback->on_trial_result(story.experiment.trial(id), result);
  };
  tell(1, R"({"loss":1})");
  tell(2, R"({"loss":2,"note":"a,b"})");
  tell(3, R"({"loss":3})");
  driver.callback->on_experiment_end(story.experiment);
  const auto lines = lines_of(read(directory / "trial_00000/progress.csv"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].ends_with(",done,loss,note"));
  CHECK(lines[1].ends_with(",false,1,"));
  CHECK(lines[2].ends_with(",false,2,\"a,b\""));
  CHECK(lines[3].ends_with(",false,3,"));
}

TEST_CASE(
    "A row whose iteration is a guess says so in both logs, and the others have nothing there",
    "[callbacks][log]") {
  const TemporaryDirectory directory;
  for (const auto& log : logs) {
    Story story;
    const TrialId id = story.add().id;
    Driver driver(story, log, directory, false);
    driver.start(id);
    for (const int i : {1, 2}) {
      Result result = result_of(i, R"({"loss":3})");
      result.iteration_is_guess = i == 2;
      driver.callback->on_trial_result(story.experiment.trial(id), result);
    }
    driver.callback->on_experiment_end(story.experiment);
  }
  const auto rows = lines_of(read(directory / "trial_00000/result.json"));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].find("guess") == rows[0].npos);
  CHECK(Json::parse(rows[1]).at("iteration_is_guess") == true);
  const auto lines = lines_of(read(directory / "trial_00000/progress.csv"));
  REQUIRE(lines.size() == 3);
  const auto names = csv::split(lines[0]);
  const auto at = std::find(names.begin(), names.end(), "iteration_is_guess") - names.begin();
  REQUIRE(at < std::ssize(names));
  CHECK(csv::split(lines[1])[static_cast<std::size_t>(at)].empty());
  CHECK(csv::split(lines[2])[static_cast<std::size_t>(at)] == "true");
}

TEST_CASE("A trial that has spoilt its file costs no snapshot, and all its rows are kept",
          "[callbacks][log]") {
  const Log log = GENERATE(from_range(std::begin(logs), std::end(logs)));
  const TemporaryDirectory directory;
  const std::string file = directory / ("trial_00000/" + log.file);
  Story story;
  story.add();
  story.add();
  {
    Driver driver(story, log, directory, false);
    for (const TrialId id : {TrialId{0}, TrialId{1}}) driver.start(id);
    for (const TrialId id : {TrialId{0}, TrialId{1}}) driver.report(id, 1, 0.5);
    driver.callback->flush_durable()({});
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    for (int i = 2; i <= 3; ++i) {
      for (const TrialId id : {TrialId{0}, TrialId{1}}) driver.report(id, i, 0.5 * i);
      driver.callback->flush_durable()({});
    }
  }
  CHECK(rows_of(directory, log.file, "trial_00001") == "1=0.5 2=1 3=1.5 ");
  const auto rows_beside = [&] {
    std::filesystem::create_directory(directory / "beside");
    std::filesystem::copy_file(directory / ("trial_00000." + log.file),
                               directory / ("beside/" + log.file),
                               std::filesystem::copy_options::overwrite_existing);
    return rows_of(directory, log.file, "beside");
  };
  CHECK(rows_beside() == "2=1 3=1.5 ");
  // The next driver goes on there, even if the file could be written again.
  std::filesystem::remove(file);
  story.resume();
  Driver driver(story, log, directory, true);
  driver.callback->on_step_begin(story.experiment);
  driver.start(TrialId{0});
  driver.callback->on_trial_restore(story.experiment.trial(TrialId{0}), nullptr);
  driver.report(TrialId{0}, 1, 0.25);
  driver.callback->flush_durable()({});
  CHECK(rows_beside() == "1=0.25 ");
  CHECK_FALSE(std::filesystem::exists(file));
}
