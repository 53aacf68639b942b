// Population-based training as its paper has it: copies have hyperparameters that are perturbed or
// drawn anew.
#include <utility>
#include <vector>

#include "schedulers/mutations.h"
#include "schedulers/population.h"
#include "schedulers/schedulers.h"

namespace tune {

namespace {

class Perturbation : public Explorer {
 public:
  Perturbation(std::vector<Mutation> mutations, Exploration exploration)
      : mutations_(std::move(mutations)), exploration_(std::move(exploration)) {}

  Json explore(TrialId, Json config, Random& random) override {
    return tune::explore(std::move(config), mutations_, exploration_, random);
  }
  std::unique_ptr<Explorer> copy() const override { return std::make_unique<Perturbation>(*this); }

 private:
  const std::vector<Mutation> mutations_;
  const Exploration exploration_;
};

}  // namespace

std::unique_ptr<Scheduler> make_pbt(PbtOptions options) {
  auto explorer =
      std::make_unique<Perturbation>(std::move(options.mutations), std::move(options.exploration));
  return make_population(std::move(options), std::move(explorer));
}

}  // namespace tune
