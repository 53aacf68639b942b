// The lines of a comparison of simulations: means over seeds, as a table, CSV or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/simulation/curve_replay.h"

namespace tune {

/// Of the same number over several seeds.
struct Spread {
  std::size_t count = 0;  ///< of seeds that have it
  double mean = 0;        ///< NaN: none
  double error = 0;       ///< standard error of the mean; NaN with fewer than two
};
Spread spread_of(const std::vector<double>& values);

struct ComparedLine {
  std::string scheduler;
  std::uint64_t workers = 0;
  std::optional<Seconds> budget_s;
  std::size_t seeds = 0;
  Spread best;
  Spread target_s;  ///< of the seeds that reached it
  // Means.
  double trials = 0;
  double iterations = 0;
  double time_s = 0;
};

/// `marks`: one a seed, at the same budget.
ComparedLine summarize(std::string scheduler, std::uint64_t workers,
                       const std::vector<ReplayMark>& marks);

std::string comparison_csv(const std::vector<ComparedLine>& lines);
Json comparison_json(const std::vector<ComparedLine>& lines);
void print_comparison(const std::vector<ComparedLine>& lines, const std::string& metric);

}  // namespace tune
