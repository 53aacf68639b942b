// What searchers are compared on: functions whose best value is known. Knows no searcher.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/search_space.h"

namespace tune::bench {

/// One hyperparameter of a task, so plain that the peer's side can have the same.
struct SearchParam {
  enum class Kind { real, whole, choice };
  std::string name;
  Kind kind = Kind::real;
  double low = 0, high = 1;  ///< both included; of a choice 0 and the number of values - 1
  bool log = false;
  double step = 0;  ///< of a real one; 0: none
  /// It is there if this parameter, an earlier one, is a choice with that value.
  std::optional<std::size_t> parent = {};
  double parent_value = 0;
};

/// By parameter; choices are indices, NaN: it is not there.
using SearchValues = std::vector<double>;

struct SearchTask {
  std::string name;
  std::vector<SearchParam> params;
  /// The smaller the better; NaN: the trial reports that, infinity: it dies.
  std::function<double(const SearchValues&)> loss;
  double optimum = 0;  ///< its least value
  /// Every loss that there is, ascending, if they can be counted; empty: they are drawn.
  std::vector<double> losses = {};

  Json space() const;  ///< as a param space
  /// The same, with a prior for each parameter that every config has. "good": the best of 1,000
  /// random configs, each number moved by a tenth of its range (one standard deviation); "bad": the
  /// worst of them, as it is.
  Json space_with_priors(const std::string& which, std::uint64_t seed) const;
  SearchValues values_of(const Json& config) const;
  Json params_json() const;  ///< for the peer's side
};

/// Functions with formulas, of 2 to 20 dimensions; some mixed or conditional.
std::vector<SearchTask> synthetic_tasks();

/// Functions that some configs fail at.
std::vector<SearchTask> failing_tasks();

/// Of a directory with a manifest.json that describes <table>.f64.gz files: little-endian doubles,
/// value[config][seed], the config's number being mixed-radix over the parameters, the last one
/// fastest. The loss of a config is the mean over its seeds.
std::vector<SearchTask> table_tasks(const std::filesystem::path& directory);

/// What random search is expected to have found after `n` draws from these losses, ascending.
double expected_best(const std::vector<double>& losses, int n);

/// All losses of the task, or those of very many random configs; ascending.
std::vector<double> reference_losses(const SearchTask& task);

}  // namespace tune::bench
