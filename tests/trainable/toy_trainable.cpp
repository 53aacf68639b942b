// A trainable that counts, and misbehaves in the ways its config asks for.
// `toy_trainable class ...` or `toy_trainable function ...`; the rest are standalone's options.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>

#include "trainable/trainable.h"

namespace {

namespace fs = std::filesystem;
using tune::Json;

void write_count(const fs::path& directory, int count) {
  std::ofstream(directory / "count") << count << '\n';
}

int read_count(const fs::path& directory) {
  int count = -1;
  std::ifstream(directory / "count") >> count;
  return count;
}

/// What both kinds report: the count, and what `config["report"]` adds.
Json metrics_of(const Json& config, int count, const tune::TrialContext& context) {
  Json metrics = config.value("report", Json::object());
  metrics["count"] = count;
  metrics["iteration_before"] = context.training_iteration;
  metrics["trial"] = context.trial_id;
  // Two attempts of one trial that are to come to the same leave that out.
  if (!config.contains("attempt") || config["attempt"] == true) {
    metrics["attempt"] = context.attempt;
  }
  metrics["resources"] = context.resources;
  metrics["devices"] = context.devices;
  metrics["rank"] = context.rank;
  metrics["world_size"] = context.world_size;
  if (config.value("report_nan", false)) {
    metrics["loss"] = std::numeric_limits<double>::quiet_NaN();
    metrics["nested"]["bound"] = -std::numeric_limits<double>::infinity();
  }
  if (config.value("report_latin1", false)) metrics["name"] = "caf\xe9";
  if (config.contains("report_bytes")) {
    metrics["blob"] = std::string(config["report_bytes"].get<std::size_t>(), 'x');
  }
  if (config.value("report_depth", 0) > 0) {
    Json deep = 1;
    for (int level = 0; level < config["report_depth"]; ++level) deep = Json{{"level", deep}};
    metrics["deep"] = deep;
  }
  if (count == config.value("done_at", -1)) metrics["done"] = true;
  return metrics;
}

class Counter : public tune::Trainable {
 public:
  void setup(const Json& config) override {
    config_ = config;
    fail_if_told("setup");
  }

  Json step() override {
    fail_if_told("step");
    if (config_.value("throw_number", false)) throw 42;
    if (config_.value("report_number", false)) return 7;
    if (config_.value("block", false)) {
      std::ofstream("blocked") << "yes\n";
      for (;;) ::pause();
    }
    ++count_;
    std::cout << "counted to " << count_ << std::endl;
    return metrics_of(config_, count_, context());
  }

  void save_checkpoint(const fs::path& directory) override {
    fail_if_told("save");
    write_count(directory, count_);
  }

  void load_checkpoint(const fs::path& directory) override {
    fail_if_told("load");
    count_ = read_count(directory);
  }

  bool reset_config(const Json& config) override {
    config_ = config;
    fail_if_told("reset");
    count_ = 0;
    return config.value("allow_reset", true);
  }

  void cleanup() override {
    fail_if_told("cleanup");
    std::ofstream(context().trial_dir / "cleaned_up") << "yes\n";
  }

 private:
  void fail_if_told(const std::string& place) const {
    if (config_.value("fail_in", "") == place) throw std::runtime_error("told to fail in " + place);
  }

  Json config_;
  int count_ = 0;
};

void count(const Json& config, tune::Session& session) {
  int value = session.checkpoint() ? read_count(*session.checkpoint()) : 0;
  const int last = config.value("until", value + config.value("iterations", 2));
  while (value < last) {
    ++value;
    if (value == config.value("fail_at", -1)) throw std::runtime_error("told to fail");
    std::optional<fs::path> checkpoint;
    if (config.value("checkpoints", false)) {
      checkpoint = session.new_checkpoint_dir();
      write_count(*checkpoint, value);
    }
    if (config.value("report_missing_dir", false)) checkpoint = "not/there";
    if (config.contains("report_dir")) checkpoint = config["report_dir"].get<std::string>();
    tune::SaveFunction save;
    if (value < config.value("saves_until", 0)) {
      save = [&](const fs::path& directory) {
        if (config.value("fail_in", "") == "save") throw std::runtime_error("told to fail in save");
        write_count(directory, value);
      };
    }
    try {
      const Json metrics = metrics_of(config, value, session.context());
      save ? session.report(metrics, save) : session.report(metrics, checkpoint);
    } catch (const std::exception&) {
      throw;
    } catch (...) {
      std::ofstream(session.context().trial_dir / "unwound") << value << '\n';
      if (!config.value("swallow_stop", false)) throw;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "class";
  return kind == "function" ? tune::run_function(argc - 1, argv + 1, count)
                            : tune::run_trainable<Counter>(argc - 1, argv + 1);
}
