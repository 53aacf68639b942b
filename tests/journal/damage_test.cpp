// Files of an experiment cut at every length and with every bit flipped: what is wrong is said, and
// nothing is taken in that was not written. Disk in memory.
#include <algorithm>
#include <optional>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/stride.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/journal/experiment_store.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;

const std::filesystem::path directory = "/exp";
const std::filesystem::path journal = "/exp/journal-1.jsonl";

std::string text_of(const Event& event) {
  std::string text;
  append_json(text, event);
  return text;
}

std::vector<Event> some_events() {
  const TrialId trial{0};
  Result result;
  result.training_iteration = 1;
  result.timestamp = 3.5;
  result.metrics = parse_metrics(R"({"loss":0.25,"acc":"NaN"})");
  Checkpoint checkpoint;
  checkpoint.index = 1;
  checkpoint.iteration = 1;
  return {{1, 1.5, SessionStarted{"pine", 4711, "0.1.0"}},
          {2, 2.5, TrialAdded{trial, R"({"lr":0.1})", "lr=0.1", ""}},
          {3, 3, AttemptStarted{trial, 1, 0, {}}},
          {4, 3.5, ResultReported{trial, 1, result, {Action::proceed, true}}},
          {5, 4, CheckpointCommitted{trial, checkpoint}},
          {6, 4.5, AttemptEnded{trial, 1, Outcome::failed, "it exited with code 7", true, 6}},
          {7, 5, SessionEnded{"interrupted"}}};
}

/// An experiment with the events above; its journal.
std::string make_experiment(MemoryFileSystem& files) {
  auto store = ExperimentStore::create(files, directory, Json{{"name", "x"}}, this_process(1));
  for (const auto& event : some_events()) store.append(event);
  store.write();
  store.sync();
  return files.read(journal);
}

struct Opened : StateReader {
  void restart() override { events.clear(); }
  void on_event(Event&& event) override { events.push_back(text_of(event)); }

  std::vector<std::string> events;  ///< those that were given out, as text
  std::vector<std::string> notices;
  std::optional<std::string> refused;  ///< why
};

Opened open(MemoryFileSystem& files) {
  Opened opened;
  try {
    const auto store =
        ExperimentStore::open(files, directory, this_process(2), opened, opened.notices);
  } catch (const Error& error) {
    opened.refused = error.what();
  }
  return opened;
}

bool is_beginning(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

struct Original {
  Original() : text(make_experiment(files)) {
    for (const auto& event : some_events()) events.push_back(text_of(event));
  }
  MemoryFileSystem files;
  std::string text;
  std::vector<std::string> events;
};

TEST_CASE("A journal cut at any length gives every whole line, and says what was torn",
          "[damage]") {
  Original original;
  const std::string& text = original.text;
  const std::size_t header_bytes = text.find('\n') + 1;
  std::size_t refused = 0;
  std::size_t torn = 0;
  std::size_t at_line_ends = 0;
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    CAPTURE(bytes);
    original.files.put(journal, text.substr(0, bytes));
    const Opened opened = open(original.files);
    if (bytes < header_bytes) {
      // It was on disk before anything named the journal: no crash can have cut it.
      REQUIRE(opened.refused);
      CHECK_THAT(*opened.refused, Contains(journal.native() + " is damaged in line 1, at byte 0"));
      CHECK(original.files.read(journal) == text.substr(0, bytes));
      ++refused;
      continue;
    }
    REQUIRE_FALSE(opened.refused);
    const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(bytes), '\n');
    REQUIRE(opened.events.size() == static_cast<std::size_t>(lines) - 1);
    CHECK(is_beginning(opened.events, original.events));
    const std::size_t intact = text.rfind('\n', bytes - 1) + 1;
    CHECK(original.files.read(journal) == text.substr(0, intact));
    if (intact == bytes) {
      CHECK(opened.notices.empty());
      ++at_line_ends;
    } else {
      REQUIRE(opened.notices.size() == 1);
      CHECK_THAT(opened.notices[0], Contains(" its " + std::to_string(bytes - intact) + " bytes"));
      ++torn;
    }
  }
  CHECK(refused == header_bytes);
  CHECK(at_line_ends == original.events.size());
  CHECK(refused + torn + at_line_ends == text.size());
}

TEST_CASE(
    "A journal with any bit flipped is refused by line and byte, in its last line, it is torn",
    "[damage]") {
  Original original;
  const std::string& text = original.text;
  const std::size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  std::size_t refused = 0;
  std::size_t torn = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); bit += test::stride) {
    CAPTURE(bit);
    const std::size_t at = bit / 8;
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit % 8));
    original.files.put(journal, damaged);
    const Opened opened = open(original.files);
    REQUIRE(is_beginning(opened.events, original.events));
    if (opened.refused) {
      const auto begin = text.rfind('\n', at == 0 ? 0 : at - 1);
      const std::size_t line_begin = begin == std::string::npos || at == 0 ? 0 : begin + 1;
      CHECK_THAT(*opened.refused, Contains(journal.native() + " is damaged in line "));
      CHECK_THAT(*opened.refused, Contains("at byte " + std::to_string(line_begin) + ";"));
      CHECK(original.files.read(journal) == damaged);
      ++refused;
    } else {
      // Without the newline between them the last two are one line, which is then the last.
      REQUIRE(at + 1 >= last_line);
      const std::size_t lost = at < last_line ? 2 : 1;
      CHECK(opened.events.size() == original.events.size() - lost);
      REQUIRE(opened.notices.size() == 1);
      CHECK_THAT(
          opened.notices[0],
          Contains("event " + std::to_string(original.events.size() - lost) + " is the last"));
      ++torn;
    }
  }
  CHECK(refused + torn == (8 * text.size() + test::stride - 1) / test::stride);
  CHECK(torn >= 8 / test::stride);
  CHECK(refused >= 8 * (last_line - 1) / test::stride);
}

TEST_CASE("A damaged CURRENT is refused, or what it should say is found", "[damage]") {
  Original original;
  const auto current = directory / "CURRENT";
  std::size_t refused = 0;
  std::size_t found = 0;
  const auto is_noticed = [&](const std::string& content) {
    CAPTURE(content);
    original.files.put(current, content);
    const auto before = original.files.names();
    const Opened opened = open(original.files);
    CHECK(original.files.names() == before);
    if (opened.refused) {
      CHECK(opened.events.empty());
      ++refused;
    } else {
      // The number of a generation that there is not.
      CHECK(opened.events == original.events);
      REQUIRE(opened.notices.size() == 1);
      CHECK_THAT(opened.notices[0], Contains("snapshot-" + content.substr(0, 1) + ".json"));
      ++found;
    }
  };
  is_noticed("");
  is_noticed("1");
  for (std::size_t bit = 0; bit < 16; ++bit) {
    std::string damaged = "1\n";
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    is_noticed(damaged);
  }
  CHECK(found == 3);  // 3, 5, 9
  CHECK(refused == 15);
}

TEST_CASE("A manifest cut or with any bit flipped never makes a damaged checkpoint look whole",
          "[damage]") {
  MemoryFileSystem files;
  CheckpointStore store(files, "/exp");
  const CheckpointRef ref{TrialId{0}, 1};
  const std::filesystem::path trial = "/exp/trial_00000";
  const auto checkpoint = trial / "checkpoint_000001";
  const auto manifest = checkpoint / "manifest.json";
  files.make_directories(trial);
  const auto aside = store.begin(ref, 1);
  files.put(aside / "weights", "0123456789");
  files.put(aside / "layers" / "bias", "abc");
  (void)store.commit({.checkpoint = ref,
                      .attempt = 1,
                      .iteration = 10,
                      .metrics = R"({"loss":0.25})",
                      .config = R"({"lr":0.1})"});
  REQUIRE_FALSE(store.verify(ref));
  const std::string text = files.read(manifest);
  const Json listed = store.read_manifest(ref)["files"];

  const auto is_noticed = [&](const std::string& content) {
    files.put(manifest, content);
    try {
      return store.verify(ref).has_value();
    } catch (const Error&) {
      return true;  // of a newer program
    }
  };
  std::size_t cuts = 0;
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    CAPTURE(bytes);
    // Without its last newline it still says everything.
    CHECK(is_noticed(text.substr(0, bytes)) == (bytes < text.size() - 1));
    ++cuts;
  }
  CHECK(cuts == text.size());

  std::size_t noticed = 0;
  std::size_t elsewhere = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); bit += test::stride) {
    CAPTURE(bit);
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    if (is_noticed(damaged)) {
      ++noticed;
      continue;
    }
    // Then what it says of the files is what it said before: only they are restored from.
    CHECK(store.read_manifest(ref)["files"] == listed);
    ++elsewhere;
  }
  CHECK(noticed + elsewhere == (8 * text.size() + test::stride - 1) / test::stride);
  const std::size_t list_bytes = text.size() - text.find("\"files\"");
  CHECK(noticed >= 7 * list_bytes / test::stride);
}

}  // namespace
}  // namespace tune
