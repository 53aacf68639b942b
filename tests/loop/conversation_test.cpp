// Every pair of a conversation's state and what can happen in it, and the way out.
#include "tuner/loop/conversation.h"

#include <csignal>
#include <random>
#include <set>

#include "tests/support/catch.h"

using namespace tune;

namespace {

using State = Conversation::State;
using Urge = Conversation::Urge;

/// Keeps what a conversation does to the world as a line of words.
class Notes : public Conversation::Link {
 public:
  LaunchId launch(Conversation&, LaunchSpec) override {
    did += "launch ";
    live.insert(++last);
    return LaunchId{last};
  }
  void send(LaunchId, protocol::Command command) override {
    if (const auto* start = std::get_if<protocol::Start>(&command)) {
      did += start->reset ? "reset " : "start ";
      ranks.push_back(start->rank);
    }
    if (std::holds_alternative<protocol::Step>(command)) did += "step ";
    if (std::holds_alternative<protocol::Save>(command)) did += "save ";
    if (std::holds_alternative<protocol::Stop>(command)) did += "stop ";
  }
  void signal(LaunchId, int signal) override { did += signal == SIGKILL ? "kill " : "term "; }
  void forget(LaunchId launch) override { live.erase(static_cast<std::uint64_t>(launch)); }
  void remind(Conversation&, Seconds) override {}
  Seconds steady() const override { return now; }

  std::string take() { return std::exchange(did, ""); }

  std::string did;
  std::vector<int> ranks;
  std::set<std::uint64_t> live;
  std::uint64_t last = 0;
  Seconds now = 100;
};

protocol::Hello hello(bool can_reset = true, bool refused = false) {
  protocol::Hello said;
  said.can_reset = can_reset;
  said.reset_refused = refused;
  return said;
}

struct World {
  explicit World(std::size_t processes = 1) : n(processes) {}

  std::vector<LaunchSpec> specs() const { return std::vector<LaunchSpec>(n); }
  LaunchId only() const { return LaunchId{*notes.live.begin()}; }
  void all_greet(bool refused = false) {
    for (const auto id : std::set(notes.live)) {
      heard = talk.hear(Greeted{LaunchId{id}, hello(true, refused)});
    }
  }

  /// Brings it there by what is said on the way.
  void go_to(State state) {
    if (state == State::none) return;
    talk.begin(specs(), {});
    if (state == State::launching) {
      notes.did.clear();
      return;
    }
    all_greet();
    if (state == State::stepping) talk.step();
    if (state == State::saving) talk.save("/aside");
    if (state == State::leaving) talk.leave(Urge::asked);
    if (state == State::lost) {
      talk.leave(Urge::killed);
      (void)talk.be_late();
    }
    if (state == State::idle || state == State::resetting || state == State::replacing) {
      talk.park();
    }
    if (state == State::resetting || state == State::replacing) talk.begin(specs(), {});
    if (state == State::replacing) {
      (void)talk.hear(Greeted{only(), hello(false, true)});
    }
    REQUIRE(talk.state() == state);
    notes.did.clear();
  }

  std::size_t n;
  Notes notes;
  Conversation talk{notes, {.launch_s = 60, .answer_s = 30, .leave_s = 10, .kill_s = 60}, {}};
  Conversation::Heard heard;
};

const std::vector<State> states{
    State::none,     State::launching, State::resetting, State::replacing, State::ready,
    State::stepping, State::saving,    State::idle,      State::leaving,   State::lost};

std::string word(const Conversation::Heard& heard) {
  static constexpr const char* words[] = {"",      "started", "ready",   "stepped",
                                          "saved", "failed",  "overdue", "gone"};
  return words[heard.index()];
}

/// What is heard of each message in a state, and what the state becomes: "ready>ready" is Ready,
/// then State::ready.
struct Row {
  State state;
  std::string greeted, refused, reported, saved, faulted, disconnected, exited, late;
};

const std::vector<Row> table{
    {State::launching, "ready>ready", "failed>launching", "failed>launching", "failed>launching",
     "failed>launching", ">launching", "gone>none", "overdue>launching"},
    {State::resetting, "ready>ready", ">replacing", "failed>resetting", "failed>resetting",
     "failed>resetting", ">resetting", "gone>none", "overdue>resetting"},
    {State::replacing, ">replacing", ">replacing", ">replacing", ">replacing", ">replacing",
     ">replacing", ">launching", ">replacing"},
    {State::ready, "failed>ready", "failed>ready", "failed>ready", "failed>ready", "failed>ready",
     ">ready", "gone>none", "overdue>ready"},
    {State::stepping, "failed>stepping", "failed>stepping", "stepped>ready", "failed>stepping",
     "failed>stepping", ">stepping", "gone>none", "overdue>stepping"},
    {State::saving, "failed>saving", "failed>saving", "failed>saving", "saved>ready",
     "failed>saving", ">saving", "gone>none", "overdue>saving"},
    {State::idle, ">leaving", ">leaving", ">leaving", ">leaving", ">leaving", ">idle", "gone>none",
     ">leaving"},
    {State::leaving, ">leaving", ">leaving", ">leaving", ">leaving", ">leaving", ">leaving",
     "gone>none", ">leaving"},
    {State::lost, ">lost", ">lost", ">lost", ">lost", ">lost", ">lost", "gone>none", ">lost"},
};

}  // namespace

TEST_CASE("Every message in every state has one meaning", "[conversation]") {
  for (const Row& row : table) {
    const auto check = [&](const std::string& expected, const char* what, auto happen) {
      World world;
      world.go_to(row.state);
      const auto heard = happen(world);
      CAPTURE(to_string(row.state), what);
      CHECK(word(heard) + ">" + to_string(world.talk.state()) == expected);
    };
    check(row.greeted, "hello", [](World& w) { return w.talk.hear(Greeted{w.only(), hello()}); });
    check(row.refused, "reset refused", [](World& w) {
      return w.talk.hear(Greeted{w.only(), hello(false, true)});
    });
    check(row.reported, "result", [](World& w) {
      Reported reported{.launch = w.only()};
      return w.talk.hear(reported);
    });
    check(row.saved, "saved", [](World& w) { return w.talk.hear(SaveAnswered{w.only(), {}}); });
    check(row.faulted, "error", [](World& w) { return w.talk.hear(Faulted{w.only(), "oh"}); });
    check(row.disconnected, "disconnected",
          [](World& w) { return w.talk.hear(Disconnected{w.only()}); });
    check(row.exited, "exited", [](World& w) { return w.talk.hear(Exited{w.only(), 1, 0}); });
    check(row.late, "late", [](World& w) { return w.talk.be_late(); });
  }
}

TEST_CASE("Whoever refuses a reset that was not asked of it is not replaced", "[conversation]") {
  World world;
  world.go_to(State::launching);
  const auto heard = world.talk.hear(Greeted{world.only(), hello(false, true)});
  CHECK(std::get<Conversation::Failed>(heard).reason ==
        "it refused a reset that it was not asked for");
  CHECK(world.notes.last == 1);
}

TEST_CASE("A process that refuses its reset is gone before another takes its place",
          "[conversation]") {
  World world;
  world.go_to(State::idle);
  world.talk.begin(world.specs(), {});
  CHECK(world.notes.take() == "reset ");
  (void)world.talk.hear(Greeted{world.only(), hello(false, true)});
  CHECK(world.notes.take() == "stop ");
  (void)world.talk.be_late();
  CHECK(world.notes.take() == "term ");
  (void)world.talk.be_late();
  CHECK(world.notes.take() == "kill ");
  CHECK(world.notes.live.size() == 1);
  (void)world.talk.hear(Exited{world.only(), 0, SIGKILL});
  CHECK(world.notes.take() == "launch ");
  world.all_greet();
  CHECK(world.notes.take() == "start ");
  CHECK(world.talk.state() == State::ready);
}

TEST_CASE("An idle process that leaves by itself is replaced by a launch", "[conversation]") {
  World world;
  world.go_to(State::idle);
  const bool is_gone = GENERATE(false, true);
  is_gone ? (void)world.talk.hear(Exited{world.only(), 0, 0}) : world.talk.leave(Urge::asked);
  world.notes.did.clear();
  world.talk.begin(world.specs(), {});
  if (!is_gone) {
    CHECK(world.notes.take().empty());
    (void)world.talk.hear(Exited{world.only(), 0, 0});
  }
  CHECK(world.notes.take() == "launch ");
}

TEST_CASE("Every way out is stop, SIGTERM, SIGKILL, and an end", "[conversation]") {
  for (const State state : {State::launching, State::resetting, State::ready, State::stepping,
                            State::saving, State::idle}) {
    CAPTURE(to_string(state));
    World world;
    world.go_to(state);
    world.talk.leave(Urge::asked);
    world.talk.leave(Urge::asked);
    CHECK(world.talk.deadline() == world.notes.now + 10);
    (void)world.talk.be_late();
    (void)world.talk.be_late();
    CHECK(world.notes.take() == "stop term kill ");
    CHECK(world.talk.deadline() == world.notes.now + 60);
    const auto heard = world.talk.be_late();
    CHECK(std::get<Conversation::Gone>(heard).how == Conversation::Gone::How::lost);
    CHECK(world.talk.state() == State::lost);
    CHECK(word(world.talk.hear(Exited{world.only(), 0, SIGKILL})) == "gone");
  }
}

TEST_CASE("Who is killed at once is not asked before", "[conversation]") {
  World world;
  world.go_to(State::stepping);
  world.talk.leave(Urge::killed);
  world.talk.leave(Urge::asked);
  CHECK(world.notes.take() == "kill ");
}

TEST_CASE("A closed connection has an end, whatever is asked after it", "[conversation]") {
  World world;
  world.go_to(State::ready);
  (void)world.talk.hear(Disconnected{world.only()});
  CHECK(world.talk.deadline() == world.notes.now + 10);
  world.talk.step();
  CHECK(world.talk.deadline() == world.notes.now + 10);
  CHECK(std::get<Conversation::Overdue>(world.talk.be_late()).reason ==
        "it closed its connection and lived on");
}

TEST_CASE("Several processes answer as one, and each is told its rank", "[conversation]") {
  World world(3);
  world.talk.begin(world.specs(), {});
  std::vector<LaunchId> ids;
  for (const auto id : world.notes.live) ids.push_back(LaunchId{id});
  CHECK(word(world.talk.hear(Greeted{ids[0], hello()})).empty());
  CHECK(word(world.talk.hear(Greeted{ids[0], hello()})) == "failed");
  CHECK(word(world.talk.hear(Greeted{ids[2], hello()})).empty());
  CHECK(word(world.talk.hear(Greeted{ids[1], hello()})) == "ready");
  CHECK(world.notes.ranks == std::vector<int>{0, 1, 2});
  world.talk.step();
  Reported second{.launch = ids[1]};
  second.done = true;
  CHECK(word(world.talk.hear(second)).empty());
  Reported first{.launch = ids[0]};
  first.should_checkpoint = true;
  CHECK(word(world.talk.hear(first)).empty());
  Reported third{.launch = ids[2]};
  const auto heard = world.talk.hear(third);
  REQUIRE(word(heard) == "stepped");
  CHECK(std::get<Conversation::Stepped>(heard).reported.should_checkpoint);
  CHECK_FALSE(std::get<Conversation::Stepped>(heard).reported.done);
  world.talk.save("/aside");
  CHECK(word(world.talk.hear(SaveAnswered{ids[1], "disk full"})).empty());
  CHECK(word(world.talk.hear(SaveAnswered{ids[0], {}})).empty());
  CHECK(std::get<Conversation::Saved>(world.talk.hear(SaveAnswered{ids[2], {}})).error ==
        "disk full");
}

TEST_CASE("One process that ends takes the others with it, and is why", "[conversation]") {
  World world(2);
  world.go_to(State::stepping);
  const LaunchId first{*world.notes.live.begin()};
  const LaunchId second{*world.notes.live.rbegin()};
  CHECK(word(world.talk.hear(Exited{second, 7, 0})).empty());
  CHECK(world.notes.take() == "term ");
  const auto heard = world.talk.hear(Exited{first, 0, SIGTERM});
  CHECK(std::get<Conversation::Gone>(heard).exit_code == 7);
  CHECK(std::get<Conversation::Gone>(heard).signal == 0);
}

TEST_CASE("Whatever is said in whatever order, a conversation comes to an end", "[conversation]") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    World world(1 + random() % 3);
    bool is_over = false;
    for (int i = 0; i < 60 && !is_over; ++i) {
      const State state = world.talk.state();
      std::vector<std::uint64_t> live(world.notes.live.begin(), world.notes.live.end());
      const auto who = live.empty() ? LaunchId{} : LaunchId{live[random() % live.size()]};
      Conversation::Heard heard;
      switch (random() % 14) {
        case 0:
        case 1:
        case 2:
          if (!live.empty())
            heard = world.talk.hear(Greeted{who, hello(random() % 2, random() % 4 == 0)});
          break;
        case 3:
        case 4: {
          Reported reported{.launch = who};
          if (!live.empty()) heard = world.talk.hear(reported);
          break;
        }
        case 5:
          if (!live.empty()) heard = world.talk.hear(SaveAnswered{who, {}});
          break;
        case 6:
          if (!live.empty() && random() % 8 == 0) heard = world.talk.hear(Faulted{who, "oh"});
          break;
        case 7:
          if (!live.empty()) heard = world.talk.hear(Disconnected{who});
          break;
        case 8:
          if (!live.empty() && random() % 4 == 0) heard = world.talk.hear(Exited{who, 0, 0});
          break;
        case 9:
          if (world.talk.deadline() != never_s && random() % 4 == 0) heard = world.talk.be_late();
          break;
        default:
          if (state == State::none || state == State::idle) world.talk.begin(world.specs(), {});
          if (state == State::ready && random() % 3 == 0) world.talk.park();
          if (state == State::ready && world.talk.state() == state) world.talk.step();
          if (random() % 20 == 0) world.talk.leave(Urge::asked);
      }
      // What the loop does of it.
      const std::string what = word(heard);
      if (what == "failed" || what == "overdue") world.talk.leave(Urge::terminated);
      REQUIRE(world.talk.has_processes() == !world.notes.live.empty());
    }
    world.talk.leave(Urge::asked);
    for (int late = 0; late < 4 && world.talk.has_processes(); ++late) (void)world.talk.be_late();
    CHECK((world.talk.state() == State::lost || !world.talk.has_processes()));
  }
}
