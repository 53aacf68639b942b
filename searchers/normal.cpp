// CDF by erfc with an asymptotic series in the tail, quantile by Wichura's AS 241, and truncated
// variants in logarithms.
#include "searchers/normal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace tune {

namespace {

/// c[0] + c[1] x + ...
template <std::size_t n>
double polynomial(const std::array<double, n>& c, double x) {
  double sum = c[n - 1];
  for (std::size_t i = n - 1; i > 0; --i) sum = sum * x + c[i - 1];
  return sum;
}

/// The chance to be farther out than `z` >= 0; 0 from where it no longer adds to anything near 1.
double tail(double z) { return z > 9 ? 0 : normal_cdf(-z); }

constexpr std::array<double, 8> middle_over = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                               1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                               4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array<double, 8> middle_under = {1.0,
                                                4.2313330701600911252e+1,
                                                6.8718700749205790830e+2,
                                                5.3941960214247511077e+3,
                                                2.1213794301586595867e+4,
                                                3.9307895800092710610e+4,
                                                2.8729085735721942674e+4,
                                                5.2264952788528545610e+3};
constexpr std::array<double, 8> near_over = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                             5.76949722146069140550e0,  3.64784832476320460504e0,
                                             1.27045825245236838258e0,  2.41780725177450611770e-1,
                                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> near_under = {1.0,
                                              2.05319162663775882187e0,
                                              1.67638483018380384940e0,
                                              6.89767334985100004550e-1,
                                              1.48103976427480074590e-1,
                                              1.51986665636164571966e-2,
                                              5.47593808499534494600e-4,
                                              1.05075007164441684324e-9};
constexpr std::array<double, 8> far_over = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                            1.78482653991729133580e0,  2.96560571828504891230e-1,
                                            2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                            2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> far_under = {1.0,
                                             5.99832206555887937690e-1,
                                             1.36929880922735805310e-1,
                                             1.48753612908506148525e-2,
                                             7.86869131145613259100e-4,
                                             1.84631831751005468180e-5,
                                             1.42151175831644588870e-7,
                                             2.04426310338993978564e-15};

/// The quantile of p <= 0.5 given as p - 0.5 and p.
double lower_quantile(double from_middle, double p) {
  if (from_middle >= -0.425) {
    const double r = 0.180625 - from_middle * from_middle;
    return from_middle * polynomial(middle_over, r) / polynomial(middle_under, r);
  }
  if (p <= 0) return -std::numeric_limits<double>::infinity();
  const double r = std::sqrt(-std::log(p));
  if (r <= 5) return -polynomial(near_over, r - 1.6) / polynomial(near_under, r - 1.6);
  return -polynomial(far_over, r - 5) / polynomial(far_under, r - 5);
}

}  // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double log_normal_cdf(double z) {
  if (z > 6) return std::log1p(-normal_cdf(-z));
  if (z > -30) return std::log(normal_cdf(z));
  // The asymptotic series; what is left out is below 1e-12 here.
  const double s = 1 / (z * z);
  const double series = -s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)));
  return -0.5 * z * z - std::log(-z) - half_log_two_pi + std::log1p(series);
}

double normal_quantile(double p) {
  const double from_middle = p - 0.5;
  return from_middle <= 0 ? lower_quantile(from_middle, p) : -lower_quantile(-from_middle, 1 - p);
}

double log_normal_mass(double a, double b) {
  if (a > 0) return log_normal_mass(-b, -a);
  if (b > 0) return std::log1p(-tail(-a) - tail(b));
  if (b > -30) return std::log(normal_cdf(b) - normal_cdf(a));
  const double log_b = log_normal_cdf(b);
  return log_b + std::log1p(-std::exp(log_normal_cdf(a) - log_b));
}

double truncated_normal_quantile(double p, double a, double b) {
  const double below = tail(-a), above = tail(b);
  const double mass = 1 - below - above;
  const double lower = below + p * mass;
  const double upper = above + (1 - p) * mass;
  const double z =
      lower <= 0.5 ? lower_quantile(lower - 0.5, lower) : -lower_quantile(upper - 0.5, upper);
  return std::clamp(z, a, b);
}

}  // namespace tune
