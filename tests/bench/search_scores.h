// What searches found, as normalised regret and in tables. Knows not how they were run.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/bench/search_runs.h"

namespace tune::bench {

/// A mean over seeds with its standard error.
struct Score {
  double mean = 0, error = 0;
  std::size_t seeds = 0;
};

/// Normalised regret after n trials: (best loss - optimum) / (what random search is expected to
/// have found after n - optimum). 0: the optimum; 1: as good as random search.
class Scores {
 public:
  Scores(std::vector<const SearchTask*> tasks, std::vector<Contestant> contestants);

  void add(const std::string& contestant, const SearchCase& one, SearchRun run);
  std::size_t size() const { return runs_.size(); }

  /// Of each task, and of all together; Markdown.
  void print(std::ostream& out, int concurrency, int trials) const;
  Json to_json(const std::vector<int>& budgets) const;

 private:
  /// Task, contestant, concurrency.
  using Key = std::tuple<std::string, std::string, int>;
  struct Seeded {
    std::uint64_t seed;
    SearchRun run;
  };

  /// What random search is expected to have found.
  double random_best(const std::string& task, int n) const;
  double regret(const std::string& task, const SearchRun& run, int n) const;
  /// No seeds: there are no runs that long.
  Score score(const std::string& task, const std::string& contestant, int concurrency,
              int trials) const;
  void print_tasks(std::ostream& out, int concurrency, int trials) const;
  void print_summary(std::ostream& out, int concurrency, int trials) const;
  void print_pairs(std::ostream& out, int concurrency, int trials) const;

  std::vector<const SearchTask*> tasks_;
  std::vector<Contestant> contestants_;
  std::map<std::string, std::vector<double>> losses_;  ///< by task, what random search draws from
  mutable std::map<std::pair<std::string, int>, double> random_bests_;  ///< as far as asked for
  std::map<Key, std::vector<Seeded>> runs_;
};

/// A table with columns as wide as they need to be.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& lines);
/// A number with few digits.
std::string short_number(double value);

}  // namespace tune::bench
