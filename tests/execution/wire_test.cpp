// Messages between the executor and real processes, polite and otherwise.
// Knows no trial.
#include <signal.h>

#include <algorithm>

#include "tests/execution/session.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::test;

namespace {

constexpr std::size_t share_messages = 64;
constexpr std::size_t block_bytes = 64 * 1024;

double number_of(const Reported& reported, const char* name) {
  REQUIRE(reported.metrics.has_value());
  return reported.metrics->find(name).value_or(-1);
}

}  // namespace

TEST_CASE("A child's messages come in their order, between Launched and Exited",
          "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"answer-steps"});
  session.wait_for<Greeted>(launch);
  for (std::size_t step = 1; step <= 3; ++step) {
    session.executor.send(launch, protocol::Step{});
    session.wait_for_count<Reported>(launch, step);
  }
  session.executor.send(launch, protocol::Stop{});
  CHECK(session.wait_for<Exited>(launch).exit_code == 0);

  const auto& heard = session.heard[launch];
  REQUIRE(heard.size() >= 6);
  CHECK(std::holds_alternative<Launched>(heard[0]));
  CHECK(std::holds_alternative<Greeted>(heard[1]));
  for (std::size_t step = 1; step <= 3; ++step) {
    CHECK(number_of(std::get<Reported>(heard[1 + step]), "steps") == static_cast<double>(step));
  }
  CHECK(std::holds_alternative<Exited>(heard.back()));
}

TEST_CASE("Commands and signals given before the process runs reach it", "[unit][process]") {
  Session session;
  const auto stepped = session.launch_probe({"answer-steps"});
  session.executor.send(stepped, protocol::Step{});
  session.executor.send(stepped, protocol::Stop{});
  const auto killed = session.launch_probe({"stay"});
  session.executor.signal(killed, SIGKILL);
  CHECK(session.wait_for<Exited>(stepped).exit_code == 0);
  CHECK(session.count_of<Reported>(stepped) == 1);
  CHECK(session.wait_for<Exited>(killed).signal == SIGKILL);
}

TEST_CASE("All that a process said comes before its Exited", "[unit][process]") {
  Session session;
  constexpr std::size_t count = 3000;  // below what a socket holds: it is gone before it is read
  const auto launch = session.launch_probe({"flood", std::to_string(count)});
  session.wait_for<Exited>(launch);
  CHECK(session.count_of<Reported>(launch) == count);
  CHECK(std::holds_alternative<Exited>(session.heard[launch].back()));
}

TEST_CASE("A flooding process cannot fill memory, and loses nothing", "[unit][process]") {
  Session session;
  constexpr std::size_t count = 200'000;
  const auto launch = session.launch_probe({"flood", std::to_string(count)});
  const std::size_t shortest_line =
      std::string_view("{\"type\":\"result\",\"metrics\":{\"i\":0}}\n").size();
  const std::size_t at_most = share_messages + block_bytes / shortest_line + 2;
  std::size_t largest_batch = 0;
  std::size_t next = 0;
  for (bool exited = false; !exited;) {
    session.heard.clear();
    const auto batch = session.wait();
    for (const auto& wakeup : session.heard[launch]) {
      if (const auto* reported = std::get_if<Reported>(&wakeup)) {
        if (number_of(*reported, "i") != static_cast<double>(next)) FAIL("lost or out of order");
        ++next;
      }
      exited = exited || std::holds_alternative<Exited>(wakeup);
    }
    if (!exited) largest_batch = std::max(largest_batch, batch);
  }
  CHECK(next == count);
  CHECK(largest_batch <= at_most);
}

TEST_CASE("A process that says something else is at fault, with the line's beginning",
          "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe(
      {"say-and-stay", std::string(500, 'g') + "\nmore\n{\"type\":\"saved\"}\n"});
  const auto reason = session.wait_for<Faulted>(launch).reason;
  CHECK_THAT(reason, Catch::Matchers::StartsWith("not the protocol: "));
  CHECK(reason.find(std::string(100, 'g')) != reason.npos);
  CHECK(reason.find(std::string(101, 'g')) == reason.npos);
  session.executor.signal(launch, SIGKILL);
  CHECK(session.wait_for<Exited>(launch).signal == SIGKILL);
  CHECK(session.count_of<Faulted>(launch) == 1);
  CHECK(session.count_of<SaveAnswered>(launch) == 0);
}

TEST_CASE("A line of 100 MB is a fault, and is not read to its end", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"long-line", "100000000"});
  const auto reason = session.wait_for<Faulted>(launch).reason;
  CHECK(reason.find("longer than 16 MiB") != reason.npos);
  CHECK(reason.size() < 300);
  session.executor.signal(launch, SIGKILL);
  // Had all been read, it would have exited by itself.
  CHECK(session.wait_for<Exited>(launch).signal == SIGKILL);
}

TEST_CASE("A long line within the limit is read", "[unit][process]") {
  Session session;
  const auto script = session.dir.path() / "long.sh";
  // One message of about 5 MB, made by a shell so that the argument list stays short.
  std::ofstream(script) << "#!/bin/sh\n"
                           "{ printf '{\"type\":\"result\",\"metrics\":{\"loss\":2,\"note\":\"'\n"
                           "head -c 5000000 /dev/zero | tr '\\0' 'x'\n"
                           "printf '\"}}\\n'; } >&3\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto launch = session.launch(session.spec({script}));
  session.wait_for<Exited>(launch);
  REQUIRE(session.count_of<Reported>(launch) == 1);
  const auto reported = session.wait_for<Reported>(launch);
  CHECK(number_of(reported, "loss") == 2);
  CHECK(reported.metrics->text.size() > 5'000'000);
}

TEST_CASE("Blank lines and a last line cut short are nobody's message", "[unit][process]") {
  Session session;
  const auto launch =
      session.launch_probe({"say", "\n  \n\r\n{\"type\":\"saved\"}\r\n{\"type\":\"er"});
  session.wait_for<Exited>(launch);
  CHECK(session.count_of<SaveAnswered>(launch) == 1);
  CHECK(session.count_of<Faulted>(launch) == 0);
}

TEST_CASE("A process that hangs up and lives on is disconnected, not gone", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"hang-up"});
  session.wait_for<Disconnected>(launch);
  session.executor.send(launch, protocol::Step{});  // to nobody
  const auto other = session.launch_probe({"exit", "0"});
  session.wait_for<Exited>(other);
  CHECK(session.count_of<Exited>(launch) == 0);
  session.executor.signal(launch, SIGTERM);
  CHECK(session.wait_for<Exited>(launch).signal == SIGTERM);
}

TEST_CASE("Writing to a process that has closed its socket is survived", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"hang-up"});
  session.wait_for<Launched>(launch);
  for (int i = 0; i < 100 && session.count_of<Disconnected>(launch) == 0; ++i) {
    session.executor.send(launch, protocol::Step{});
    std::vector<Wakeup> wakeups;
    session.reactor.wait(0, wakeups);
    for (auto& wakeup : wakeups) session.heard[launch].push_back(std::move(wakeup));
  }
  session.wait_for<Disconnected>(launch);
  session.executor.signal(launch, SIGKILL);
  CHECK(session.wait_for<Exited>(launch).signal == SIGKILL);
}

TEST_CASE("A process that does not read delays nobody, and gets all when it does",
          "[unit][process]") {
  Session session;
  const auto slow = session.launch_probe({"read-late"});
  session.wait_for<Greeted>(slow);
  protocol::Start start;
  start.config = {{"padding", std::string(4'000'000, 'x')}};
  const auto bytes = protocol::format(start).size() - 1;  // without the newline
  session.executor.send(slow, start);

  const auto quick = session.launch_probe({"answer-steps"});
  session.executor.send(quick, protocol::Step{});
  session.executor.send(quick, protocol::Stop{});
  session.wait_for<Exited>(quick);
  CHECK(session.count_of<Reported>(slow) == 0);

  session.executor.signal(slow, SIGUSR2);
  CHECK(number_of(session.wait_for<Reported>(slow), "bytes") == static_cast<double>(bytes));
  session.executor.send(slow, protocol::Stop{});
  CHECK(session.wait_for<Exited>(slow).exit_code == 0);
}

TEST_CASE("A command too long for a line is that launch's fault", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"until-told"});
  session.wait_for<Launched>(launch);
  protocol::Start start;
  start.config = {{"padding", std::string(protocol::max_line_bytes, 'x')}};
  session.executor.send(launch, start);
  CHECK_THAT(session.wait_for<Faulted>(launch).reason,
             Catch::Matchers::StartsWith("cannot tell it: "));
}
