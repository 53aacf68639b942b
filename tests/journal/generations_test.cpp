// Snapshots, generations and compaction on the memory disk: made, read, damaged, cut short at every
// operation.
#include "tuner/journal/generations.h"

#include "tests/journal/disasters.h"
#include "tests/journal/some_events.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/journal/experiment_store.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;

const std::filesystem::path directory = "/runs/exp";
const Json spec = {{"name", "exp"}, {"param_space", Json::object()}};

/// What a directory says, with each trial's last line.
struct Everything : Replayed {
  std::map<int, std::string> trials;
  Json state;
  int restarts = 0;

  void restart() override {
    Replayed::restart();
    trials.clear();
    state = nullptr;
    ++restarts;
  }
  void on_trial(std::string_view line) override {
    const Json json = Json::parse(line);
    trials[json.at("trial")] = json.at("text");
  }
  void on_snapshot(const Json& snapshot) override { state = snapshot; }
  /// The number of the last event, whether it was read or is in the snapshot.
  std::uint64_t last() const {
    return !numbers.empty()    ? numbers.back()
           : state.is_object() ? state.at("event").get<std::uint64_t>()
                               : 0;
  }
};

TrialLines lines_of(const std::map<int, std::string>& trials) {
  TrialLines lines;
  for (const auto& [id, text] : trials) {
    lines.add(TrialId{static_cast<std::uint32_t>(id)},
              [&, id = id, &text = text](std::string& out) {
                out += "{\"trial\":" + std::to_string(id) + ",\"text\":\"" + text + "\"}";
              });
  }
  return lines;
}

/// A snapshot as of what is written; how many bytes that took.
std::uint64_t take(ExperimentStore& store, const std::map<int, std::string>& trials) {
  SnapshotParts parts;
  parts.event = store.written();
  parts.state = {{"event", parts.event}};
  parts.trials = lines_of(trials);
  parts.generation = store.start_generation(store.make_next_journal());
  store.sync();
  store.finish_generation();
  return store.publish(parts);
}

void write_events(ExperimentStore& store, std::uint64_t first, std::uint64_t last) {
  append_events(store, first, last);
  store.write();
}

/// Events 1 to 3, a snapshot with trials 0 and 1, event 4, one with trial 1 changed, event 5.
ExperimentStore make_some(FileSystem& files) {
  ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
  write_events(store, 1, 3);
  take(store, {{0, "zero"}, {1, "one"}});
  write_events(store, 4, 4);
  take(store, {{1, "ONE"}});
  write_events(store, 5, 5);
  store.sync();
  return store;
}

Everything read(FileSystem& files, std::vector<std::string>& notices) {
  Everything all;
  ExperimentStore::read(files, directory, all, notices);
  return all;
}

std::string why_not_read(FileSystem& files, Fault fault) {
  std::vector<std::string> notices;
  try {
    read(files, notices);
  } catch (const Error& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("What is read is the newest snapshot and the events since", "[generations][unit]") {
  MemoryFileSystem files;
  { make_some(files); }
  std::vector<std::string> notices;
  const Everything all = read(files, notices);
  CHECK(notices.empty());
  CHECK(all.trials == std::map<int, std::string>{{0, "zero"}, {1, "ONE"}});
  CHECK(all.state == Json{{"event", 4}});
  CHECK(all.numbers == numbers(5, 5));

  ExperimentStore store = [&] {
    Everything again;
    return ExperimentStore::open(files, directory, mortal(2), again, notices);
  }();
  CHECK(store.written() == 5);
  write_events(store, 6, 6);
  take(store, {{2, "two"}});
  write_events(store, 7, 7);
  const Everything later = read(files, notices);
  CHECK(later.trials.size() == 3);
  CHECK(later.numbers == numbers(7, 7));
  CHECK_FALSE(files.exists("/runs/exp/journal-2.jsonl"));
  CHECK(files.exists("/runs/exp/snapshot-3.json"));
}

TEST_CASE("What a snapshot costs is what it has written, with the file that it begins",
          "[generations][unit]") {
  MemoryFileSystem files;
  ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
  write_events(store, 1, 3);
  const auto bytes_of = [&](const char* name) {
    return files.entry(directory / name).value().bytes;
  };
  const std::uint64_t first = take(store, {{0, "zero"}, {1, "one"}});
  const std::uint64_t trials_bytes = bytes_of("trials-1.jsonl");
  CHECK(first == bytes_of("snapshot-2.json") + trials_bytes);
  const std::uint64_t second = take(store, {{1, "ONE"}});
  CHECK(second == bytes_of("snapshot-3.json") + bytes_of("trials-1.jsonl") - trials_bytes);
}

TEST_CASE("Who reads sees everything, whenever a driver replaces the files that are read",
          "[generations][unit]") {
  std::uint64_t calls = 1;
  for (std::uint64_t at = 1; at <= calls; ++at) {
    CAPTURE(at);
    MemoryFileSystem files;
    ExperimentStore store = make_some(files);
    files.on_call([&, first = files.calls()] {
      if (files.calls() != first + at) return;
      take(store, {{0, "ZERO"}});
      write_events(store, 6, 6);
      take(store, {});
      write_events(store, 7, 7);
    });
    const std::uint64_t before = files.calls();
    std::vector<std::string> notices;
    const Everything all = read(files, notices);
    calls = files.calls() - before;
    files.on_call(nullptr);
    CHECK(all.last() >= 5);
    CHECK(all.trials.at(1) == "ONE");
    CHECK(all.trials.at(0) == (all.state.at("event") == 4 ? "zero" : "ZERO"));
  }
  CHECK(calls >= 10);
}

TEST_CASE("Who reads gives up on a directory that never stands still", "[generations][unit]") {
  MemoryFileSystem files;
  const ExperimentStore store = make_some(files);
  for (const char* const snapshot : {"2", "3"}) {
    files.put(std::string("/runs/exp/snapshot-") + snapshot + ".json", "x");
  }
  int generation = 3;
  files.on_call([&] {
    if (generation > 1000) throw std::logic_error("it is read for ever");
    files.put("/runs/exp/CURRENT", std::to_string(++generation) + "\n");
  });
  std::vector<std::string> notices;
  CHECK_THROWS_AS(read(files, notices), Error);
  files.on_call(nullptr);
}

TEST_CASE("A damaged snapshot is made up for by the one before", "[generations][damage]") {
  MemoryFileSystem files;
  { make_some(files); }
  SECTION("the newest, by the one before") {
    CHECK(ExperimentStore::read_snapshot_state(files, directory));
    files.put("/runs/exp/snapshot-3.json", "0123456789abcdef {}\n");
    CHECK_FALSE(ExperimentStore::read_snapshot_state(files, directory));
    std::vector<std::string> notices;
    const Everything all = read(files, notices);
    CHECK(all.state == Json{{"event", 3}});
    CHECK(all.numbers == numbers(4, 5));
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], Contains("snapshot-3.json is damaged") &&
                               Contains("generation 2 and the journals since"));
    Everything again;
    ExperimentStore store = ExperimentStore::open(files, directory, mortal(2), again, notices);
    write_events(store, 6, 6);
    take(store, {{1, "ONE"}});
    std::vector<std::string> none;
    CHECK(read(files, none).state == Json{{"event", 6}});
    CHECK(none.empty());
  }
  SECTION("both: nothing is guessed") {
    files.put("/runs/exp/snapshot-3.json", "x");
    files.put("/runs/exp/snapshot-2.json", "x");
    CHECK_THAT(why_not_read(files, Fault::machine),
               Contains("snapshot-3.json is damaged") &&
                   Contains("neither can snapshot-2.json be used. Restore one of the snapshots") &&
                   Contains("its results (result.json) and checkpoints are in the trials'"));
    files.remove_file("/runs/exp/snapshot-2.json");
    CHECK_THAT(why_not_read(files, Fault::machine), Contains("there is no snapshot before it"));
  }
}

TEST_CASE("The first snapshot is made up for by the first journal, after a resume too",
          "[generations][damage]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
    write_events(store, 1, 3);
    take(store, {{0, "zero"}});
    write_events(store, 4, 4);
    store.sync();
  }
  std::vector<std::string> notices;
  {
    Everything again;
    (void)ExperimentStore::open(files, directory, mortal(2), again, notices);
  }
  files.put("/runs/exp/snapshot-2.json", "x");
  CHECK(read(files, notices).numbers == numbers(1, 4));
}

TEST_CASE("A damaged file of trials is refused with file, line and byte", "[generations][damage]") {
  MemoryFileSystem files;
  { make_some(files); }
  std::string content = files.read("/runs/exp/trials-1.jsonl");
  SECTION("changed") {
    const auto at = content.find("zero");
    content[at] = 'Z';
    files.put("/runs/exp/trials-1.jsonl", content);
    const auto byte = content.find('\n') + 1;
    CHECK_THAT(why_not_read(files, Fault::machine),
               Contains("trials-1.jsonl is damaged in line 2, at byte " + std::to_string(byte)));
  }
  SECTION("longer than what counts") {
    files.put("/runs/exp/trials-1.jsonl", content + "half a li");
    std::vector<std::string> notices;
    CHECK(read(files, notices).trials.size() == 2);
    CHECK(notices.empty());
  }
}

TEST_CASE("A file of trials that lacks some, or is too short for one's number, is not believed",
          "[generations][damage]") {
  MemoryFileSystem files;
  { make_some(files); }
  const auto [trial, what] = GENERATE(table<int, std::string>(
      {{3, "it has no line of trial 2"}, {40, "the file is too short to have so many trials"}}));
  std::vector<std::string> notices;
  Everything all;
  ExperimentStore store = ExperimentStore::open(files, directory, mortal(2), all, notices);
  take(store, {{trial, "far"}});
  CHECK(notices.empty());
  CHECK(read(files, notices).state == Json{{"event", 4}});
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Contains("trials-1.jsonl is damaged in line ") && Contains(what));
}

TEST_CASE("A snapshot cut at any length or with any bit flipped is noticed, and nothing is lost",
          "[generations][damage]") {
  MemoryFileSystem files;
  { make_some(files); }
  const std::filesystem::path file = "/runs/exp/snapshot-3.json";
  const std::string content = files.read(file);
  std::size_t cases = 0;
  const auto is_made_up_for = [&](const std::string& damaged) {
    files.put(file, damaged);
    std::vector<std::string> notices;
    const Everything all = read(files, notices);
    CHECK(all.state == Json{{"event", 3}});
    CHECK(all.numbers == numbers(4, 5));
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], Contains("snapshot-3.json is damaged"));
    ++cases;
  };
  for (std::size_t bytes = 0; bytes < content.size(); ++bytes) {
    CAPTURE(bytes);
    is_made_up_for(content.substr(0, bytes));
  }
  for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
    CAPTURE(bit);
    std::string damaged = content;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    is_made_up_for(damaged);
  }
  CHECK(cases == 9 * content.size());
}

TEST_CASE("A file of trials cut at any length or with any bit flipped is refused or made up for",
          "[generations][damage]") {
  MemoryFileSystem files;
  { make_some(files); }
  const std::filesystem::path file = "/runs/exp/trials-1.jsonl";
  const std::string content = files.read(file);
  // What the snapshot before has of it, too.
  const std::size_t last_line = content.rfind('\n', content.size() - 2) + 1;
  std::size_t refused = 0;
  std::size_t made_up_for = 0;
  const auto is_noticed = [&](const std::string& damaged, std::size_t at) {
    files.put(file, damaged);
    std::vector<std::string> notices;
    try {
      const Everything all = read(files, notices);
      CHECK(at >= last_line);
      CHECK(all.state == Json{{"event", 3}});
      CHECK(all.numbers == numbers(4, 5));
      CHECK(all.trials == std::map<int, std::string>{{0, "zero"}, {1, "one"}});
      REQUIRE(notices.size() == 1);
      CHECK_THAT(notices[0], Contains("trials-1.jsonl is damaged in line "));
      ++made_up_for;
    } catch (const Error& error) {
      CHECK(at < last_line);
      CHECK(error.fault() == Fault::machine);
      CHECK_THAT(error.what(), Contains("trials-1.jsonl is damaged in line "));
      ++refused;
    }
  };
  for (std::size_t bytes = 0; bytes < content.size(); ++bytes) {
    CAPTURE(bytes);
    is_noticed(content.substr(0, bytes), bytes);
  }
  for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
    CAPTURE(bit);
    std::string damaged = content;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    is_noticed(damaged, bit / 8);
  }
  CHECK(refused == 9 * last_line);
  CHECK(made_up_for == 9 * (content.size() - last_line));
}

TEST_CASE("A newer format is refused with both numbers", "[generations][unit]") {
  MemoryFileSystem files;
  { make_some(files); }
  SECTION("of the snapshot") {
    std::string line;
    append_journal_line(line, R"({"snapshot":7})");
    files.put("/runs/exp/snapshot-3.json", line);
    CHECK_THAT(why_not_read(files, Fault::user), Contains("format 7") && Contains("up to 1"));
    CHECK_THROWS_WITH(ExperimentStore::read_snapshot_state(files, directory), Contains("format 7"));
  }
  SECTION("of the trials") {
    std::string line;
    append_journal_line(line, R"({"trials":8,"file":1})");
    files.put("/runs/exp/trials-1.jsonl", line);
    CHECK_THAT(why_not_read(files, Fault::user), Contains("format 8") && Contains("up to 1"));
  }
}

TEST_CASE("Trials that are out of date leave the file when they are the larger part",
          "[generations][unit]") {
  MemoryFileSystem files;
  ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
  const std::string large(100'000, 'x');
  std::uint64_t event = 0;
  std::size_t largest = 0;
  for (int round = 0; round < 200; ++round) {
    write_events(store, event + 1, event + 1);
    ++event;
    take(store, {{round % 3, large + std::to_string(round)}});
    std::size_t bytes = 0;
    int trials_files = 0;
    for (const auto& entry : files.list(directory)) {
      if (!entry.name.starts_with("trials-")) continue;
      bytes += entry.bytes;
      ++trials_files;
    }
    REQUIRE(trials_files <= 2);
    largest = std::max(largest, bytes);
  }
  CHECK(largest < 12'000'000);  // 20,000,000 were written
  std::vector<std::string> notices;
  const Everything all = read(files, notices);
  CHECK(all.trials ==
        std::map<int, std::string>{{0, large + "198"}, {1, large + "199"}, {2, large + "197"}});
}

TEST_CASE("Snapshots of many megabytes are read back as they were written",
          "[generations][unit][minutes]") {
  MemoryFileSystem files;
  ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
  const std::string large(100'000, 'x');
  std::map<int, std::string> trials;
  for (int round = 1; round <= 6; ++round) {
    for (int trial = 0; trial < 30; ++trial) {
      trials[trial] = large + std::to_string(100 * round + trial);
    }
    write_events(store, static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(round));
    take(store, trials);
    std::vector<std::string> notices;
    REQUIRE((read(files, notices).trials == trials));  // too much to print
  }
  // What was out of date is no longer there: it was copied to another file.
  CHECK_FALSE(files.exists("/runs/exp/trials-1.jsonl"));
}

TEST_CASE("A journal that outlived the power when the one before did not is put aside",
          "[generations][crash]") {
  MemoryFileSystem files;
  { make_some(files); }
  const std::string last = files.read("/runs/exp/journal-3.jsonl");
  std::string header;
  append_journal_line(header, journal_header({.generation = 4, .first = 8}));
  files.put("/runs/exp/journal-4.jsonl", header);
  std::vector<std::string> notices;
  Everything all;
  {
    ExperimentStore store = ExperimentStore::open(files, directory, mortal(2), all, notices);
    CHECK(store.written() == 5);
  }
  REQUIRE(notices.size() >= 2);
  CHECK_THAT(notices[0],
             Contains("journal-4.jsonl does not follow") && Contains("event 5 is the last"));
  CHECK(files.read("/runs/exp/journal-4.jsonl.damaged-1") == header);
  CHECK_FALSE(files.exists("/runs/exp/journal-4.jsonl"));
  CHECK(files.read("/runs/exp/journal-3.jsonl") == last);
}

TEST_CASE("Salvage keeps what comes before the damage, and the rest in a file beside it",
          "[generations][damage]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = make_some(files);
    write_events(store, 6, 9);
    store.sync();
  }
  std::string content = files.read("/runs/exp/journal-3.jsonl");
  const auto at = content.find("event 7");
  content[at] = 'E';
  files.put("/runs/exp/journal-3.jsonl", content);
  CHECK_THAT(why_not_read(files, Fault::machine),
             Contains("journal-3.jsonl is damaged in line 4, at byte") &&
                 Contains("up to event 6") && Contains("tune resume --salvage"));
  std::vector<std::string> notices;
  Everything all;
  CHECK_THROWS_WITH(ExperimentStore::open(files, directory, mortal(2), all, notices,
                                          [] { throw user_error("not yet"); }),
                    "not yet");
  CHECK(files.read("/runs/exp/journal-3.jsonl") == content);
  bool salvaged = false;
  {
    ExperimentStore store =
        ExperimentStore::open(files, directory, mortal(2), all, notices, [&] { salvaged = true; });
    CHECK(salvaged);
    CHECK(store.written() == 6);
    write_events(store, 7, 7);
  }
  REQUIRE(notices.size() >= 2);
  const std::string rest = files.read("/runs/exp/journal-3.jsonl.damaged-1");
  CHECK(content.ends_with(rest));
  CHECK_THAT(rest, Contains("Event 7") && Contains("event 9"));
  std::vector<std::string> none;
  CHECK(read(files, none).numbers == numbers(5, 7));
  CHECK(none.empty());

  // What is damaged later stands beside that.
  std::string again = files.read("/runs/exp/journal-3.jsonl");
  again[again.find("event 6")] = 'E';
  files.put("/runs/exp/journal-3.jsonl", again);
  {
    ExperimentStore::open(files, directory, mortal(2), all, notices, [&] { salvaged = true; });
  }
  CHECK(files.read("/runs/exp/journal-3.jsonl.damaged-1") == rest);
  CHECK(again.ends_with(files.read("/runs/exp/journal-3.jsonl.damaged-2")));
}

TEST_CASE("A snapshot is in force or not there, whatever happens when", "[generations][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    CAPTURE(k, static_cast<int>(disaster));
    MemoryFileSystem files;
    std::optional<ExperimentStore> store = make_some(files);
    const auto before = files.operations();
    prepare(files, disaster, k, 9);
    bool taken = true;
    try {
      write_events(*store, 6, 6);
      store->sync();
      take(*store, {{0, "ZERO"}, {2, "two"}});
    } catch (const Error&) {
      taken = false;
    }
    if (files.operations() - before < k) {
      REQUIRE(taken);
      break;
    }
    store.reset();
    recover(files, disaster);
    std::vector<std::string> notices;
    Everything found;
    {
      ExperimentStore again = ExperimentStore::open(files, directory, mortal(2), found, notices);
      REQUIRE((found.last() == 5 || found.last() == 6));
      const std::uint64_t next = found.last() + 1;
      const bool is_new = found.state.at("event") == 6;
      const std::map<int, std::string> old_trials = {{0, "zero"}, {1, "ONE"}};
      const std::map<int, std::string> new_trials = {{0, "ZERO"}, {1, "ONE"}, {2, "two"}};
      REQUIRE(found.trials == (is_new ? new_trials : old_trials));
      write_events(again, next, next);
      take(again, {{0, "ZERO"}, {2, "two"}});
      write_events(again, next + 1, next + 1);
      again.sync();
    }
    files.crash();
    std::vector<std::string> none;
    const Everything all = read(files, none);
    REQUIRE(none.empty());
    REQUIRE(all.trials.at(2) == "two");
    REQUIRE(all.last() == found.last() + 2);
  }
  CHECK(tried == 22);
}

TEST_CASE("Whoever names a place without an experiment is told of the one that is meant",
          "[generations][unit]") {
  MemoryFileSystem files;
  for (const char* const name : {"/project/results/b", "/project/results/a"}) {
    ExperimentStore::create(files, name, spec, mortal(1));
  }
  const auto sentence = [&](const char* place) {
    return std::string(no_experiment(files, place).what());
  };
  const std::string within =
      "/project/results holds experiments and is none: name one of them, /project/results/a; "
      "tune ls /project/results lists them";
  CHECK(sentence("/project/results") == within);
  CHECK(sentence("/project") == within);
  CHECK(sentence("/project/") == within);
  CHECK(sentence("/project/b") ==
        "there is no experiment in /project/b, did you mean /project/results/b?");
  CHECK(sentence("/project/c") == "there is no experiment in /project/c");
  ExperimentStore::create(files, "/project/results/digits", spec, mortal(1));
  CHECK(sentence("/project/results/digist") ==
        "there is no experiment in /project/results/digist, did you mean /project/results/digits?");
}

}  // namespace tune
