// The loop of `tune status --follow`: redraws a screen on a terminal, prints new lines elsewhere.
#include "apps/tune/status_follow.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "apps/tune/output.h"
#include "callbacks/terminal.h"

namespace tune {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds follow_period{1000};
constexpr std::chrono::seconds quiet_period{60};
/// Of a long journal, looking is not to take more than this part of a processor.
constexpr int rest_factor = 10;

/// Draws frames over each other.
class Screen {
 public:
  void draw(const std::string& text) {
    const TerminalSize size = stdout_size();
    const TextArea area{size.width, locale_is_utf8()};
    std::istringstream lines(text);
    std::string frame;
    if (drawn_ > 0) frame = "\r\033[" + std::to_string(drawn_) + "A";
    drawn_ = 0;
    // The line below, where the cursor rests, is not for text.
    for (std::string line; drawn_ + 1 < size.height && std::getline(lines, line); ++drawn_) {
      frame += fit(line, area) + "\033[K\n";
    }
    pump_.write(frame + "\033[J");
  }

 private:
  OutputPump pump_{STDOUT_FILENO};
  int drawn_ = 0;
};

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char buffer[32];
  return {buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &parts)};
}

/// Prints what is new.
class NewLines {
 public:
  void show(const StatusFrame& frame) {
    const auto now = SteadyClock::now();
    if (frame.key == key_ && now < next_) return;
    key_ = frame.key;
    next_ = now + quiet_period;
    frame.is_data ? print_data(frame.line + '\n') : print(time_of_day() + ' ' + frame.line + '\n');
  }

 private:
  std::string key_;
  SteadyClock::time_point next_;
};

}  // namespace

int follow_status(const std::function<StatusFrame()>& view) {
  std::optional<Screen> screen;
  NewLines lines;
  while (true) {
    const auto begin = SteadyClock::now();
    const StatusFrame frame = view();
    const auto took = SteadyClock::now() - begin;
    if (!frame.is_data && stdout_is_terminal()) {
      if (!screen) screen.emplace();
      screen->draw(frame.screen);
    } else {
      lines.show(frame);
    }
    if (!frame.is_driven || !has_reader()) return frame.exit_code;
    std::this_thread::sleep_for(std::max<SteadyClock::duration>(follow_period, rest_factor * took));
  }
}

}  // namespace tune
