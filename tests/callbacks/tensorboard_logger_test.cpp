// Event files through the hooks of a callback, over retries, crashes and exploits.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "callbacks/callbacks.h"
#include "callbacks/tensorboard_event.h"
#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::testing;

namespace {

Result result_with(int iteration, double loss) {
  return result_of(iteration, "{\"loss\":" + std::to_string(loss) + "}");
}

std::vector<std::filesystem::path> event_files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const bool is_read = entry.path().filename().string().find("tfevents") != std::string::npos;
    if (is_read) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// All records of a trial, in the order in which TensorBoard reads them.
std::vector<std::string> records_of(const TemporaryDirectory& directory,
                                    const std::string& trial = "trial_00000") {
  std::vector<std::string> records;
  for (const auto& file : event_files_in(directory.path() / trial)) {
    const std::string bytes = read(file);
    for (std::size_t at = 0; at < bytes.size(); at += records.back().size()) {
      const auto record = tensorboard::read_record(std::string_view(bytes).substr(at));
      REQUIRE(record);
      records.push_back(bytes.substr(at, record->size));
    }
  }
  return records;
}

std::vector<std::string> scalars_of(const TemporaryDirectory& directory) {
  auto records = records_of(directory);
  std::erase_if(records, [](const std::string& record) {
    return tensorboard::read_record(record)->kind != tensorboard::Kind::scalars;
  });
  return records;
}

std::vector<std::string> scalars_of(const std::vector<Result>& results) {
  std::vector<std::string> records;
  for (const auto& result : results) tensorboard::append_scalars(records.emplace_back(), result);
  return records;
}

/// The first record of a session's start, which is the one that TensorBoard goes by.
std::string start_of(const TemporaryDirectory& directory) {
  for (const auto& record : records_of(directory)) {
    if (record.find("session_start_info") != std::string::npos) return record;
  }
  return "";
}

std::string start_with(const Trial& trial) {
  std::string record;
  tensorboard::append_session_start(record, trial.started, trial.config.text());
  return record;
}

/// Told as the loop tells.
struct Board {
  Story& story;
  std::unique_ptr<Callback> callback = make_tensorboard_logger();

  Board(Story& the_story, const TemporaryDirectory& directory, bool resumed = false)
      : story(the_story) {
    callback->setup(info_of(directory.path(), resumed), Experiment());
  }
  void start(TrialId id, int checkpoint = 0) {
    const bool had_results = story.experiment.trial(id).iteration > 0;
    const Trial& trial = story.start(id, checkpoint);
    callback->on_trial_start(trial);
    if (checkpoint > 0) callback->on_trial_restore(trial, trial.checkpoint(checkpoint));
    if (checkpoint == 0 && had_results) callback->on_trial_restore(trial, nullptr);
  }
  Result report(TrialId id, const Result& reported, bool committed = true) {
    Result result = reported;
    callback->on_trial_result(story.experiment.trial(id), result);
    if (committed) story.report(id, result);
    return result;
  }
};

}  // namespace

TEST_CASE("A retry leaves no point twice, be it from a checkpoint or from scratch",
          "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add(R"({"lr":0.5})").id;
  Board board(story, directory);
  board.start(id);
  std::vector<Result> counted;
  for (int i = 1; i <= 3; ++i) counted.push_back(board.report(id, result_with(i, i)));
  story.save(id);
  for (int i = 4; i <= 6; ++i) board.report(id, result_with(i, i));
  story.end(id, Outcome::failed, "exit code 1", true);
  board.start(id, 1);
  counted.push_back(board.report(id, result_with(4, 0.5)));
  board.callback->on_experiment_end(story.experiment);
  CHECK(scalars_of(directory) == scalars_of(counted));
  CHECK(start_of(directory) == start_with(story.experiment.trial(id)));

  story.end(id, Outcome::failed, "exit code 1", true);
  board.start(id);
  counted = {board.report(id, result_with(1, 9))};
  board.callback->on_experiment_end(story.experiment);
  CHECK(scalars_of(directory) == scalars_of(counted));
}

TEST_CASE("Each accepted result is one point however much of it a killed driver had written",
          "[callbacks][tensorboard]") {
  Story story;
  const TrialId id = story.add().id;
  std::vector<Result> accepted;
  std::string full;
  {
    const TemporaryDirectory directory;
    Board board(story, directory);
    board.start(id);
    for (int i = 1; i <= 2; ++i) accepted.push_back(board.report(id, result_with(i, i)));
    board.report(id, result_with(3, 3), /*committed=*/false);
    board.callback->on_experiment_end(story.experiment);
    full = read(event_files_in(directory.path() / "trial_00000").at(0));
  }
  story.resume();
  for (std::size_t length = 0; length <= full.size(); ++length) {
    const TemporaryDirectory directory;
    write(directory / "trial_00000/events.out.tfevents.000001", full.substr(0, length));
    Board board(story, directory, true);
    for (const auto& result : accepted) {
      board.callback->on_trial_replay(story.experiment.trial(id), result);
    }
    board.callback->on_step_begin(story.experiment);
    board.callback->on_experiment_end(story.experiment);
    REQUIRE(scalars_of(directory) == scalars_of(accepted));
  }
}

TEST_CASE("The end of a trial is told once, also where a killed driver could not",
          "[callbacks][tensorboard]") {
  const auto outcome = GENERATE(Outcome::completed, Outcome::failed);
  const bool was_told = GENERATE(false, true);
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add().id;
  std::vector<Result> accepted;
  {
    Board board(story, directory);
    board.start(id);
    accepted.push_back(board.report(id, result_with(1, 1)));
    const Trial& trial = story.end(id, outcome, "", false);
    if (was_told && outcome == Outcome::failed) board.callback->on_trial_error(trial);
    if (was_told && outcome != Outcome::failed) board.callback->on_trial_complete(trial);
  }
  story.resume();
  Board board(story, directory, true);
  board.callback->on_trial_replay(story.experiment.trial(id), accepted[0]);
  board.callback->on_step_begin(story.experiment);
  board.callback->on_experiment_end(story.experiment);
  auto records = records_of(directory);
  std::string end;
  tensorboard::append_session_end(end, story.experiment.trial(id).ended,
                                  outcome == Outcome::completed);
  CHECK(std::count(records.begin(), records.end(), end) == 1);
  CHECK(records.back() == end);
  CHECK(scalars_of(directory) == scalars_of(accepted));
}

TEST_CASE("A replay leaves no point that the next attempt went back behind and left out",
          "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add().id;
  std::vector<Result> accepted;
  {
    Board board(story, directory);
    board.start(id);
    for (int i = 1; i <= 3; ++i) {
      accepted.push_back(board.report(id, result_with(i, i)));
      accepted.back().iterations_since_restore = i;
    }
    // Back to the second one, from which the program goes on with the fourth.
    board.callback->on_trial_restore(story.experiment.trial(id), nullptr);
    accepted.push_back(board.report(id, result_with(4, 4)));
    accepted.back().iterations_since_restore = 2;
  }
  story.resume();
  for (const bool are_files_there : {true, false}) {
    if (!are_files_there) std::filesystem::remove_all(directory / "trial_00000");
    std::filesystem::create_directories(directory / "trial_00000");
    Board board(story, directory, true);
    for (const auto& result : accepted) {
      board.callback->on_trial_replay(story.experiment.trial(id), result);
    }
    board.callback->on_step_begin(story.experiment);
    board.callback->on_experiment_end(story.experiment);
    CHECK(scalars_of(directory) == scalars_of({accepted[0], accepted[1], accepted[3]}));
  }
}

TEST_CASE("Of trials that ended before the snapshot a resume says whose points are lost",
          "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  Story story;
  for (int i = 0; i < 4; ++i) story.add();
  {
    Board board(story, directory);
    for (const auto& trial : story.experiment.trials()) {
      if (trial.id == TrialId{3}) break;
      board.start(trial.id);
      for (int i = 1; i <= 3; ++i) board.report(trial.id, result_with(i, i));
      board.callback->on_trial_complete(story.end(trial.id, Outcome::completed, "", false));
    }
    board.callback->on_experiment_end(story.experiment);
  }
  story.resume();
  const auto said = [&] {
    Notices notices;
    Board board(story, directory);
    board.callback = make_tensorboard_logger({.notice = notices.taker()});
    board.callback->setup(info_of(directory.path(), true), story.experiment);
    board.callback->on_step_begin(story.experiment);
    board.callback->on_experiment_end(story.experiment);
    return notices.all();
  };
  CHECK(said().empty());
  std::filesystem::remove_all(directory / "trial_00001");
  const std::string one =
      "tensorboard: event files of 1 trial that has ended lack results "
      "(trial_00001), which are not written again: result.json has them";
  CHECK(said() == std::vector{one});
  CHECK(said() == std::vector{one});
  const auto file = event_files_in(directory.path() / "trial_00000").at(0);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
  REQUIRE(said().size() == 1);
  CHECK(
      said()[0].starts_with("tensorboard: event files of 2 trials that have ended lack results "
                            "(trial_00000 ...)"));
}

TEST_CASE("The config of a clone takes the place of the one it began with",
          "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  Story story;
  story.add(R"({"lr":1})");
  story.add(R"({"lr":2})");
  const TrialId donor{1};
  const TrialId id{0};
  Board board(story, directory);
  for (const TrialId each : {id, donor}) {
    board.start(each);
    board.report(each, result_with(1, 1));
  }
  story.save(donor);
  board.callback->on_experiment_end(story.experiment);
  CHECK(start_of(directory) == start_with(story.experiment.trial(id)));
  story.exploit(id, {donor, R"({"lr":3})"});
  const Trial& clone = story.start_clone(id);
  board.callback->on_trial_start(clone);
  board.callback->on_trial_restore(clone, story.experiment.trial(donor).latest_checkpoint());
  board.report(id, result_with(2, 2));
  board.callback->on_experiment_end(story.experiment);
  CHECK(start_of(directory) == start_with(clone));
  CHECK(start_of(directory).find("lr") != std::string::npos);
  CHECK(scalars_of(directory).size() == 2);
  CHECK(event_files_in(directory.path() / "trial_00001").size() == 1);
}

TEST_CASE("A trial that was never started has no event file", "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  Story story;
  const TrialId id = story.add().id;
  Board board(story, directory);
  board.callback->on_trial_complete(story.experiment.trial(id));
  board.callback->on_experiment_end(story.experiment);
  CHECK_FALSE(std::filesystem::exists(directory / "trial_00000"));
}

TEST_CASE("A trial that has spoilt its event file costs no snapshot, and its points are kept",
          "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "trial_00000/events.out.tfevents.000001";
  std::filesystem::create_directories(file);
  Story story;
  const TrialId id = story.add().id;
  Board board(story, directory);
  Notices notices;
  board.callback = make_tensorboard_logger({.notice = notices.taker()});
  board.callback->setup(info_of(directory.path()), story.experiment);
  board.start(id);
  const Result result = board.report(id, result_with(1, 1));
  board.callback->flush_durable()({});
  CHECK(notices.all().size() <= 2);
  const auto records = records_of(directory, "trial_00000.events.out.tfevents");
  CHECK(records.back() == scalars_of({result}).back());
}
