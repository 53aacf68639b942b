// Suggests what a model of good and other trials expects most of. The rules: tpe_model.h.
#include <memory>
#include <utility>

#include "searchers/priors.h"
#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "searchers/tpe_model.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

class Tpe : public Searcher {
 public:
  Tpe(TpeModel model, const TpeOptions& options)
      : model_(std::move(model)), priors_(space()), options_(options), random_(options.seed) {}

  Answer suggest(TrialId) override {
    Random random = random_;
    Suggestion suggestion = suggestion_of(space(), [&] { return draw(random); });
    random_ = random;
    return suggestion;
  }

  void on_trial_add(TrialId id, const std::string& config) override { model_.add(id, config); }
  void on_result(TrialId id, const Observation& result) override { model_.note(id, result); }
  void on_trial_pause(TrialId id, const Observation& last) override {
    model_.end(id, last, Ended::stopped);
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    model_.end(id, last, how);
  }

  bool may_take_long() const override { return true; }

  Json save() const override {
    return {{"random", random_.save()},
            {"history", model_.history().save()},
            {"curves", model_.save_curves()}};
  }
  void load(const Json& state) override {
    load_state("the searcher tpe", [&] {
      Random random(0);
      random.load(state.at("random"));
      model_.load(state.at("history"), state.value("curves", Json::array()));
      random_ = random;
    });
  }

 private:
  const SearchSpace& space() const { return model_.history().space(); }

  Json draw(Random& random) const {
    if (model_.known() < static_cast<std::size_t>(options_.n_startup_trials)) {
      return priors_.sample(random);
    }
    return model_.suggest([&] { return random.uniform(); });
  }

  TpeModel model_;
  const Priors priors_;
  const TpeOptions options_;
  Random random_;
};

}  // namespace

std::unique_ptr<Searcher> make_tpe(const SearchSpace& space, std::size_t objectives,
                                   const TpeOptions& options) {
  return std::make_unique<Tpe>(TpeModel(History(space, objectives), options.rules), options);
}

}  // namespace tune
