// One training as a class and as a function, with what features_test.py asks of both in the config;
// featured_trainable.py is the same in Python. `featured_trainable class|function`.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "trainable/trainable.h"

namespace {

namespace fs = std::filesystem;
using tune::Json;

/// x grows by lr with each of n steps.
struct Training {
  Json config;
  int n = 0;
  double x = 0;
  int started_at = 0;  ///< the n that was loaded; 0: nothing was

  bool is_at(const char* name) const { return config.value(name, -1) == n; }

  bool is_over() const { return n >= config.value("iterations", 3); }

  Json step(const tune::TrialContext& context) {
    ++n;
    x += config.value("lr", 0.5);
    const bool is_first = context.attempt == 1;
    if (is_at("raise_at") && is_first) throw std::runtime_error("told to raise");
    if (is_at("crash_at") && is_first) ::raise(SIGKILL);
    if (is_at("kill_driver_at") && is_first) {
      ::kill(::getppid(), SIGKILL);
      for (;;) ::pause();
    }
    if (is_at("wait_at")) wait();
    return metrics(context);
  }

  void save(const fs::path& directory) const {
    if (is_at("cannot_save_at")) throw std::runtime_error("told not to save");
    std::ofstream(directory / "state.json") << Json{{"n", n}, {"x", x}};
  }

  void load(const fs::path& directory) {
    const Json state = Json::parse(std::ifstream(directory / "state.json"));
    n = started_at = state.at("n");
    x = state.at("x");
  }

 private:
  void wait() const {
    std::ofstream("waits") << ::getpid();
    while (config.value("for_ever", false) || !fs::exists(std::getenv("GO"))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  Json metrics(const tune::TrialContext& context) const {
    Json found = {{"x", x}, {"val", {{"half", x / 2}}}};
    // Two runs are to come to the same but for these.
    if (config.value("who", false)) {
      found["who"] = {{"pid", ::getpid()},
                      {"started_at", started_at},
                      {"trial_id", context.trial_id},
                      {"trial_dir", context.trial_dir},
                      {"attempt", context.attempt},
                      {"resources", context.resources},
                      {"devices", context.devices}};
    }
    if (config.value("odd", false)) {
      const double infinity = std::numeric_limits<double>::infinity();
      found["odd"] = {{"nan", std::numeric_limits<double>::quiet_NaN()},
                      {"above", infinity},
                      {"below", -infinity}};
    }
    if (config.contains("done_at")) found["done"] = is_at("done_at");
    if (config.contains("ask_at")) found["should_checkpoint"] = is_at("ask_at");
    return found;
  }
};

void note_cleanup() { std::ofstream("cleaned_up") << ::getpid(); }

class Featured : public tune::Trainable {
 public:
  void setup(const Json& config) override { training_.config = config; }

  Json step() override {
    Json metrics = training_.step(context());
    if (training_.is_over()) metrics["done"] = true;
    return metrics;
  }

  void save_checkpoint(const fs::path& directory) override { training_.save(directory); }
  void load_checkpoint(const fs::path& directory) override { training_.load(directory); }

  bool reset_config(const Json& config) override {
    training_ = {};
    training_.config = config;
    return true;
  }

  void cleanup() override { note_cleanup(); }

 private:
  Training training_;
};

void train(const Json& config, tune::Session& session) {
  struct Cleanup {
    ~Cleanup() { note_cleanup(); }
  } cleanup;
  Training training;
  training.config = config;
  if (session.checkpoint()) training.load(*session.checkpoint());
  while (!training.is_over()) {
    const Json metrics = training.step(session.context());
    if (training.is_at("hand_over_at")) {
      const fs::path directory = session.new_checkpoint_dir();
      training.save(directory);
      session.report(metrics, directory);
    } else if (config.value("never_saves", false)) {
      session.report(metrics);
    } else {
      session.report(metrics, [&](const fs::path& directory) { training.save(directory); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string api = argc > 1 ? argv[1] : "class";
  return api == "function" ? tune::run_function(argc - 1, argv + 1, train)
                           : tune::run_trainable<Featured>(argc - 1, argv + 1);
}
