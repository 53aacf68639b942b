#include <fstream>
#include <stdexcept>

#include "trainable/trainable.h"

class Quadratic : public tune::Trainable {
 public:
  void setup(const tune::Json& config) override { lr_ = config.at("lr"); }

  tune::Json step() override {
    w_ -= lr_ * 2 * (w_ - 3);
    return {{"loss", (w_ - 3) * (w_ - 3)}, {"w", w_}};
  }

  void save_checkpoint(const std::filesystem::path& directory) override {
    std::ofstream file(directory / "weights", std::ios::binary);
    file.write(reinterpret_cast<const char*>(&w_), sizeof w_);
    if (!file.flush()) throw std::runtime_error("cannot write the weights");
  }

  void load_checkpoint(const std::filesystem::path& directory) override {
    std::ifstream file(directory / "weights", std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(&w_), sizeof w_)) {
      throw std::runtime_error("cannot read the weights");
    }
  }

 private:
  double lr_ = 0;
  double w_ = 0;
};

int main(int argc, char** argv) { return tune::run_trainable<Quadratic>(argc, argv); }
