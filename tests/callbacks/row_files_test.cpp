// Rows stand once: appending, cutting and mending, at every length that a crash can leave.
#include "callbacks/row_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"
#include "tuner/base/csv_text.h"
#include "tuner/base/error.h"

using namespace tune;
using namespace tune::testing;

namespace {

const std::string header = "training_iteration,a";

std::string row(RowFormat format, int iteration, const std::string& value = "0.5") {
  const std::string number = std::to_string(iteration);
  return format == RowFormat::csv ? number + ',' + value + '\n'
                                  : "{\"training_iteration\":" + number + ",\"a\":" + value + "}\n";
}

std::string rows(RowFormat format, int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += row(format, i);
  return text;
}

std::string whole(RowFormat format, int last) {
  return (format == RowFormat::csv ? header + '\n' : "") + rows(format, 1, last);
}

}  // namespace

TEST_CASE("RowFiles knows the last whole row's iteration at every cut length",
          "[callbacks][rows]") {
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  CHECK(RowFiles(format).last_iteration(file) == 0);
  const std::string full = whole(format, 3);
  for (std::size_t length = 0; length <= full.size(); ++length) {
    write(file, full.substr(0, length));
    int last = 0;
    while (last < 3 && whole(format, last + 1).size() <= length) ++last;
    REQUIRE(RowFiles(format).last_iteration(file) == last);
  }
  write(file, row(format, 4, std::string(200'000, '1')));  // longer than what is read at once
  CHECK(RowFiles(format).last_iteration(file) == 4);
}

TEST_CASE("RowFiles removes rows after an iteration and a torn line, at every cut length",
          "[callbacks][rows]") {
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  const std::string full = whole(format, 5);
  int cases = 0;
  for (std::size_t length = 0; length <= full.size(); ++length) {
    for (const int keep : {0, 3, 99}) {
      write(file, full.substr(0, length));
      RowFiles(format).cut(file, keep);
      const auto whole_lines = full.substr(0, length).rfind('\n');
      std::string expected =
          whole_lines == std::string::npos ? "" : full.substr(0, whole_lines + 1);
      expected = std::min(expected, whole(format, std::min(keep, 5)),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
      REQUIRE(read(file) == expected);
      ++cases;
    }
  }
  CHECK(cases == static_cast<int>(full.size() + 1) * 3);
}

TEST_CASE("RowFiles mends a file cut at any length, or with rows too many, to each row once",
          "[callbacks][rows]") {
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const auto first = GENERATE(1, 4);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  const std::string full = whole(format, 6);
  const std::string replayed = rows(format, first, 6);
  const std::size_t shortest = first == 1 ? 0 : whole(format, first - 1).size();
  int cases = 0;
  for (std::size_t length = shortest; length <= full.size(); ++length) {
    write(file, full.substr(0, length));
    RowFiles(format).mend(file, header, replayed);
    REQUIRE(read(file) == full);
    ++cases;
  }
  CHECK(cases > 6);

  write(file, whole(format, first) + row(format, first + 1, "0.25") + row(format, first + 2));
  RowFiles(format).mend(file, header, replayed);
  CHECK(read(file) == full);
}

TEST_CASE("RowFiles does not write to a file that has the replayed rows", "[callbacks][rows]") {
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  write(file, whole(format, 9));
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(file, old);
  const auto before = identity(file);
  RowFiles files(format);
  files.mend(file, header, rows(format, 1, 3));
  files.mend(file, header, rows(format, 4, 4));
  files.mend(file, header, rows(format, 5, 9));
  files.cut(file, 9);
  CHECK(identity(file) == before);
  CHECK(read(file) == whole(format, 9));
}

TEST_CASE("RowFiles replays a trial that was rewound to the rows that count", "[callbacks][rows]") {
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  const std::string after = row(format, 4, "4.5") + row(format, 5, "5.5");
  write(file, whole(format, 3) + after);
  RowFiles files(format);
  files.mend(file, header, rows(format, 1, 8));
  files.mend(file, header, after);
  CHECK(read(file) == whole(format, 3) + after);
}

TEST_CASE("RowFiles leaves no row behind a rewind, although the file has that life's rows already",
          "[callbacks][rows]") {
  // A clone of an early trial, which then becomes one of a late trial: what it was before must not
  // stand between the two.
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  const std::string kept = whole(format, 8);
  write(file, kept);
  RowFiles files(format);
  files.mend(file, header, rows(format, 9, 16));
  files.mend(file, header, rows(format, 5, 6));
  files.mend(file, header, rows(format, 7, 8));
  files.cut(file, 14);
  CHECK(read(file) == kept);
}

TEST_CASE("RowFiles finds a row far from the end of a long file", "[callbacks][rows]") {
  const auto format = GENERATE(RowFormat::json, RowFormat::csv);
  const TemporaryDirectory directory;
  const std::string file = directory / "rows";
  const std::string long_value = '"' + std::string(200000, 'x') + '"';
  const std::string start = whole(format, 5000);
  write(file, start + row(format, 5001, long_value) + rows(format, 5002, 20000));
  RowFiles(format).cut(file, 5000);
  CHECK(read(file) == start);
  RowFiles(format).cut(file, 0);
  CHECK(read(file) == whole(format, 0));
}

TEST_CASE("RowFiles cuts nothing from a file that is not there", "[callbacks][rows]") {
  const TemporaryDirectory directory;
  RowFiles(RowFormat::json).cut(directory / "rows", 0);
  CHECK_FALSE(std::filesystem::exists(directory / "rows"));
}

TEST_CASE("RowFiles adds columns that appear later and keeps all rows before",
          "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "progress.csv";
  RowFiles files(RowFormat::csv);
  files.append(file, "training_iteration,a", "1,0.5\n2,0.25\n");
  files.append(file, "training_iteration,b,a", "3,7,0.125\n");
  files.append(file, "training_iteration,a", "4,\"x,y\"\n");
  files.append(file, "training_iteration,b,a", "5,8,1\n");
  CHECK(read(file) == "training_iteration,a,b\n1,0.5,\n2,0.25,\n3,0.125,7\n4,\"x,y\",\n5,1,8\n");
  CHECK_FALSE(std::filesystem::exists(file + ".tmp"));

  SECTION("and knows them again in another session") {
    RowFiles(RowFormat::csv).append(file, "training_iteration,b", "6,9\n");
    CHECK(lines_of(read(file)).back() == "6,,9");
  }
  SECTION("and mends rows with columns in another order without writing") {
    const auto before = read(file);
    RowFiles(RowFormat::csv).mend(file, "training_iteration,b,a", "3,7,0.125\n");
    CHECK(read(file) == before);
  }
}

TEST_CASE("RowFiles limits the columns of a file and keeps its rows", "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "progress.csv";
  RowFiles files(RowFormat::csv);
  files.append(file, "training_iteration,a", "1,0.5\n");
  std::string wide = "training_iteration";
  std::string cells = "2";
  for (std::size_t i = 0; i < 2 * max_columns; ++i) {
    wide += ",m" + std::to_string(i);
    cells += ",1";
  }
  files.append(file, wide, cells + '\n');
  files.append(file, "training_iteration,a", "3,0.25\n");
  const auto lines = lines_of(read(file));
  REQUIRE(lines.size() == 4);
  for (const auto& line : lines) {
    CHECK(std::count(line.begin(), line.end(), ',') == static_cast<long>(max_columns) - 1);
  }
  CHECK(lines[3].starts_with("3,0.25,"));
}

TEST_CASE("RowFiles writes a new content only if it is new", "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "trial_00000/params.json";
  RowFiles files(RowFormat::text);
  files.replace(file, "{}\n");
  CHECK(read(file) == "{}\n");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(file, old);
  const auto before = identity(file);
  files.replace(file, "{}\n");
  CHECK(identity(file) == before);
  files.replace(file, "[]\n");
  CHECK(read(file) == "[]\n");
}

TEST_CASE("RowFiles names path and reason of what cannot be written", "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "result.json";
  RowFiles files(RowFormat::json);
  {
    const FileLimit limit(64);
    CHECK_THROWS_WITH(files.append(file, "", std::string(100, 'x') + "\n"),
                      "cannot write " + file + ": File too large");
  }
  CHECK(read(file).empty());
}

TEST_CASE("RowFiles neither follows nor waits for what a trial has put in place of a file",
          "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "result.json";
  const std::string kept = directory / "kept";
  write(kept, "{}\n");
  RowFiles files(RowFormat::json);
  const auto refuses = [&](const std::string& what) {
    const std::string sentence =
        "cannot use " + file + ": it is " + what + " where a file of the driver's belongs";
    CHECK_THROWS_WITH(files.append(file, "", "{}\n"), sentence);
    CHECK_THROWS_WITH(files.mend(file, "", row(RowFormat::json, 1)), sentence);
    CHECK_THROWS_WITH(files.cut(file, 1), sentence);
    CHECK_THROWS_WITH(files.replace(file, "{}\n"), sentence);
    sync_files({file});  // what was written is nobody's any more
    std::filesystem::remove(file);
  };
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  refuses("a FIFO");
  std::filesystem::create_symlink(kept, file);
  refuses("a link");
  std::filesystem::create_symlink("/dev/full", file);
  refuses("a link");
  std::filesystem::create_directory(file);
  refuses("a directory");
  CHECK(read(kept) == "{}\n");
}

namespace {

/// As RowFiles is told of a result with one metric that all have, and one of its own.
void append_named(RowFiles& files, const std::string& file, int iteration) {
  const std::string number = std::to_string(iteration);
  files.append(file, "training_iteration,loss,at_" + number, number + ",0.5," + number + "\n");
}

std::uint64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  while (io >> name >> bytes) {
    if (name == "wchar:") return bytes;
  }
  return 0;
}

}  // namespace

TEST_CASE("RowFiles gives every new name its column in the end, and rewrites a file seldom",
          "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "progress.csv";
  constexpr int iterations = 500;
  RowFiles files(RowFormat::csv);
  const std::uint64_t before = bytes_written();
  for (int i = 1; i <= iterations; ++i) {
    append_named(files, file, i);
    // At any moment it is a table.
    if (i % 50 != 0) continue;
    const auto lines = lines_of(read(file));
    REQUIRE(lines.size() == static_cast<std::size_t>(i) + 1);
    for (const auto& line : lines) {
      REQUIRE(csv::split(line).size() == csv::split(lines[0]).size());
    }
  }
  REQUIRE(files.incomplete() == std::vector<std::string>{file});
  files.complete(file);
  CHECK(files.incomplete().empty());
  const std::string content = read(file);
  if (before > 0) CHECK(bytes_written() - before < 6 * content.size());
  const auto lines = lines_of(content);
  REQUIRE(lines.size() == iterations + 1);
  const auto names = csv::split(lines[0]);
  REQUIRE(names.size() == iterations + 2);
  for (int i = 1; i <= iterations; ++i) {
    const auto cells = csv::split(lines[static_cast<std::size_t>(i)]);
    REQUIRE(cells.size() == names.size());
    for (std::size_t k = 2; k < names.size(); ++k) {
      const bool is_own = names[k] == "at_" + std::to_string(i);
      REQUIRE(cells[k] == (is_own ? std::to_string(i) : ""));
    }
  }
}

TEST_CASE("RowFiles forgets late columns of rows that are cut, and mends a file that lacks some",
          "[callbacks][rows]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "progress.csv";
  RowFiles files(RowFormat::csv);
  for (int i = 1; i <= 30; ++i) append_named(files, file, i);
  SECTION("cut") {
    REQUIRE(!files.incomplete().empty());
    files.cut(file, 25);
    files.append(file, "training_iteration,loss", "26,0.25\n");
    files.complete(file);
    const auto lines = lines_of(read(file));
    REQUIRE(lines.size() == 27);
    CHECK(lines[26].starts_with("26,0.25,"));
    CHECK(lines[0].ends_with(",at_25"));
    CHECK(lines[25].ends_with(",25"));
  }
  SECTION("mended after a crash") {
    RowFiles after(RowFormat::csv);
    for (int i = 11; i <= 30; ++i) {
      const std::string number = std::to_string(i);
      after.mend(file, "training_iteration,loss,at_" + number, number + ",0.5," + number + "\n");
    }
    const auto lines = lines_of(read(file));
    REQUIRE(lines.size() == 31);
    const auto names = csv::split(lines[0]);
    for (std::size_t i = 11; i <= 30; ++i) {
      const auto cells = csv::split(lines[i]);
      const auto own = std::find(names.begin(), names.end(), "at_" + std::to_string(i));
      REQUIRE(own != names.end());
      REQUIRE(cells[static_cast<std::size_t>(own - names.begin())] == std::to_string(i));
    }
  }
}
