// A function trainable's whole conversation, spoken in raw text by a test in the driver's place.
#include <filesystem>
#include <string>

#include "tests/support/catch.h"
#include "tests/trainable/trainable_process.h"

using namespace tune::test;
using tune::Json;

namespace {

const std::string step = "{\"type\":\"step\"}\n";
const std::string stop = "{\"type\":\"stop\"}\n";
const std::string save = "{\"type\":\"save\",\"directory\":\"/tmp\"}\n";

struct Toy {
  ScratchDir scratch;
  std::filesystem::path dir = scratch.make("trial");
  TrainableProcess process{{TOY_TRAINABLE, "function"}, dir};
};

}  // namespace

TEST_CASE("A function trains only when told to, and says when it has returned",
          "[process][function]") {
  Toy toy;
  const Json hello = toy.process.receive();
  CHECK(hello["type"] == "hello");
  CHECK(hello["api"] == "function");
  CHECK(hello["can_reset"] == false);

  toy.process.send(toy.process.start({{"iterations", 2}}) + step);
  const Json result = toy.process.receive();
  CHECK(result["metrics"]["count"] == 1);
  CHECK(result["metrics"]["iteration_before"] == 0);
  CHECK(result["metrics"]["time_this_iter_s"].get<double>() >= 0);
  CHECK_FALSE(result.contains("checkpoint"));
  toy.process.send(step);
  CHECK(toy.process.receive()["metrics"]["iteration_before"] == 1);
  toy.process.send(step);
  CHECK(toy.process.receive_line() == R"({"type":"result","metrics":null,"done":true})");
  toy.process.send(stop);
  CHECK(toy.process.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(toy.dir / "unwound"));
}

TEST_CASE("A function that is told to stop is unwound", "[process][function]") {
  Toy toy;
  toy.process.start_and_step({});
  toy.process.send(stop);
  CHECK(toy.process.at_end());
  CHECK(toy.process.wait() == 0);
  CHECK(read_text(toy.dir / "unwound") == "1\n");
}

TEST_CASE("A function that swallows the stop is stopped at its next report",
          "[process][function]") {
  Toy toy;
  toy.process.start_and_step({{"swallow_stop", true}, {"iterations", 3}});
  toy.process.send(stop);
  CHECK(toy.process.at_end());
  CHECK(toy.process.wait() == 0);
  CHECK(read_text(toy.dir / "unwound") == "3\n");
}

TEST_CASE("A stop before the first step never calls the function", "[process][function]") {
  Toy toy;
  toy.process.receive();
  toy.process.send(toy.process.start({{"fail_at", 1}}) + stop);
  CHECK(toy.process.at_end());
  CHECK(toy.process.wait() == 0);
}

TEST_CASE("Reported checkpoints are fresh directories in the trial's, and start another attempt",
          "[process][function]") {
  Toy toy;
  std::filesystem::create_directory(toy.dir / ".reported_checkpoint_2");  // of an earlier attempt
  const std::string first = toy.process.start_and_step({{"checkpoints", true}})["checkpoint"];
  CHECK(first == (toy.dir / ".reported_checkpoint_1").string());
  const auto committed = toy.scratch.path() / "checkpoint_000001";
  std::filesystem::rename(first, committed);
  toy.process.send(step);
  CHECK(toy.process.receive()["checkpoint"] == (toy.dir / ".reported_checkpoint_3").string());
  toy.process.send(stop);
  CHECK(toy.process.wait() == 0);

  TrainableProcess again({TOY_TRAINABLE, "function"}, toy.dir);
  again.receive();
  again.send(again.start({}, {{"checkpoint", committed.string()}, {"iteration", 1}}) + step);
  const Json metrics = again.receive()["metrics"];
  CHECK(metrics["count"] == 2);
  CHECK(metrics["iteration_before"] == 1);
}

TEST_CASE("A reported checkpoint that is not there is the function's error",
          "[process][function]") {
  Toy toy;
  const Json error = toy.process.start_and_step({{"report_missing_dir", true}});
  CHECK(error["type"] == "error");
  CHECK(error["message"] == "the reported checkpoint 'not/there' is not a directory");
  CHECK(toy.process.wait() == 1);
}

TEST_CASE("A function answers a save with the reason why it cannot", "[process][function]") {
  Toy toy;
  toy.process.start_and_step({{"iterations", 1}});
  toy.process.send(save + step);
  const Json saved = toy.process.receive();
  CHECK(saved["type"] == "saved");
  CHECK(saved["error"].get<std::string>().find("report its checkpoints itself") !=
        std::string::npos);
  CHECK(toy.process.receive()["done"] == true);
  toy.process.send(save + stop);
  CHECK(toy.process.receive().contains("error"));
  CHECK(toy.process.wait() == 0);
}

TEST_CASE("A function that throws is an error with exit code 1", "[process][function]") {
  Toy toy;
  const Json error = toy.process.start_and_step({{"fail_at", 1}});
  CHECK(error["type"] == "error");
  CHECK(error["message"] == "told to fail");
  CHECK(toy.process.wait() == 1);
}

TEST_CASE("A function whose driver dies is unwound and exits", "[process][function]") {
  Toy toy;
  toy.process.start_and_step({});
  toy.process.close();
  CHECK(toy.process.wait() == 3);
  CHECK(read_text(toy.dir / "unwound") == "1\n");
}

TEST_CASE("A function that is told to reset, or to go on after its end, exits with code 2",
          "[process][function]") {
  Toy reset;
  reset.process.start_and_step({});
  reset.process.send(reset.process.start({}, {{"type", "reset"}}));
  CHECK(reset.process.wait() == 2);

  Toy over;
  over.process.start_and_step({{"iterations", 1}});
  over.process.send(step);
  over.process.receive();
  over.process.send(step);
  CHECK(over.process.wait() == 2);
}
