// What keeping the state costs with few and with very many trials: everything real but the trials,
// which are records made up here at a steady pace.
//   bench_state [--trials N ...] [--seconds S] [--rate R] [--period S] [--writer] [--dir DIR]
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/base/json_text.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/process/system_clock.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/run/commit/snapshots.h"

namespace tune::bench {
namespace {

struct Options {
  std::vector<int> trials = {100, 1'000, 10'000, 100'000};
  double seconds = 20;  ///< of the steady phase
  double rate = 1'000;  ///< results a second in it
  std::optional<Seconds> period_s;
  bool writer = false;  ///< something writes and syncs 512 MiB files beside it
  std::filesystem::path dir = std::filesystem::temp_directory_path();
};

constexpr int running_trials = 16;
constexpr int results_per_trial = 10;

class NoSearcher : public Searcher {
 public:
  Answer suggest(TrialId) override { return Exhausted{}; }
  Json save() const override { return Json::object(); }
  void load(const Json&) override {}
};

class NoScheduler : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {}; }
};

Policies make_policies() {
  return {Suggester(std::make_unique<NoSearcher>(), {}), std::make_unique<NoScheduler>(), nullptr};
}

std::string make_text(const std::string& name, int numbers, double seed) {
  std::string text = "{";
  for (int i = 0; i < numbers; ++i) {
    append_key(text, name + std::to_string(i));
    append_number(text, std::sin(seed + i));  // as many digits as numbers mostly have
  }
  return text + "}";
}

// 0.5 kB each.
std::string make_config(int trial) { return make_text("hyperparameter_", 13, trial); }

/// As long as the driver lets it become.
std::string make_tag(int trial) { return make_config(trial).substr(0, 97) + "..."; }

Metrics make_metrics(int trial, int iteration) {
  return parse_metrics(make_text("validation/metric_", 12, trial + 0.01 * iteration));
}

/// Of this thread: what others do on a busy machine is not in it.
double processor_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// The kernel's part of it.
double kernel_s() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_stime.tv_usec) * 1e-6;
}

/// What malloc has given out.
double heap_bytes() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

double rss_bytes() {
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// How often this thread has lost its processor: because it waited for something, and because the
/// kernel gave it to another.
struct Switches {
  long waited = 0;
  long preempted = 0;
};
Switches switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

/// Trials that run, report and end, one after another in `running_trials` places.
class Life {
 public:
  explicit Life(EventCommitter& committer) : committer_(committer) {
    committer_.commit(SessionStarted{"host", 1, "bench"});
  }
  /// `count` more results, and what leads to them and follows from them: made here, so that
  /// `commit` costs what the driver's state costs.
  void prepare(std::size_t count) {
    for (; count > 0; --count) prepare_result(places_[next_++ % places_.size()]);
  }
  /// Returns how many events.
  std::size_t commit() {
    const std::size_t count = prepared_.size();
    for (auto& event : prepared_) committer_.commit(std::move(event));
    prepared_.clear();
    return count;
  }

 private:
  struct Place {
    TrialId trial{};
    int iteration = 0;
  };
  void prepare_result(Place& place) {
    if (place.iteration == 0) begin(place);
    Result result;
    result.training_iteration = ++place.iteration;
    result.time_total_s = static_cast<double>(place.iteration);
    result.metrics = make_metrics(static_cast<int>(index_of(place.trial)), place.iteration);
    const bool is_last = place.iteration == results_per_trial;
    prepared_.push_back(ResultReported{
        place.trial, 1, std::move(result), {is_last ? Action::stop : Action::proceed, false}});
    if (!is_last) return;
    prepared_.push_back(AttemptEnded{place.trial, 1, Outcome::completed, ""});
    place.iteration = 0;
  }
  void begin(Place& place) {
    const int number = trials_++;
    place.trial = TrialId{static_cast<std::uint32_t>(number)};
    prepared_.push_back(TrialAdded{place.trial, make_config(number), make_tag(number), ""});
    prepared_.push_back(AttemptStarted{place.trial, 1, 0, {}});
    prepared_.push_back(ProcessStarted{place.trial, 1, 4711, 1});
  }
  EventCommitter& committer_;
  std::vector<EventBody> prepared_;
  int trials_ = 0;
  std::vector<Place> places_{running_trials};
  std::size_t next_ = 0;
};

/// Writes and syncs 512 MiB files until it is destroyed, as trials with large checkpoints do.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file)
      : thread_([this, file] {
          const auto files = make_posix_file_system();
          const std::string piece(4 << 20, 'x');
          while (!ends_) {
            files->remove_file(file);
            const auto out = files->open_append(file);
            for (int i = 0; i < 128 && !ends_; ++i) out->append(piece);
            out->sync();
          }
        }) {}
  ~Writer() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

struct Measured {
  // The loop's processor time for an event:
  double full_speed_us = 0;  ///< of the last trials of the filling
  double kernel_us = 0;      ///< of these, in the kernel: for the journal's bytes
  double steady_us = 0;      ///< in the steady phase, snapshots and turns that find little included
  // Shares of the steady phase.
  double writing = 0;     ///< appending and writing, on the loop
  double taking = 0;      ///< taking snapshots, on the loop
  double publishing = 0;  ///< processor time of writing snapshots, beside it
  double longest_turn_ms = 0;
  double longest_own_turn_ms = 0;  ///< in which the kernel gave the processor to nobody else
  double longest_busy_turn_ms =
      0;                  ///< by processor time: waits and another guest's time are not in it
  int turns_waiting = 0;  ///< in which the loop waited in the kernel, for the disk mostly
  double bytes_per_s = 0;
  std::uint64_t snapshots = 0;
  double resume_s = 0;
  double trial_bytes = 0;       ///< of resident memory, by the second half of the filling
  double trial_heap_bytes = 0;  ///< what malloc gave out of them
};

Measured measure(int trials, const Options& options) {
  const auto directory = options.dir / ("tune-bench-state-" + std::to_string(::getpid()) + "-" +
                                        std::to_string(trials));
  const auto files = make_posix_file_system();
  const auto clock = make_system_clock();
  Measured measured;
  {
    auto store = ExperimentStore::create(*files, directory, Json::object(), this_process(1));
    Experiment experiment;
    Policies policies = make_policies();
    CallbackList callbacks;
    Workers workers(Workers::Threads::own, nullptr);
    EventCommitter committer(experiment, policies, store, workers, *clock);
    Snapshots snapshots(committer, policies, store, workers, callbacks, Json::object(),
                        options.period_s);
    const auto turn = [&] {
      committer.write();
      snapshots.turn();
      committer.sync_if_due();
      workers.run_completions();
    };
    Life life(committer);
    const int results = trials * results_per_trial;
    const int measured_from = results - std::min(results, 200'000);
    double took = 0;
    double kernel = 0;
    std::size_t events = 0;
    double half_rss = 0;
    double half_heap = 0;
    for (int done = 0; done < results; done += running_trials) {
      if (done <= results / 2 && done + running_trials > results / 2) {
        half_rss = rss_bytes();
        half_heap = heap_bytes();
      }
      life.prepare(running_trials);
      const double kernel_before = kernel_s();
      const double before = processor_s();
      const std::size_t count = life.commit();
      turn();
      if (done < measured_from) continue;
      took += processor_s() - before;
      kernel += kernel_s() - kernel_before;
      events += count;
    }
    measured.full_speed_us = took * 1e6 / static_cast<double>(events);
    measured.kernel_us = kernel * 1e6 / static_cast<double>(events);
    const double half = trials / 2.0;
    measured.trial_bytes = (rss_bytes() - half_rss) / half;
    measured.trial_heap_bytes = (heap_bytes() - half_heap) / half;

    std::optional<Writer> writer;
    if (options.writer) writer.emplace(directory / "checkpoint");
    const StateCost before = store.cost();
    const double started = clock->steady();
    double owed = 0;
    double last = started;
    took = 0;
    events = 0;
    while (last < started + options.seconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      double now = clock->steady();
      owed += (now - last) * options.rate;
      last = now;
      life.prepare(static_cast<std::size_t>(owed));
      owed -= std::floor(owed);
      now = clock->steady();
      const Switches switches_before = switches();
      const double processor_before = processor_s();
      events += life.commit();
      turn();
      const double busy = processor_s() - processor_before;
      took += busy;
      measured.longest_busy_turn_ms = std::max(measured.longest_busy_turn_ms, busy * 1e3);
      const double turn_ms = (clock->steady() - now) * 1e3;
      measured.longest_turn_ms = std::max(measured.longest_turn_ms, turn_ms);
      const Switches switches_after = switches();
      if (switches_after.waited != switches_before.waited) ++measured.turns_waiting;
      if (switches_after.preempted == switches_before.preempted) {
        measured.longest_own_turn_ms = std::max(measured.longest_own_turn_ms, turn_ms);
      }
    }
    const double span = clock->steady() - started;
    measured.steady_us = took * 1e6 / static_cast<double>(events);
    const StateCost& cost = store.cost();
    measured.writing = (cost.write_s - before.write_s) / span;
    measured.taking = (cost.snapshot_s - before.snapshot_s) / span;
    measured.publishing = (cost.publish_cpu_s - before.publish_cpu_s) / span;
    measured.bytes_per_s = static_cast<double>(cost.bytes + cost.snapshot_bytes - before.bytes -
                                               before.snapshot_bytes) /
                           span;
    measured.snapshots = cost.snapshots - before.snapshots;
    writer.reset();
    snapshots.stop();
    while (workers.outstanding() > 0 || !committer.is_settled()) {
      turn();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  {
    const double started = clock->steady();
    Experiment experiment;
    Policies policies;
    Recovery recovery(experiment, policies, make_policies);
    std::vector<std::string> notices;
    const auto store = ExperimentStore::open(*files, directory, this_process(2), recovery, notices);
    measured.resume_s = clock->steady() - started;
    ensure(experiment.trials().size() >= static_cast<std::size_t>(trials), "all trials are back");
  }
  files->remove_tree(directory);
  return measured;
}

Options parse(int argc, char** argv) {
  Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::vector<int> trials;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--writer") {
      options.writer = true;
      continue;
    }
    if (i + 1 == words.size()) throw user_error("unknown option or missing value: " + word);
    const std::string& value = words[++i];
    if (word == "--trials") {
      trials.push_back(std::stoi(value));
    } else if (word == "--seconds") {
      options.seconds = std::stod(value);
    } else if (word == "--rate") {
      options.rate = std::stod(value);
    } else if (word == "--period") {
      options.period_s = std::stod(value);
    } else if (word == "--dir") {
      options.dir = value;
    } else {
      throw user_error("unknown option " + word);
    }
  }
  if (!trials.empty()) options.trials = trials;
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Options warm_up = options;
  warm_up.seconds = 0.1;
  (void)measure(1'000, warm_up);  // whatever is slow only once is not in the first row
  std::printf("%8s %25s %29s %27s %7s %10s %10s %9s %18s\n", "trials", "us/event (kernel, steady)",
              "share (write, take, publish)", "longest turn (own, busy)", "waiting", "snapshots",
              "written/s", "resume", "bytes/trial (heap)");
  for (const int trials : options.trials) {
    const Measured m = measure(trials, options);
    std::printf(
        "%8d %8.2f (%5.2f, %6.2f) %7.2f %% (%4.2f, %4.2f, %4.2f) %8.2f ms (%6.2f, %6.2f) %7d "
        "%10llu %7.2f "
        "MB "
        "%7.2f s "
        "%10.0f (%5.0f)\n",
        trials, m.full_speed_us, m.kernel_us, m.steady_us,
        100 * (m.writing + m.taking + m.publishing), 100 * m.writing, 100 * m.taking,
        100 * m.publishing, m.longest_turn_ms, m.longest_own_turn_ms, m.longest_busy_turn_ms,
        m.turns_waiting, static_cast<unsigned long long>(m.snapshots), m.bytes_per_s / 1e6,
        m.resume_s, m.trial_bytes, m.trial_heap_bytes);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    return tune::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_state: " << error.what() << '\n';
    return 2;
  }
}
