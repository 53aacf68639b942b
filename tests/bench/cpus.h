// Which processor a thread runs on: a round trip between two takes some times that on one.
// Knows nothing of what runs there.
#pragma once

#include <sched.h>

#include <vector>

namespace tune::bench {

inline constexpr int any_cpu = -1;

/// The processors that this thread may run on.
inline std::vector<int> usable_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// Keeps this thread, and the threads and processes that it starts, on `cpu`.
inline void stay_on(int cpu) {
  if (cpu == any_cpu) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// Does that while it lives.
class StayOn {
 public:
  explicit StayOn(int cpu) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    stay_on(cpu);
  }
  ~StayOn() { ::sched_setaffinity(0, sizeof before_, &before_); }
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace tune::bench
