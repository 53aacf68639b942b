// Another searcher's wishes, granted as well as a list of configs can.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "searchers/coordinates.h"
#include "searchers/searchers.h"
#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"
#include "tuner/space/search_space.h"

namespace tune {

namespace {

class NearestRows : public Searcher {
 public:
  NearestRows(const SearchSpace& space, std::vector<Suggestion> rows,
              std::vector<std::size_t>& taken, std::unique_ptr<Searcher> inner)
      : space_(space),
        axes_(axes_of(space_)),
        rows_(std::move(rows)),
        taken_(taken),
        inner_(std::move(inner)),
        is_free_(rows_.size(), true) {
    for (const Suggestion& row : rows_) points_.push_back(point_of(row.config));
  }

  Answer suggest(TrialId id) override {
    if (index_of(id) >= taken_.size()) return inner_->suggest_waiting();
    Answer answer = inner_->suggest(id);
    const auto* const wish = std::get_if<Suggestion>(&answer);
    if (wish == nullptr) return answer;
    const std::size_t row = nearest_to(point_of(wish->config));
    is_free_[row] = false;
    taken_[index_of(id)] = row;
    return rows_[row];
  }

  Answer suggest_waiting() override { return inner_->suggest_waiting(); }

  void on_trial_resume(TrialId id) override { inner_->on_trial_resume(id); }
  void on_trial_hold(TrialId id, bool released) override { inner_->on_trial_hold(id, released); }
  void on_trial_add(TrialId id, const std::string& config) override {
    inner_->on_trial_add(id, config);
  }
  void on_result(TrialId id, const Observation& result) override { inner_->on_result(id, result); }
  void on_trial_pause(TrialId id, const Observation& last) override {
    inner_->on_trial_pause(id, last);
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    inner_->on_trial_end(id, last, how);
  }
  std::optional<std::uint64_t> total() const override { return taken_.size(); }
  bool may_take_long() const override { return inner_->may_take_long(); }
  SuggestionLimits limits() const override { return inner_->limits(); }

  Json save() const override { return {{"inner", inner_->save()}, {"free", is_free_}}; }
  void load(const Json& state) override {
    load_state("the searcher of the nearest configs", [&] {
      auto is_free = state.at("free").get<std::vector<bool>>();
      if (is_free.size() != rows_.size()) throw std::invalid_argument("a state of other configs");
      inner_->load(state.at("inner"));
      is_free_ = std::move(is_free);
    });
  }

 private:
  using Point = std::vector<double>;

  /// Numbers as parts of their range; NaN for what the config does not have.
  Point point_of(const Json& config) const {
    Point point = coordinates_of(space_, axes_, config);
    for (std::size_t leaf = 0; leaf < point.size(); ++leaf) {
      const Axis& axis = axes_[leaf];
      if (axis.is_seed) point[leaf] = 0;
      if (!axis.is_choice() && axis.is_modelled()) point[leaf] /= axis.high - axis.low;
    }
    return point;
  }

  /// Another value of a choice is as far as the other end of a range, and so is having none.
  double distance(const Point& a, const Point& b) const {
    double sum = 0;
    for (std::size_t leaf = 0; leaf < a.size(); ++leaf) {
      if (a[leaf] == b[leaf] || (std::isnan(a[leaf]) && std::isnan(b[leaf]))) continue;
      const double apart = a[leaf] - b[leaf];
      sum += axes_[leaf].is_choice() || std::isnan(apart) ? 1 : apart * apart;
    }
    return sum;
  }

  std::size_t nearest_to(const Point& point) const {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!is_free_[row]) continue;
      const double apart = distance(point, points_[row]);
      if (apart < least) {
        least = apart;
        nearest = row;
      }
    }
    return nearest;
  }

  const SearchSpace space_;
  const std::vector<Axis> axes_;
  const std::vector<Suggestion> rows_;
  std::vector<Point> points_;  ///< by row
  std::vector<std::size_t>& taken_;
  const std::unique_ptr<Searcher> inner_;
  std::vector<bool> is_free_;  ///< by row
};

}  // namespace

std::unique_ptr<Searcher> make_nearest_rows(const SearchSpace& space, std::vector<Suggestion> rows,
                                            std::vector<std::size_t>& taken,
                                            std::unique_ptr<Searcher> inner) {
  return std::make_unique<NearestRows>(space, std::move(rows), taken, std::move(inner));
}

}  // namespace tune
