// What a journal accepts, keeps, cuts off and refuses.
// Knows lines of text, not events.
#include "tuner/journal/journal.h"

#include <cerrno>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;
using Lines = std::vector<std::string>;

const std::filesystem::path file = "/e/journal-1.jsonl";
const Lines three = {R"({"n":1,"e":"a"})", R"({"n":2,"e":"bb","text":"x y"})", R"({"n":3})"};

void write_journal(MemoryFileSystem& files, const Lines& lines) {
  create_journal(files, file, {.generation = 1, .first = 1});
  Journal journal(files, file);
  for (const std::string& line : lines) journal.append(line);
  journal.write();
  journal.sync();
}

MemoryFileSystem& with_directory(MemoryFileSystem& files) {
  files.put("/e/other", "");
  return files;
}

Lines read_lines(FileSystem& files, JournalEnd* end = nullptr) {
  Lines lines;
  const JournalEnd found = read_journal(
      files, file, [&](std::string_view text, const JournalPlace&) { lines.emplace_back(text); });
  if (end != nullptr) *end = found;
  return lines;
}

std::string error_of(FileSystem& files, Fault* fault = nullptr) {
  try {
    read_lines(files);
  } catch (const Error& error) {
    if (fault != nullptr) *fault = error.fault();
    return error.what();
  }
  return "";
}

TEST_CASE("Journal gives back what was appended, whatever the size of the pieces it is read in",
          "[journal][unit]") {
  for (const std::size_t piece : {1, 2, 7, 64, 1 << 20}) {
    CAPTURE(piece);
    MemoryFileSystem files;
    files.set_piece_bytes(piece);
    write_journal(with_directory(files), three);
    JournalEnd end;
    CHECK(read_lines(files, &end) == three);
    CHECK(end.records == 3);
    CHECK(end.header.generation == 1);
    CHECK(end.header.first == 1);
    CHECK(end.intact_bytes == files.read(file).size());
    CHECK(end.torn_bytes == 0);
  }
}

TEST_CASE("Journal tells each record's line and byte", "[journal][unit]") {
  MemoryFileSystem files;
  write_journal(with_directory(files), three);
  const std::string content = files.read(file);
  std::uint64_t line = 2;
  read_journal(files, file, [&](std::string_view text, const JournalPlace& place) {
    CHECK(place.line == line++);
    CHECK(content.substr(place.byte + 17, text.size()) == text);
  });
  CHECK(line == 5);
}

TEST_CASE("Journal hands a batch to the disk in one write", "[journal][unit]") {
  MemoryFileSystem files;
  write_journal(with_directory(files), {});
  Journal journal(files, file);
  const auto before = files.operations();
  for (int i = 0; i < 100; ++i) journal.append("line " + std::to_string(i));
  CHECK(files.operations() == before);
  CHECK(journal.write() > 0);
  CHECK(files.operations() == before + 1);
  CHECK(journal.write() == 0);
  CHECK(files.operations() == before + 1);
  CHECK(read_lines(files).size() == 100);
}

TEST_CASE("Journal drops a torn last record and keeps all before it", "[journal][crash]") {
  MemoryFileSystem whole;
  write_journal(with_directory(whole), three);
  const std::string content = whole.read(file);
  const std::size_t last_bytes = three.back().size() + 18;
  int lengths = 0;
  for (std::size_t cut = 1; cut < last_bytes; ++cut, ++lengths) {
    CAPTURE(cut);
    MemoryFileSystem files;
    files.put(file, content.substr(0, content.size() - cut));
    JournalEnd end;
    REQUIRE(read_lines(files, &end) == Lines{three[0], three[1]});
    REQUIRE(end.torn_bytes == last_bytes - cut);
    REQUIRE(end.intact_bytes == content.size() - last_bytes);
  }
  CHECK(lengths == 24);
}

TEST_CASE("Journal drops its last record if any bit of it has changed", "[journal][crash]") {
  MemoryFileSystem whole;
  write_journal(with_directory(whole), three);
  const std::string content = whole.read(file);
  const std::size_t last_bytes = three.back().size() + 18;
  int flips = 0;
  for (std::size_t i = content.size() - last_bytes; i < content.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit, ++flips) {
      CAPTURE(i, bit);
      std::string changed = content;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      // A newline of its own making splits the record into a bad line and one more.
      if (changed[i] == '\n') continue;
      MemoryFileSystem files;
      files.put(file, changed);
      JournalEnd end;
      REQUIRE(read_lines(files, &end) == Lines{three[0], three[1]});
      REQUIRE(end.torn_bytes == last_bytes);
    }
  }
  CHECK(flips == 200);
}

TEST_CASE("Journal drops the zeros that a file system may leave at its end after a power cut",
          "[journal][crash]") {
  MemoryFileSystem files;
  write_journal(with_directory(files), three);
  files.put(file, files.read(file) + std::string(4096, '\0'));
  JournalEnd end;
  CHECK(read_lines(files, &end) == three);
  CHECK(end.torn_bytes == 4096);
}

TEST_CASE("Journal refuses damage before its last line, by file, line and byte",
          "[journal][crash]") {
  MemoryFileSystem whole;
  write_journal(with_directory(whole), three);
  const std::string content = whole.read(file);
  const std::size_t start = content.find('\n') + 1 + three[0].size() + 18;
  int flips = 0;
  for (std::size_t i = start; i < start + three[1].size() + 18; ++i, ++flips) {
    CAPTURE(i);
    std::string changed = content;
    changed[i] ^= 1;
    MemoryFileSystem files;
    files.put(file, changed);
    Fault fault = Fault::user;
    const std::string error = error_of(files, &fault);
    // Without its newline the line is one with the last, and torn like it.
    if (content[i] == '\n') {
      REQUIRE(error.empty());
      REQUIRE(read_lines(files) == Lines{three[0]});
      continue;
    }
    REQUIRE(fault == Fault::machine);
    REQUIRE_THAT(error, Contains("/e/journal-1.jsonl") && Contains("in line 3,") &&
                            Contains("at byte " + std::to_string(start)) &&
                            Contains("everything before it is intact, up to event 1"));
  }
  CHECK(flips == 47);
}

TEST_CASE("Journal refuses a bad line that half a line follows", "[journal][crash]") {
  MemoryFileSystem files;
  write_journal(with_directory(files), three);
  std::string content = files.read(file);
  content[content.size() - 3] ^= 1;
  files.put(file, content + "0123");
  CHECK_THAT(error_of(files), Contains("line 4") && Contains("up to event 2"));
}

TEST_CASE("Journal refuses a header that is damaged, missing or of another kind",
          "[journal][unit]") {
  MemoryFileSystem files;
  const auto with_header = [&](const std::string& text) {
    std::string line;
    append_journal_line(line, text);
    return line;
  };
  // Half a header is the end of a write that never was completed, like any last line.
  for (const std::string& torn :
       {std::string(), with_header(R"({"journal":1,"generation":1,"first":1})").substr(0, 30),
        std::string("nonsense\n")}) {
    files.put(file, torn);
    const JournalEnd end = read_journal(files, file, [](std::string_view, const JournalPlace&) {});
    CHECK_FALSE(end.has_header);
    CHECK(end.torn_bytes == torn.size());
  }
  files.put(file, "nonsense\nmore\n");
  CHECK_THAT(error_of(files), Contains("in line 1,") && Contains("header"));
  files.put(file, with_header(R"({"n":1})"));
  CHECK_THAT(error_of(files), Contains("is not a journal"));
  files.put(file, with_header(R"({"journal":"x","generation":1,"first":1})"));
  CHECK_THAT(error_of(files), Contains("is not a journal"));
  files.put(file, with_header("[]"));
  CHECK_THAT(error_of(files), Contains("is not a journal"));
}

TEST_CASE("Journal refuses a format newer than its own and names both", "[journal][unit]") {
  MemoryFileSystem files;
  std::string content;
  append_journal_line(content, R"({"journal":2,"generation":1,"first":1,"new":true})");
  files.put(file, content);
  Fault fault = Fault::machine;
  CHECK_THAT(error_of(files, &fault), Contains("format 2") && Contains("up to 1"));
  CHECK(fault == Fault::user);
}

TEST_CASE("Journal refuses everything after an error", "[journal][crash]") {
  MemoryFileSystem files;
  write_journal(with_directory(files), three);
  Journal journal(files, file);
  SECTION("of a write") {
    journal.append("four");
    files.fail_operation(1, ENOSPC, 5);
    CHECK_THROWS_WITH(journal.write(), Contains("No space left"));
  }
  SECTION("of a sync") {
    files.fail_operation(1, EIO);
    CHECK_THROWS_WITH(journal.sync(), Contains("Input/output error"));
  }
  CHECK_THROWS_WITH(journal.append("five"), Contains("not written any more"));
  CHECK_THROWS_WITH(journal.write(), Contains("not written any more"));
  CHECK_THROWS_WITH(journal.sync(), Contains("not written any more"));
  CHECK(read_lines(files) == three);
}

TEST_CASE("Journal on a full disk keeps what was written before, at every amount of room",
          "[journal][crash]") {
  int rooms = 0;
  for (std::uint64_t room = 0; room < 22; ++room, ++rooms) {
    MemoryFileSystem files;
    write_journal(with_directory(files), three);
    const std::uint64_t before = files.read(file).size();
    files.limit_capacity(before + room);
    Journal journal(files, file);
    journal.append("four");
    REQUIRE_THROWS_WITH(journal.write(), Contains("No space left"));
    JournalEnd end;
    REQUIRE(read_lines(files, &end) == three);
    REQUIRE(end.torn_bytes == room);
  }
  CHECK(rooms == 22);
}

TEST_CASE("Journal loses nothing that was synced when the power fails", "[journal][crash]") {
  MemoryFileSystem files;
  write_journal(with_directory(files), three);
  {
    Journal journal(files, file);
    journal.append("four");
    journal.write();
    journal.sync();
    journal.append("five");
    journal.write();
  }
  files.crash();
  CHECK(read_lines(files) == Lines{three[0], three[1], three[2], "four"});
}

TEST_CASE("Journal reads a file far larger than a piece in one pass", "[journal][unit]") {
  MemoryFileSystem files;
  files.set_piece_bytes(1000);
  Lines lines;
  for (int i = 0; i < 3000; ++i) lines.push_back(std::string(static_cast<std::size_t>(i), 'x'));
  write_journal(with_directory(files), lines);
  CHECK(read_lines(files) == lines);
}

}  // namespace
}  // namespace tune
