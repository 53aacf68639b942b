#include "apps/dashboard/server/changes.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

ChangedRow row(std::uint32_t trial, const std::string& text) {
  return {trial, std::make_shared<const std::string>(text)};
}

Changes changes(std::uint64_t event, std::vector<ChangedRow> rows) {
  return {.event = event,
          .status = "{}",
          .columns = R"(["a"])",
          .rows = std::move(rows),
          .is_reset = false,
          .gone = ""};
}

TEST_CASE("a slow page is told the newest of each trial, once", "[dashboard_changes]") {
  PendingChanges pending;
  CHECK(pending.take_frame().empty());
  pending.add(changes(1, {row(0, "[1]"), row(1, "[2]")}));
  pending.add(changes(2, {row(0, "[3]")}));
  CHECK(pending.take_frame() ==
        "event: rows\nid: 2\ndata: "
        "{\"event\":2,\"status\":{},\"columns\":[\"a\"],\"rows\":[[3],[2]],\"more\":false}\n\n");
  CHECK(pending.take_frame().empty());
  pending.add(changes(2, {}));
  CHECK(pending.take_frame().empty());
}

TEST_CASE("a frame is bounded, and says that more follows", "[dashboard_changes]") {
  PendingChanges pending;
  const std::string text = "[\"" + std::string(1'000, 'x') + "\"]";
  std::vector<ChangedRow> rows;
  for (std::uint32_t trial = 0; trial < 200; ++trial) rows.push_back(row(trial, text));
  pending.add(changes(7, rows));
  std::size_t frames = 0, told = 0;
  for (std::string frame = pending.take_frame(); !frame.empty(); frame = pending.take_frame()) {
    CHECK(frame.size() <= PendingChanges::most_frame_bytes);
    const bool has_more = frame.find("\"more\":true") != std::string::npos;
    CHECK(has_more != pending.is_empty());
    for (std::size_t at = frame.find('x'); at != std::string::npos; at = frame.find("\"x", at + 2))
      ++told;
    ++frames;
  }
  CHECK(frames == 4);
  CHECK(told == 200);
}

TEST_CASE("what would be too much, or fits into no frame, is a reset", "[dashboard_changes]") {
  PendingChanges many;
  for (std::uint32_t trial = 0; trial <= PendingChanges::most_rows; ++trial) {
    many.add(changes(trial + 1, {row(trial, "[1]")}));
  }
  CHECK(many.take_frame().starts_with("event: reset\n"));
  CHECK(many.take_frame().empty());
  PendingChanges large;
  large.add(changes(1, {row(0, std::string(PendingChanges::most_frame_bytes, 'x'))}));
  CHECK(large.take_frame().starts_with("event: reset\n"));
  CHECK(large.take_frame().empty());
}

TEST_CASE("why an experiment is gone is told once", "[dashboard_changes]") {
  PendingChanges pending;
  Changes gone = changes(0, {});
  gone.gone = R"({"problem":"it was removed"})";
  pending.add(gone);
  CHECK(pending.take_frame() == "event: gone\nid: 0\ndata: {\"problem\":\"it was removed\"}\n\n");
  pending.add(gone);
  CHECK(pending.take_frame().empty());
}

}  // namespace
}  // namespace tune
