// A program that prints and saves while it is watched, in virtual time: each step of the one may
// come between any two steps of the other. No checkpoint is said to have another result than it
// has.
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tuner/execution/plain/event_batches.h"
#include "tuner/plain/save_fold.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using What = FileEvent::What;

constexpr std::uint64_t line_bytes = 10;
constexpr LaunchId launch{1};

/// It saves by renaming a file, each epoch. 'h' prints a heading, 'r' a result, 's' saves, '.'
/// rests for 30 ms.
class Machine : public SaveTracker::Place, public EventSource {
 public:
  Machine(std::string epoch, SavedWhen when, std::uint32_t seed)
      : epoch_(std::move(epoch)), fold_(orders_, when), draw_(seed) {
    fold_.begin(0, {});
    tracker_.emplace(
        SaveTracker::Launch{{.root = "/saved", .pattern = "last", .complete = ""}, {}, {}},
        std::vector<SaveTracker::Other>{}, logs_, *this, 30);
  }

  void run(int epochs) {
    while (epochs_ < epochs) {
      take_events();
      if (tracker_->next_look() <= now_) look();
      now_ += 0.001;
      program_goes_on(1);
    }
  }
  /// Saves that were said to have another result than they have.
  std::string wrong() const { return wrong_; }
  int named() const { return named_; }

  std::vector<CheckpointFiles> checkpoints() override {
    program_goes_on();
    auto file = saved();
    return file ? std::vector{*std::move(file)} : std::vector<CheckpointFiles>{};
  }
  std::optional<CheckpointFiles> checkpoint(const fs::path&) override {
    program_goes_on();
    return saved();
  }
  std::set<std::string> being_written(const CheckpointFiles&) override { return {}; }
  LogSizes log_sizes() override {
    program_goes_on();
    return {printed_, 0};
  }
  bool is_alive() override { return true; }
  Seconds now() override { return now_; }
  std::int64_t unix_ns() override {
    constexpr double ns_per_s = 1e9;
    return static_cast<std::int64_t>(now_ * ns_per_s);
  }
  void watch(const fs::path&) override {}
  bool has_events() const override { return true; }
  /// The directory is let go of once its rename has been told.
  void catch_up(const fs::path&) override {
    program_goes_on();
    if (renamed_) tell_of_rename();
    take_events();
  }

  void read(std::vector<LaunchFileEvent>& told) override {
    program_goes_on();
    for (FileEvent& event : std::exchange(queue_, {})) told.push_back({launch, std::move(event)});
  }
  LogSizes log_sizes(LaunchId) override { return log_sizes(); }

 private:
  /// The watch is held up, seldom for long.
  void program_goes_on() {
    const auto draw = draw_() % 64;
    program_goes_on(draw == 0 ? 12 : draw < 4 ? 4 : draw < 16 ? 1 : 0);
  }
  void program_goes_on(int steps) {
    for (; steps > 0; --steps) {
      if (renamed_) {
        tell_of_rename();
      } else if (rests_until_ > now_) {
        now_ = std::min(rests_until_, now_ + 0.005);
      } else {
        step();
      }
    }
  }
  void step() {
    switch (epoch_[at_]) {
      case 's':
        queue_.push_back({What::created, false, "", "t", 0});
        queue_.push_back({What::closed, false, "", "t", 0});
        ++inode_;
        has_[inode_] = result_of_save();
        renamed_ = true;
        break;
      case '.':
        rests_until_ = now_ + 0.03;
        break;
      default:
        printed_ += line_bytes;
        queue_.push_back({What::printed});
        lines_.push_back({printed_, epoch_[at_] == 'r'});
        break;
    }
    at_ = (at_ + 1) % epoch_.size();
    if (at_ == 0) ++epochs_;
  }
  void tell_of_rename() {
    renamed_ = false;
    queue_.push_back({What::moved_from, false, "", "t", ++cookie_});
    queue_.push_back({What::moved_to, false, "", "last", cookie_});
  }
  std::int64_t result_of_save() const {
    const auto before =
        std::count_if(lines_.begin(), lines_.end(), [](auto& l) { return l.second; });
    const bool saves_first = epoch_.find('s') < epoch_.find('r');
    return before + (saves_first ? 1 : 0);
  }
  std::optional<CheckpointFiles> saved() const {
    if (inode_ == 0) return std::nullopt;
    return CheckpointFiles{"/saved", "last", true, {{"", inode_, 1, 0}}};
  }

  void take_events() {
    for (auto& [id, batch] : gather_events(*this)) tracker_->take(batch);
  }
  void look() {
    auto found = tracker_->look();
    for (; read_ < lines_.size(); ++read_) {
      if (lines_[read_].second) fold_.print({++iteration_, {}}, 0, lines_[read_].first, {now_});
    }
    for (SavedFiles& each : found) fold_.save(std::move(each), false, now_);
    while (fold_.take()) continue;
    for (const SaveFold::Named& each : fold_.name(now_)) {
      const std::int64_t has = has_.at(each.files.files.front().inode);
      ++named_;
      if (each.iteration == has || (each.is_guess && each.iteration < has)) continue;
      wrong_ += std::to_string(each.iteration) + " of " + std::to_string(has) + ", ";
    }
  }

  const std::string epoch_;
  std::size_t at_ = 0;
  int epochs_ = 0;
  Seconds now_ = 100;
  Seconds rests_until_ = 0;
  std::uint64_t printed_ = 0;
  std::vector<std::pair<std::uint64_t, bool>> lines_;  ///< where each ends, and if it is a result
  std::vector<FileEvent> queue_;
  bool renamed_ = false;  ///< and not told so far
  std::uint64_t inode_ = 0;
  std::uint32_t cookie_ = 0;
  std::map<std::uint64_t, std::int64_t> has_;  ///< the result of each save, by its inode
  std::set<std::string> logs_;
  std::optional<SaveTracker> tracker_;
  SaveOrders orders_;
  SaveFold fold_;
  std::minstd_rand draw_;
  std::size_t read_ = 0;
  std::int64_t iteration_ = 0;
  std::string wrong_;
  int named_ = 0;
};

TEST_CASE(
    "However a program and its watch are held up, no save has another result than it is given",
    "[unit][plain]") {
  struct Program {
    const char* epoch;
    SavedWhen when;
  };
  const Program program =
      GENERATE(Program{"rs.", SavedWhen::after_result}, Program{"hrs.", SavedWhen::after_result},
               Program{"rsh.", SavedWhen::after_result}, Program{"sr.", SavedWhen::before_result},
               Program{"hsr.", SavedWhen::before_result});
  CAPTURE(program.epoch);
  int named = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    Machine machine(program.epoch, program.when, seed);
    machine.run(40);
    named += machine.named();
    CAPTURE(seed);
    REQUIRE(machine.wrong() == "");
  }
  CHECK(named > 1000);
}

}  // namespace
}  // namespace tune
