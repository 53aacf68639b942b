// A list of configs, one after another. Learns nothing from results.
#include <algorithm>
#include <utility>

#include "searchers/searchers.h"
#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

class Rows : public Searcher {
 public:
  explicit Rows(std::vector<Suggestion> rows) : rows_(std::move(rows)) {}

  Answer suggest(TrialId) override {
    if (next_ == rows_.size()) return Exhausted{};
    return rows_[next_++];
  }
  std::optional<std::uint64_t> total() const override { return rows_.size(); }

  Json save() const override { return {{"next", next_}}; }
  void load(const Json& state) override {
    load_state("the searcher of a list of configs",
               [&] { next_ = std::min(load_whole<std::size_t>(state.at("next")), rows_.size()); });
  }

 private:
  const std::vector<Suggestion> rows_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_rows(std::vector<Suggestion> rows) {
  return std::make_unique<Rows>(std::move(rows));
}

}  // namespace tune
