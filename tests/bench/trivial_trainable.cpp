// The cheapest training there is: constant metrics, as fast as it is let, or paced by a clock.
// Knows how to be the raw limit too: to exit at once (--exit), and to echo on a bare socket
// (--echo).
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/bench/cpus.h"
#include "trainable/protocol.h"
#include "trainable/trainable.h"

namespace {

using SteadyClock = std::chrono::steady_clock;

SteadyClock::duration seconds(double s) {
  return std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(s));
}

tune::Json some_metrics() {
  return {{"loss", 0.34657359027997264},
          {"val_accuracy", 0.9142857142857143},
          {"learning_rate", 0.0031622776601683794},
          {"epoch_samples", 60000}};
}

void write_latencies(const std::string& path, const std::vector<SteadyClock::duration>& latencies) {
  std::ofstream file(path);
  for (const auto latency : latencies) file << latency.count() << '\n';
}

/// config: `steps` (0: no limit) results, one every `period_s` (0: at once), until `duration_s`
/// (0: no limit) is over, on `cpu`; with `measure`, latencies.txt tells the nanoseconds from each
/// result to the next command.
class Trivial : public tune::Trainable {
 public:
  void setup(const tune::Json& config) override {
    steps_ = config.at("steps");
    period_ = seconds(config.at("period_s"));
    duration_ = seconds(config.at("duration_s"));
    measure_ = config.at("measure");
    tune::bench::stay_on(config.at("cpu"));
    started_ = SteadyClock::now();
  }

  tune::Json step() override {
    if (measure_ && step_ > 0) latencies_.push_back(SteadyClock::now() - answered_);
    ++step_;
    if (period_ > SteadyClock::duration::zero()) {
      std::this_thread::sleep_until(started_ + step_ * period_);
    }
    tune::Json metrics = some_metrics();
    const bool is_over =
        duration_ > SteadyClock::duration::zero() && SteadyClock::now() - started_ > duration_;
    if (step_ == steps_ || is_over) {
      metrics["done"] = true;
      if (measure_) write_latencies(context().trial_dir / "latencies.txt", latencies_);
    }
    if (measure_) answered_ = SteadyClock::now();
    return metrics;
  }

 private:
  std::int64_t steps_ = 0;
  std::int64_t step_ = 0;
  SteadyClock::duration period_{};
  SteadyClock::duration duration_{};
  bool measure_ = false;
  SteadyClock::time_point started_;
  SteadyClock::time_point answered_;
  std::vector<SteadyClock::duration> latencies_;
};

/// Lines of a result's size over descriptor 3, each after the answer to the one before.
int echo(double duration_s, int cpu, const std::string& latency_file) {
  tune::bench::stay_on(cpu);
  tune::protocol::Result result;
  result.metrics = some_metrics();
  result.metrics["time_this_iter_s"] = 1.2345e-05;
  const std::string line = tune::protocol::format(result);
  std::vector<SteadyClock::duration> latencies;
  char buffer[4096];
  const auto end = SteadyClock::now() + seconds(duration_s);
  for (auto now = SteadyClock::now(); now < end;) {
    if (::send(tune::protocol::socket_fd, line.data(), line.size(), 0) < 0) return 1;
    if (::recv(tune::protocol::socket_fd, buffer, sizeof buffer, 0) <= 0) return 1;
    const auto after = SteadyClock::now();
    latencies.push_back(after - now);
    now = after;
  }
  if (!latency_file.empty()) write_latencies(latency_file, latencies);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--exit") ::_exit(0);
  if (first == "--echo")
    return echo(std::stod(argv[2]), std::stoi(argv[3]), argc > 4 ? argv[4] : "");
  return tune::run_trainable<Trivial>(argc, argv);
}
