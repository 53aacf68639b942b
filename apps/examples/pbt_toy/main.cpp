// The toy problem of "Population Based Training of Neural Networks" (Jaderberg et al., 2017, figure
// 2): maximise Q = 1.2 - (t0^2 + t1^2) by gradient ascent on 1.2 - (h0 t0^2 + h1 t1^2), which is Q
// only as far as the hyperparameters say so.
#include <fstream>
#include <stdexcept>

#include "trainable/trainable.h"

class Toy : public tune::Trainable {
 public:
  void setup(const tune::Json& config) override {
    h0_ = config.at("h0");
    h1_ = config.at("h1");
    now_ = {};
  }

  bool reset_config(const tune::Json& config) override {
    setup(config);
    return true;
  }

  tune::Json step() override {
    constexpr double rate = 0.02;
    now_.t0 -= rate * 2 * h0_ * now_.t0;
    now_.t1 -= rate * 2 * h1_ * now_.t1;
    const double q = 1.2 - (now_.t0 * now_.t0 + now_.t1 * now_.t1);
    return {{"q", q}, {"t0", now_.t0}, {"t1", now_.t1}};
  }

  void save_checkpoint(const std::filesystem::path& directory) override {
    std::ofstream out(directory / "weights", std::ios::binary);
    out.write(reinterpret_cast<const char*>(&now_), sizeof now_);
    if (!out.flush()) throw std::runtime_error("cannot write the weights");
  }

  void load_checkpoint(const std::filesystem::path& directory) override {
    std::ifstream in(directory / "weights", std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(&now_), sizeof now_))
      throw std::runtime_error("no weights");
  }

 private:
  double h0_ = 0, h1_ = 0;
  struct {
    double t0 = 0.9, t1 = 0.9;
  } now_;  // the weights: a clone takes them over, and not its donor's h
};

int main(int argc, char** argv) { return tune::run_trainable<Toy>(argc, argv); }
