// What a trial needs and what there is: pure accounting, no detection (execution/local does that).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// Amounts by name: "cpu", "gpu" or any name the user made up. Fractions are allowed.
using Resources = std::map<std::string, double>;

/// JSON text like {"cpu":2.0}, and back; std::invalid_argument if it is something else.
std::string text_of_resources(const Resources& resources);
Resources resources_from_text(std::string_view text);

/// "0,1".
std::string numbers_of(const std::vector<int>& gpus);

/// What a running trial holds.
struct Allocation {
  Resources amounts;
  std::vector<int> gpus;  ///< indices into the pool's devices; a fractional gpu shares one device
};

/// Hands out resources. "gpu" is kept per device: a request below 1 gets a share of
/// the device that is used the least, a whole-number request takes free devices. Requests for
/// more than one gpu must be whole numbers. Amounts are compared with a tolerance of 1e-9.
class ResourcePool {
 public:
  explicit ResourcePool(const Resources& totals);

  /// Why `request` can never be met, as one sentence with name, wanted and total; nothing if it
  /// can. A name that the totals lack counts as 0 there.
  std::optional<std::string> impossible(const Resources& request) const;

  /// Nothing if `request` does not fit beside what is in use, and then nothing is taken.
  std::optional<Allocation> acquire(const Resources& request);
  /// Takes the devices and amounts of a released `allocation` again; false if they are not free.
  bool acquire_again(const Allocation& allocation);
  void release(const Allocation& allocation);

  const Resources& totals() const { return totals_; }
  Resources used() const;

 private:
  std::optional<std::vector<int>> find_gpus(double amount) const;

  Resources totals_;
  Resources used_;
  std::vector<double> gpu_used_;  ///< by device, 0..1
};

}  // namespace tune
