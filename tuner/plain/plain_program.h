// What the spec says of a program that knows nothing of the driver. docs/plain.md is the guide.
// Knows no process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tune {

/// A number that the program prints.
struct PlainMetric {
  std::string name;
  /// RE2 with one group, which is the number; empty: the name, ':' or '=', the number.
  std::string expression;

  bool operator==(const PlainMetric&) const = default;
};

struct PlainProgram {
  std::vector<PlainMetric> metrics;  ///< beside those that the spec names
  /// Where it runs, absolute; empty: in the trial's own directory.
  std::filesystem::path directory;
};

/// How the output of one launch is read.
struct PlainReading {
  std::vector<PlainMetric> metrics;
  std::vector<std::string> closing;  ///< a result is there when all of these are; some of `metrics`
};

}  // namespace tune
