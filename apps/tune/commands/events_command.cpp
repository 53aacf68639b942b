// `tune events`: everything that has happened, a JSON object a line, and what happens from now on.
// It prints events as they are, and looks at none but the one that says how a driver has left.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/journal/event_stream.h"
#include "tuner/model/event.h"
#include "tuner/model/paths.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

constexpr std::chrono::milliseconds look_period{50};
constexpr std::size_t block_bytes = 64 * 1024;

/// Prints the records, and remembers whether the last one says that nothing was left to do.
class EventPrinter {
 public:
  EventPrinter(FileSystem& files, std::filesystem::path directory, std::uint64_t from)
      : directory_(directory), stream_(files, std::move(directory), from) {}

  void print_more() {
    std::string block;
    try {
      stream_.read([&](std::string_view text) {
        is_finished_ = says_finished(text);
        block += text;
        block += '\n';
        if (block.size() < block_bytes) return;
        print_data(block);
        block.clear();
      });
    } catch (const Error&) {
      print_data(block);  // what is before the damage
      throw;
    }
    print_data(block);
    say_what_is_missing();
  }

  bool is_finished() const { return is_finished_; }
  std::uint64_t next() const { return stream_.next(); }

 private:
  static bool says_finished(std::string_view text) {
    if (text.find(R"("e":"session_end")") == text.npos) return false;
    const Event event = parse_event(text);
    const auto* const end = std::get_if<SessionEnded>(&event.body);
    return end != nullptr && end->reason == "finished";
  }

  void say_what_is_missing() {
    const std::uint64_t missing = stream_.missing();
    if (missing == said_missing_) return;
    print_notice(count_of(missing - said_missing_, "event") + " up to event " +
                 std::to_string(stream_.next() - 1) + " cannot be shown: " +
                 paths::history(directory_).string() + " and the journals do not have them");
    said_missing_ = missing;
  }

  std::filesystem::path directory_;
  EventStream stream_;
  std::uint64_t said_missing_ = 0;
  bool is_finished_ = false;
};

bool is_driven(FileSystem& files, const std::filesystem::path& directory) {
  return find_driver(files, paths::lock(directory)).has_value();
}

/// Sleeps between two looks, and says what is waited for if that takes a while.
class Waiting {
 public:
  void wait(const std::string& what) {
    if (++looks_ == looks_before_notice) print_notice(what);
    std::this_thread::sleep_for(look_period);
  }
  void end() { looks_ = 0; }

 private:
  static constexpr int looks_before_notice = 2000 / look_period.count();
  int looks_ = 0;
};

}  // namespace

int events_command(const EventsRequest& request) {
  const std::filesystem::path directory = request.directory;
  Waiting waiting;
  // What is there and can never be one is not waited for.
  const auto may_come = [&] {
    std::error_code error;
    const auto status = std::filesystem::status(directory, error);
    return !std::filesystem::exists(status) || std::filesystem::is_directory(status);
  };
  while (request.follow && !is_experiment(directory) && may_come()) {
    if (!has_reader()) return exit_ok;
    waiting.wait("waits for an experiment in " + directory.string());
  }
  require_experiment(directory);
  waiting.end();
  const auto files = make_posix_file_system();
  EventPrinter events(*files, directory, request.from);
  bool was_driven = false;
  bool has_looked = false;
  while (has_reader()) {
    // Asked first: what a driver has written before it left is printed then.
    const bool is_driven_now = request.follow && is_driven(*files, directory);
    events.print_more();
    if (!request.follow || (!is_driven_now && events.is_finished())) break;
    // With nothing new to print, nothing was read of how it has ended.
    if (!is_driven_now && !was_driven && !std::exchange(has_looked, true) &&
        is_finished(view_experiment(directory).grid.experiment())) {
      break;
    }
    if (is_driven_now) {
      was_driven = true;
      std::this_thread::sleep_for(look_period);
    } else if (was_driven) {
      print_notice("the driver has left before the end; after a resume, --from " +
                   std::to_string(events.next()) + " goes on here");
      break;
    } else {
      waiting.wait("nobody drives " + directory.string() + " now: waits for a resume");
    }
  }
  return exit_ok;
}

}  // namespace tune
