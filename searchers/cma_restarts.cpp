// Restart schedules of CMA-ES: IPOP doubles the population, BIPOP alternates large and small runs.
#include "searchers/cma_restarts.h"

#include <algorithm>
#include <cmath>

#include "tuner/policy/policy_state.h"

namespace tune {

namespace {
constexpr std::size_t most_doublings = 9;
}  // namespace

CmaRunList::CmaRunList(const CmaOptions& options)
    : strategy_(options.restarts),
      first_{static_cast<std::size_t>(options.population), options.sigma0},
      current_(first_) {}

// ipop: Auger and Hansen, "A Restart CMA Evolution Strategy with Increasing Population Size", CEC
// 2005. bipop: Hansen, "Benchmarking a BI-Population CMA-ES on the BBOB-2009 Function Testbed".
CmaRun CmaRunList::next(std::size_t evaluations, Random& random) {
  (is_small_ ? evaluations_small_ : evaluations_large_) += evaluations;
  is_small_ = strategy_ == CmaRestarts::bipop && evaluations_small_ < evaluations_large_;
  const auto least = static_cast<double>(first_.population);
  if (is_small_) {
    const double half = std::exp2(static_cast<double>(doublings_)) / 2;
    const double size = least * std::pow(half, std::pow(random.uniform(), 2));
    const double sigma = first_.sigma * std::pow(10, -2 * random.uniform());
    current_ = {std::max(static_cast<std::size_t>(size), first_.population), sigma};
  } else {
    doublings_ = std::min(doublings_ + 1, most_doublings);
    current_ = {first_.population << doublings_, first_.sigma};
  }
  return current_;
}

Json CmaRunList::save() const {
  return {{"population", current_.population},
          {"sigma", current_.sigma},
          {"doublings", doublings_},
          {"is_small", is_small_},
          {"evaluations_small", evaluations_small_},
          {"evaluations_large", evaluations_large_}};
}

void CmaRunList::load(const Json& state) {
  const CmaRun current{load_whole<std::size_t>(state.at("population")),
                       state.at("sigma").get<double>()};
  const auto doublings = load_whole<std::size_t>(state.at("doublings"));
  const bool is_small = state.at("is_small").get<bool>();
  const auto small = load_whole<std::size_t>(state.at("evaluations_small"));
  const auto large = load_whole<std::size_t>(state.at("evaluations_large"));
  if (doublings > most_doublings) throw std::invalid_argument("too many restarts");
  current_ = current;
  doublings_ = doublings;
  is_small_ = is_small;
  evaluations_small_ = small;
  evaluations_large_ = large;
}

}  // namespace tune
