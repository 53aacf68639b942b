#include "tests/bench/cases.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tests/bench/engine.h"
#include "tests/bench/raw_limits.h"

namespace tune::bench {

namespace {

/// Memory that this process has written to, in small pages: what makes a fork dear.
class TouchedHeap {
 public:
  explicit TouchedHeap(std::size_t bytes)
      : bytes_(bytes),
        memory_(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    ::madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    constexpr std::size_t page_bytes = 4096;
    for (std::size_t at = 0; at < bytes_; at += page_bytes) static_cast<char*>(memory_)[at] = 1;
  }
  ~TouchedHeap() { ::munmap(memory_, bytes_); }
  TouchedHeap(const TouchedHeap&) = delete;
  TouchedHeap& operator=(const TouchedHeap&) = delete;

 private:
  std::size_t bytes_;
  void* memory_;
};

/// Descriptors that would be inherited if nobody cared.
class OpenDescriptors {
 public:
  explicit OpenDescriptors(int count) {
    for (int i = 0; i < count; ++i) {
      const int fd = ::open("/dev/null", O_RDONLY);
      if (fd < 0) throw std::system_error(errno, std::generic_category(), "/dev/null");
      descriptors_.push_back(fd);
    }
  }
  ~OpenDescriptors() {
    for (const int fd : descriptors_) ::close(fd);
  }
  OpenDescriptors(const OpenDescriptors&) = delete;
  OpenDescriptors& operator=(const OpenDescriptors&) = delete;

 private:
  std::vector<int> descriptors_;
};

void add(Report& report, const Row& like, double measured, std::optional<double> limit = {}) {
  Row& row = report.row(like);
  row.measured.push_back(measured);
  if (limit) row.limit.push_back(*limit);
}

void add_turns(Report& report, const std::string& name, const Measured& measured) {
  constexpr double ms = 1e3;
  add(report, {"longest turn, " + name, "ms", {}, {}, 5.0, Aim::at_most},
      measured.worst_turn_s * ms);
  add(report, {"longest turn left alone, " + name, "ms", {}, {}, 5.0, Aim::at_most},
      measured.worst_own_turn_s * ms);
}

}  // namespace

double Work::ideal_s() const {
  const int rounds = (trials + slots - 1) / slots;
  return rounds * static_cast<double>(steps) * period_s;
}

void measure_launches(const Settings& settings, Report& report) {
  const Plan plan{.trials = settings.launch_trials, .slots = settings.in_flight, .steps = 1};
  const auto us_per_trial = [&](double seconds) { return seconds / plan.trials * 1e6; };
  const auto run = [&](const std::string& name) {
    settings.progress(name);
    const Measured measured = run_engine(settings.program, plan, settings.scratch);
    add_turns(report, name, measured);
    add(report, {"loop's cpu time per trial, " + name, "us", {}, {}, {}, Aim::at_most},
        us_per_trial(measured.loop_cpu_s));
    return measured;
  };
  const auto per_s = [&](const Measured& measured) { return plan.trials / measured.seconds; };
  for (int i = 0; i < settings.repeat; ++i) {
    add(report, {"experiment of one trivial trial", "ms", {}, {}, {}, Aim::at_most},
        run_engine(settings.program, {.steps = 1}, settings.scratch).seconds * 1e3);
    settings.progress("bare processes");
    const RawSpawns bare = raw_spawns(settings.program, plan.trials, settings.in_flight);
    const Measured plain = run("trivial trials");
    add(report, {"trivial trials", "/s", {}, {}, 0.5}, per_s(plain), bare.per_s);
    add(report, {"driver's cpu time per trial", "us", {}, {}, {}, Aim::at_most},
        us_per_trial(plain.cpu.own_s), us_per_trial(bare.cpu.own_s));
    add(report, {"trainable's cpu time per trial", "us", {}, {}, {}, Aim::at_most},
        us_per_trial(plain.cpu.children_s), us_per_trial(bare.cpu.children_s));
    {
      const TouchedHeap heap(settings.heap_bytes);
      add(report, {"with 2 GiB of heap, by without", "/s", {}, {}, 0.9},
          per_s(run("trivial trials, 2 GiB of heap")), per_s(plain));
    }
    const OpenDescriptors descriptors(settings.descriptors);
    add(report, {"with 1000 descriptors, by without", "/s", {}, {}, 0.9},
        per_s(run("trivial trials, 1000 descriptors")), per_s(plain));
  }
}

void measure_results(const Settings& settings, Report& report) {
  for (int i = 0; i < settings.repeat; ++i) {
    for (const int children : settings.children) {
      const std::string name = "results of " + std::to_string(children) + " trials";
      settings.progress(name);
      const RawEcho raw =
          raw_echo(settings.program, children, settings.duration_s, settings.scratch);
      const Measured measured =
          run_engine(settings.program,
                     {.trials = children, .slots = children, .duration_s = settings.duration_s},
                     settings.scratch);
      add(report, {name, "/s", {}, {}, 0.25}, measured.results_per_s, raw.per_s);
      add(report, {"loop's cpu time per result, " + name, "us", {}, {}, {}, Aim::at_most},
          measured.loop_cpu_s / static_cast<double>(measured.results) * 1e6);
      add_turns(report, name, measured);
    }
  }
}

void measure_latency(const Settings& settings, Report& report) {
  constexpr double us = 1e6;
  const std::vector<int> cpus = usable_cpus();
  for (int i = 0; i < settings.repeat; ++i) {
    for (const bool two : {false, true}) {
      if (two && cpus.size() < 2) continue;
      const std::string name =
          std::string("result to decision on ") + (two ? "two cpus" : "one cpu");
      settings.progress(name);
      const StayOn stay(cpus.front());
      const int other = two ? cpus.back() : cpus.front();
      const auto raw =
          raw_echo(settings.program, 1, settings.duration_s, settings.scratch, other).latency_s;
      const Plan plan{.duration_s = settings.duration_s, .measure_latency = true, .cpu = other};
      const auto ours = run_engine(settings.program, plan, settings.scratch).latency_s;
      add(report, {name + ", p50", "us", {}, {}, 3.0, Aim::at_most}, quantile(ours, 0.5) * us,
          quantile(raw, 0.5) * us);
      add(report, {name + ", p99", "us", {}, {}, 10.0, Aim::at_most}, quantile(ours, 0.99) * us,
          quantile(raw, 0.99) * us);
    }
  }
}

void measure_work(const Settings& settings, Report& report) {
  for (const Work& work : settings.works) {
    settings.progress(work.name);
    const Plan plan{
        .trials = work.trials, .slots = work.slots, .steps = work.steps, .period_s = work.period_s};
    const Measured measured = run_engine(settings.program, plan, settings.scratch);
    const auto aim = work.has_aim ? std::optional(1.01) : std::nullopt;
    add(report, {work.name, "s", {}, {}, aim, Aim::at_most}, measured.seconds, work.ideal_s());
    add_turns(report, work.name, measured);
  }
}

}  // namespace tune::bench
