// Events without a meaning, and a reader that remembers their numbers.
// For tests of the store, which does not ask what an event means.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tuner/journal/experiment_store.h"

namespace tune {

inline void append_events(ExperimentStore& store, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t n = from; n <= to; ++n) {
    store.append({n, 1000.5, StopRequested{"event " + std::to_string(n)}});
  }
}

inline std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> all(to + 1 - from);
  std::iota(all.begin(), all.end(), from);
  return all;
}

struct Replayed : StateReader {
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> reasons;

  void restart() override {
    numbers.clear();
    reasons.clear();
  }
  void on_event(Event&& event) override {
    numbers.push_back(event.number);
    reasons.push_back(std::get<StopRequested>(event.body).reason);
  }
};

}  // namespace tune
