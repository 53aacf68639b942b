// The standard normal distribution, accurate far out in its tails.
#pragma once

#include <cmath>
#include <numbers>

namespace tune {

inline const double half_log_two_pi = 0.5 * std::log(2 * std::numbers::pi);

double normal_cdf(double z);
double log_normal_cdf(double z);

/// Where the distribution function is `p`, 0 <= p <= 1 (Wichura, "Algorithm AS 241", 1988; relative
/// error about 1e-16).
double normal_quantile(double p);

/// Logarithm of the probability of [a, b], a <= b; either may be infinite.
double log_normal_mass(double a, double b);

/// Where the distribution function of what lies in [a, b] is `p`; a <= 0 <= b.
double truncated_normal_quantile(double p, double a, double b);

}  // namespace tune
