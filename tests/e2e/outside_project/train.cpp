// A training program. Knows nothing of the driver.
#include "trainable/trainable.h"

struct Parabola : tune::Trainable {
  void setup(const tune::Json& config) override { x_ = config.at("x"); }
  tune::Json step() override { return {{"y", (x_ - 3) * (x_ - 3)}, {"done", true}}; }
  double x_ = 0;
};

int main(int argc, char** argv) { return tune::run_trainable<Parabola>(argc, argv); }
