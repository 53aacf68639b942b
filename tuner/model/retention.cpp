// The retention rules, and their union: a checkpoint stays if any rule keeps it.
#include "tuner/model/retention.h"

#include <algorithm>
#include <numeric>

#include "tuner/base/error.h"

namespace tune {

namespace {

/// Best first; among equals that of the later iteration. Of several of one iteration the first is
/// that of its result: a plain program may have trained on before the others, and printed nothing.
std::vector<std::size_t> rank_by_score(std::span<const Checkpoint> oldest_first, Mode mode) {
  std::vector<std::size_t> order(oldest_first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Checkpoint &one = oldest_first[a], &other = oldest_first[b];
    if (better(mode, one.score, other.score)) return true;
    return !better(mode, other.score, one.score) && one.iteration > other.iteration;
  });
  return order;
}

Mode order_of(const CheckpointConfig& config) {
  return config.checkpoint_score_order.value_or(Mode::max);
}

class KeepAll : public Retention {
 public:
  std::vector<bool> keep(std::span<const Checkpoint> oldest_first) const override {
    return std::vector<bool>(oldest_first.size(), true);
  }
};

class LatestN : public Retention {
 public:
  explicit LatestN(int n) : n_(static_cast<std::size_t>(n)) {}

  std::vector<bool> keep(std::span<const Checkpoint> oldest_first) const override {
    std::vector<bool> kept(oldest_first.size(), false);
    std::fill_n(kept.rbegin(), std::min(n_, kept.size()), true);
    return kept;
  }

 private:
  std::size_t n_;
};

class BestN : public Retention {
 public:
  BestN(int n, Mode mode) : n_(static_cast<std::size_t>(n)), mode_(mode) {}

  std::vector<bool> keep(std::span<const Checkpoint> oldest_first) const override {
    std::vector<bool> kept(oldest_first.size(), false);
    const auto order = rank_by_score(oldest_first, mode_);
    for (std::size_t i = 0; i < std::min(n_, order.size()); ++i) kept[order[i]] = true;
    return kept;
  }

 private:
  std::size_t n_;
  Mode mode_;
};

class EveryNIterations : public Retention {
 public:
  explicit EveryNIterations(std::int64_t n) : n_(n) {}

  std::vector<bool> keep(std::span<const Checkpoint> oldest_first) const override {
    std::vector<bool> kept;
    for (const Checkpoint& checkpoint : oldest_first) {
      kept.push_back(checkpoint.iteration % n_ == 0);
    }
    return kept;
  }

 private:
  std::int64_t n_;
};

class AnyRule : public Retention {
 public:
  explicit AnyRule(std::vector<std::unique_ptr<Retention>> rules) : rules_(std::move(rules)) {}

  std::vector<bool> keep(std::span<const Checkpoint> oldest_first) const override {
    std::vector<bool> kept(oldest_first.size(), false);
    for (const auto& rule : rules_) {
      const std::vector<bool> wanted = rule->keep(oldest_first);
      std::transform(kept.begin(), kept.end(), wanted.begin(), kept.begin(), std::logical_or<>());
    }
    return kept;
  }

 private:
  std::vector<std::unique_ptr<Retention>> rules_;
};

}  // namespace

std::unique_ptr<Retention> make_keep_all() { return std::make_unique<KeepAll>(); }

std::unique_ptr<Retention> make_latest_n(int n) {
  ensure(n >= 0, "a number of checkpoints to keep is not negative");
  return std::make_unique<LatestN>(n);
}

std::unique_ptr<Retention> make_best_n(int n, Mode mode) {
  ensure(n >= 0, "a number of checkpoints to keep is not negative");
  return std::make_unique<BestN>(n, mode);
}

std::unique_ptr<Retention> make_every_n_iterations(std::int64_t n) {
  ensure(n >= 1, "a period in iterations is at least 1");
  return std::make_unique<EveryNIterations>(n);
}

std::unique_ptr<Retention> make_any_of(std::vector<std::unique_ptr<Retention>> rules) {
  return std::make_unique<AnyRule>(std::move(rules));
}

std::unique_ptr<Retention> make_retention(const CheckpointConfig& config) {
  if (!config.num_to_keep) return make_keep_all();
  const int n = *config.num_to_keep;
  if (!config.checkpoint_score_attribute) return make_latest_n(std::max(n, 1));
  std::vector<std::unique_ptr<Retention>> rules;
  rules.push_back(make_best_n(n, order_of(config)));
  rules.push_back(make_latest_n(1));
  return make_any_of(std::move(rules));
}

std::vector<std::size_t> rank_checkpoints(std::span<const Checkpoint> checkpoints,
                                          const CheckpointConfig& config) {
  if (config.checkpoint_score_attribute) {
    return rank_by_score(checkpoints, order_of(config));
  }
  std::vector<std::size_t> order(checkpoints.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

}  // namespace tune
