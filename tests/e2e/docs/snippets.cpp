// The C++ that pages show in part, with what it takes to compile it. Never linked.
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainable/blobs.h"
#include "trainable/trainable.h"
#include "tuner/simulation/simulation.h"
#include "tuner/tuner.h"

namespace callbacks {

struct SaveBest : tune::Callback {
  std::string name() const override { return "save_best"; }
};

tune::ResultGrid run(tune::Tuner& tuner) {
  tuner.add_callback(std::make_unique<SaveBest>());
  return tuner.fit();
}

}  // namespace callbacks

namespace function_trainable {

struct Model {
  explicit Model(const tune::Json& config);
  int epoch() const;
  double train_one_epoch();
  void save(const std::filesystem::path& directory) const;
  void load(const std::filesystem::path& directory);
};

void train(const tune::Json& config, tune::Session& session) {
  Model model(config);
  if (session.checkpoint()) model.load(*session.checkpoint());
  for (int epoch = model.epoch(); epoch < 100; ++epoch) {
    const double loss = model.train_one_epoch();
    session.report({{"loss", loss}, {"done", epoch == 99}},
                   [&](const std::filesystem::path& directory) { model.save(directory); });
  }
}

int main(int argc, char** argv) { return tune::run_function(argc, argv, train); }

void hand_over(const Model& model, double loss, tune::Session& session) {
  const std::filesystem::path checkpoint = session.new_checkpoint_dir();
  model.save(checkpoint);
  session.report({{"loss", loss}}, checkpoint);
}

}  // namespace function_trainable

namespace reuse {

class Reusable : public tune::Trainable {
 public:
  tune::Json step() override { return {{"loss", w_ * lr_}}; }

  bool reset_config(const tune::Json& config) override {
    if (config.at("dataset") != dataset_)
      return false;  // a fresh process is cheaper than the mistake
    lr_ = config.at("lr");
    w_ = 0;
    return true;
  }

 private:
  std::string dataset_;
  double lr_ = 0;
  double w_ = 0;
};

tune::Json try_it() { return Reusable().step(); }

}  // namespace reuse

namespace simulation {

bool simulate() {
  tune::SimulatedProgram program;
  program.step = [](tune::SimulatedRun& run) {
    const double loss = run.config.at("lr").get<double>() / run.iteration;
    const tune::Json metrics = {{"loss", loss}};
    return tune::SimulatedStep{.metrics = tune::parse_metrics(metrics.dump()), .takes_s = 60};
  };
  tune::ExperimentSpec spec;
  spec.param_space = {{"lr", {{"uniform", {0, 1}}}}};
  spec.num_samples = 100'000;
  spec.resources = {{"cpu", 1000}};
  spec.stop = {{"training_iteration", 10}};
  const auto outcome = tune::simulate_experiment(spec, tune::built_in_catalogue(), program);
  return outcome.end.kind == tune::LoopEnd::Kind::finished;
}

}  // namespace simulation

namespace named_tensors {

struct Net : tune::Trainable {
  tune::Json step() override;
  void save_checkpoint(const std::filesystem::path& directory) override;
  void load_checkpoint(const std::filesystem::path& directory) override;

  std::vector<float> encoder_ = std::vector<float>(6);
  std::int64_t steps_ = 0;
};

void Net::save_checkpoint(const std::filesystem::path& directory) {
  tune::blobs::Writer writer(directory / "model.safetensors",
                             {{"encoder.weight", tune::blobs::Dtype::F32, {2, 3}},
                              {"steps", tune::blobs::Dtype::I64, {}}});
  writer.write("encoder.weight", encoder_);  // whole, or in pieces
  writer.write("steps", std::array{steps_});
  writer.finish();
}

void Net::load_checkpoint(const std::filesystem::path& directory) {
  const tune::blobs::Reader reader(directory);
  for (const auto* tensor : reader.select({"encoder.*"}).tensors) {
    encoder_ = reader.read<float>(*tensor);
  }
}

}  // namespace named_tensors
