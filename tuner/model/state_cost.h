// What keeping the state has cost, as a value.
#pragma once

#include <cstdint>

#include "trainable/values.h"

namespace tune {

struct StateCost {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;  ///< of the journal
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t snapshot_bytes = 0;

  // On the loop, in its way.
  double write_s = 0;     ///< appending and writing
  double snapshot_s = 0;  ///< taking what has changed
  // Beside it, on other threads; mostly waiting for the disk.
  double sync_s = 0;         ///< syncing, and writing while that is under way
  double publish_s = 0;      ///< writing snapshots
  double publish_cpu_s = 0;  ///< processor time of that

  /// What the run has lost by it: the loop's time and the processor's.
  double total_s() const { return write_s + snapshot_s + publish_cpu_s; }

  StateCost& operator+=(const StateCost& other);
};

Json to_json(const StateCost& cost);
/// Absent members are 0. Throws Json::exception if it is no object of numbers.
StateCost parse_state_cost(const Json& json);

}  // namespace tune
