// One searcher for the first suggestions, another one for the rest. Both are told everything, so
// that the second begins with all that is known.
#include <utility>

#include "searchers/searchers.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

class Stages : public Searcher {
 public:
  Stages(std::unique_ptr<Searcher> first, std::int64_t switch_after, std::unique_ptr<Searcher> then)
      : first_(std::move(first)), then_(std::move(then)), left_(switch_after) {}

  Answer suggest(TrialId id) override {
    if (left_ <= 0) return then_->suggest(id);
    Answer answer = first_->suggest(id);
    if (std::holds_alternative<Suggestion>(answer)) --left_;
    return answer;
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    if (left_ > 0) first_->on_trial_add(id, config);
    then_->on_trial_add(id, config);
  }
  void on_result(TrialId id, const Observation& result) override {
    if (left_ > 0) first_->on_result(id, result);
    then_->on_result(id, result);
  }
  void on_trial_pause(TrialId id, const Observation& last) override {
    if (left_ > 0) first_->on_trial_pause(id, last);
    then_->on_trial_pause(id, last);
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    if (left_ > 0) first_->on_trial_end(id, last, how);
    then_->on_trial_end(id, last, how);
  }

  bool may_take_long() const override { return true; }

  Json save() const override {
    return {
        {"left", left_}, {"first", left_ > 0 ? first_->save() : Json()}, {"then", then_->save()}};
  }
  void load(const Json& state) override {
    load_state("the searcher stages", [&] {
      const auto left = load_whole<std::int64_t>(state.at("left"));
      const Json& first = state.at("first");
      const Json before = then_->save();
      then_->load(state.at("then"));
      try {
        if (left > 0) first_->load(first);
      } catch (...) {
        then_->load(before);
        throw;
      }
      left_ = left;
    });
  }

 private:
  std::unique_ptr<Searcher> first_;  ///< told nothing more when its stage is over
  std::unique_ptr<Searcher> then_;
  std::int64_t left_;  ///< suggestions that the first has to make
};

}  // namespace

std::unique_ptr<Searcher> make_stages(std::unique_ptr<Searcher> first, std::int64_t switch_after,
                                      std::unique_ptr<Searcher> then) {
  return std::make_unique<Stages>(std::move(first), switch_after, std::move(then));
}

}  // namespace tune
