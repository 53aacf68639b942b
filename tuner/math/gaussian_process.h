// Gaussian process regression: predicts a function, with the uncertainty, from noisy values of it.
// Pure and without threads: the same call gives the same answer. (Rasmussen and Williams, "Gaussian
// Processes for Machine Learning", 2006, chapters 2 and 5.)
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tuner/math/kernel.h"

namespace tune {

/// The function's value at a point: normally distributed. The noise of an observation is not in it.
struct Prediction {
  double mean = 0;
  double variance = 0;
};

/// Values made to have mean 0 and standard deviation 1. What is not a finite number becomes the
/// least of those that are (of nothing but such, all are 0): larger ones count as better.
struct Standardized {
  std::vector<double> values;
  double mean = 0;
  double deviation = 1;
};
Standardized standardize(std::vector<double> values);

/// Hyperparameters are the kernel's, then the variance of the noise; all positive.
class GaussianProcess {
 public:
  /// `points`: one after the other, as many numbers each as the kernel has dimensions; `targets`:
  /// one number for each, finite, of a function whose mean is 0 where nothing is known. None is
  /// needed. The same point may come again.
  GaussianProcess(std::unique_ptr<Kernel> kernel, std::size_t dimensions,
                  const std::vector<double>& points, const std::vector<double>& targets);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;

  /// Costs O(n^3).
  void set(const std::vector<double>& hyperparameters);

  struct FitOptions {
    std::vector<double> lower, upper;  ///< of the hyperparameters
    /// Logarithm of their density before anything was seen, and its derivatives by their
    /// logarithms, which it adds to `gradient`. Empty: none is likelier than another.
    std::function<double(const std::vector<double>& hyperparameters, std::vector<double>& gradient)>
        log_prior = {};
    int max_evaluations = 50;  ///< O(n^3) each
    double tolerance = 1e-2;   ///< of the gradient
  };
  /// Sets the likeliest hyperparameters near `start`, and returns them.
  std::vector<double> fit(const std::vector<double>& start, const FitOptions& options);

  // The rest needs hyperparameters.

  /// Logarithm of the density of the targets, and its derivatives by the logarithms of the
  /// hyperparameters.
  double log_likelihood() const;
  std::vector<double> log_likelihood_gradient() const;

  Prediction predict(const std::vector<double>& x) const;
  /// With the derivatives by each coordinate; O(n^2).
  struct Slopes {
    std::vector<double> mean, variance;
  };
  Prediction predict(const std::vector<double>& x, Slopes& slopes) const;
  /// Of many points at once, one after the other.
  std::vector<Prediction> predict_all(const std::vector<double>& points) const;

  /// One more observation under the same hyperparameters; O(n^2).
  void add(const std::vector<double>& x, double target);
  /// Takes the predicted mean at `x` for the certain value there (kriging believer); O(n^2). For
  /// running trials: no mean changes, and the surroundings become more certain, so that the next
  /// suggestion is elsewhere. A noisy observation instead would do little where the noise is large,
  /// and the same point would be the best again. `add` must not be called after it.
  void believe(const std::vector<double>& x);

  std::size_t size() const;
  /// What was added to the noise so that the Cholesky factorization succeeds; mostly 0.
  double jitter() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tune
