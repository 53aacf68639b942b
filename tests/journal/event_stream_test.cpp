// Reading the events of an experiment by number, while it is written and after.
#include "tuner/journal/event_stream.h"

#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/journal/disasters.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"

namespace tune {
namespace {

const std::filesystem::path directory = "/runs/exp";
const Json spec = {{"name", "exp"}, {"param_space", Json::object()}};

using Numbers = std::vector<std::uint64_t>;

Numbers from_to(std::uint64_t first, std::uint64_t last) {
  Numbers all(last + 1 - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

Numbers read(EventStream& stream) {
  Numbers numbers;
  stream.read([&](std::string_view text) { numbers.push_back(parse_event(text).number); });
  return numbers;
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

/// A driver that does nothing but write.
class Writer {
 public:
  Writer(MemoryFileSystem& files, Seconds now)
      : store_(ExperimentStore::exists(files, directory)
                   ? ExperimentStore::open(files, directory, mortal(now), counter_, notices_)
                   : ExperimentStore::create(files, directory, spec, mortal(now))) {}

  void write(int events) {
    while (events-- > 0) {
      const std::uint64_t n = store_.written() + 1;
      store_.append({n, 1000.5, StopRequested{"event " + std::to_string(n)}});
      store_.write();
    }
  }
  void snapshot() {
    const std::uint64_t n = store_.written();
    const int generation = store_.start_generation(store_.make_next_journal());
    store_.write();
    store_.sync();
    store_.finish_generation();
    store_.publish({.generation = generation, .event = n, .state = {{"last", n}}, .trials = {}});
  }

 private:
  std::vector<std::string> notices_;
  Counter counter_;
  ExperimentStore store_;
};

TEST_CASE("Every event is given once, in its order, whenever it is looked", "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  EventStream stream(files, directory, 1);
  Numbers given;
  std::uint64_t written = 0;
  for (int round = 1; round <= 40; ++round) {
    writer.write(round % 4);
    written += static_cast<std::uint64_t>(round % 4);
    if (round % 3 == 0) writer.snapshot();
    if (round % 5 != 0) continue;  // several snapshots may have come meanwhile
    const Numbers now = read(stream);
    given.insert(given.end(), now.begin(), now.end());
    CHECK(given == from_to(1, written));
  }
  CHECK(stream.missing() == 0);
}

/// Once, right after a directory was listed, somebody changes what is there.
struct ChangedOnceListed : MemoryFileSystem {
  std::vector<DirectoryEntry> list(const std::filesystem::path& place) override {
    auto entries = MemoryFileSystem::list(place);
    if (const auto then = std::exchange(after_list, {})) then();
    return entries;
  }
  std::function<void()> after_list;
};

TEST_CASE("A journal that is removed once it was listed costs no event and no reader",
          "[event_stream]") {
  ChangedOnceListed files;
  Writer writer(files, 1);
  writer.write(5);
  EventStream stream(files, directory, 1);
  files.after_list = [&] {
    for (int i = 0; i < 3; ++i) {
      writer.snapshot();
      writer.write(2);
    }
    REQUIRE_FALSE(files.exists(paths::journal(directory, 1)));
  };
  Numbers given = read(stream);
  for (const std::uint64_t number : read(stream)) given.push_back(number);
  CHECK(given == from_to(1, 11));
  CHECK(stream.missing() == 0);
}

TEST_CASE("It begins where it is told to, be that in the history, in a journal or to come",
          "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  for (int i = 0; i < 4; ++i) {
    writer.write(5);
    writer.snapshot();
  }
  writer.write(2);
  for (const std::uint64_t first : {1, 2, 5, 6, 14, 16, 20, 21, 22}) {
    CAPTURE(first);
    EventStream stream(files, directory, first);
    CHECK(read(stream) == from_to(first, 22));
    CHECK(read(stream).empty());
    CHECK(stream.next() == 23);
  }
  EventStream later(files, directory, 25);
  CHECK(read(later).empty());
  writer.write(4);
  CHECK(read(later) == from_to(25, 26));
}

TEST_CASE("A record that is not written to its end is given once it is", "[event_stream]") {
  MemoryFileSystem files;
  files.put(paths::current(directory).native(), "1\n");
  std::string text;
  append_journal_line(text, journal_header({.generation = 1, .first = 1}));
  std::string lines;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    std::string event;
    append_json(event, {n, 1000.5, StopRequested{"event " + std::to_string(n)}});
    append_journal_line(lines, event);
  }
  EventStream stream(files, directory, 1);
  Numbers given;
  for (std::size_t bytes = 0; bytes <= lines.size(); ++bytes) {
    files.put(paths::journal(directory, 1).native(), text + lines.substr(0, bytes));
    const Numbers now = read(stream);
    given.insert(given.end(), now.begin(), now.end());
  }
  CHECK(given == from_to(1, 3));
}

TEST_CASE("What a crash has torn is not given, and what is written in its place is",
          "[event_stream][crash]") {
  MemoryFileSystem files;
  EventStream stream(files, directory, 1);
  {
    Writer writer(files, 1);
    writer.write(3);
  }
  const std::string journal = paths::journal(directory, 1).native();
  files.put(journal, files.read(journal) + "0123456789abcdef {\"n\":4,\"e\":\"sto\n");
  CHECK(read(stream) == from_to(1, 3));
  Writer(files, 2).write(2);
  CHECK(read(stream) == from_to(4, 5));
}

TEST_CASE("Damage that others follow is an error, and nothing before it is lost",
          "[event_stream]") {
  MemoryFileSystem files;
  {
    Writer writer(files, 1);
    writer.write(5);
  }
  const std::string journal = paths::journal(directory, 1).native();
  std::string text = files.read(journal);
  text[text.find("event 4")] ^= 1;
  files.put(journal, text);
  EventStream stream(files, directory, 1);
  Numbers given;
  CHECK_THROWS_AS(
      stream.read([&](std::string_view line) { given.push_back(parse_event(line).number); }),
      Error);
  CHECK(given == from_to(1, 3));
}

TEST_CASE("Events that are no longer there are counted", "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  for (int i = 0; i < 4; ++i) {
    writer.write(5);
    writer.snapshot();
  }
  SECTION("without a history") {
    files.remove_file(paths::history(directory));
    EventStream stream(files, directory, 3);
    CHECK(read(stream) == from_to(16, 20));
    CHECK(stream.missing() == 13);
  }
  SECTION("with one that has holes") {
    const std::string file = paths::history(directory).native();
    std::string text = files.read(file);
    const std::size_t begin = text.rfind('\n', text.find("event 4")) + 1;
    text.erase(begin, text.find('\n', begin) + 1 - begin);
    files.put(file, text);
    EventStream stream(files, directory, 1);
    Numbers expected = from_to(1, 20);
    expected.erase(expected.begin() + 3);
    CHECK(read(stream) == expected);
    CHECK(stream.missing() == 1);
  }
}

TEST_CASE(
    "A journal that was cut although the next one is in force costs what was cut, and it is said",
    "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  writer.write(6);
  writer.snapshot();
  writer.write(3);
  const std::string journal = paths::journal(directory, 1).native();
  const std::string text = files.read(journal);
  files.put(journal, text.substr(0, text.find("event 5")));
  EventStream stream(files, directory, 1);
  CHECK(read(stream) == Numbers{1, 2, 3, 4, 7, 8, 9});
  CHECK(stream.missing() == 2);
}

TEST_CASE("A journal that is not of the experiment's generations is none of it", "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  writer.write(4);
  std::string stray;
  append_journal_line(stray, journal_header({.generation = 99, .first = 3}));
  files.put(paths::journal(directory, 99).native(), stray);
  EventStream stream(files, directory, 4);
  CHECK(read(stream) == from_to(4, 4));
  writer.write(1);
  CHECK(read(stream) == from_to(5, 5));
}

TEST_CASE("A history of a newer format is refused with both numbers", "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  for (int i = 0; i < 3; ++i) {
    writer.write(5);
    writer.snapshot();
  }
  std::string text;
  append_journal_line(text, R"({"history":99})");
  files.put(paths::history(directory).native(), text);
  EventStream stream(files, directory, 1);
  CHECK_THROWS_WITH(read(stream), Catch::Contains("format 99") && Catch::Contains("format 1"));
}

TEST_CASE(
    "A journal in force that is gone is an error after what is there, and so is an empty first",
    "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  writer.write(5);
  std::filesystem::path newest = paths::journal(directory, 1);
  Numbers expected;
  SECTION("the first one, which is gone") { files.remove_file(newest); }
  SECTION("the first one, which is empty") { files.put(newest.native(), ""); }
  SECTION("the second one, which is gone") {
    writer.snapshot();
    writer.write(2);
    newest = paths::journal(directory, 2);
    files.remove_file(newest);
    expected = from_to(1, 5);
  }
  EventStream stream(files, directory, 1);
  Numbers given;
  CHECK_THROWS_WITH(
      stream.read([&](std::string_view line) { given.push_back(parse_event(line).number); }),
      Catch::Contains(newest.native()));
  CHECK(given == expected);
}

TEST_CASE(
    "With a journal that has no event yet, the history alone is given, and what it lacks counted",
    "[event_stream]") {
  MemoryFileSystem files;
  Writer writer(files, 1);
  for (int i = 0; i < 3; ++i) {
    writer.write(5);
    writer.snapshot();
  }
  EventStream before(files, directory, 1);
  CHECK(read(before) == from_to(1, 15));
  files.remove_file(paths::journal(directory, 3));
  EventStream stream(files, directory, 1);
  CHECK(read(stream) == from_to(1, 10));
  CHECK(stream.missing() == 5);
}

TEST_CASE("What is no experiment is said to be none", "[event_stream]") {
  MemoryFileSystem files;
  files.make_directories(directory);
  EventStream stream(files, directory, 1);
  CHECK_THROWS_AS(read(stream), Error);
}

}  // namespace
}  // namespace tune
