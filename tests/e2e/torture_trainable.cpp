// The trainable of the crash torture: takes cheap steps, saves, crashes now and then, and keeps a
// record of its own, in $TORTURE_RECORD/<trial id>, which outlives it and the driver. One fact is
// one line and one write:
//
//   start ITERATION STAMP       goes on from there (0 0: from scratch)
//   clone ITERATION STAMP DONOR goes on from there, which was another trial's
//   saving INDEX ITERATION      writes its checkpoint of that number
//   reported ITERATION STAMP    is about to report; STAMP is drawn anew each time
//   told ITERATION STAMP        the next command has come, so the driver has accepted that result
//   crash                       is about to fail on purpose
//   wrong ...                   something that must never be
//
// It writes no `told` at a stop: that may also be a driver that is gone.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "trainable/trainable.h"

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Descriptors beyond standard ones and the socket that this process was started with.
std::string inherited;

void look_at_descriptors() {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;  // the iterator's own is gone by the time one looks
    const auto target = fs::read_symlink(entry.path(), error).string();
    const bool is_iterator = target.ends_with("/fd");
    if (std::stoi(entry.path().filename()) > 3 && !error && !is_iterator) inherited += ' ' + target;
  }
}

class TortureTrainable final : public tune::Trainable {
 public:
  void setup(const tune::Json& config) override { begin(config); }

  bool reset_config(const tune::Json& config) override {
    begin(config);
    return true;
  }

  tune::Json step() override {
    start_or_told();
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 4000));
    if (crashes_ < 2 && random_() % 60 == 0) crash();
    ++iteration_;
    stamp_ = random_() >> 12;  // a double holds it
    note("reported", iteration_, stamp_);
    is_reported_ = true;
    return {{"stamp", stamp_},
            {"should_checkpoint", random_() % 7 == 0},
            {"done", iteration_ >= iterations_}};
  }

  void save_checkpoint(const fs::path& directory) override {
    start_or_told();
    note("saving", checkpoint_index(directory), static_cast<std::uint64_t>(iteration_));
    fs::create_directory(directory / "deep");
    std::ofstream(directory / "state") << iteration_ << ' ' << stamp_ << '\n';
    std::ofstream(directory / "deep" / "bytes") << std::string(random_() % 5000, 'x');
    if (random_() % 40 == 0) throw std::runtime_error("told to fail in save");
  }

  void load_checkpoint(const fs::path& directory) override {
    std::ifstream(directory / "state") >> iteration_ >> stamp_;
    if (iteration_ == 0) write("wrong checkpoint without state: " + directory.string() + "\n");
    const std::string owner = directory.parent_path().filename();
    if (owner != context().trial_id) donor_ = owner;
  }

 private:
  void begin(const tune::Json& config) {
    const char* const directory = std::getenv("TORTURE_RECORD");
    const fs::path record = fs::path(directory) / context().trial_id;
    if (record != path_) take(record);
    crashes_ = 0;
    std::ifstream facts(record);
    for (std::string line; std::getline(facts, line);) crashes_ += line == "crash";
    if (!inherited.empty()) write("wrong descriptors" + std::exchange(inherited, "") + "\n");
    iterations_ = config.at("iterations");
    iteration_ = 0;
    stamp_ = 0;
    donor_.clear();
    has_started_ = is_reported_ = false;
    // Some leave a helper behind, as data loaders are.
    if (random_() % 8 == 0 && ::fork() == 0) {
      for (;;) ::pause();
    }
  }

  /// What holds the lock is also a helper that was left behind, so who becomes a clone of its own
  /// trial keeps what it holds.
  void take(const fs::path& record) {
    path_ = record;
    if (record_ >= 0) ::close(record_);
    record_ = ::open(record.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (record_ < 0) throw std::runtime_error("cannot open " + record.string());
    // Two attempts of one trial must never run at one time. One that has just been killed may not
    // be gone yet; one that waits for another trial (reuse_processes) holds on to its lock.
    const bool is_reused = std::getenv("TORTURE_REUSED") != nullptr;
    for (int tries = 0; !is_reused && ::flock(record_, LOCK_EX | LOCK_NB) != 0; ++tries) {
      if (tries == 500) {
        write("wrong second process of the trial\n");
        break;
      }
      std::this_thread::sleep_for(10ms);
    }
  }

  /// With the first command after `start` it is known whether there was a checkpoint.
  void start_or_told() {
    if (!std::exchange(has_started_, true)) {
      if (donor_.empty()) {
        note("start", iteration_, stamp_);
      } else {
        write("clone " + std::to_string(iteration_) + " " + std::to_string(stamp_) + " " + donor_ +
              "\n");
      }
    }
    if (std::exchange(is_reported_, false)) note("told", iteration_, stamp_);
  }

  /// From `.checkpoint_000012.tmp-3`.
  static std::int64_t checkpoint_index(const fs::path& directory) {
    const std::string name = directory.filename();
    return std::stoll(name.substr(name.find('_') + 1));
  }

  [[noreturn]] void crash() {
    write("crash\n");
    switch (random_() % 4) {
      case 0:
        std::_Exit(7);
      case 1:
        ::kill(::getpid(), SIGKILL);
        break;
      case 2:
        // Closes the connection and lives on a little.
        ::close(3);
        std::this_thread::sleep_for(20ms);
        std::_Exit(3);
    }
    throw std::runtime_error("told to fail");
  }

  void note(const char* what, std::int64_t iteration, std::uint64_t stamp) {
    write(std::string(what) + " " + std::to_string(iteration) + " " + std::to_string(stamp) + "\n");
  }

  void write(const std::string& line) const {
    if (::write(record_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      std::_Exit(9);
    }
  }

  std::mt19937_64 random_{std::random_device{}()};
  fs::path path_;
  int record_ = -1;
  int crashes_ = 0;
  std::int64_t iterations_ = 0;
  std::int64_t iteration_ = 0;
  std::uint64_t stamp_ = 0;
  std::string donor_;  ///< whose checkpoint it was, if another trial's
  bool has_started_ = false;
  bool is_reported_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  look_at_descriptors();
  return tune::run_trainable<TortureTrainable>(argc, argv);
}
