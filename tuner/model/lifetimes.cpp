// A histogram with logarithmic bins, eight for each doubling.
#include "tuner/model/lifetimes.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tuner/base/whole_number.h"

namespace tune {

namespace {

constexpr double bins_per_doubling = 8;

int bin_of(Seconds lifetime_s) {
  constexpr Seconds shortest_s = 1e-6;
  return static_cast<int>(
      std::floor(bins_per_doubling * std::log2(std::max(lifetime_s, shortest_s))));
}

}  // namespace

void Lifetimes::add(Seconds lifetime_s) {
  if (!(lifetime_s > 0)) return;
  Bin& bin = bins_[bin_of(lifetime_s)];
  ++bin.count;
  bin.sum_s += lifetime_s;
  ++count_;
  sum_s_ += lifetime_s;
}

void Lifetimes::remove(Seconds lifetime_s) {
  const auto found = lifetime_s > 0 ? bins_.find(bin_of(lifetime_s)) : bins_.end();
  // An older program has counted no lifetimes.
  if (found == bins_.end()) return;
  --count_;
  sum_s_ -= lifetime_s;
  found->second.sum_s -= lifetime_s;
  if (--found->second.count == 0) bins_.erase(found);
}

Json Lifetimes::save() const {
  Json bins = Json::array();
  for (const auto& [bin, held] : bins_) bins.push_back({bin, held.count, held.sum_s});
  return bins;
}

Lifetimes Lifetimes::loaded(const Json& state) {
  Lifetimes lifetimes;
  for (const Json& saved : state) {
    const Bin bin{load_whole<std::uint64_t>(saved.at(1)), saved.at(2).get<double>()};
    if (bin.count == 0) throw std::invalid_argument("a bin of no lifetimes");
    lifetimes.bins_[load_whole<int>(saved.at(0))] = bin;
    lifetimes.count_ += bin.count;
    lifetimes.sum_s_ += bin.sum_s;
  }
  return lifetimes;
}

}  // namespace tune
