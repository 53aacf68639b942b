// The event files of one trial: which points stand in them after cuts, kills and repairs.
#include "callbacks/event_files.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "callbacks/tensorboard_event.h"
#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;
using namespace tune::testing;

namespace {

std::string point(int iteration, double loss) {
  std::string record;
  tensorboard::append_scalars(record,
                              result_of(iteration, "{\"loss\":" + std::to_string(loss) + "}"));
  return record;
}

std::string point(int iteration) { return point(iteration, iteration); }

std::string points(int first, int last) {
  std::string records;
  for (int i = first; i <= last; ++i) records += point(i);
  return records;
}

std::string start_record() {
  std::string record;
  tensorboard::append_session_start(record, 1700000000, R"({"lr":1})");
  return record;
}

std::string end_record() {
  std::string record;
  tensorboard::append_session_end(record, 1700000100, true);
  return record;
}

/// The files of a directory that TensorBoard would read, in its order.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const bool is_read = entry.path().filename().string().find("tfevents") != std::string::npos;
    if (is_read) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What is in the files, a word a record: steps of points, "v", "start", "end", "<3" for a restart
/// at 3; "|" between files, "?" for what is no record.
std::string told_by(const std::filesystem::path& directory) {
  std::string text;
  for (const auto& file : files_in(directory)) {
    if (!text.empty()) text += "| ";
    const std::string bytes = read(file);
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const auto record = tensorboard::read_record(rest);
      if (!record) return text + "?";
      const std::string own(rest.substr(0, record->size));
      if (record->kind == tensorboard::Kind::scalars) {
        const bool is_own = own == point(static_cast<int>(record->step));
        text += std::to_string(record->step) + (is_own ? " " : "' ");
      } else if (own == start_record()) {
        text += "start ";
      } else if (own == end_record()) {
        text += "end ";
      } else if (own.find("brain.Event:2") != std::string::npos) {
        text += "v ";
      } else {
        text += "<" + std::to_string(record->step) + " ";
      }
      rest.remove_prefix(record->size);
    }
  }
  return text;
}

/// The points alone.
std::string points_in(const std::filesystem::path& directory) {
  std::string points;
  std::string word;
  for (const char c : told_by(directory)) {
    word += c;
    if (c != ' ') continue;
    if (word.find_first_not_of("0123456789' ") == std::string::npos) points += word;
    word.clear();
  }
  return points;
}

struct Place {
  TemporaryDirectory directory;
  std::filesystem::path trial = directory.path() / "trial_00000";
  std::string path = (trial / "events.out.tfevents").string();
};

}  // namespace

TEST_CASE("An event file begins with its version, a restart and the config",
          "[callbacks][tensorboard]") {
  const Place place;
  EventFiles files;
  files.append(place.path, start_record(), "");
  CHECK(files_in(place.trial).empty());
  files.append(place.path, "", points(1, 2));
  files.append(place.path, "", point(3));
  files.append(place.path, "", end_record());
  CHECK(told_by(place.trial) == "v <1 start 1 2 3 end ");
  CHECK(files.written(place.path) == std::vector<std::string>(3, place.path + ".000001"));
  CHECK(files.written(place.path).empty());
}

TEST_CASE("A cut event file never grows again, and the next one makes readers forget",
          "[callbacks][tensorboard]") {
  const Place place;
  EventFiles files;
  files.append(place.path, start_record(), points(1, 6));
  files.cut(place.path, 3);
  CHECK(told_by(place.trial) == "v <1 start 1 2 3 ");
  files.append(place.path, start_record(), point(4, 0.5));
  CHECK(told_by(place.trial) == "v <1 start 1 2 3 | v <4 start 4' ");
  files.cut(place.path, 2);
  CHECK(told_by(place.trial) == "v <1 start 1 2 | v <4 start ");
  files.append(place.path, "", point(3));
  CHECK(told_by(place.trial) == "v <1 start 1 2 | v <4 start | v <3 start 3 ");
  files.cut(place.path, 0);
  files.append(place.path, "", point(1, 0.5));
  CHECK(points_in(place.trial) == "1' ");
}

TEST_CASE("A trial that goes on where its event file ends goes on in it",
          "[callbacks][tensorboard]") {
  const Place place;
  EventFiles files;
  files.append(place.path, start_record(), points(1, 3));
  files.cut(place.path, 3);
  files.append(place.path, start_record(), "");
  files.append(place.path, "", points(4, 5));
  CHECK(told_by(place.trial) == "v <1 start 1 2 3 4 5 ");
}

TEST_CASE("A trial that goes on after its end has an event file without that end",
          "[callbacks][tensorboard]") {
  const Place place;
  EventFiles().append(place.path, start_record(), points(1, 2) + end_record());
  EventFiles files;
  files.append(place.path, "", end_record());
  CHECK(told_by(place.trial) == "v <1 start 1 2 end ");
  files.cut(place.path, 2);
  CHECK(told_by(place.trial) == "v <1 start 1 2 ");
  files.append(place.path, "", point(3) + end_record());
  CHECK(told_by(place.trial) == "v <1 start 1 2 | v <3 3 end ");
}

TEST_CASE("A torn tail of an event file is cut off by the next driver, at every length",
          "[callbacks][tensorboard]") {
  std::string full;
  {
    const Place place;
    EventFiles().append(place.path, start_record(), points(1, 3));
    full = read(place.path + ".000001");
  }
  for (std::size_t length = 0; length <= full.size(); ++length) {
    const Place place;
    write(place.path + ".000001", full.substr(0, length));
    EventFiles files;
    files.cut(place.path, 2);
    files.mend(place.path, "", points(1, 2));
    files.append(place.path, start_record(), point(3, 0.5));
    REQUIRE(points_in(place.trial) == "1 2 3' ");
    REQUIRE(told_by(place.trial).find('?') == std::string::npos);
  }
}

TEST_CASE("An event file full of zeros, as a power loss leaves one, costs what was in it only",
          "[callbacks][tensorboard]") {
  const Place place;
  write(place.path + ".000001", std::string(4096, '\0'));
  EventFiles files;
  files.mend(place.path, start_record(), points(1, 2));
  CHECK(points_in(place.trial) == "1 2 ");
  CHECK(read(place.path + ".000001").empty());
}

TEST_CASE("Event files are mended from any end of the driver to each point once",
          "[callbacks][tensorboard]") {
  // Results that count: 1 to 8. Written by then: some of them, and maybe one that does not count.
  const auto replay = [](const Place& place, int first) {
    EventFiles files;
    files.mend(place.path, "", points(first, 5));
    files.mend(place.path, "", points(6, 7));
    files.mend(place.path, "", point(8));
    files.cut(place.path, 8);
  };
  for (int there = 0; there <= 9; ++there) {
    for (int first = 1; first <= std::min(there + 1, 5); ++first) {
      const Place place;
      EventFiles files;
      const int before = std::min(there, 4);
      files.append(place.path, start_record(), points(1, before));
      files.cut(place.path, std::min(before, 2));
      files.append(place.path, "", points(std::min(before, 2) + 1, there));
      const bool is_right = there == 8;
      const auto last = is_right ? files_in(place.trial).back() : std::filesystem::path();
      const auto untouched = is_right ? read(last) : "";
      replay(place, first);
      REQUIRE(points_in(place.trial) == "1 2 3 4 5 6 7 8 ");
      if (is_right) CHECK(files_in(place.trial).back() == last);
      if (is_right) CHECK(read(last) == untouched);
    }
  }
}

TEST_CASE("Event files are mended where points differ, are missing, or are too many",
          "[callbacks][tensorboard]") {
  const std::vector<std::string> found = {points(1, 2) + point(3, 0.5) + point(4),
                                          points(1, 2) + point(4),
                                          point(2) + points(4, 9),
                                          points(1, 4) + end_record(),
                                          points(1, 3) + end_record(),
                                          points(5, 6)};
  for (const auto& records : found) {
    const Place place;
    EventFiles().append(place.path, start_record(), records);
    EventFiles files;
    files.mend(place.path, "", points(1, 4));
    files.cut(place.path, 4);
    files.append(place.path, "", end_record());
    REQUIRE(points_in(place.trial) == "1 2 3 4 ");
    REQUIRE(told_by(place.trial).ends_with("end "));
  }
}

TEST_CASE("Event files replay a trial that was rewound to the points that count",
          "[callbacks][tensorboard]") {
  const std::string second_life = point(3, 0.5) + point(4, 0.5);
  for (const auto& there :
       {points(1, 5), points(1, 2) + second_life, std::string(), points(1, 2)}) {
    const Place place;
    if (!there.empty()) EventFiles().append(place.path, start_record(), there);
    EventFiles files;
    files.mend(place.path, "", points(1, 5));
    files.mend(place.path, "", second_life);
    files.cut(place.path, 4);
    REQUIRE(points_in(place.trial) == "1 2 3' 4' ");
  }
}

TEST_CASE("An event file that somebody deletes is begun anew, and one longer than known is cut",
          "[callbacks][tensorboard]") {
  const Place place;
  EventFiles files;
  files.append(place.path, start_record(), points(1, 2));
  write(place.path + ".000001", read(place.path + ".000001") + "torn");
  files.append(place.path, "", point(3));
  CHECK(told_by(place.trial) == "v <1 start 1 2 3 ");
  std::filesystem::remove(place.path + ".000001");
  files.append(place.path, "", point(4));
  CHECK(told_by(place.trial) == "v <4 start 4 ");
}

TEST_CASE("An event file takes a record whole or not at all on a full disk",
          "[callbacks][tensorboard]") {
  const Place place;
  EventFiles files;
  {
    const FileLimit full(0);
    CHECK_THROWS_AS(files.append(place.path, start_record(), point(1)), Error);
    CHECK_THROWS_AS(files.append(place.path, start_record(), point(1)), Error);
  }
  files.append(place.path, start_record(), point(1));
  const auto size = read(place.path + ".000001").size();
  {
    const FileLimit full(size + 10);
    CHECK_THROWS_AS(files.append(place.path, "", points(2, 3)), Error);
  }
  CHECK(read(place.path + ".000001").size() == size);
  files.append(place.path, "", points(2, 3));
  CHECK(told_by(place.trial) == "v <1 start 1 2 3 ");
}

TEST_CASE("A long event file is looked through in pieces", "[callbacks][tensorboard]") {
  const Place place;
  EventFiles().append(place.path, start_record(), points(1, 20'000));
  EventFiles files;
  files.cut(place.path, 19'990);
  files.mend(place.path, "", points(19'985, 19'992));
  EventFiles again;
  again.mend(place.path, "", points(5, 19'992));
  CHECK(files_in(place.trial).size() == 2);
  CHECK(points_in(place.trial).ends_with(" 19989 19990 19991 19992 "));
}

TEST_CASE("A stand-in of event files is a directory of its own, with nothing of other trials",
          "[callbacks][tensorboard]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trial_00003.events.out.tfevents";
  EventFiles files;
  files.append(path, start_record(), point(1));
  CHECK(told_by(path) == "v <1 start 1 ");
  CHECK_FALSE(files.remove_if_empty(path));
  const std::string other = directory / "trial_00004.events.out.tfevents";
  {
    const FileLimit full(0);
    CHECK_THROWS_AS(files.append(other, start_record(), point(1)), Error);
  }
  CHECK(files.remove_if_empty(other));
  CHECK_FALSE(std::filesystem::exists(other));
}
