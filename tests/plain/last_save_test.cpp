#include "tuner/plain/last_save.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

/// A program that writes to one directory, a second an epoch, and prints 10 bytes in each.
struct Writer {
  void write(const std::string& name, std::int64_t ms) {
    const WriteBegin begin{ms * 1'000'000, printed};
    for (FileWrites& file : files) {
      if (file.name != name) continue;
      file.before = std::exchange(file.last, begin);
      return;
    }
    files.push_back({name, begin, {}});
  }
  void print() { printed += 10; }
  /// How much had been printed before the last save.
  std::uint64_t printed_before() const {
    return files.at(first_of_last_save(files, 0).value()).last.printed_before;
  }

  std::vector<FileWrites> files;
  std::uint64_t printed = 0;
};

TEST_CASE("The last save has what was printed before it, whatever else lies in its directory",
          "[unit][plain]") {
  for (const bool renames_each : {false, true}) {
    Writer writer;
    writer.write("config.json", 20);
    for (std::int64_t epoch = 1; epoch <= 6; ++epoch) {
      const std::int64_t ms = 1000 * epoch;
      const std::string number = renames_each ? "-" + std::to_string(epoch) : "";
      writer.print();
      writer.write("model" + number, ms);
      writer.write("optimizer" + number, ms + 30);
      // A best model that gets better at times.
      if (epoch % 3 == 1) writer.write("best", ms + 60);
      CAPTURE(epoch, renames_each);
      CHECK(writer.printed_before() == static_cast<std::uint64_t>(10 * epoch));
      writer.write("log", ms + 70);
      CHECK(writer.printed_before() == static_cast<std::uint64_t>(10 * epoch));
    }
  }
}

TEST_CASE("Of a save before a line and a log behind it the save counts", "[unit][plain]") {
  Writer writer;
  for (std::int64_t epoch = 1; epoch <= 6; ++epoch) {
    const std::int64_t ms = 1000 * epoch;
    writer.write("model", ms);
    writer.write("plot-" + std::to_string(epoch), ms + 10);
    CAPTURE(epoch);
    CHECK(writer.printed_before() == static_cast<std::uint64_t>(10 * (epoch - 1)));
    writer.print();
    writer.write("log", ms + 20);
    CHECK(writer.printed_before() == static_cast<std::uint64_t>(10 * (epoch - 1)));
  }
}

TEST_CASE("A file that lay there and is written for the first time is of the last save",
          "[unit][plain]") {
  Writer writer;
  for (const char* const name : {"model", "optimizer", "log"}) writer.write(name, 0);
  writer.write("config", 100);
  writer.print();
  writer.write("model", 1000);
  CHECK(writer.printed_before() == 10);
}

TEST_CASE("Parts of one save are no saves of their own", "[unit][plain]") {
  Writer writer;
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
    for (std::int64_t part = 0; part < 4; ++part) {
      writer.write("part-" + std::to_string(part), 1000 * epoch + 10 * part);
    }
    writer.print();
    writer.write("log", 1000 * epoch + 50);
    CHECK(writer.printed_before() == static_cast<std::uint64_t>(10 * (epoch - 1)));
  }
}

TEST_CASE("What is held open over two saves with a print between them is a log", "[unit][plain]") {
  for (const bool renames_each : {false, true}) {
    Writer writer;
    writer.print();
    const WriteBegin opened{1'000'000, writer.printed};
    CHECK_FALSE(is_log(opened, writer.files));
    writer.write(renames_each ? "model-1.pt" : "model.pt", 1000);
    CHECK_FALSE(is_log(opened, writer.files));
    writer.write("optimizer.pt", 1010);
    CHECK_FALSE(is_log(opened, writer.files));  // of the same save
    writer.print();
    writer.write(renames_each ? "model-2.pt" : "model.pt", 2000);
    CHECK(is_log(opened, writer.files));
    CHECK_FALSE(is_log({1'500'000'000, writer.printed}, writer.files));
  }
}

}  // namespace
}  // namespace tune
