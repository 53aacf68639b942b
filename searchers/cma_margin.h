// Keeps a normal distribution from settling on one step of an axis with steps (Hamano et al.,
// "CMA-ES with Margin: Lower-Bounding Marginal Probability for Mixed-Integer Black-Box
// Optimization", GECCO 2022). Knows one axis at a time.
#pragma once

namespace tune {

/// How a point is read along an axis: `scale` times as far from the mean as it was drawn.
struct MarginedAxis {
  double mean;
  double scale;
};

/// Moves and widens so that what lies beyond `below` and beyond `above` has a probability of at
/// least `margin` / 2 each. The mean lies between the two, which are the edges of its step; on the
/// first or last step they are both its only edge, and `margin` is what lies beyond that.
/// `deviation` is as drawn.
MarginedAxis with_margin(const MarginedAxis& axis, double deviation, double below, double above,
                         double margin);

}  // namespace tune
