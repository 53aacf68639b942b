// Processors: which one a thread runs on, and how much of their time was used.
// Knows nothing of what runs there.
#pragma once

#include <sched.h>
#include <sys/resource.h>

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

/// Processor time of this process, all its threads, and of those of its children that it has
/// reaped. Other work on the machine changes this less than it changes the time that passes.
inline double cpu_s_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
struct CpuTime {
  double own_s = cpu_s_of(RUSAGE_SELF);
  double children_s = cpu_s_of(RUSAGE_CHILDREN);
  CpuTime since(const CpuTime& begin) const {
    return {own_s - begin.own_s, children_s - begin.children_s};
  }
};

/// A round trip between two processors takes some times that on one.
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
