// What is left of journals that a snapshot has replaced.
#include "tuner/journal/history.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "tests/journal/disasters.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/stride.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/journal/journal.h"

namespace tune {
namespace {

const std::filesystem::path directory = "/runs/exp";
const std::filesystem::path file = "/runs/exp/history.jsonl";
const Json spec = {{"name", "exp"}, {"param_space", Json::object()}};

/// Results of several kinds, and something else.
Event event_of(std::uint64_t n) {
  ResultReported reported{TrialId{1}, 1, {}, {}};
  reported.result.training_iteration = static_cast<std::int64_t>(n);
  reported.result.metrics = parse_metrics("{\"loss\":1}");
  switch (n % 4) {
    case 0:
      reported.decision.why = Rationale().add("rung", 4);
      return {n, 1000.5, std::move(reported)};
    case 1:
      reported.decision.action = Action::pause;
      return {n, 1000.5, std::move(reported)};
    case 2:
      reported.decision.checkpoint = true;
      return {n, 1000.5, std::move(reported)};
    default:
      return {n, 1000.5, StopRequested{"event " + std::to_string(n)}};
  }
}

std::vector<std::uint64_t> all_before(std::uint64_t end) {
  std::vector<std::uint64_t> all(end - 1);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

std::string line_of(std::uint64_t n) {
  std::string text;
  append_json(text, event_of(n));
  std::string line;
  append_journal_line(line, text);
  return line;
}

std::string journal_of(std::uint64_t first, std::uint64_t last) {
  std::string journal;
  append_journal_line(journal, journal_header({.generation = 1, .first = first}));
  for (std::uint64_t n = first; n <= last; ++n) journal += line_of(n);
  return journal;
}

/// The events of the history's lines that are whole; `is_whole`: all must be.
std::vector<std::uint64_t> history_of(MemoryFileSystem& files, bool is_whole = true) {
  std::vector<std::uint64_t> found;
  if (!files.exists(file)) return found;
  std::string text = files.read(file);
  bool is_header = true;
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    const auto line = journal_line_text(std::string_view(text).substr(0, end));
    if (is_whole) REQUIRE(line);
    if (is_header) {
      REQUIRE(*line == R"({"history":1})");
    } else if (line) {
      found.push_back(parse_event(*line).number);
    }
    is_header = false;
  }
  if (is_whole) REQUIRE(text.empty());
  return found;
}

struct Counter : StateReader {
  void restart() override { last = 0; }
  void on_snapshot(const Json& state) override { last = state.at("last").get<std::uint64_t>(); }
  void on_event(Event&& event) override {
    if (event.number != last + 1) throw std::invalid_argument("a hole");
    last = event.number;
  }
  std::uint64_t last = 0;
};

constexpr std::uint64_t last_event = 24;

/// A session that brings the experiment to `last_event`, with a snapshot after every third event.
void drive(MemoryFileSystem& files, Seconds now) {
  std::vector<std::string> notices;
  Counter counter;
  const bool is_new = !ExperimentStore::exists(files, directory);
  auto store = is_new ? ExperimentStore::create(files, directory, spec, mortal(now))
                      : ExperimentStore::open(files, directory, mortal(now), counter, notices);
  while (store.written() < last_event) {
    const std::uint64_t n = store.written() + 1;
    store.append(event_of(n));
    store.write();
    if (n % 3 != 0) continue;
    const int generation = store.start_generation(store.make_next_journal());
    store.sync();
    store.finish_generation();
    store.publish({.generation = generation, .event = n, .state = {{"last", n}}, .trials = {}});
  }
  store.sync();
}

/// The number of the first event that a journal has.
std::uint64_t first_in_journals(MemoryFileSystem& files) {
  std::uint64_t first = last_event + 1;
  for (const auto& entry : files.list(directory)) {
    if (!entry.name.starts_with("journal-")) continue;
    const std::string text = files.read(directory / entry.name);
    const auto header =
        parse_journal_header(directory / entry.name, text.substr(0, text.find('\n')));
    if (header) first = std::min(first, header->first);
  }
  return first;
}

TEST_CASE("What a snapshot has replaced is in the history, line by line as it was",
          "[history][experiment_store]") {
  MemoryFileSystem files;
  drive(files, 1);
  const std::uint64_t first = first_in_journals(files);
  CHECK(first > 12);
  CHECK(history_of(files) == all_before(first));
  CHECK(files.read(file).find(line_of(3)) != std::string::npos);
}

TEST_CASE("A journal that is given twice is in the history once", "[history]") {
  MemoryFileSystem files;
  files.make_directories(directory);
  files.put("/runs/exp/journal-1.jsonl", journal_of(1, 9));
  files.put("/runs/exp/journal-2.jsonl", journal_of(10, 15));
  for (int i = 0; i < 2; ++i) {
    HistoryFile history(files, directory);
    history.keep("/runs/exp/journal-1.jsonl");
    history.keep("/runs/exp/journal-2.jsonl");
    CHECK(history_of(files) == all_before(16));
  }
  HistoryFile history(files, directory);
  history.keep("/runs/exp/journal-2.jsonl");
  CHECK(history_of(files) == all_before(16));
}

TEST_CASE("A journal of several megabytes is in the history whole", "[history][minutes]") {
  MemoryFileSystem files;
  files.make_directories(directory);
  constexpr std::uint64_t last = 20000;
  const std::string journal = journal_of(1, last);
  REQUIRE(journal.size() > 3 << 20);
  files.put("/runs/exp/journal-1.jsonl", journal);
  HistoryFile history(files, directory);
  history.keep("/runs/exp/journal-1.jsonl");
  CHECK(history_of(files).size() == all_before(last + 1).size());
}

TEST_CASE("What an append has left that was not completed is written anew", "[history]") {
  const std::string whole = journal_of(1, 3);
  std::string header;
  append_journal_line(header, R"({"history":1})");
  const std::string kept = header + line_of(1) + line_of(2) + line_of(3);
  for (const std::string& torn :
       {line_of(4).substr(0, 30), line_of(4) + std::string(40, '\0') + "\n" + line_of(7),
        std::string(90, '\0'), line_of(5) + line_of(7), std::string("\n")}) {
    CAPTURE(torn);
    MemoryFileSystem files;
    files.make_directories(directory);
    files.put(file.native(), kept + torn);
    files.put("/runs/exp/journal-2.jsonl", journal_of(4, 9));
    HistoryFile(files, directory).keep("/runs/exp/journal-2.jsonl");
    CHECK(history_of(files) == all_before(10));
  }
}

TEST_CASE("What is damaged of a journal or of the history is left out, and nothing else",
          "[history]") {
  MemoryFileSystem files;
  files.make_directories(directory);
  std::string journal = journal_of(1, 9);
  journal[journal.find(line_of(4)) + 30] ^= 1;
  files.put("/runs/exp/journal-1.jsonl", journal + "half a li");
  files.put("/runs/exp/journal-2.jsonl", "");
  HistoryFile history(files, directory);
  history.keep("/runs/exp/journal-1.jsonl");
  history.keep("/runs/exp/journal-2.jsonl");
  history.keep("/runs/exp/journal-3.jsonl");
  CHECK(history_of(files) == std::vector<std::uint64_t>{1, 2, 3, 5, 6, 7, 8, 9});
}

TEST_CASE("The history is complete, whatever happens when", "[history][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const std::size_t kept_bytes = GENERATE(0, 1, 100, 300);
  std::uint64_t tried = 0;
  for (std::uint64_t k = 1;; k += test::stride, ++tried) {
    CAPTURE(k, static_cast<int>(disaster), kept_bytes);
    MemoryFileSystem files;
    prepare(files, disaster, k, kept_bytes);
    try {
      drive(files, 1);
    } catch (const Error&) {
    }
    if (files.operations() < k) break;
    recover(files, disaster);
    // At this moment, too, nothing is lost: what is not in the history is in a journal.
    const auto at_once = history_of(files, false);
    if (ExperimentStore::exists(files, directory)) {
      for (const std::uint64_t n : all_before(first_in_journals(files))) {
        REQUIRE(std::find(at_once.begin(), at_once.end(), n) != at_once.end());
      }
    }
    drive(files, 2);
    drive(files, 3);
    REQUIRE(history_of(files) == all_before(first_in_journals(files)));
    files.crash();
    REQUIRE(history_of(files) == all_before(first_in_journals(files)));
  }
  CHECK(tried > 150 / test::stride);
}

}  // namespace
}  // namespace tune
