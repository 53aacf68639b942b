// The tree-structured Parzen estimator: where good configs are dense and others are not (Bergstra
// et al., "Algorithms for Hyper-Parameter Optimization", 2011), by the rules of Optuna 5.0 as far
// as docs/searchers.md says nothing else. Its random numbers are arguments.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "searchers/history.h"
#include "searchers/parzen.h"
#include "searchers/priors.h"
#include "searchers/tpe_options.h"

namespace tune {

class TpeModel {
 public:
  TpeModel(History history, TpeRules rules);

  const History& history() const { return history_; }
  void add(TrialId id, const std::string& config);
  /// What a trial has said on its way.
  void note(TrialId id, const Observation& result);
  void end(TrialId id, const Observation& last, Ended how);

  /// What trials have said on their way. All else is in the history.
  Json save_curves() const;
  /// Throws as History::load does. `saved_curves`: as saved; older states lack
  /// them.
  void load(const Json& state, const Json& saved_curves = Json::array());

  /// Trials that the model knows something of: complete and stopped ones, and those that have
  /// failed unless they are left out.
  std::size_t known() const;

  /// Takes the numbers as Optuna does. std::invalid_argument if an expression of the space cannot
  /// be evaluated.
  Json suggest(const Parzen::Uniforms& uniforms) const;

 private:
  enum class Side : char { none, good, other, running, failed };
  /// Which leaves a config has.
  struct Shape {
    std::vector<bool> has;
    std::size_t known = 0;  ///< how many trials with it are known
  };

  bool is_failure(const History::Row& row) const;
  bool is_compared(const History::Row& row) const;
  std::size_t shape_like(const std::vector<double>& point);
  void place(std::size_t row);
  void displace(std::size_t row);
  std::vector<std::uint32_t>* list_of(const History::Row& row);
  bool is_better(std::size_t a, std::size_t b) const;
  std::vector<Side> split() const;
  std::optional<std::size_t> level_for(std::size_t n) const;
  bool may_be_good(std::size_t row) const;
  double score_at(std::size_t row, std::size_t level) const;
  std::vector<std::size_t> pareto_best(std::size_t n) const;
  std::vector<std::vector<std::size_t>> joint_groups() const;
  Parzen model_of(const std::vector<std::size_t>& leaves, const std::vector<Side>& sides,
                  std::initializer_list<Side> wanted) const;
  double agreement(const std::vector<std::size_t>& leaves,
                   const std::vector<std::uint32_t>& places) const;
  void put_back_failing(const std::vector<std::size_t>& leaves, const std::vector<Side>& sides,
                        const std::vector<double>& candidates, std::vector<double>& gains) const;
  std::vector<double> draw(const std::vector<std::size_t>& leaves, const std::vector<Side>& sides,
                           const Parzen::Uniforms& uniforms) const;

  History history_;
  Priors priors_;
  TpeRules rules_;
  std::size_t failures_ = 0;  ///< that the model goes by
  // What follows from the history, kept up to date because to find it anew takes long.
  std::vector<std::vector<double>> columns_;           ///< by leaf, by row: coordinates
  std::vector<std::vector<std::uint32_t>> ascending_;  ///< by leaf: rows that have it
  // Rows, best first; of the first two those that fulfil the constraints.
  std::vector<std::uint32_t> complete_, stopped_, infeasible_;
  std::vector<std::vector<double>> curves_;  ///< by row, by level: scores; NaN: not known
  std::vector<Shape> shapes_;                ///< in the order in which they came
  std::vector<std::size_t> shape_of_;        ///< by row
};

}  // namespace tune
