#include "tuner/remote/markers.h"

#include "tests/support/catch.h"
#include "tuner/core/error.h"
#include "tuner/store/journal.h"

namespace tune {

namespace {

StateMarker a_state() {
  return {.experiment = "0123456789abcdef",
          .session = 2,
          .number = 17,
          .host = "pine",
          .time = 1795255200.5,
          .files = {{"CURRENT", {{"CURRENT.0-aa", 0, 2, "78af5f94892f3950"}}},
                    {"journal-7.jsonl",
                     {{"journal-7.jsonl.0-bb", 0, 100, "78af5f94892f3950"},
                      {"journal-7.jsonl.100-cc", 100, 120, "6de3431b05f7c11f"}}}}};
}

constexpr const char* manifest = R"({"manifest":1,"trial_id":"trial_00003","index":1,"attempt":2,
"iteration":10,"bytes":13,"files":[{"path":"layers/bias","bytes":3,"xxh3":"78af5f94892f3950"},
{"path":"weights","bytes":10,"xxh3":"6de3431b05f7c11f"}],"links":[{"path":"last","target":"weights"}]})";

CheckpointMarker a_checkpoint() {
  return marker_of({TrialId{3}, 1}, "trial_00003/checkpoint_000001.3f9c", manifest);
}

RemoteLease a_lease() {
  return {.experiment = "0123456789abcdef",
          .owner = "ff",
          .session = 2,
          .host = "pine",
          .pid = 4711,
          .time = 5,
          .lease_s = 60,
          .renewals = 3,
          .is_released = true};
}

std::string line_of(const std::string& text) {
  std::string line;
  append_journal_line(line, text);
  return line;
}

/// Every way to cut it off, and every bit of it flipped.
template <class Parse>
void check_damage(const std::string& text, const Parse& parse) {
  REQUIRE(parse(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    INFO("cut to " << size);
    CHECK_FALSE(parse(text.substr(0, size)));
  }
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    INFO("bit " << bit);
    CHECK_FALSE(parse(flipped));
  }
}

}  // namespace

TEST_CASE("A marker that was cut off, or has any bit flipped, does not count") {
  check_damage(to_text(a_state()), parse_state_marker);
  check_damage(to_text(a_checkpoint()), parse_checkpoint_marker);
  check_damage(to_text(a_lease()), parse_remote_lease);
}

TEST_CASE("A marker says what it was given") {
  const auto state = parse_state_marker(to_text(a_state()));
  REQUIRE(state);
  CHECK(to_text(*state) == to_text(a_state()));
  CHECK(state->files.at(1).bytes() == 120);
  const auto checkpoint = parse_checkpoint_marker(to_text(a_checkpoint()));
  REQUIRE(checkpoint);
  CHECK(checkpoint->attempt == 2);
  CHECK(checkpoint->files.at(1).path == "weights");
  CHECK(checkpoint->bytes() == 13 + std::string(manifest).size());
  CHECK(parse_remote_lease(to_text(a_lease()))->is_released);
}

TEST_CASE("A marker whose parts leave a hole, or names that lead elsewhere, does not count") {
  StateMarker state = a_state();
  state.files[1].parts[1].begin = 99;
  CHECK_FALSE(parse_state_marker(to_text(state)));
  for (const char* const name : {"../LOCK", "/etc/passwd", "a/../../b", ""}) {
    INFO(name);
    state = a_state();
    state.files[0].name = name;
    CHECK_FALSE(parse_state_marker(to_text(state)));
    CheckpointMarker checkpoint = a_checkpoint();
    checkpoint.files[0].path = name;
    CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
    checkpoint = a_checkpoint();
    checkpoint.directory = name;
    CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
  }
}

TEST_CASE("A marker of a newer format is refused with both numbers") {
  CHECK_THROWS_WITH(
      parse_state_marker(line_of(R"({"state":2})")),
      "what is on the remote has format 2 of state, this program understands up to 1: "
      "use a newer one");
}

TEST_CASE("The names of markers say what they are of, and in which order they count") {
  CHECK(state_marker_name(2, 17) == "state/COMMIT-000002-000000000017.json");
  const auto parsed = parse_state_marker_name("COMMIT-000002-000000000017.json");
  REQUIRE(parsed);
  CHECK(*parsed > StateMarkerName{1, 99});
  CHECK(*parsed > StateMarkerName{2, 16});
  for (const char* const other :
       {"COMMIT-2.json", "COMMIT-2-3.jso", "journal-7.jsonl.0-aa", "COMMIT--.json"}) {
    CHECK_FALSE(parse_state_marker_name(other));
  }
  CHECK(parse_checkpoint_marker_name("trial_00003/checkpoint_000001.3f9c.COMMIT.json") ==
        CheckpointRef{TrialId{3}, 1});
  for (const char* const other :
       {"trial_00003/checkpoint_000001.3f9c/COMMIT.json.x", "checkpoint_000001.3f9c.COMMIT.json",
        "trial_00003/result.json"}) {
    CHECK_FALSE(parse_checkpoint_marker_name(other));
  }
}

TEST_CASE("A manifest that does not say what it must makes no marker") {
  for (const char* const text : {"", "{}", "{\"attempt\":1}", "{\"attempt\":1,\"files\":[{}]}"}) {
    CHECK_THROWS_AS(marker_of({TrialId{3}, 1}, "d", text), Error);
  }
}

}  // namespace tune
