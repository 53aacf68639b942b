// A function trainable's whole worker group, spoken in raw text by a test in the driver's place.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/trainable/trainable_process.h"

using namespace tune::test;
using tune::Json;

namespace {

const std::string step = "{\"type\":\"step\",\"iteration\":1}\n";
const std::string stop = "{\"type\":\"stop\"}\n";

std::string save_into(const std::filesystem::path& directory) {
  return Json{{"type", "save"}, {"directory", directory}, {"iteration", 1}}.dump() + "\n";
}

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
  CHECK(hello["can_save"] == true);

  toy.process.send(toy.process.start({{"iterations", 2}}) + step);
  const Json result = toy.process.receive();
  CHECK(result["metrics"]["count"] == 1);
  CHECK(result["metrics"]["iteration_before"] == 0);
  CHECK(result["metrics"]["time_this_iter_s"].get<double>() >= 0);
  CHECK_FALSE(result.contains("checkpoint"));
  toy.process.send(step);
  CHECK(toy.process.receive()["metrics"]["iteration_before"] == 1);
  toy.process.send(step);
  CHECK(toy.process.receive_line() ==
        R"({"type":"result","iteration":1,"metrics":null,"done":true})");
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
  CHECK(first == ".reported_checkpoint_1");
  const auto committed = toy.scratch.path() / "checkpoint_000001";
  std::filesystem::rename(toy.dir / first, committed);
  toy.process.send(step);
  CHECK(toy.process.receive()["checkpoint"] == ".reported_checkpoint_3");
  toy.process.send(stop);
  CHECK(toy.process.wait() == 0);

  TrainableProcess again({TOY_TRAINABLE, "function"}, toy.dir);
  again.receive();
  again.send(again.start({}, {{"checkpoint", committed.string()}, {"iteration", 1}}) + step);
  const Json metrics = again.receive()["metrics"];
  CHECK(metrics["count"] == 2);
  CHECK(metrics["iteration_before"] == 1);
}

TEST_CASE("A checkpoint that lies elsewhere is handed over as a copy, with links that stay in it",
          "[process][function]") {
  Toy toy;
  const auto model = toy.scratch.make("model");
  std::filesystem::create_directory(model / "epochs");
  std::ofstream(model / "epochs/1") << "state";
  std::filesystem::create_symlink("epochs/1", model / "last");
  std::filesystem::create_symlink(model / "epochs/1", model / "epochs/best");
  const Json result = toy.process.start_and_step({{"report_dir", model.string()}});
  CHECK(result["checkpoint"] == ".reported_checkpoint_1");
  const auto copy = toy.dir / ".reported_checkpoint_1";
  CHECK(read_text(copy / "epochs/1") == "state");
  CHECK(std::filesystem::read_symlink(copy / "last") == "epochs/1");
  CHECK(std::filesystem::read_symlink(copy / "epochs/best") == "1");
  CHECK(std::filesystem::read_symlink(model / "epochs/best") == model / "epochs/1");
}

TEST_CASE("A link in the trial's directory is no checkpoint: what it leads to is copied",
          "[process][function]") {
  Toy toy;
  std::filesystem::create_directory(toy.dir / "epoch_1");
  std::ofstream(toy.dir / "epoch_1/state") << "1";
  std::filesystem::create_symlink("epoch_1", toy.dir / "latest");
  const std::string name = GENERATE("latest", "latest/", "epoch_1", "./epoch_1/");
  const Json result = toy.process.start_and_step({{"report_dir", name}});
  const bool is_link = name.starts_with("latest");
  CHECK(result["checkpoint"] == (is_link ? ".reported_checkpoint_1" : "epoch_1"));
}

TEST_CASE("A function that reports the directory it is in is in error", "[process][function]") {
  Toy toy;
  const std::string directory = GENERATE(".", "..", "/");
  const Json error = toy.process.start_and_step({{"report_dir", directory}});
  CHECK(error["message"] == "the reported checkpoint '" + directory +
                                "' holds the trial's own directory; report a directory in it");
}

TEST_CASE("A checkpoint that cannot be copied is a failed save, and training goes on",
          "[process][function]") {
  Toy toy;
  const auto model = toy.scratch.make("model");
  std::ofstream(model / "state") << "state";
  ::mkfifo((model / "fifo").c_str(), 0600);
  const std::string name =
      toy.process.start_and_step({{"report_dir", model.string()}})["checkpoint"];
  CHECK_FALSE(std::filesystem::exists(toy.dir / name));
  CHECK(read_text(toy.dir / "stderr.log").find("cannot be copied") != std::string::npos);
}

TEST_CASE("A reported checkpoint that is not there is the function's error",
          "[process][function]") {
  Toy toy;
  const Json error = toy.process.start_and_step({{"report_missing_dir", true}});
  CHECK(error["type"] == "error");
  CHECK(error["message"] == "the reported checkpoint 'not/there' is not a directory");
  CHECK(toy.process.wait() == 1);
}

TEST_CASE("A function that reports how to save says so, and saves when it is told to",
          "[process][function]") {
  Toy toy;
  const auto directory = toy.scratch.make("checkpoint");
  const Json result = toy.process.start_and_step({{"saves_until", 3}, {"iterations", 3}});
  CHECK(result["can_save"] == true);
  CHECK_FALSE(result.contains("checkpoint"));
  toy.process.send(save_into(directory) + step);
  CHECK(toy.process.receive_line().starts_with(R"({"type":"saved","iteration":1,"bytes":)"));
  CHECK(read_text(directory / "count") == "1\n");
  CHECK(toy.process.receive()["metrics"]["count"] == 2);
  toy.process.send(step);
  CHECK_FALSE(toy.process.receive().contains("can_save"));
  toy.process.send(save_into(directory) + stop);
  CHECK(toy.process.receive()["error"] == "report() was given no function that saves");
  CHECK(toy.process.wait() == 0);
  CHECK(read_text(directory / "count") == "1\n");
}

TEST_CASE("What a function throws as it saves is that save's failure", "[process][function]") {
  Toy toy;
  toy.process.start_and_step({{"saves_until", 9}, {"fail_in", "save"}});
  toy.process.send(save_into(toy.dir) + step);
  CHECK(toy.process.receive()["error"] == "told to fail in save");
  CHECK(toy.process.receive()["metrics"]["count"] == 2);
}

TEST_CASE("A function answers a save that it cannot do with the reason", "[process][function]") {
  Toy toy;
  toy.process.start_and_step({{"iterations", 1}});
  toy.process.send(save_into("/tmp") + step);
  CHECK(toy.process.receive()["error"] == "report() was given no function that saves");
  CHECK(toy.process.receive()["done"] == true);
  toy.process.send(save_into("/tmp") + stop);
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

TEST_CASE("A function that is told to stop before start leaves in good order",
          "[process][function]") {
  Toy toy;
  toy.process.receive();
  toy.process.send(stop);
  CHECK(toy.process.at_end());
  CHECK(toy.process.wait() == 0);
}
