// The training loop and its checkpoints.
#include "apps/examples/digits/digits_trainable.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace digits {
namespace {

constexpr std::uint32_t checkpoint_version = 1;
constexpr char checkpoint_magic[8] = {'d', 'i', 'g', 'i', 't', 's', 'c', 'p'};

struct CheckpointHead {
  char magic[8];
  std::uint32_t version;
  std::uint32_t hidden;
  std::uint32_t hidden2;
  std::uint32_t activation;
  std::uint64_t split_seed;
  std::int64_t epoch;
  std::uint64_t random_state;
  double best_accuracy;
};
static_assert(sizeof(CheckpointHead) == 56, "no padding: every byte of the file is written");

std::vector<int> layer_sizes(const Hyperparameters& chosen) {
  if (chosen.hidden2 == 0) return {pixel_count, chosen.hidden, class_count};
  return {pixel_count, chosen.hidden, chosen.hidden2, class_count};
}

std::string describe(std::uint64_t hidden, std::uint64_t hidden2, bool tanh,
                     std::uint64_t split_seed) {
  return "hidden " + std::to_string(hidden) + ", hidden2 " + std::to_string(hidden2) +
         ", activation " + (tanh ? "tanh" : "relu") + ", split_seed " + std::to_string(split_seed);
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw std::runtime_error(path.string() + ": " + reason);
}

[[noreturn]] void fail_with_errno(const std::filesystem::path& path, const std::string& what) {
  fail(path, what + ": " + std::generic_category().message(errno));
}

void write_doubles(std::ofstream& out, const Eigen::VectorXd& values) {
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(double)));
}

void read_exactly(std::ifstream& in, void* bytes, std::size_t size,
                  const std::filesystem::path& path) {
  in.read(static_cast<char*>(bytes), static_cast<std::streamsize>(size));
  if (in.bad()) fail_with_errno(path, "cannot be read");
  if (static_cast<std::size_t>(in.gcount()) != size)
    fail(path, "ends too early, it has been cut short or is no checkpoint of this program");
}

CheckpointHead read_head(std::ifstream& in, const std::filesystem::path& path) {
  CheckpointHead head;
  read_exactly(in, &head, sizeof head, path);
  if (std::memcmp(head.magic, checkpoint_magic, sizeof checkpoint_magic) != 0)
    fail(path, "is no checkpoint of this program, its first bytes are foreign");
  if (head.version != checkpoint_version)
    fail(path, "has format version " + std::to_string(head.version) +
                   ", and this program reads only " + std::to_string(checkpoint_version));
  return head;
}

}  // namespace

DigitsTrainable::Training::Training(const Hyperparameters& chosen)
    : hyperparameters(chosen),
      random(chosen.seed),
      model(layer_sizes(chosen), chosen.activation, random),
      velocity(Eigen::VectorXd::Zero(model.parameters().size())) {
  const DataSet all = load_digits();
  const Split split = split_quarter(image_count, chosen.split_seed);
  train = select(all, split.train);
  validation = select(all, split.validation);
}

void DigitsTrainable::setup(const tune::Json& config) {
  training_.emplace(parse_hyperparameters(config));
}

bool DigitsTrainable::reset_config(const tune::Json& config) {
  setup(config);
  return true;
}

// Returns the mean loss over all training images, each as its batch saw it.
double DigitsTrainable::train_one_epoch() {
  Training& t = *training_;
  const Hyperparameters& h = t.hyperparameters;
  std::vector<int> order(t.train.labels.size());
  std::iota(order.begin(), order.end(), 0);
  t.random.shuffle(order);

  double loss_sum = 0;
  Eigen::VectorXd gradient;
  for (std::size_t begin = 0; begin < order.size(); begin += h.batch_size) {
    const std::size_t end = std::min(begin + h.batch_size, order.size());
    const DataSet batch = select(t.train, {order.begin() + begin, order.begin() + end});
    loss_sum += t.model.loss_and_gradient(batch.images, batch.labels, gradient) *
                static_cast<double>(batch.labels.size());
    t.velocity = h.momentum * t.velocity + gradient + h.weight_decay * t.model.parameters();
    t.model.parameters() -= h.learning_rate * t.velocity;
  }
  return loss_sum / static_cast<double>(order.size());
}

tune::Json DigitsTrainable::step() {
  const double train_loss = train_one_epoch();
  Training& t = *training_;
  ++t.epoch;
  const Evaluation validation = t.model.evaluate(t.validation.images, t.validation.labels);
  tune::Json result = {{"epoch", t.epoch},
                       {"train_loss", train_loss},
                       {"val_loss", validation.loss},
                       {"val_accuracy", validation.accuracy}};
  if (validation.accuracy > t.best_accuracy) {
    t.best_accuracy = validation.accuracy;
    if (validation.accuracy > checkpoint_accuracy) result["should_checkpoint"] = true;
  }
  return result;
}

void DigitsTrainable::save_checkpoint(const std::filesystem::path& directory) {
  const Training& t = *training_;
  CheckpointHead head{};
  std::memcpy(head.magic, checkpoint_magic, sizeof checkpoint_magic);
  head.version = checkpoint_version;
  head.hidden = t.hyperparameters.hidden;
  head.hidden2 = t.hyperparameters.hidden2;
  head.activation = t.hyperparameters.activation == Activation::tanh;
  head.split_seed = t.hyperparameters.split_seed;
  head.epoch = t.epoch;
  head.random_state = t.random.state();
  head.best_accuracy = t.best_accuracy;

  const std::filesystem::path path = directory / checkpoint_file;
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&head), sizeof head);
  write_doubles(out, t.model.parameters());
  write_doubles(out, t.velocity);
  out.close();
  if (!out) fail_with_errno(path, "cannot be written");
}

void DigitsTrainable::load_checkpoint(const std::filesystem::path& directory) {
  Training& t = *training_;
  const Hyperparameters& h = t.hyperparameters;
  const std::filesystem::path path = directory / checkpoint_file;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_with_errno(path, "cannot be opened");
  const CheckpointHead head = read_head(in, path);

  // Another split would validate on images that these parameters were trained on.
  const std::string saved =
      describe(head.hidden, head.hidden2, head.activation != 0, head.split_seed);
  const std::string wanted =
      describe(h.hidden, h.hidden2, h.activation == Activation::tanh, h.split_seed);
  if (saved != wanted) fail(path, "was saved with " + saved + ", and the config has " + wanted);

  Eigen::VectorXd parameters(t.model.parameters().size());
  Eigen::VectorXd velocity(t.velocity.size());
  for (Eigen::VectorXd* values : {&parameters, &velocity})
    read_exactly(in, values->data(), values->size() * sizeof(double), path);
  if (in.peek() != std::ifstream::traits_type::eof())
    fail(path, "goes on after its end, it is damaged");

  t.model.parameters() = parameters;
  t.velocity = velocity;
  t.random = Random(head.random_state);
  t.epoch = head.epoch;
  t.best_accuracy = head.best_accuracy;
}

}  // namespace digits
