// The wire between a driver and its agents: what is said is heard as it was said, in whatever
// pieces it comes, and anything else is refused.
#include "tuner/cluster/messages.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

Metrics some_metrics() { return parse_metrics(R"({"loss": 0.25, "name": "a", "n": {"k": 3}})"); }

LaunchSpec full_spec() {
  LaunchSpec spec;
  spec.argv = {"python3", "train.py", std::string("with\0nul", 8)};
  spec.environment = {"A=1"};
  spec.directory = "/shared/x y";
  spec.stdout_path = "/shared/out";
  spec.stderr_path = "/shared/err";
  spec.own_environment = {"TUNE_TRIAL_ID=trial_00001"};
  spec.preload = Preload{{"torch"}, 2, "/shared/preload.log", 30.5};
  spec.knows_socket = false;
  spec.rank = Rank{1, 4, 1, {{"cpu", 0.5}}, {"GPU-4f"}, LaunchId{7}};
  spec.node = 3;
  const CheckpointFiles files{"/shared", "c-1", false, {{"w", 1, 2, -3}}};
  spec.plain = PlainReading{.metrics = {{"loss", "loss=(.*)"}},
                            .closing = {"loss"},
                            .checkpoints = PlainWatch{"/shared",
                                                      "c-*",
                                                      "done",
                                                      {files},
                                                      {{"x", 4, 5, 6}},
                                                      10,
                                                      85,
                                                      SavedWhen::before_result,
                                                      {{"c-", SavedWhen::after_result}}},
                            .ahead = {{3, some_metrics(), 0.5}},
                            .begins_with_guess = true,
                            .restored = some_metrics(),
                            .counts = {"step 20"},
                            .earlier = ValueRange{0.25, 3},
                            .last = 0.5,
                            .is_unmonitored = true,
                            .stop_signal = 12,
                            .donor_logs = {"/shared/trial_00002/stdout.log"}};
  return spec;
}

std::vector<Message> one_of_each() {
  const LaunchId id{42};
  const CheckpointFiles files{"/shared", "c-1", true, {{"", 1, 2, 3}}};
  std::vector<Message> all = {
      Join{"0.1.0", {"oak", {{"cpu", 8}, {"gpu", 1}}, {"GPU-4f"}}, "agent-1", "text"},
      Join{"0.1.0", {}, "agent-1", "text", true},
      KeptLaunch{.launch = id,
                 .spec = full_spec(),
                 .started = {id, 4711, 99, 5},
                 .hello = protocol::Hello{.can_reset = true},
                 .trial = "trial_00003",
                 .attempt = 2,
                 .told = KeptLaunch::Told::save,
                 .iteration = 7,
                 .directory = "/shared/.checkpoint_000001.tmp-2",
                 .told_for_s = 0.5,
                 .is_done = true,
                 .has_ended = true,
                 .since = {SaveAnswered{id, 7, {}, 17}, Exited{id, 3}},
                 .found = {{id, 3, files, {}, true}}},
      HandedOver{},
      Left{"SIGTERM"},
      Renewal{1},
      Welcome{30, 2},
      TurnedAway{"no"},
      Launch{id, full_spec()},
      Launch{id, {}},
      Told{id, protocol::format(protocol::Step{4})},
      Signalled{id, 15},
      Renewed{1},
      Leave{}};
  const std::vector<LaunchEvent> events = {
      Launched{id, 4711, 99, 5, 29500},
      LaunchFailed{id, "no such program", true},
      Greeted{id, {.api = protocol::Api::function_api, .can_stay = true}},
      Refused{id, "why"},
      Reported{id, 3, some_metrics(), true, true, true, "c", 0.5, {"d"}, true},
      Reported{id, {}, {}, true},
      CheckpointFound{id,
                      3,
                      files,
                      {{3, some_metrics(), 1}},
                      true,
                      SavedWhen::after_result,
                      "c-",
                      {"step 20", "step 40"}},
      LaunchAdvisory{id, LaunchAdvisory::What::other_kind, "it prints"},
      SaveAnswered{id, 3, "disk full", 17},
      Faulted{id, "bad"},
      RanToEnd{id},
      Disconnected{id},
      Exited{id, 3, 9, "port", 2},
      Lost{id, "node"}};
  for (const LaunchEvent& event : events) all.push_back(Happened{event});
  return all;
}

std::string text_of(const Message& message) {
  std::string text;
  append_frame(text, {1, 2}, message);
  return text;
}

/// Of messages one after the other, fed in pieces of `piece` bytes.
std::vector<std::string> heard(const std::string& bytes, std::size_t piece) {
  FrameReader reader;
  reader.expect_large();
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(std::string_view(bytes).substr(at, piece));
    while (const auto frame = reader.next()) {
      CHECK(frame->id == FrameId{1, 2});
      messages.push_back(text_of(parse_message(frame->message)));
    }
  }
  return messages;
}

std::string frame_of(const std::string& body) {
  const auto length = static_cast<std::uint32_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&length), 4) + body;
}

}  // namespace

TEST_CASE("What is said on the wire is heard as it was said, in whatever pieces it comes",
          "[cluster][unit]") {
  std::string bytes;
  std::vector<std::string> said;
  for (const Message& message : one_of_each()) said.push_back(text_of(message));
  for (const std::string& each : said) bytes += each;
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{1000}, bytes.size()}) {
    CHECK(heard(bytes, piece) == said);
  }
}

TEST_CASE("A launch comes with all that it has", "[cluster][unit]") {
  FrameReader reader;
  reader.feed(text_of(Launch{LaunchId{42}, full_spec()}));
  const auto launch = std::get<Launch>(parse_message(reader.next()->message));
  CHECK(launch.launch == LaunchId{42});
  CHECK(launch.spec.argv[2].size() == 8);
  CHECK(launch.spec.directory == "/shared/x y");
  CHECK(launch.spec.preload->patience_s == 30.5);
  CHECK(launch.spec.rank->first == LaunchId{7});
  CHECK(launch.spec.node == 3);
  CHECK(launch.spec.plain->checkpoints->known.at(0).files.at(0).changed_ns == -3);
  CHECK(launch.spec.plain->ahead.at(0).metrics.find("n/k") == 3);
}

TEST_CASE("A message that is cut anywhere is refused, and so is one with more behind it",
          "[cluster][unit]") {
  for (const Message& message : one_of_each()) {
    FrameReader reader;
    const std::string frame = text_of(message);
    reader.feed(frame);
    const std::string body(reader.next()->message);
    for (std::size_t length = 0; length < body.size(); ++length) {
      CHECK_THROWS_AS(parse_message(std::string_view(body).substr(0, length)), WireError);
    }
    CHECK_THROWS_AS(parse_message(body + 'x'), WireError);
  }
}

TEST_CASE("A frame of 2 GB is refused by its length, before any of it is kept", "[cluster][unit]") {
  FrameReader reader;
  reader.feed(std::string("\xff\xff\xff\x7f", 4));
  CHECK_THROWS_WITH(reader.next(), "a frame of 2147483647 bytes");
  FrameReader joined;
  joined.expect_large();
  joined.feed(std::string("\xff\xff\xff\x7f", 4));
  CHECK_THROWS_AS(joined.next(), WireError);
}

TEST_CASE("Who has not joined says little", "[cluster][unit]") {
  const std::string frame = text_of(Left{std::string(most_first_frame_bytes, 'x')});
  FrameReader stranger;
  stranger.feed(frame);
  CHECK_THROWS_AS(stranger.next(), WireError);
  FrameReader joined;
  joined.expect_large();
  joined.feed(frame);
  CHECK(joined.next());
}

TEST_CASE("A frame of another wire, without a header, or of no known kind is refused",
          "[cluster][unit]") {
  const auto next_of = [](const std::string& bytes) {
    FrameReader reader;
    reader.feed(bytes);
    return reader.next();
  };
  CHECK_THROWS_WITH(next_of(frame_of(std::string(13, '\x02'))), "version 2 of the wire");
  CHECK_THROWS_WITH(next_of(frame_of("")), "a frame without a header");
  CHECK_THROWS_WITH(parse_message("\xee"), "a message is of a kind that is not known");
  // A list that says it is long takes no memory before it is there.
  std::string launch;
  append_frame(launch, {1, 2}, Launch{});
  std::string body = launch.substr(4 + 13);
  body.replace(9, 4, "\xff\xff\xff\xff");
  CHECK_THROWS_AS(parse_message(body), WireError);
}

TEST_CASE("The version in a Join is read whatever else is in it", "[cluster][unit]") {
  FrameReader reader;
  reader.feed(text_of(Join{.version = "9.9"}));
  std::string body(reader.next()->message);
  CHECK(version_in(body + "more of a later version") == "9.9");
  CHECK_FALSE(version_in("\x03"));
  CHECK_FALSE(version_in(""));
}
