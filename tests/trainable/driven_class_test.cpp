// A class trainable's whole worker group, spoken in raw text by a test in the driver's place.
#include <filesystem>
#include <string>

#include "tests/support/catch.h"
#include "tests/trainable/trainable_process.h"

using namespace tune::test;
using tune::Json;

namespace {

const std::string step = "{\"type\":\"step\",\"iteration\":1}\n";
const std::string stop = "{\"type\":\"stop\"}\n";

std::string save_to(const std::filesystem::path& directory) {
  return Json{{"type", "save"}, {"directory", directory.string()}, {"iteration", 1}}.dump() + "\n";
}

struct Toy {
  ScratchDir scratch;
  std::filesystem::path dir = scratch.make("trial");
  TrainableProcess process{{TOY_TRAINABLE, "class"}, dir};
};

}  // namespace

TEST_CASE("A class trainable says hello unasked, then is silent until it is told to step",
          "[process][class]") {
  Toy toy;
  const Json hello = toy.process.receive();
  CHECK(hello["type"] == "hello");
  CHECK(hello["protocol"] == 1);
  CHECK(hello["api"] == "class");
  CHECK(hello["can_reset"] == true);
  CHECK(hello["can_save_at_start"] == true);

  toy.process.send(toy.process.start({{"report", {{"loss", 0.25}}}}) + step + step + stop);
  Json result = toy.process.receive();
  CHECK(result["type"] == "result");
  CHECK(result["iteration"] == 1);
  CHECK(result["metrics"]["loss"] == 0.25);
  CHECK(result["metrics"]["count"] == 1);
  CHECK(result["metrics"]["trial"] == "trial_00003");
  CHECK(result["metrics"]["time_this_iter_s"].get<double>() >= 0);
  CHECK_FALSE(result.contains("done"));
  CHECK(toy.process.receive()["metrics"]["count"] == 2);
  CHECK(toy.process.at_end());
  CHECK(toy.process.wait() == 0);
  CHECK(std::filesystem::exists(toy.dir / "cleaned_up"));
  CHECK(read_text(toy.dir / "stdout.log") == "counted to 1\ncounted to 2\n");
}

TEST_CASE("A saved trainable goes on in another process as if it had never stopped",
          "[process][class]") {
  ScratchDir scratch;
  const auto checkpoint = scratch.make("checkpoint");
  {
    TrainableProcess first({TOY_TRAINABLE, "class"}, scratch.make("first"));
    first.start_and_step({});
    first.send(step);
    first.receive();
    first.send(save_to(checkpoint));
    Json saved = first.receive();
    CHECK(saved["bytes"] >= 2);  // whatever else the process writes meanwhile is in it, too
    saved.erase("bytes");
    CHECK(saved == Json{{"type", "saved"}, {"iteration", 1}});
    first.send(step);
    CHECK(first.receive()["metrics"]["count"] == 3);
  }
  TrainableProcess second({TOY_TRAINABLE, "class"}, scratch.make("second"));
  second.receive();
  second.send(second.start({}, {{"checkpoint", checkpoint.string()}, {"iteration", 2}}) + step);
  const Json metrics = second.receive()["metrics"];
  CHECK(metrics["count"] == 3);
  CHECK(metrics["iteration_before"] == 2);
  second.send(stop);
  CHECK(second.wait() == 0);
}

TEST_CASE("All of a trial that start tells reaches the context", "[process][class]") {
  Toy toy;
  toy.process.receive();
  toy.process.send(toy.process.start({}, {{"rank", 1},
                                          {"world_size", 4},
                                          {"attempt", 2},
                                          {"resources", {{"cpu", 2.0}}},
                                          {"devices", {"3", "5"}}}) +
                   step);
  const Json metrics = toy.process.receive()["metrics"];
  CHECK(metrics["attempt"] == 2);
  CHECK(metrics["resources"] == Json{{"cpu", 2.0}});
  CHECK(metrics["devices"] == Json{"3", "5"});
  CHECK(metrics["rank"] == 1);
  CHECK(metrics["world_size"] == 4);
}

TEST_CASE("The iteration counts steps, and one that the metrics name wins", "[process][class]") {
  Toy toy;
  toy.process.receive();
  toy.process.send(toy.process.start({}, {{"iteration", 7}}) + step + step);
  CHECK(toy.process.receive()["metrics"]["iteration_before"] == 7);
  CHECK(toy.process.receive()["metrics"]["iteration_before"] == 8);

  Toy named;
  named.process.receive();
  named.process.send(named.process.start({{"report", {{"training_iteration", 100}}}}) + step +
                     step);
  CHECK(named.process.receive()["metrics"]["iteration_before"] == 0);
  CHECK(named.process.receive()["metrics"]["iteration_before"] == 100);
}

TEST_CASE("Done and should_checkpoint are lifted out of the metrics", "[process][class]") {
  Toy toy;
  const Json result = toy.process.start_and_step(
      {{"done_at", 1}, {"report", {{"should_checkpoint", true}, {"time_this_iter_s", 12.5}}}});
  CHECK(result["done"] == true);
  CHECK(result["should_checkpoint"] == true);
  CHECK_FALSE(result["metrics"].contains("done"));
  CHECK_FALSE(result["metrics"].contains("should_checkpoint"));
  CHECK(result["metrics"]["time_this_iter_s"] == 12.5);
}

TEST_CASE("NaN, infinities and broken text travel without harm", "[process][class]") {
  Toy toy;
  const Json metrics =
      toy.process.start_and_step({{"report_nan", true}, {"report_latin1", true}})["metrics"];
  CHECK(metrics["loss"] == "NaN");
  CHECK(metrics["nested"]["bound"] == "-Infinity");
  CHECK(metrics["name"] == "caf\xef\xbf\xbd");
}

TEST_CASE("An exception is an error message with its text and exit code 1", "[process][class]") {
  for (const std::string place : {"setup", "step"}) {
    Toy toy;
    const Json error = toy.process.start_and_step({{"fail_in", place}});
    CHECK(error["type"] == "error");
    CHECK(error["message"] == "told to fail in " + place);
    CHECK(error["trace"] == "thrown as std::runtime_error; called last: " + place);
    CHECK(toy.process.wait() == 1);
    CHECK(read_text(toy.dir / "stderr.log").find("told to fail in " + place) != std::string::npos);
  }
}

TEST_CASE("A failing load and a failing cleanup are errors too", "[process][class]") {
  Toy load;
  load.process.receive();
  load.process.send(load.process.start({{"fail_in", "load"}}, {{"checkpoint", "/"}}));
  CHECK(load.process.receive()["message"] == "told to fail in load");
  CHECK(load.process.wait() == 1);

  Toy cleanup;
  cleanup.process.start_and_step({{"fail_in", "cleanup"}});
  cleanup.process.send(stop);
  CHECK(cleanup.process.receive()["message"] == "told to fail in cleanup");
  CHECK(cleanup.process.wait() == 1);
}

TEST_CASE("Something thrown that is no exception is an error all the same", "[process][class]") {
  Toy toy;
  const Json error = toy.process.start_and_step({{"throw_number", true}});
  CHECK(error["type"] == "error");
  CHECK(error["message"] == "an exception that is no std::exception");
  CHECK(error["trace"] == "thrown as int; called last: step");
  CHECK(toy.process.wait() == 1);
}

TEST_CASE("A failed save is told and training goes on", "[process][class]") {
  Toy toy;
  toy.process.start_and_step({{"fail_in", "save"}});
  toy.process.send(save_to(toy.scratch.make("checkpoint")) + step);
  CHECK(toy.process.receive_line() ==
        R"({"type":"saved","iteration":1,"error":"told to fail in save"})");
  CHECK(toy.process.receive()["metrics"]["count"] == 2);
}

TEST_CASE("Metrics that cannot be sent are this trial's error with the reason",
          "[process][class]") {
  const auto message = [](const Json& config) -> std::string {
    Toy toy;
    const Json error = toy.process.start_and_step(config);
    CHECK(error["type"] == "error");
    CHECK(toy.process.wait() == 1);
    return error["message"];
  };
  CHECK(message({{"report_number", true}}) ==
        "the metrics of an iteration must be an object, and are of the type number");
  CHECK(message({{"report", {{"done", 1}}}}) ==
        "\"done\" in the metrics must be true or false, and is number");
  CHECK(message({{"report_depth", 100}}) ==
        "values are nested deeper than the 64 levels that a message may have");
  CHECK(message({{"report_bytes", 17'000'000}}).find("a line may have 16777216") !=
        std::string::npos);
}

TEST_CASE("A large result arrives whole", "[process][class]") {
  Toy toy;
  const Json result = toy.process.start_and_step({{"report_bytes", 5'000'000}});
  CHECK(result["metrics"]["blob"].get<std::string>().size() == 5'000'000);
}

TEST_CASE("An idle trainable whose driver dies cleans up and exits", "[process][class]") {
  Toy toy;
  toy.process.start_and_step({});
  toy.process.close();
  CHECK(toy.process.wait() == 3);
  CHECK(std::filesystem::exists(toy.dir / "cleaned_up"));
}

TEST_CASE("A trainable whose driver dies before start exits", "[process][class]") {
  Toy toy;
  toy.process.close();
  CHECK(toy.process.wait() == 3);
}

TEST_CASE("A trainable that is stuck in a step does not outlive its driver", "[process][class]") {
  Toy toy;
  toy.process.receive();
  toy.process.send(toy.process.start({{"block", true}}) + step);
  toy.process.close();
  CHECK(toy.process.wait() == 3);
  CHECK(std::filesystem::exists(toy.dir / "blocked"));
  CHECK_FALSE(std::filesystem::exists(toy.dir / "cleaned_up"));
}

TEST_CASE("A command that makes no sense ends the trainable with exit code 2", "[process][class]") {
  const auto told = [](const std::string& command) {
    Toy toy;
    toy.process.start_and_step({});
    toy.process.send(command + "\n");
    CHECK(toy.process.at_end());
    CHECK(toy.process.wait() == 2);
    return read_text(toy.dir / "stderr.log");
  };
  CHECK(told("nonsense") == "tune: bad command from the driver: 'nonsense' is not a JSON object\n");
  CHECK(told("{\"type\":\"dance\"}").find("is unknown") != std::string::npos);

  Toy toy;
  toy.process.receive();
  toy.process.send(step);
  CHECK(toy.process.wait() == 2);
  CHECK(read_text(toy.dir / "stderr.log").find("start was expected first") != std::string::npos);
}

TEST_CASE("A reset trainable is another trial, in another place", "[process][class]") {
  Toy toy;
  const auto other = toy.scratch.make("other");
  const auto checkpoint = toy.scratch.make("checkpoint");
  toy.process.start_and_step({});
  toy.process.send(save_to(checkpoint));
  toy.process.receive();

  const Json moved = {{"type", "reset"},
                      {"trial_id", "trial_00004"},
                      {"trial_dir", other.string()},
                      {"stdout", (other / "stdout.log").string()},
                      {"stderr", (other / "stderr.log").string()}};
  Json fresh = moved;
  toy.process.send(toy.process.start({{"report", {{"lr", 0.5}}}}, fresh) + step);
  Json metrics = toy.process.receive()["metrics"];
  CHECK(metrics["count"] == 1);
  CHECK(metrics["iteration_before"] == 0);
  CHECK(metrics["trial"] == "trial_00004");
  CHECK(metrics["lr"] == 0.5);

  Json restored = moved;
  restored.update({{"checkpoint", checkpoint.string()}, {"iteration", 1}});
  toy.process.send(toy.process.start({}, restored) + step + stop);
  metrics = toy.process.receive()["metrics"];
  CHECK(metrics["count"] == 2);
  CHECK(metrics["iteration_before"] == 1);
  CHECK(toy.process.wait() == 0);

  CHECK(read_text(toy.dir / "stdout.log") == "counted to 1\n");
  CHECK(read_text(other / "stdout.log") == "counted to 1\ncounted to 2\n");
  CHECK(std::filesystem::exists(other / "cleaned_up"));
  CHECK_FALSE(std::filesystem::exists(toy.dir / "cleaned_up"));
}

TEST_CASE("After a reset output goes on in the files that the driver names", "[process][class]") {
  Toy toy;
  const auto other = toy.scratch.make("other");
  const auto work = toy.scratch.make("other/work");
  toy.process.start_and_step({});
  toy.process.send(
      toy.process.start({{"fail_in", "step"}}, {{"type", "reset"},
                                                {"trial_dir", work.string()},
                                                {"stdout", (other / "stdout.log").string()},
                                                {"stderr", (other / "stderr.log").string()}}) +
      step);
  CHECK(toy.process.receive()["type"] == "error");
  CHECK(toy.process.wait() == 1);
  CHECK(read_text(other / "stderr.log").find("told to fail") != std::string::npos);
  CHECK(std::filesystem::exists(other / "stdout.log"));
  CHECK_FALSE(std::filesystem::exists(work / "stdout.log"));
  CHECK_FALSE(std::filesystem::exists(work / "stderr.log"));
}

TEST_CASE("Output that went into one file goes into one file after a reset", "[process][class]") {
  ScratchDir scratch;
  const auto other = scratch.make("other");
  TrainableProcess process({TOY_TRAINABLE, "class"}, scratch.make("trial"), Output::merged);
  process.start_and_step({});
  process.send(process.start({{"fail_in", "step"}}, {{"type", "reset"},
                                                     {"trial_dir", other.string()},
                                                     {"stdout", (other / "stdout.log").string()},
                                                     {"stderr", (other / "stdout.log").string()}}) +
               step);
  CHECK(process.receive()["type"] == "error");
  CHECK(process.wait() == 1);
  CHECK(read_text(other / "stdout.log").find("told to fail") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(other / "stderr.log"));
}

TEST_CASE("A refused reset is said, and then the trainable waits for stop", "[process][class]") {
  for (const bool told_to_stop : {true, false}) {
    Toy toy;
    toy.process.start_and_step({});
    toy.process.send(toy.process.start({{"allow_reset", false}}, {{"type", "reset"}}) + step);
    CHECK(toy.process.receive_line() == R"({"type":"refused"})");
    if (told_to_stop) {
      toy.process.send(stop);
      CHECK(toy.process.wait() == 0);
    } else {
      toy.process.close();
      CHECK(toy.process.wait() == 3);
    }
    CHECK(std::filesystem::exists(toy.dir / "cleaned_up"));
  }
}

TEST_CASE("A reset that fails or has no place to go is an error", "[process][class]") {
  Toy toy;
  toy.process.start_and_step({});
  toy.process.send(toy.process.start({{"fail_in", "reset"}}, {{"type", "reset"}}));
  CHECK(toy.process.receive()["message"] == "told to fail in reset");
  CHECK(toy.process.wait() == 1);

  Toy lost;
  lost.process.start_and_step({});
  lost.process.send(lost.process.start({}, {{"type", "reset"}, {"trial_dir", "/not/there"}}));
  const Json error = lost.process.receive();
  CHECK(error["type"] == "error");
  CHECK(error["message"].get<std::string>().find("/not/there") != std::string::npos);
  CHECK(lost.process.wait() == 1);
}

TEST_CASE("A class that is told to stop before start leaves in good order", "[process][class]") {
  Toy toy;
  toy.process.receive();
  toy.process.send(stop);
  CHECK(toy.process.at_end());
  CHECK(toy.process.wait() == 0);
}
