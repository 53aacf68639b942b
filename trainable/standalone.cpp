// Options by hand, a loop over the iterations, one line of JSON for each.
#include "trainable/standalone.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "trainable/json_levels.h"
#include "trainable/protocol.h"
#include "trainable/runner.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t default_iterations = 10;

constexpr const char* usage =
    "Trains once, without a driver, and prints the metrics of each iteration as a line of JSON.\n"
    "\n"
    "  --config JSON        the config, a JSON object (default {})\n"
    "  --config-file FILE   the same, from a file\n"
    "  --iterations N       stop after N iterations (default: 10 for a class; a function runs\n"
    "                       until it returns); \"done\" in the metrics stops earlier\n"
    "  --checkpoint DIR     start from this checkpoint\n"
    "  --save-to DIR        put a checkpoint there at the end; DIR is new or empty\n"
    "  --help               this text\n";

Json parse_config(const std::string& text, const std::string& origin) {
  // What a driver sends has one level more, of the message.
  constexpr std::size_t most_levels = protocol::max_depth - 1;
  if (levels_of(text) > most_levels) {
    throw std::invalid_argument("the config in " + origin + " is nested deeper than " +
                                std::to_string(most_levels) + " levels");
  }
  try {
    Json config = Json::parse(text);
    if (config.is_object()) return config;
  } catch (const Json::exception& error) {
    throw std::invalid_argument("the config in " + origin + " is not JSON: " + error.what());
  }
  throw std::invalid_argument("the config in " + origin + " must be a JSON object");
}

Json read_config(const std::string& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw std::invalid_argument("the config file '" + file + "' cannot be read");
  return parse_config(text, "'" + file + "'");
}

std::int64_t parse_iterations(const std::string& text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) {
    throw std::invalid_argument("--iterations must be a whole number, 1 or more, and is '" + text +
                                "'");
  }
  return count;
}

fs::path existing_checkpoint(const std::string& text) {
  std::error_code ignored;
  if (!fs::is_directory(text, ignored)) {
    throw std::invalid_argument("the checkpoint '" + text + "' is not a directory");
  }
  return fs::absolute(text);
}

fs::path new_or_empty(const std::string& text) {
  std::error_code error;
  const bool exists = fs::exists(text, error);
  if (text.empty() || error ||
      (exists && (!fs::is_directory(text, error) || !fs::is_empty(text)))) {
    throw std::invalid_argument("--save-to must name a new or an empty directory, and '" + text +
                                "' is neither");
  }
  return fs::absolute(text);
}

void apply(StandaloneOptions& options, const std::string& name, const std::string& value) {
  if (name == "--config") {
    options.config = parse_config(value, "--config");
  } else if (name == "--config-file") {
    options.config = read_config(value);
  } else if (name == "--iterations") {
    options.iterations = parse_iterations(value);
  } else if (name == "--checkpoint") {
    options.checkpoint = existing_checkpoint(value);
  } else {
    options.save_to = new_or_empty(value);
  }
}

bool takes_value(const std::string& name) {
  return name == "--config" || name == "--config-file" || name == "--iterations" ||
         name == "--checkpoint" || name == "--save-to";
}

/// The start that a driver would have sent.
protocol::Start start_of(const StandaloneOptions& options) {
  protocol::Start start;
  start.trial_id = "standalone";
  start.trial_dir = fs::current_path().string();
  start.config = options.config;
  if (options.checkpoint) start.checkpoint = options.checkpoint->string();
  return start;
}

void print(protocol::Result result, std::int64_t iteration) {
  result.metrics.emplace("training_iteration", iteration);
  if (result.done) result.metrics["done"] = true;
  std::cout << encode_numbers(std::move(result.metrics))
                   .dump(-1, ' ', false, Json::error_handler_t::replace)
            << std::endl;
  if (!std::cout) throw std::runtime_error("standard output cannot be written");
}

/// Thrown through the user's function to end it; no std::exception, as the session promises.
struct StopTraining {};

/// Keeps the checkpoint that was reported last, or saved: whether a report is the last one only its
/// function knows, so with --save-to each is saved. Those before it were handed over, and nobody
/// wants them: the ones made with `new_checkpoint_dir` are deleted, the user's own left alone.
class StandaloneSession : public Session {
 public:
  explicit StandaloneSession(const StandaloneOptions& options)
      : context_(context_of(start_of(options))),
        checkpoint_(options.checkpoint),
        saves_(options.save_to),
        iterations_left_(options.iterations) {}

  void report(Json metrics, const std::optional<fs::path>& checkpoint_dir) override {
    if (over_) throw StopTraining{};
    if (checkpoint_dir && !fs::is_directory(*checkpoint_dir)) {
      throw std::invalid_argument("the reported checkpoint '" + checkpoint_dir->string() +
                                  "' is not a directory");
    }
    tell(std::move(metrics));
    if (checkpoint_dir) keep(*checkpoint_dir);
    restore();
  }

  void report(Json metrics, const SaveFunction& save) override {
    if (over_) throw StopTraining{};
    tell(std::move(metrics));
    if (save && saves_) {
      const fs::path directory = new_checkpoint_dir();
      save(directory);
      keep(directory);
    }
    restore();
  }

  const std::optional<fs::path>& checkpoint() const override { return checkpoint_; }

  fs::path new_checkpoint_dir() override {
    return make_checkpoint_dir(context_.trial_dir, last_checkpoint_);
  }

  const TrialContext& context() const override { return context_; }

  void save_to(const fs::path& directory) {
    if (!reported_) throw std::runtime_error("the function has reported no checkpoint to save");
    fs::copy(*reported_, directory, fs::copy_options::recursive);
  }

  void drop_reported() {
    if (reported_ && reported_->parent_path() == context_.trial_dir &&
        reported_->filename().string().starts_with(".reported_checkpoint_")) {
      fs::remove_all(*reported_);
    }
    reported_.reset();
  }

 private:
  void tell(Json metrics) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - went_on_;
    protocol::Result result = finish_iteration(std::move(metrics), seconds.count(), context_);
    over_ = result.done || (iterations_left_ && --*iterations_left_ == 0);
    print(std::move(result), context_.training_iteration);
  }

  void keep(const fs::path& checkpoint_dir) {
    drop_reported();
    reported_ = fs::absolute(checkpoint_dir);
  }

  void restore() {
    if (over_) throw StopTraining{};
    went_on_ = std::chrono::steady_clock::now();
  }

  TrialContext context_;
  std::optional<fs::path> checkpoint_;
  bool saves_;  ///< where a checkpoint is wanted at the end
  std::optional<std::int64_t> iterations_left_;
  std::optional<fs::path> reported_;
  std::int64_t last_checkpoint_ = 0;
  bool over_ = false;
  std::chrono::steady_clock::time_point went_on_ = std::chrono::steady_clock::now();
};

void train_class(const StandaloneOptions& options, const TrainableFactory& factory) {
  TrainableRunner runner(factory);
  runner.begin(start_of(options));
  bool done = false;
  for (auto left = options.iterations.value_or(default_iterations); left > 0 && !done; --left) {
    protocol::Result result = runner.step();
    done = result.done;
    print(std::move(result), runner.context().training_iteration);
  }
  if (options.save_to) runner.save(*options.save_to);
  runner.cleanup();
}

void train_function(const StandaloneOptions& options, const TrainFunction& function) {
  StandaloneSession session(options);
  try {
    function(options.config, session);
  } catch (const StopTraining&) {
  }
  if (options.save_to) session.save_to(*options.save_to);
  session.drop_reported();
}

int run(int argc, char** argv, const std::function<void(const StandaloneOptions&)>& train) {
  StandaloneOptions options;
  try {
    options = parse_standalone_options({argv + std::min(argc, 1), argv + argc});
    if (options.help) {
      std::cout << usage;
      return 0;
    }
    if (options.save_to) fs::create_directories(*options.save_to);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
  try {
    train(options);
    return 0;
  } catch (...) {
    std::cerr << "error: " << current_exception_text() << '\n';
    return 1;
  }
}

}  // namespace

StandaloneOptions parse_standalone_options(const std::vector<std::string>& arguments) {
  StandaloneOptions options;
  bool has_config = false;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (*argument == "--help" || *argument == "-h") {
      options.help = true;
      return options;
    }
    const auto equals = argument->find('=');
    const std::string name = argument->substr(0, equals);
    if (!takes_value(name)) {
      throw std::invalid_argument("the option '" + *argument + "' is unknown (see --help)");
    }
    const bool joined = equals != std::string::npos;
    if (!joined && ++argument == arguments.end()) {
      throw std::invalid_argument("the option " + name + " needs a value (see --help)");
    }
    if (name.starts_with("--config") && std::exchange(has_config, true)) {
      throw std::invalid_argument("the config is given twice");
    }
    apply(options, name, joined ? argument->substr(equals + 1) : *argument);
  }
  return options;
}

int train_standalone(int argc, char** argv, const TrainableFactory& factory) {
  return run(argc, argv, [&](const StandaloneOptions& options) { train_class(options, factory); });
}

int train_standalone(int argc, char** argv, const TrainFunction& function) {
  return run(argc, argv,
             [&](const StandaloneOptions& options) { train_function(options, function); });
}

}  // namespace tune
