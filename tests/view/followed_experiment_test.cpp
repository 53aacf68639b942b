// An experiment on disk that is followed while somebody writes it.
#include "tuner/view/followed_experiment.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/disk/place.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/disk/lock.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/event.h"
#include "tuner/model/metrics.h"

namespace tune {
namespace {

const Json spec = {{"name", "exp"},
                   {"trainable", {{"command", {"true"}}}},
                   {"param_space", {{"lr", {{"uniform", {0, 1}}}}}},
                   {"metric", "loss"},
                   {"mode", "min"}};

/// A driver that does nothing but write.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& directory)
      : files_(make_posix_file_system()),
        store_(ExperimentStore::create(*files_, directory, spec, this_process(1000))) {
    write(SessionStarted{"here", 1, "0"});
  }
  void write(EventBody body) {
    store_.append({store_.written() + 1, 1000.5, std::move(body)});
    store_.write();
  }
  void begin(std::uint32_t trial) {
    write(TrialAdded{TrialId{trial}, R"({"lr":0.5})", "", ""});
    write(AttemptStarted{TrialId{trial}, 1, 0, {}});
  }
  void report(std::uint32_t trial, std::int64_t iteration, const Json& loss) {
    Result result;
    result.training_iteration = iteration;
    result.metrics = parse_metrics(Json{{"loss", loss}}.dump());
    write(ResultReported{TrialId{trial}, 1, std::move(result), {}});
  }

 private:
  std::unique_ptr<FileSystem> files_;
  ExperimentStore store_;
};

Json value(const FollowedExperiment& followed, std::uint32_t trial, const std::string& name) {
  const auto columns = followed.columns();
  const auto at = std::find(columns.begin(), columns.end(), name) - columns.begin();
  return followed.row(TrialId{trial}).at(static_cast<std::size_t>(at));
}

TEST_CASE("what changes after an event is told to each who asks, and what was before is not known",
          "[followed_experiment]") {
  const test::Place place;
  const std::filesystem::path directory = place / "exp";
  Writer writer(directory);
  writer.begin(0);
  FollowedExperiment followed(directory);
  const std::uint64_t begin = followed.experiment().last_event();
  CHECK(followed.changed_since(begin) == std::vector<TrialId>{});
  CHECK_FALSE(followed.changed_since(begin - 1));
  CHECK_FALSE(followed.changed_since(begin + 1));
  writer.report(0, 1, 0.25);
  writer.begin(1);
  followed.read_more();
  followed.read_more();
  CHECK(followed.changed_since(begin) == std::vector{TrialId{0}, TrialId{1}});
  CHECK(followed.changed_since(begin) == std::vector{TrialId{0}, TrialId{1}});
  CHECK(followed.changed_since(begin + 1) == std::vector{TrialId{1}});
  CHECK(value(followed, 0, "best") == 0.25);
  CHECK(value(followed, 0, "loss") == 0.25);
  CHECK(value(followed, 1, "best").is_null());
  CHECK(value(followed, 1, "config.lr") == 0.5);
  CHECK(followed.status().at("states").at("RUNNING") == 2);
}

TEST_CASE("rows of an experiment that is followed have all digits of whole numbers",
          "[followed_experiment]") {
  const test::Place place;
  const std::filesystem::path directory = place / "exp";
  Writer writer(directory);
  const std::int64_t many = (std::int64_t{1} << 60) + 1;
  writer.begin(0);
  FollowedExperiment followed(directory);
  writer.report(0, 1, many);
  writer.report(0, 2, many + 2);
  followed.read_more();
  CHECK(value(followed, 0, "best").dump() == std::to_string(many));
  CHECK(value(followed, 0, "loss").dump() == std::to_string(many + 2));
  writer.report(0, 3, many - 1);
  followed.read_more();
  CHECK(value(followed, 0, "best").dump() == std::to_string(many - 1));
  writer.report(0, 4, many * 2 + 1);
  followed.read_more();
  CHECK(value(followed, 0, "best").dump() == std::to_string(many - 1));
  CHECK(value(followed, 0, "loss").dump() == std::to_string(many * 2 + 1));
  writer.report(0, 5, 0.5);
  followed.read_more();
  CHECK(value(followed, 0, "best") == 0.5);
}

TEST_CASE("another experiment in the same place is not taken for the one that was followed",
          "[followed_experiment]") {
  const test::Place place;
  const std::filesystem::path directory = place / "exp";
  std::optional<Writer> writer(directory);
  writer->begin(0);
  FollowedExperiment followed(directory);
  writer.reset();
  std::filesystem::remove_all(directory);
  CHECK_THROWS_AS(followed.read_more(), Error);
  writer.emplace(directory);
  for (std::uint32_t trial = 0; trial < 4; ++trial) writer->begin(trial);
  CHECK_THROWS_AS(followed.read_more(), Error);
}

}  // namespace
}  // namespace tune
