// The client of sixty lines that docs/protocol.md promises, talked to as the driver would.
#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"
#include "tests/trainable/trainable_process.h"

using namespace tune::test;
using tune::Json;

namespace {

const std::string step = "{\"type\":\"step\",\"iteration\":1}\n";

struct Client {
  ScratchDir scratch;
  std::filesystem::path dir = scratch.make("trial");
  TrainableProcess process{{"python3", MINIMAL_CLIENT}, dir};
};

}  // namespace

TEST_CASE("The minimal client fits on a page", "[unit][client]") {
  const std::string text = read_text(MINIMAL_CLIENT);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 60);
}

TEST_CASE("The minimal client goes on from its checkpoint to the same numbers",
          "[process][client]") {
  ScratchDir scratch;
  const auto checkpoint = scratch.make("checkpoint");
  const Json config = {{"lr", 0.1}, {"iterations", 3}};
  Json uninterrupted;
  {
    Client client;
    const Json hello = client.process.receive();
    CHECK(hello["type"] == "hello");
    CHECK(hello["protocol"] == 1);
    CHECK(hello["api"] == "class");
    client.process.send(client.process.start(config) + step);
    const Json first = client.process.receive();
    CHECK(first["metrics"]["loss"].get<double>() == Approx(2.4 * 2.4));
    CHECK(first["done"] == false);
    client.process.send(
        Json{{"type", "save"}, {"directory", checkpoint.string()}, {"iteration", 1}}.dump() + "\n");
    CHECK(client.process.receive() == Json{{"type", "saved"}, {"iteration", 1}});
    client.process.send(step + step);
    client.process.receive();
    uninterrupted = client.process.receive();
    CHECK(uninterrupted["done"] == true);
    client.process.send("{\"type\":\"stop\"}\n");
    CHECK(client.process.wait() == 0);
  }
  Client client;
  client.process.receive();
  client.process.send(
      client.process.start(config, {{"checkpoint", checkpoint.string()}, {"iteration", 1}}) + step +
      step);
  client.process.receive();
  CHECK(client.process.receive() == uninterrupted);
}

TEST_CASE("The minimal client tells of its error and leaves when the driver does",
          "[process][client]") {
  Client failing;
  const Json error = failing.process.start_and_step({{"rate", 0.1}});
  CHECK(error["type"] == "error");
  CHECK(error["message"] == "KeyError('lr')");
  CHECK(error["trace"].get<std::string>().find("in step") != std::string::npos);
  CHECK(failing.process.wait() == 1);

  Client orphan;
  orphan.process.start_and_step({{"lr", 0.1}});
  orphan.process.close();
  CHECK(orphan.process.wait() == 1);
}

TEST_CASE("The minimal client reports a save that failed and trains on", "[process][client]") {
  Client client;
  client.process.start_and_step({{"lr", 0.1}});
  client.process.send("{\"type\":\"save\",\"directory\":\"/not/there\",\"iteration\":1}\n" + step);
  CHECK(client.process.receive()["error"].get<std::string>().find("/not/there") !=
        std::string::npos);
  CHECK(client.process.receive()["type"] == "result");
}
