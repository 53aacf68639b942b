// BOHB's model (Falkner et al., "BOHB: Robust and Efficient Hyperparameter Optimization at Scale",
// 2018, section 4 and algorithm 2): a kernel density of the good configs and one of the others, on
// the largest budget that enough of them have reached. Rules and constants are HpBandSter's as far
// as docs/searchers.md says nothing else.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "searchers/bohb_options.h"
#include "searchers/coordinates.h"

namespace tune {

/// What is known on one budget: configs as points in the unit cube (the index of a choice's value;
/// NaN for what a config does not have), and how good each is: those without a violation by score,
/// then the others by violation. NaN: worse than all others.
struct BohbData {
  std::vector<std::vector<double>> points;
  std::vector<double> scores;
  std::vector<double> violations;  ///< of the experiment's constraints; empty: there are none
};

/// Whether so many of them have a score that the good ones can be told.
bool has_enough_good(const BohbData& data, std::size_t axes, const BohbRules& rules);
/// Whether that is enough for a model.
bool is_enough(const BohbData& data, std::size_t axes, const BohbRules& rules);

/// The point of those tried that is denser among the good by the largest factor. `data` is enough.
std::vector<double> next_by_bohb(const std::vector<Axis>& axes, const BohbData& data,
                                 const BohbRules& rules, const std::function<double()>& uniform);

/// From coordinates to the unit cube and back; choices and NaN stay as they are.
double to_unit(const Axis& axis, double coordinate);
double from_unit(const Axis& axis, double unit);

}  // namespace tune
