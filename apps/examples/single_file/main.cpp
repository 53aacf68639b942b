// Fits y = a exp(-b x) to noisy measurements by gradient descent, and searches for the learning
// rate and the momentum that do it best.
#include <cmath>
#include <fstream>
#include <iostream>

#include "tuner/tuner.h"

class CurveFit : public tune::Trainable {
 public:
  void setup(const tune::Json& config) override { config_ = config; }

  tune::Json step() override {
    const double rate = config_.at("learning_rate"), momentum = config_.at("momentum");
    constexpr int points = 50;
    double loss = 0, gradient_a = 0, gradient_b = 0;
    for (int i = 0; i < points; ++i) {
      const double x = 0.1 * i, shape = std::exp(-now_.b * x);
      const double measured = 2.5 * std::exp(-1.3 * x) + 0.05 * std::sin(37.0 * i * i);
      const double error = now_.a * shape - measured;
      loss += error * error / points;
      gradient_a += 2 * error * shape / points;
      gradient_b -= 2 * error * now_.a * x * shape / points;
    }
    now_.a -= rate * (now_.speed_a = momentum * now_.speed_a + gradient_a);
    now_.b -= rate * (now_.speed_b = momentum * now_.speed_b + gradient_b);
    return {{"loss", loss}, {"a", now_.a}, {"b", now_.b}};
  }

  void save_checkpoint(const std::filesystem::path& directory) override {
    std::ofstream out(directory / "fit", std::ios::binary);
    out.write(reinterpret_cast<const char*>(&now_), sizeof now_);
    if (!out.flush()) throw std::runtime_error("cannot write the fit");
  }

  void load_checkpoint(const std::filesystem::path& directory) override {
    std::ifstream in(directory / "fit", std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(&now_), sizeof now_)) throw std::runtime_error("no fit");
  }

 private:
  tune::Json config_;
  struct {
    double a = 1, b = 1, speed_a = 0, speed_b = 0;
  } now_;  // everything that the descent depends on
};

struct SayWhatEnded : tune::Callback {
  std::string name() const override { return "say_what_ended"; }
  void on_trial_complete(const tune::Trial& trial) override {
    std::cout << to_string(trial.id) << " " << trial.tag << ": " << trial.last_metrics.text()
              << "\n";
  }
};

int main(int argc, char** argv) try {
  tune::TuneConfig config{.name = "single_file", .storage_path = argc > 1 ? argv[1] : "results"};
  config.objectives = {{"loss", tune::Mode::min}};
  config.num_samples = 12;
  config.stop = {{"training_iteration", 100}};
  config.checkpoint_config = {.num_to_keep = 1, .checkpoint_at_end = true};
  const tune::Json space = {{"learning_rate", {{"loguniform", {0.01, 1.0}}}},
                            {"momentum", {{"uniform", {0.0, 0.95}}}}};
  tune::Tuner tuner(tune::trainable<CurveFit>(), space, config);
  tuner.show_progress(false).add_callback(std::make_unique<SayWhatEnded>());
  const tune::TrialResult best = tuner.fit().best_result();
  std::cout << "best: " << best.config << " gave " << best.metrics << "\n"
            << "kept: " << best.checkpoint.value().string() << "\n";
} catch (const tune::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
