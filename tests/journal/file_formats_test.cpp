// The examples of docs/file_formats.md, byte for byte: what changes here has to be understood from
// old files too.
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/journal/history.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;

const std::filesystem::path directory = "/results/digits";

/// The fenced block of the page that comes after a line `<!-- example: name -->`.
std::string example(const std::string& name) {
  std::ifstream in(TUNE_DOCS_DIR "/file_formats.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::size_t marker = page.find("<!-- example: " + name + " -->");
  REQUIRE(marker != std::string::npos);
  const std::size_t fence = page.find("```", marker);
  const std::size_t begin = page.find('\n', fence) + 1;
  return page.substr(begin, page.find("```", begin) - begin);
}

std::vector<Event> some_of_each() {
  const TrialId trial{0};
  Result result;
  result.training_iteration = 1;
  result.timestamp = 1795255201.25;
  result.time_this_iter_s = 0.5;
  result.time_total_s = 0.5;
  result.time_since_restore = 0.5;
  result.iterations_since_restore = 1;
  result.metrics = parse_metrics(R"({"loss":0.25,"val":{"acc":"NaN"}})");
  Checkpoint checkpoint;
  checkpoint.index = 1;
  checkpoint.iteration = 1;
  checkpoint.time_total_s = 0.5;
  checkpoint.triggers.add(Trigger::frequency);
  checkpoint.triggers.add(Trigger::at_end);
  checkpoint.bytes = 13;
  checkpoint.save_s = 0.125;
  checkpoint.commit_s = 0.0625;
  std::vector<EventBody> bodies = {
      SessionStarted{"pine", 4711, "0.1.0"},
      TrialAdded{trial, R"({"lr":0.1})", "lr=0.1", ""},
      AttemptStarted{trial, 1, 0, {0}},
      ProcessStarted{trial, 1, 4712, 123456},
      ResultReported{
          trial, 1, result, {.checkpoint = true, .why = Rationale().add("rung", 1).add("of", 0)}},
      CheckpointCommitted{trial, checkpoint},
      CheckpointFailed{trial, 2, "cannot write /x: No space left on device"},
      CheckpointDamaged{trial, 1, "the file weights is missing"},
      CheckpointsDropped{trial, {1}},
      AttemptEnded{trial, 1, Outcome::failed, "killed by signal 9", true, 1795255205},
      StopRequested{"time_budget_s is over", true},
      CallbackSaved{"mine", R"({"best":0.25})"},
      SessionEnded{"finished", {.events = 12, .bytes = 2048, .writes = 9, .syncs = 3}},
      TrialRequeued{trial, true},
      TrialStopRequested{trial, "stopped by the user"},
      TrialExploited{trial, {TrialId{1}, R"({"lr":0.12})", "lr=0.12"}},
      SuggestionAsked{TrialId{1}},
      ClockStepped{3600},
      SpecChanged{R"({"num_samples":100})"},
      TrialHeld{trial, true},
  };
  std::vector<Event> events;
  for (EventBody& body : bodies) {
    const auto number = events.size() + 1;
    events.push_back({number, 1795255200 + 0.25 * static_cast<double>(number), std::move(body)});
  }
  return events;
}

TEST_CASE("The journal in the reference is what is written, byte for byte", "[formats][golden]") {
  MemoryFileSystem files;
  auto store = ExperimentStore::create(files, directory, {{"name", "digits"}}, this_process(1));
  for (const Event& event : some_of_each()) store.append(event);
  store.write();
  CHECK(files.read(directory / "journal-1.jsonl") == example("journal"));
  CHECK(files.read(directory / "CURRENT") == example("CURRENT"));
}

TEST_CASE("The journal in the reference is read to its end", "[formats][golden]") {
  MemoryFileSystem files;
  files.put(directory / "CURRENT", example("CURRENT"));
  files.put(directory / "journal-1.jsonl", example("journal"));
  std::vector<std::string> notices;
  struct : StateReader {
    void on_event(Event&& event) override { kinds.push_back(event.body.index()); }
    std::vector<std::size_t> kinds;
  } reader;
  ExperimentStore::read(files, directory, reader, notices);
  const auto& kinds = reader.kinds;
  CHECK(notices.empty());
  CHECK(kinds == std::vector<std::size_t>{0,  1,  2,  3,  4,  5,  6,  8,  7,  9,
                                          10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
}

TEST_CASE("The history in the reference begins as it is written", "[formats][golden]") {
  MemoryFileSystem files;
  files.put(directory / "journal-1.jsonl", example("journal"));
  HistoryFile(files, directory).keep(directory / "journal-1.jsonl");
  // Of the journal in the reference all but its header is in it.
  const std::string journal = example("journal");
  CHECK(files.read(directory / "history.jsonl") ==
        example("history") + journal.substr(journal.find('\n') + 1));
}

TEST_CASE("The lock in the reference is what is written and understood", "[formats][golden]") {
  MemoryFileSystem files;
  files.put("/e/LOCK", example("LOCK"));
  const auto owner = read_lock(files, "/e/LOCK");
  REQUIRE(owner);
  CHECK(owner->host == "pine");
  CHECK(owner->pid == 4711);
  CHECK(owner->start_ticks == 123456);
  CHECK(owner->since == 1795255200.5);
  CHECK(owner->boot == "c8106259-2481-432b-b518-8b11be9984ee");
  CHECK(owner->pid_namespace == 4026531836);
  CHECK(owner->place == "66305:131074");
  CHECK(owner->lease_s == 60);
  std::vector<std::string> notices;
  files.put("/f/other", "");
  files.allow_holds("66305:131074");
  const DirectoryLock lock(files, "/f/LOCK", *owner, notices);
  CHECK(files.read("/f/LOCK") == example("LOCK"));
}

TEST_CASE("The manifest in the reference is what is written, byte for byte", "[formats][golden]") {
  MemoryFileSystem files;
  CheckpointStore store(files, directory);
  const CheckpointRef ref{TrialId{3}, 1};
  const auto aside = store.begin(ref, 1);
  files.make_directories(aside / "layers");
  files.open_append(aside / "layers/bias")->append("abc");
  files.open_append(aside / "weights")->append("0123456789");
  files.make_link("layers/bias", aside / "last");
  store.commit({ref, 1, 10, R"({"loss":0.25,"val":{"acc":"NaN"}})", R"({"lr":0.1})"});
  CHECK(files.read(directory / "trial_00003/checkpoint_000001/manifest.json") ==
        example("manifest"));
}

}  // namespace
}  // namespace tune
