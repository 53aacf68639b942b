// An experiment's directory: made, opened, read, locked, refused.
// Its disk is in memory; the crashes are in experiment_crash_test.cpp.
#include "tuner/journal/experiment_store.h"

#include <algorithm>
#include <cerrno>

#include "tests/journal/some_events.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/journal/journal.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;
using std::filesystem::path;

const std::filesystem::path directory = "/runs/exp";
const Json spec = {{"name", "exp"}, {"param_space", Json::object()}, {"seed", 7}};

ExperimentStore create(FileSystem& files) {
  return ExperimentStore::create(files, directory, spec, this_process(100));
}

std::string error_of(const std::function<void()>& call, Fault fault) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  return "";
}

TEST_CASE("ExperimentStore gives back the events and the spec that it was given",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = create(files);
    append_events(store, 1, 3);
    store.write();
    append_events(store, 4, 5);
    CHECK(store.written() == 3);
    store.write();
    store.sync();
    CHECK(store.written() == 5);
    CHECK(store.directory() == directory);
  }
  std::vector<std::string> notices;
  Replayed replayed;
  {
    ExperimentStore store =
        ExperimentStore::open(files, directory, this_process(101), replayed, notices);
    CHECK(replayed.numbers == numbers(1, 5));
    CHECK(replayed.reasons.front() == "event 1");
    CHECK(store.written() == 5);
    append_events(store, 6, 7);
    store.write();
  }
  Replayed again;
  ExperimentStore::read(files, directory, again, notices);
  CHECK(again.numbers == numbers(1, 7));
  CHECK(ExperimentStore::read_spec(files, directory) == spec);
  CHECK(notices.empty());
  CHECK(files.names(directory) ==
        std::vector<std::string>{"CURRENT", "experiment.json", "journal-1.jsonl"});
}

TEST_CASE("ExperimentStore replaces its spec as a whole", "[experiment_store][unit]") {
  MemoryFileSystem files;
  ExperimentStore store = create(files);
  store.write_spec({{"name", "more"}});
  CHECK(ExperimentStore::read_spec(files, directory) == Json{{"name", "more"}});
  files.fail_operation(2, ENOSPC, 3);
  CHECK_THROWS_AS(store.write_spec({{"name", "failed"}}), Error);
  CHECK(ExperimentStore::read_spec(files, directory) == Json{{"name", "more"}});
}

TEST_CASE("ExperimentStore is made once only", "[experiment_store][unit]") {
  MemoryFileSystem files;
  { create(files); }
  const auto before = files.names();
  CHECK_THAT(error_of([&] { create(files); }, Fault::user),
             Contains("there already is an experiment in /runs/exp"));
  CHECK(files.names() == before);
}

TEST_CASE("ExperimentStore is made over what a driver leaves that dies while it makes one",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  files.put("/runs/exp/experiment.json", R"({"param_space":{}})");
  SECTION("with an empty journal") { files.put("/runs/exp/journal-1.jsonl", ""); }
  SECTION("with a header") { create_journal(files, "/runs/exp/journal-1.jsonl", {1, 1}); }
  SECTION("with a header as long as one may be, of a version that says more") {
    const std::string fields = R"({"journal":1,"generation":1,"first":1,"more":")";
    std::string line;
    const std::size_t around = std::string("0123456789abcdef \"}\n").size() + fields.size();
    append_journal_line(line, fields + std::string(4096 - around, 'x') + "\"}");
    REQUIRE(line.size() == 4096);
    files.put("/runs/exp/journal-1.jsonl", line);
  }
  files.put("/runs/exp/.CURRENT.tmp-9-9", "1");
  files.put("/runs/exp/notes.txt", "of the user");
  CHECK(!ExperimentStore::exists(files, directory));
  { create(files); }
  CHECK(ExperimentStore::read_spec(files, directory) == spec);
  CHECK(files.names(directory) ==
        std::vector<std::string>{"CURRENT", "experiment.json", "journal-1.jsonl", "notes.txt"});
}

TEST_CASE("ExperimentStore is made over nothing else that has a name of an experiment's",
          "[experiment_store][unit]") {
  const std::string name = GENERATE("experiment.json", "journal-1.jsonl", "journal-4.jsonl",
                                    "snapshot-2.json", "trials-1.jsonl", "trial_00000/notes.txt");
  MemoryFileSystem files;
  const path file = path("/runs/exp") / name;
  files.put(file, "precious");
  CHECK_THAT(error_of([&] { create(files); }, Fault::user),
             Contains("/runs/exp has no file CURRENT, and so is no experiment, but it"));
  CHECK(files.read(file) == "precious");
}

TEST_CASE("An experiment that has lost its CURRENT is not written over, and says what to do",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  {
    auto store = create(files);
    append_events(store, 1, 1);
    store.write();
  }
  const std::string journal = files.read("/runs/exp/journal-1.jsonl");
  files.remove_file("/runs/exp/CURRENT");
  CHECK_THAT(error_of([&] { create(files); }, Fault::user), Contains("would write over"));
  CHECK(files.read("/runs/exp/journal-1.jsonl") == journal);
  std::vector<std::string> notices;
  Replayed replayed;
  const auto open = [&] {
    ExperimentStore::open(files, directory, this_process(1), replayed, notices);
  };
  CHECK_THAT(error_of(open, Fault::user), Contains("write into it the largest N"));
  files.put("/runs/exp/CURRENT", "1\n");
  open();
  CHECK(replayed.numbers == std::vector<std::uint64_t>{1});
}

TEST_CASE("Only what the driver writes aside is swept", "[experiment_store][unit]") {
  MemoryFileSystem files;
  { create(files); }
  const std::vector<std::string> kept = {".CURRENT.tmp-mine", ".foo.tmp-1-2",
                                         ".notes.tmp-x",      "journal-0.jsonl",
                                         "journal-01.jsonl",  "snapshot-0.json"};
  for (const auto& name : kept) files.put(path("/runs/exp") / name, "precious");
  for (const char* const name : {".CURRENT.tmp-7-0", ".snapshot-2.json.tmp-7-3",
                                 ".journal-1.jsonl.damaged-1.tmp-7-4", ".history.jsonl.tmp-7-5"}) {
    files.put(path("/runs/exp") / name, "");
  }
  std::vector<std::string> notices;
  Replayed replayed;
  { ExperimentStore::open(files, directory, this_process(1), replayed, notices); }
  for (const auto& name : kept) CHECK(files.read(path("/runs/exp") / name) == "precious");
  CHECK(files.names(directory).size() == kept.size() + 3);
}

TEST_CASE("ExperimentStore takes a directory with a slash at its end", "[experiment_store][unit]") {
  MemoryFileSystem files;
  ExperimentStore::create(files, "/runs/exp/", spec, this_process(100));
  files.crash();
  CHECK(ExperimentStore::exists(files, directory));
}

TEST_CASE("ExperimentStore does not open what is none, and leaves nothing there",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  files.put("/runs/exp/file", "");
  std::vector<std::string> notices;
  Replayed replayed;
  const auto open = [&] {
    ExperimentStore::open(files, directory, this_process(1), replayed, notices);
  };
  CHECK_THAT(error_of(open, Fault::user), Contains("no experiment in /runs/exp"));
  CHECK_THAT(
      error_of([&] { ExperimentStore::read(files, directory, replayed, notices); }, Fault::user),
      Contains("no experiment in /runs/exp"));
  CHECK(files.names(directory) == std::vector<std::string>{"file"});
}

TEST_CASE("ExperimentStore is driven by one at a time", "[experiment_store][unit]") {
  MemoryFileSystem files;
  std::vector<std::string> notices;
  Replayed replayed;
  const auto open = [&] {
    return ExperimentStore::open(files, directory, this_process(2), replayed, notices);
  };
  {
    const ExperimentStore store = create(files);
    CHECK_THAT(
        error_of([&] { open(); }, Fault::user),
        Contains("experiment /runs/exp is driven by pid " + std::to_string(this_process(0).pid)));
    REQUIRE(ExperimentStore::driver(files, directory));
    CHECK(ExperimentStore::driver(files, directory)->since == 100);
  }
  CHECK(!ExperimentStore::driver(files, directory));
  LockOwner dead = this_process(3);
  dead.start_ticks -= 1;
  {
    const ExperimentStore store = ExperimentStore::open(files, directory, dead, replayed, notices);
    CHECK(!ExperimentStore::driver(files, directory));
    files.die_at_operation(1);
  }
  files.restart();
  CHECK(notices.empty());
  const ExperimentStore store = open();
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Contains("took over the lock of pid"));
}

TEST_CASE("ExperimentStore moves, and unlocks once", "[experiment_store][unit]") {
  MemoryFileSystem files;
  {
    ExperimentStore first = create(files);
    ExperimentStore second = std::move(first);
    append_events(second, 1, 1);
    second.write();
    CHECK(ExperimentStore::driver(files, directory));
  }
  CHECK(!ExperimentStore::driver(files, directory));
}

TEST_CASE("ExperimentStore cuts off a torn last line, says so and goes on",
          "[experiment_store][crash]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = create(files);
    append_events(store, 1, 2);
    store.write();
    append_events(store, 3, 3);
    files.fail_operation(1, ENOSPC, 10);
    CHECK_THROWS_AS(store.write(), Error);
    CHECK(store.written() == 2);
    CHECK_THROWS_WITH(append_events(store, 4, 4), Contains("not written any more"));
    CHECK_THROWS_WITH(store.write(), Contains("not written any more"));
    CHECK_THROWS_WITH(store.sync(), Contains("not written any more"));
  }
  std::vector<std::string> notices;
  Replayed seen;
  SECTION("for a reader it is the end, with a word about it") {
    ExperimentStore::read(files, directory, seen, notices);
    CHECK(seen.numbers == numbers(1, 2));
    CHECK(notices.size() == 1);
  }
  SECTION("for a reader while a driver writes it is simply the end") {
    LockOwner elsewhere = this_process(1);
    elsewhere.host = "elsewhere";
    files.put("/runs/exp/LOCK", R"({"host":"elsewhere","pid":1,"start_ticks":1,"since":1})");
    ExperimentStore::read(files, directory, seen, notices);
    CHECK(seen.numbers == numbers(1, 2));
    CHECK(notices.empty());
    files.remove_file("/runs/exp/LOCK");
  }
  seen = {};
  notices.clear();
  {
    ExperimentStore store = ExperimentStore::open(files, directory, this_process(1), seen, notices);
    CHECK(seen.numbers == numbers(1, 2));
    REQUIRE(notices.size() == 1);
    CHECK(notices[0] ==
          "the last line of /runs/exp/journal-1.jsonl was never written to its end: its 10 bytes "
          "do not count, and event 2 is the last");
    append_events(store, 3, 4);
    store.write();
  }
  seen = {};
  ExperimentStore::read(files, directory, seen, notices);
  CHECK(seen.numbers == numbers(1, 4));
  CHECK(notices.size() == 1);
}

TEST_CASE("ExperimentStore refuses a journal that it cannot trust and changes nothing",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = create(files);
    append_events(store, 1, 3);
    store.write();
  }
  const std::filesystem::path journal = "/runs/exp/journal-1.jsonl";
  std::string content = files.read(journal);
  Fault fault = Fault::machine;
  std::string expected;
  SECTION("a line changed in the middle") {
    content[content.find("event 2")] = 'E';
    expected = "in line 3,";
  }
  SECTION("a line that is no event") {
    append_journal_line(content, R"({"n":4,"t":0,"e":"dance"})");
    append_journal_line(content, R"({"n":5,"t":0,"e":"dance"})");
    expected = "cannot be understood in line 5, at byte " +
               std::to_string(files.read(journal).size()) + ": unknown event 'dance'";
  }
  SECTION("a hole in the numbers") {
    append_journal_line(content, R"({"n":5,"t":0,"e":"stop","reason":"x"})");
    expected = "it is event 5, expected was 4";
  }
  SECTION("a number twice") {
    append_journal_line(content, R"({"n":3,"t":0,"e":"stop","reason":"x"})");
    expected = "it is event 3, expected was 4";
  }
  SECTION("the journal of another generation") {
    content.clear();
    append_journal_line(content, R"({"journal":1,"generation":2,"first":1})");
    expected = "is not that of generation 1";
  }
  SECTION("a newer format") {
    content.clear();
    append_journal_line(content, R"({"journal":9,"generation":1,"first":1})");
    expected = "format 9";
    fault = Fault::user;
  }
  files.put(journal, content);
  std::vector<std::string> notices;
  Replayed replayed;
  const auto before = files.operations();
  CHECK_THAT(
      error_of([&] { ExperimentStore::open(files, directory, this_process(1), replayed, notices); },
               fault),
      Contains(expected));
  CHECK(files.read(journal) == content);
  CHECK(!files.exists("/runs/exp/LOCK"));
  CHECK(files.operations() > before);
  CHECK(notices.empty());
}

TEST_CASE("ExperimentStore refuses a CURRENT that names no generation",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  { create(files); }
  std::vector<std::string> notices;
  Replayed replayed;
  for (const char* content : {"", "1", "0\n", "-1\n", "x\n", "1\n\n", "01\n", "1 \n"}) {
    CAPTURE(content);
    files.put("/runs/exp/CURRENT", content);
    CHECK_THAT(error_of([&] { ExperimentStore::read(files, directory, replayed, notices); },
                        Fault::machine),
               Contains("/runs/exp/CURRENT is damaged"));
  }
  files.put("/runs/exp/CURRENT", "2\n");
  ExperimentStore::read(files, directory, replayed, notices);
  CHECK(replayed.numbers.empty());
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Contains("snapshot-2.json") && Contains("No such file") &&
                             Contains("the journals from the beginning lead to the same state"));
}

TEST_CASE("ExperimentStore says where a spec is broken", "[experiment_store][unit]") {
  MemoryFileSystem files;
  { create(files); }
  files.put("/runs/exp/experiment.json", "{\"name\": }");
  CHECK_THAT(error_of([&] { ExperimentStore::read_spec(files, directory); }, Fault::user),
             Contains("/runs/exp/experiment.json") && Contains("line 1, column 10"));
  for (const char* const other : {"7", "[]", "null", "\"text\""}) {
    files.put("/runs/exp/experiment.json", other);
    CHECK(error_of([&] { ExperimentStore::read_spec(files, directory); }, Fault::user) ==
          "cannot understand /runs/exp/experiment.json: it is no JSON object");
  }
}

TEST_CASE("ExperimentStore gives its lock back when the replay fails", "[experiment_store][unit]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = create(files);
    append_events(store, 1, 1);
    store.write();
  }
  std::vector<std::string> notices;
  struct : StateReader {
    void on_event(Event&&) override { throw machine_error("no such trial"); }
  } refuse;
  CHECK_THROWS_WITH(ExperimentStore::open(files, directory, this_process(1), refuse, notices),
                    "no such trial");
  CHECK(!files.exists("/runs/exp/LOCK"));
}

TEST_CASE("ExperimentStore counts what it costs", "[experiment_store][unit]") {
  MemoryFileSystem files;
  ExperimentStore store = create(files);
  const auto header_bytes = files.read("/runs/exp/journal-1.jsonl").size();
  append_events(store, 1, 3);
  store.write();
  store.write();
  append_events(store, 4, 4);
  store.write();
  store.sync();
  const StateCost& statistics = store.cost();
  CHECK(statistics.events == 4);
  CHECK(statistics.writes == 2);
  CHECK(statistics.bytes == files.read("/runs/exp/journal-1.jsonl").size() - header_bytes);
  CHECK(statistics.write_s > 0);
}

TEST_CASE("ExperimentStore sets all journals aside that do not follow on what is there",
          "[experiment_store][unit]") {
  MemoryFileSystem files;
  {
    ExperimentStore store = create(files);
    for (const std::uint64_t first : {1, 4, 7}) {
      if (first > 1) {
        store.start_generation(store.make_next_journal());
        store.finish_generation();
      }
      append_events(store, first, first + 2);
      store.write();
    }
  }
  // The last record of the first journal was never on disk.
  const path first = directory / "journal-1.jsonl";
  const std::string whole = files.read(first);
  files.put(first, whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  std::vector<std::string> notices;
  Replayed replayed;
  {
    ExperimentStore store =
        ExperimentStore::open(files, directory, this_process(101), replayed, notices);
    CHECK(replayed.numbers == numbers(1, 2));
    append_events(store, 3, 5);
    store.write();
  }
  std::vector<std::string> journals;
  for (const auto& name : files.names(directory)) {
    if (name.starts_with("journal-")) journals.push_back(name);
  }
  CHECK(journals.front() == "journal-1.jsonl");
  CHECK(std::none_of(journals.begin(), journals.end(), [](const std::string& name) {
    return name == "journal-2.jsonl" || name == "journal-3.jsonl";
  }));
  Replayed again;
  ExperimentStore::read(files, directory, again, notices);
  CHECK(again.numbers == numbers(1, 5));
}

}  // namespace
}  // namespace tune
