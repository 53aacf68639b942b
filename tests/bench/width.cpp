// What one wide result costs everybody: the processor time on the loop's thread from the
// trainable's line to the record and the rows of the files, for results of ever more metrics, and
// for metrics that are named anew in each result; and the bytes that are written.
//   bench_width [--results N] [--new-names N] [--dir DIR]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>

#include "callbacks/callbacks.h"
#include "tuner/base/json_text.h"
#include "tuner/execution/local/message_parser.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/experiment.h"

namespace tune::bench {
namespace {

struct Options {
  int results = 20;
  int new_names = 3'000;
  std::filesystem::path directory = std::filesystem::temp_directory_path();
};

/// Of this thread.
double cpu_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// By this process.
double bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string name;
  double bytes = 0;
  while (io >> name >> bytes) {
    if (name == "wchar:") return bytes;
  }
  return 0;
}

/// What is in the results of one case.
struct Case {
  std::string name;
  int metrics = 0;
  int results = 0;
  int shift = 0;            ///< so many more of the first ones are missing in each result
  bool has_text = false;    ///< a string and a list, too
  bool new_names = false;   ///< one more in each, of its own
  bool is_refused = false;  ///< that is what is expected
};

std::string line_of(const Case& what, int iteration) {
  std::string line = R"({"type":"result","metrics":{"loss":0.5)";
  for (int i = 1 + what.shift * (iteration - 1); i < what.metrics; ++i) {
    append_key(line, "layer/metric_" + std::to_string(i));
    append_number(line, std::sin(iteration + i));
  }
  if (what.has_text) line += R"(,"note":"all is well","histogram":[1,2,3,5,8])";
  if (what.new_names) {
    append_key(line, "at_" + std::to_string(iteration));
    append_number(line, 0.25);
  }
  return line + "}}" + std::string(MessageParser::padding_bytes, ' ');
}

/// One trial of an experiment, as far as its results go through the driver's loop.
class Way {
 public:
  explicit Way(const std::filesystem::path& directory)
      : files_(make_posix_file_system()),
        store_(ExperimentStore::create(*files_, directory, Json::object(), this_process(0))) {
    callbacks_.push_back(make_json_logger());
    callbacks_.push_back(make_csv_logger());
    RunInfo info;
    info.directory = directory;
    for (const auto& callback : callbacks_) callback->setup(info, experiment_);
    commit(SessionStarted{"host", 1, "0.1.0"});
    commit(TrialAdded{TrialId{0}, "{}", "", ""});
    commit(AttemptStarted{TrialId{0}, 1, 0, {}});
  }

  /// False if it is refused.
  bool take(std::string_view line, int iteration) {
    Wakeup wakeup = parser_.parse(LaunchId{1}, line);
    auto* const reported = std::get_if<Reported>(&wakeup);
    if (reported == nullptr) return false;
    Result result;
    result.training_iteration = iteration;
    result.timestamp = 1.7e9 + iteration;
    result.metrics = std::move(*reported->metrics);
    Result told = result;
    const Trial& trial = experiment_.trial(TrialId{0});
    for (const auto& callback : callbacks_) callback->on_trial_result(trial, told);
    commit(ResultReported{TrialId{0}, 1, std::move(result), {}});
    store_.write();
    return true;
  }

  /// As a snapshot has it made.
  void make_line() {
    std::string line;
    experiment_.append_trial(line, TrialId{0});
  }

  void end() {
    for (const auto& callback : callbacks_) callback->on_experiment_end(experiment_);
  }

 private:
  void commit(EventBody body) {
    const Event event{experiment_.last_event() + 1, 1.7e9, std::move(body)};
    store_.append(event);
    experiment_.apply(event);
  }

  std::unique_ptr<FileSystem> files_;
  ExperimentStore store_;
  Experiment experiment_;
  MessageParser parser_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
};

void measure(const Case& what, const std::filesystem::path& scratch) {
  const auto directory = scratch / what.name;
  std::filesystem::create_directories(directory);
  Way way(directory);
  const double before = bytes_written();
  double first_s = 0;
  double longest_s = 0;
  for (int iteration = 1; iteration <= what.results; ++iteration) {
    const std::string line = line_of(what, iteration);
    const auto message =
        std::string_view(line).substr(0, line.size() - MessageParser::padding_bytes);
    const double began = cpu_s();
    const bool is_taken = way.take(message, iteration);
    const double took_s = cpu_s() - began;
    if (is_taken == what.is_refused) {
      throw std::runtime_error(what.name + " are " + (is_taken ? "taken in" : "refused"));
    }
    (iteration == 1 ? first_s : longest_s) = std::max(iteration == 1 ? 0 : longest_s, took_s);
  }
  const double began = cpu_s();
  way.make_line();
  const double line_s = cpu_s() - began;
  way.end();
  std::printf("%-32s %8d %12.2f %12.2f %12.2f %12.2f  %s\n", what.name.c_str(), what.results,
              first_s * 1e3, longest_s * 1e3, line_s * 1e3, (bytes_written() - before) / 1e6,
              what.is_refused ? "refused" : "");
  std::fflush(stdout);
}

void run(const Options& options) {
  std::string name = (options.directory / "tune-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory in " + options.directory.string());
  }
  std::printf("%-32s %8s %12s %12s %12s %12s\n", "", "results", "first ms", "longest ms",
              "snapshot ms", "written MB");
  const int results = options.results;
  for (const int metrics : {10, 100, 1'000, 4'096}) {
    measure({std::to_string(metrics) + " metrics", metrics, results}, name);
  }
  measure({"4,090 metrics, a text, a list", 4'090, results, 0, true}, name);
  measure({"4,096 metrics, some missing", 4'096, results, 7}, name);
  measure({"10,000 metrics", 10'000, results, 0, false, false, true}, name);
  measure({"100,000 metrics", 100'000, results, 0, false, false, true}, name);
  measure({"a new name each time", 10, options.new_names, 0, false, true}, name);
  std::filesystem::remove_all(name);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--results") {
      options.results = std::stoi(value);
    } else if (name == "--new-names") {
      options.new_names = std::stoi(value);
    } else if (name == "--dir") {
      options.directory = std::filesystem::absolute(value);
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return options;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    tune::bench::run(tune::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_width: " << error.what() << "\n";
    return 1;
  }
}
