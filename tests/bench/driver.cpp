// What the driver costs, as ratios to what the machine could do at the same time.
// docs/performance.md says what the figures mean.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string_view>

#include "tests/bench/cases.h"

namespace {

using namespace tune::bench;

constexpr const char* usage =
    "usage: bench_driver [--long | --quick] [--only CASE] [--match TEXT]\n"
    "                    [--repeat N] [--json FILE] [--dir DIR]\n"
    "  CASE: launches, results, latency, work; may be given several times\n"
    "  --match: of the work, only what has TEXT in its name\n"
    "  --long: the work takes as long as in the published rows (14 minutes)\n"
    "  --quick: tiny sizes, to see that everything runs\n";

struct Options {
  bool is_long = false;
  bool is_quick = false;
  std::set<std::string> only;
  std::string match;
  std::string json_file;
  std::filesystem::path directory = std::filesystem::temp_directory_path();
  int repeat = 3;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::invalid_argument(std::string(name) + " needs a value");
      return argv[i];
    };
    if (name == "--long") {
      options.is_long = true;
    } else if (name == "--quick") {
      options.is_quick = true;
    } else if (name == "--only") {
      options.only.insert(value());
    } else if (name == "--match") {
      options.match = value();
    } else if (name == "--repeat") {
      options.repeat = std::max(1, std::stoi(value()));
    } else if (name == "--json") {
      options.json_file = value();
    } else if (name == "--dir") {
      options.directory = std::filesystem::absolute(value());
    } else {
      throw std::invalid_argument("unknown option " + std::string(name));
    }
  }
  return options;
}

/// A directory of our own, gone at the end.
class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent) {
    std::string name = (parent / "tune-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a directory in " + parent.string());
    }
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<Work> works(const Options& options) {
  if (options.is_quick) {
    return {{"4 trials, 50 results/s", 4, 4, 5, 0.02}, {"16 trials of 10 ms", 16, 4, 1, 0.01}};
  }
  if (options.is_long) {
    return {{"96 trials, 10 results/s, 100 s", 96, 96, 1000, 0.1, true},
            {"96 trials, 50 results/s, 100 s", 96, 96, 5000, 0.02, true},
            {"96 trials, 500 results/s, 100 s", 96, 96, 50000, 0.002, true},
            {"10,000 trials of 1 s on 16 slots", 10000, 16, 1, 1, true}};
  }
  return {{"96 trials, 10 results/s, 5 s", 96, 96, 50, 0.1},
          {"96 trials, 50 results/s, 5 s", 96, 96, 250, 0.02},
          {"96 trials, 500 results/s, 5 s", 96, 96, 2500, 0.002},
          {"200 trials of 0.1 s on 16 slots", 200, 16, 1, 0.1}};
}

Settings make_settings(const Options& options, const Scratch& scratch) {
  Settings settings;
  settings.program = TRIVIAL_TRAINABLE;
  settings.scratch = scratch.path();
  settings.repeat = options.repeat;
  settings.works = works(options);
  std::erase_if(settings.works,
                [&](const Work& work) { return work.name.find(options.match) == work.name.npos; });
  settings.progress = [](const std::string& what) {
    std::fprintf(stderr, "%s ...\n", what.c_str());
  };
  if (options.is_quick) {
    settings.repeat = 1;
    settings.launch_trials = 8;
    settings.in_flight = 4;
    settings.heap_bytes = 1 << 20;
    settings.descriptors = 20;
    settings.children = {1, 4};
    settings.duration_s = 0.1;
  }
  return settings;
}

void run(const Options& options) {
  const Scratch scratch(options.directory);
  const Settings settings = make_settings(options, scratch);
  Report report;
  const auto measure = [&](const char* name, void (*the_case)(const Settings&, Report&)) {
    if (options.only.empty() || options.only.contains(name)) the_case(settings, report);
  };
  measure("launches", measure_launches);
  measure("results", measure_results);
  measure("latency", measure_latency);
  measure("work", measure_work);
  report.print(std::cout);
  if (options.json_file.empty()) return;
  std::ofstream file(options.json_file);
  file << report.to_json().dump(2) << std::endl;
  if (!file) throw std::runtime_error("cannot write " + options.json_file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
