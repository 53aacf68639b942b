// The tasks that are complete tables.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "tests/bench/search_tasks.h"

namespace tune::bench {

namespace {

std::vector<double> unpacked(const std::filesystem::path& file) {
  const std::string command = "gzip -dc '" + file.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             ::pclose);
  std::vector<double> numbers(1 << 20);
  std::size_t n = 0;
  while (const auto got = pipe == nullptr ? 0
                                          : std::fread(numbers.data() + n, sizeof(double),
                                                       numbers.size() - n, pipe.get())) {
    n += got;
    if (n == numbers.size()) numbers.resize(2 * n);
  }
  if (n == 0) throw std::runtime_error("cannot read " + file.string() + " with gzip");
  numbers.resize(n);
  return numbers;
}

/// One loss for each config: the mean of what is there.
std::vector<double> means_of(const std::vector<double>& numbers, std::size_t seeds, double sign) {
  std::vector<double> means;
  for (std::size_t first = 0; first < numbers.size(); first += seeds) {
    double sum = 0, count = 0;
    for (std::size_t i = first; i < first + seeds; ++i) {
      if (std::isnan(numbers[i])) continue;
      sum += numbers[i];
      ++count;
    }
    means.push_back(sign * sum / count);
  }
  return means;
}

SearchTask task_of(const std::string& name, const Json& suite, const std::vector<double>& numbers) {
  SearchTask task;
  task.name = name;
  std::size_t configs = 1;
  for (const Json& param : suite.at("params")) {
    const auto count = param.at("choices").size();
    configs *= count;
    // The places of values that have an order are whole numbers.
    const bool has_order = param.at("type") != "cat";
    task.params.push_back({param.at("name"),
                           has_order ? SearchParam::Kind::whole : SearchParam::Kind::choice, 0,
                           static_cast<double>(count - 1)});
  }
  if (numbers.size() % configs != 0) {
    throw std::runtime_error("the table " + name + " is not as large as its manifest says");
  }
  const double sign = suite.at("direction") == "maximize" ? -1 : 1;
  const auto losses = std::make_shared<const std::vector<double>>(
      means_of(numbers, numbers.size() / configs, sign));
  const std::vector<SearchParam> params = task.params;
  task.loss = [losses, params](const SearchValues& values) {
    std::size_t place = 0;
    for (std::size_t j = 0; j < params.size(); ++j) {
      place = place * (static_cast<std::size_t>(params[j].high) + 1) +
              static_cast<std::size_t>(values[j]);
    }
    return losses->at(place);
  };
  task.losses = *losses;
  std::sort(task.losses.begin(), task.losses.end());
  task.optimum = task.losses.front();
  return task;
}

}  // namespace

std::vector<SearchTask> table_tasks(const std::filesystem::path& directory) {
  std::ifstream file(directory / "manifest.json");
  if (!file) throw std::runtime_error("there is no manifest.json in " + directory.string());
  const Json manifest = Json::parse(file);
  std::vector<SearchTask> tasks;
  for (const auto& [name, table] : manifest.at("tables").items()) {
    const Json& suite = manifest.at("suites").at(name.substr(0, name.find('-')));
    const auto file_name = table.at("file").get<std::string>();
    tasks.push_back(task_of(name, suite, unpacked(directory / file_name)));
  }
  return tasks;
}

}  // namespace tune::bench
