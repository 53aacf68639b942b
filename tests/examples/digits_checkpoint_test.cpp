// Tests of the digits example's checkpoints: exact resumes, and refusals of damaged files.
// Knows no driver and no process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/examples/digits/digits_trainable.h"
#include "tests/support/catch.h"

using namespace digits;
using tune::Json;
namespace fs = std::filesystem;

namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "digits_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const Json small_config = {{"learning_rate", 0.5}, {"hidden", 16}, {"batch_size", 48}};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// What a trainable with `config` says to the checkpoint in `directory`.
std::string refusal(const fs::path& directory, const Json& config = small_config) {
  DigitsTrainable trainable;
  trainable.setup(config);
  try {
    trainable.load_checkpoint(directory);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

// A checkpoint after two epochs with `small_config`.
std::string checkpoint_bytes(const fs::path& directory) {
  DigitsTrainable trainable;
  trainable.setup(small_config);
  trainable.step();
  trainable.step();
  trainable.save_checkpoint(directory);
  return read_file(directory / checkpoint_file);
}

// Trains through, saving after each epoch; then goes on from each save, and compares every result
// to the last bit.
void check_resumes(const Json& config, int epochs) {
  const TemporaryDirectory saves;
  std::vector<Json> results;
  DigitsTrainable through;
  through.setup(config);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    results.push_back(through.step());
    const fs::path directory = saves.path() / std::to_string(epoch);
    fs::create_directory(directory);
    through.save_checkpoint(directory);
  }
  for (int from = 1; from < epochs; ++from) {
    DigitsTrainable resumed;
    resumed.setup(config);
    resumed.load_checkpoint(saves.path() / std::to_string(from));
    for (int epoch = from; epoch < epochs; ++epoch) {
      CAPTURE(from, epoch);
      CHECK(resumed.step() == results[epoch]);
    }
    const TemporaryDirectory last;
    resumed.save_checkpoint(last.path());
    CHECK(read_file(last.path() / checkpoint_file) ==
          read_file(saves.path() / std::to_string(epochs) / checkpoint_file));
  }
}

}  // namespace

TEST_CASE("A training resumed at any epoch goes on to the last bit as if never stopped",
          "[digits][checkpoint]") {
  check_resumes(small_config, 6);
  check_resumes({{"hidden", 17}, {"hidden2", 9}, {"activation", "tanh"}, {"batch_size", 100}}, 6);
}

TEST_CASE("A resumed training remembers its best and does not ask again for a lesser one",
          "[digits][checkpoint][minutes]") {
  check_resumes({{"learning_rate", 0.3}, {"momentum", 0.8}, {"batch_size", 64}}, 20);
}

TEST_CASE("Another trial's checkpoint goes on with one's own learning rate",
          "[digits][checkpoint]") {
  const TemporaryDirectory directory;
  checkpoint_bytes(directory.path());
  Json config = small_config;
  DigitsTrainable same;
  same.setup(config);
  same.load_checkpoint(directory.path());
  config["learning_rate"] = 0.01;
  config["seed"] = 77;
  DigitsTrainable other;
  other.setup(config);
  other.load_checkpoint(directory.path());
  const Json result = other.step();
  CHECK(result["epoch"] == 3);
  CHECK(result["val_loss"] != same.step()["val_loss"]);
}

TEST_CASE("A reset trainable is as good as new", "[digits][checkpoint]") {
  const Json next = {{"hidden", 24}, {"activation", "tanh"}};
  DigitsTrainable reused;
  reused.setup(small_config);
  reused.step();
  REQUIRE(reused.reset_config(next));
  DigitsTrainable fresh;
  fresh.setup(next);
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(reused.step() == fresh.step());
}

TEST_CASE("A checkpoint cut short at any length is refused", "[digits][checkpoint]") {
  const TemporaryDirectory directory;
  const std::string whole = checkpoint_bytes(directory.path());
  REQUIRE(whole.size() > 1000);
  for (const std::size_t length : {std::size_t{0}, std::size_t{4}, std::size_t{55}, std::size_t{56},
                                   whole.size() / 2, whole.size() - 1}) {
    write_file(directory.path() / checkpoint_file, whole.substr(0, length));
    CAPTURE(length);
    CHECK(refusal(directory.path()) ==
          (directory.path() / checkpoint_file).string() +
              ": ends too early, it has been cut short or is no checkpoint of this program");
  }
  write_file(directory.path() / checkpoint_file, whole);
  CHECK(refusal(directory.path()) == "accepted");
}

TEST_CASE("A foreign, newer or overlong file is refused by name", "[digits][checkpoint]") {
  const TemporaryDirectory directory;
  const fs::path file = directory.path() / checkpoint_file;
  const std::string whole = checkpoint_bytes(directory.path());

  std::string bytes = whole;
  bytes[3] ^= 0x20;
  write_file(file, bytes);
  CHECK(refusal(directory.path()) ==
        file.string() + ": is no checkpoint of this program, its first bytes are foreign");

  bytes = whole;
  bytes[8] = 2;
  write_file(file, bytes);
  CHECK(refusal(directory.path()) ==
        file.string() + ": has format version 2, and this program reads only 1");

  write_file(file, whole + "x");
  CHECK(refusal(directory.path()) == file.string() + ": goes on after its end, it is damaged");

  fs::remove(file);
  CHECK(refusal(directory.path()) ==
        file.string() + ": cannot be opened: No such file or directory");
}

TEST_CASE("A checkpoint of another network or another split is refused with both",
          "[digits][checkpoint]") {
  const TemporaryDirectory directory;
  checkpoint_bytes(directory.path());
  const Json changes = {{"hidden", 32}, {"hidden2", 8}, {"activation", "tanh"}, {"split_seed", 2}};
  for (const auto& [key, value] : changes.items()) {
    Json config = small_config;
    config[key] = value;
    const std::string wanted =
        key + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    const std::string message = refusal(directory.path(), config);
    CAPTURE(message);
    CHECK(message.find("was saved with hidden 16, hidden2 0, activation relu, split_seed 1, and "
                       "the config has") != std::string::npos);
    CHECK(message.find(wanted, message.find("the config has")) != std::string::npos);
  }
}

TEST_CASE("A refused checkpoint leaves the training as it was", "[digits][checkpoint]") {
  const TemporaryDirectory directory;
  const std::string whole = checkpoint_bytes(directory.path());
  write_file(directory.path() / checkpoint_file, whole.substr(0, whole.size() - 8));
  DigitsTrainable tried;
  tried.setup(small_config);
  CHECK_THROWS_AS(tried.load_checkpoint(directory.path()), std::runtime_error);
  DigitsTrainable fresh;
  fresh.setup(small_config);
  CHECK(tried.step() == fresh.step());
}

TEST_CASE(
    "A checkpoint that cannot be written is an error with path and reason, and training "
    "goes on",
    "[digits][checkpoint]") {
  const TemporaryDirectory directory;
  DigitsTrainable trainable;
  trainable.setup(small_config);

  const fs::path missing = directory.path() / "missing";
  CHECK_THROWS_WITH(
      trainable.save_checkpoint(missing),
      (missing / checkpoint_file).string() + ": cannot be written: No such file or directory");

  const fs::path full = directory.path() / checkpoint_file;
  fs::create_symlink("/dev/full", full);
  CHECK_THROWS_WITH(trainable.save_checkpoint(directory.path()),
                    full.string() + ": cannot be written: No space left on device");
  CHECK(trainable.step()["epoch"] == 1);
}
