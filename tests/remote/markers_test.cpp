#include "tuner/remote/markers.h"

#include <cstdint>
#include <limits>

#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/disk/checksum.h"
#include "tuner/journal/journal.h"

namespace tune {

namespace {

using Catch::Matchers::Contains;

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
  check_damage(to_text(a_state()),
               [](const std::string& text) { return parse_state_marker(text); });
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
  CHECK(checkpoint->tree.files.at(1).path == "weights");
  CHECK(checkpoint->bytes() == 13 + std::string(manifest).size());
  CHECK(parse_remote_lease(to_text(a_lease()))->is_released);
}

TEST_CASE("A marker whose parts leave a hole, or names that lead elsewhere, does not count") {
  StateMarker state = a_state();
  state.files[1].parts[1].begin = 99;
  CHECK_FALSE(parse_state_marker(to_text(state)));
  state = a_state();
  state.files[1].parts[1].end = 99;
  CHECK_FALSE(parse_state_marker(to_text(state)));
  state = a_state();
  state.files[1].parts[1].end = std::numeric_limits<std::uint64_t>::max();
  CHECK_FALSE(parse_state_marker(to_text(state)));
  state.files[1].parts[1].end = 100 + most_part_bytes + 1;
  CHECK_FALSE(parse_state_marker(to_text(state)));
  state.files[1].parts[1].end = 100 + most_part_bytes;
  CHECK(parse_state_marker(to_text(state)));
  for (const char* const name : {"../LOCK", "/etc/passwd", "a/../../b", ""}) {
    INFO(name);
    state = a_state();
    state.files[0].name = name;
    CHECK_FALSE(parse_state_marker(to_text(state)));
    CheckpointMarker checkpoint = a_checkpoint();
    checkpoint.tree.files[0].path = name;
    CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
    checkpoint = a_checkpoint();
    checkpoint.directory = name;
    CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
  }
}

TEST_CASE("The state is of files that a driver has, in parts that are named after them") {
  for (const char* const name :
       {"LOCK", "trial_00000/result.json", "remote/uploaded.jsonl", ".bashrc", "journal-07.jsonl",
        "experiment.json.x", "state", "notes.txt"}) {
    INFO(name);
    StateMarker state = a_state();
    state.files[0].name = name;
    state.files[0].parts[0].name = std::string(name) + ".0-aa";
    CHECK_FALSE(parse_state_marker(to_text(state)));
  }
  for (const char* const name :
       {"CURRENT", "CURRENT.0-", "CURRENT.1-aa", "CURRENT.0-aa/x", "../CURRENT.0-aa",
        "CURRENT.0-..", "CURRENT.0-AA", "journal-7.jsonl.0-bb", "CURRENT.0-a\na",
        "COMMIT-000002-000000000017.json"}) {
    INFO(name);
    StateMarker state = a_state();
    state.files[0].parts[0].name = name;
    CHECK_FALSE(parse_state_marker(to_text(state)));
  }
  StateMarker state = a_state();
  state.files.push_back(state.files[0]);
  CHECK_FALSE(parse_state_marker(to_text(state)));
}

TEST_CASE("A marker is of what its name says, and of nothing else") {
  CHECK(parse_state_marker(to_text(a_state()), {2, 17}));
  CHECK_FALSE(parse_state_marker(to_text(a_state()), {2, 18}));
  CHECK_FALSE(parse_state_marker(to_text(a_state()), {3, 17}));
  for (const char* const directory :
       {"trial_00003/checkpoint_000002.3f9c", "trial_00004/checkpoint_000001.3f9c",
        "trial_00003/checkpoint_000001", "trial_00003", "3/checkpoint_000001.3f9c",
        "trial_00003/checkpoint_000001.3f9c/.."}) {
    INFO(directory);
    CheckpointMarker checkpoint = a_checkpoint();
    checkpoint.directory = directory;
    CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
  }
}

TEST_CASE("A marker whose links lead out together does not count") {
  CheckpointMarker checkpoint = a_checkpoint();
  checkpoint.tree.links = {{"a/b/c/d/f", "../../../../e"}, {"a/b/c/d/f/out", "../../../../../"}};
  CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
  checkpoint.tree.links = {{"in", "layers"}, {"out", "in/../../x"}};
  CHECK_FALSE(parse_checkpoint_marker(to_text(checkpoint)));
  checkpoint.tree.links = {{"in", "layers"}, {"out", "in/../weights"}};
  CHECK(parse_checkpoint_marker(to_text(checkpoint)));
}

TEST_CASE("Counts, times and leases that no driver writes are not reckoned with") {
  const auto most = std::numeric_limits<std::int64_t>::max();
  StateMarker state = a_state();
  SECTION("a session") { state.session = most; }
  SECTION("a session before the first") { state.session = -1; }
  SECTION("a number") { state.number = most_session + 1; }
  SECTION("a time") { state.time = 1e300; }
  SECTION("a time before all others") { state.time = -1; }
  CHECK_FALSE(parse_state_marker(to_text(state)));
}

TEST_CASE("A lease that cannot be reckoned with is none") {
  RemoteLease lease = a_lease();
  SECTION("no driver comes to the session") {
    lease.session = std::numeric_limits<std::int64_t>::max();
  }
  SECTION("nor to so many renewals") { lease.renewals = std::numeric_limits<std::int64_t>::max(); }
  SECTION("it would be waited for without an end") { lease.lease_s = 1e300; }
  SECTION("it is shorter than nothing") { lease.lease_s = -1; }
  SECTION("its time is in no calendar") { lease.time = 1e300; }
  SECTION("it is too long to be read") { lease.host = std::string(most_lease_bytes, 'x'); }
  CHECK_FALSE(parse_remote_lease(to_text(lease)));
}

TEST_CASE("A marker that is nested too deeply, or too long, is not understood") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK_FALSE(parse_remote_lease(line_of(R"({"lease":1,"experiment":)" + deep + "}")));
  CHECK_FALSE(parse_state_marker(line_of(R"({"state":1,"files":)" + deep + "}")));
  CHECK_FALSE(parse_checkpoint_marker(line_of(R"({"checkpoint":1,"files":)" + deep + "}")));
  std::string state = to_text(a_state());
  state.insert(state.size() - 2, std::string(most_state_marker_bytes, ' '));
  state.pop_back();
  CHECK_FALSE(parse_state_marker(line_of(state.substr(17))));
}

TEST_CASE(
    "A manifest is the marked one, of that checkpoint, and names what a checkpoint can have") {
  CHECK_FALSE(wrong_manifest(a_checkpoint(), manifest));
  const auto wrong = [](std::string text) {
    CheckpointMarker marker = a_checkpoint();
    marker.manifest_bytes = text.size();
    const ChecksumDigits digits = checksum(text);
    marker.manifest_xxh3 = {digits.begin(), digits.end()};
    return wrong_manifest(marker, text).value_or("nothing");
  };
  CHECK(wrong(manifest) == "nothing");
  CHECK_THAT(wrong_manifest(a_checkpoint(), std::string(manifest) + " ").value_or("nothing"),
             Contains("is missing, or has changed"));
  CHECK_THAT(wrong(R"({"manifest":1,"trial_id":"trial_00003","index":2,"files":[]})"),
             Contains("is that of another one"));
  CHECK_THAT(wrong("7"), Contains("is that of another one, or none"));
  CHECK_THAT(wrong(R"({"files":[{"path":7}]})"), Contains("does not say what it must"));
  CHECK_THAT(wrong(R"({"files":[],"links":[{"path":"out","target":".."}]})"),
             Contains("the link 'out' leads out of it"));
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
       {"COMMIT-2.json", "COMMIT-2-3.jso", "journal-7.jsonl.0-aa", "COMMIT--.json",
        "COMMIT-2-17.json", "COMMIT-000002-17.json", "COMMIT--00002-000000000017.json",
        "COMMIT-000002-000000000017.json.json", "COMMIT-9223372036854775807-000000000017.json"}) {
    CHECK_FALSE(parse_state_marker_name(other));
  }
  CHECK(parse_checkpoint_marker_name("trial_00003/checkpoint_000001.3f9c.COMMIT.json") ==
        CheckpointRef{TrialId{3}, 1});
  for (const char* const other :
       {"trial_00003/checkpoint_000001.3f9c/COMMIT.json.x", "checkpoint_000001.3f9c.COMMIT.json",
        "trial_00003/result.json", "3/checkpoint_000001.3f9c.COMMIT.json",
        "trial_00003/checkpoint_000001.COMMIT.json",
        "trial_00003/checkpoint_000001.x.COMMIT.json"}) {
    CHECK_FALSE(parse_checkpoint_marker_name(other));
  }
}

TEST_CASE("A marker and its manifest list the same files and links, and one file at least") {
  CHECK_FALSE(wrong_manifest(a_checkpoint(), manifest));
  using Change = void (*)(DescribedTree&);
  for (const Change change :
       {Change([](DescribedTree& tree) { tree.links.clear(); }), Change([](DescribedTree& tree) {
          tree.links.push_back({"x", "y"});
        }),
        Change([](DescribedTree& tree) { tree.links[0].target = "layers"; }),
        Change([](DescribedTree& tree) { tree.files.pop_back(); }),
        Change([](DescribedTree& tree) { tree.files[0].bytes = 4; })}) {
    CheckpointMarker marker = a_checkpoint();
    change(marker.tree);
    CHECK(wrong_manifest(marker, manifest) ==
          "trial_00003/checkpoint_000001.3f9c/manifest.json "
          "lists other files than its marker");
  }
  const std::string empty = R"({"manifest":1,"trial_id":"trial_00003","index":1,"attempt":2,
"iteration":10,"bytes":0,"files":[]})";
  const auto marker = marker_of({TrialId{3}, 1}, "trial_00003/checkpoint_000001.3f9c", empty);
  CHECK(wrong_manifest(marker, empty) ==
        "trial_00003/checkpoint_000001.3f9c/manifest.json lists no file");
}

TEST_CASE("A manifest that does not say what it must makes no marker") {
  for (const char* const text : {"", "{}", "{\"attempt\":1}", "{\"attempt\":1,\"files\":[{}]}"}) {
    CHECK_THROWS_AS(marker_of({TrialId{3}, 1}, "d", text), Error);
  }
}

}  // namespace tune
