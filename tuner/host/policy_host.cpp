// Starts, asks, times out and restarts a policy program; after a restart it gets the last saved
// state and what was told since.
#include "tuner/host/policy_host.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "trainable/protocol.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int most_deaths = 3;
constexpr std::size_t most_buffered_bytes = 64 * 1024;
/// Whoever closes its connection mostly ends at once; how is more telling.
constexpr Seconds end_after_hangup_s = 1;
/// While it thinks it may print, for ever.
constexpr Seconds look_at_log_s = 0.5;

/// It has ended, or closed its connection: starting it again may help.
struct HostDied {};

SteadyTime after(Seconds seconds) {
  constexpr Seconds longest_s = 1e9;  // of more, clocks of nanoseconds have no number
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::duration<double>(std::min(seconds, longest_s)));
}

/// Whether one of the events comes in time.
bool is_ready(int fd, short events, SteadyTime until) {
  constexpr std::chrono::milliseconds longest{60'000};  // a poll takes an int
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd wanted{fd, events, 0};
    const auto wait = std::clamp(left, std::chrono::milliseconds(0), longest);
    const int count = ::poll(&wanted, 1, static_cast<int>(wait.count()));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (left <= std::chrono::milliseconds(0)) return false;
  }
}

/// "1.5".
std::string text_of(Seconds seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

/// JSON has no NaN; a score that is none is null, as nlohmann writes it.
std::string line_of(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string load_line_of(const std::string& state) {
  return R"({"type":"load","state":)" + state + "}\n";
}

/// The question with its number, which its answer may give back.
std::string numbered(std::uint64_t number, const std::string& question) {
  return "{\"question\":" + std::to_string(number) + "," + question.substr(1);
}

}  // namespace

PolicyHost::PolicyHost(Options options)
    : options_(std::move(options)),
      name_("the " + kind() + "'s program '" + options_.command.back() + "'") {}

std::string PolicyHost::kind() const { return options_.hello.at("kind").get<std::string>(); }

void PolicyHost::fail(std::string what) {
  // A trace may stand below the first line.
  if (program_) what.insert(std::min(what.find('\n'), what.size()), program_->last_words());
  program_.reset();
  throw user_error(name_ + " " + what);
}

void PolicyHost::start() {
  reader_.restart();
  outbox_.clear();
  SideProgram::Options side{.argv = options_.command,
                            .environment = {"TUNE_PART=the " + kind() + "'s program"},
                            .directory = std::filesystem::current_path()};
  if (options_.programs != nullptr) {
    const PolicyPrograms& programs = *options_.programs;
    if (programs.log) side.log = programs.log(kind());
    if (programs.session_mark) {
      side.environment.push_back(protocol::env_session + ("=" + programs.session_mark()));
    }
    side.groups = programs.groups;
  }
  try {
    program_.emplace(std::move(side));
  } catch (const Error& error) {
    throw Error(error.fault(), name_ + ": " + error.what());
  }
}

void PolicyHost::send(std::string_view bytes) {
  const auto until = after(options_.patience_s);
  while (!bytes.empty()) {
    const ssize_t count =
        ::send(program_->socket(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      if (!is_ready(program_->socket(), POLLOUT, until)) fail("does not read what it is told");
    } else if (errno != EINTR) {
      throw HostDied();
    }
  }
}

/// Takes what is there, if that is anything.
bool PolicyHost::receive_some() {
  char block[64 * 1024];
  const ssize_t count = ::recv(program_->socket(), block, sizeof block, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    reader_.hear_last();
    throw HostDied();
  }
  reader_.take({block, static_cast<std::size_t>(count)});
  return true;
}

Said PolicyHost::receive() {
  const auto until = after(options_.patience_s);
  for (;;) {
    program_->limit_log();
    if (auto said = reader_.answer()) return *std::move(said);
    const auto look_again = std::min(until, after(look_at_log_s));
    // Who sends without end what is no answer is not waited for longer.
    const bool is_late = std::chrono::steady_clock::now() >= until;
    if (is_late || !is_ready(program_->socket(), POLLIN, look_again)) {
      if (!is_late && look_again < until) continue;
      fail("has not answered within " + text_of(options_.patience_s) + " s");
    }
    receive_some();
  }
}

/// Of a process that runs: it is told the lines, and asked.
Said PolicyHost::exchange(std::string_view told, const std::string& question) try {
  receive_some();
  const std::uint64_t number = reader_.open();
  try {
    send(std::string(told) + numbered(number, question));
  } catch (const HostDied&) {
    while (receive_some()) {
    }
    throw;
  }
  return receive();
} catch (const BadAnswer& bad) {
  fail(bad.what());
}

/// Starts it if it does not run, and tells it anew what it has forgotten then.
Said PolicyHost::ask_running(const std::string& question) {
  for (;;) {
    try {
      if (!program_) {
        start();
        const Said greeting = exchange({}, line_of(options_.hello));
        accept([&] { greeting_in(greeting); });
        // A new process gets the last saved state and all messages since, questions included, since
        // answering one may have changed the program's state.
        if (!state_.empty()) exchange({}, load_line_of(state_));
        std::string lines;
        for (const Told& each : told_) {
          if (!each.is_asked) {
            lines += each.line;
            continue;
          }
          // What it answers now was taken when it first said it.
          exchange(std::exchange(lines, {}), each.line);
        }
        outbox_ = std::move(lines);
      }
      return exchange(std::exchange(outbox_, {}), question);
    } catch (const HostDied&) {
      if (++deaths_ >= most_deaths) {
        if (program_) is_ready(program_->pidfd(), POLLIN, after(end_after_hangup_s));
        const auto ended = program_ ? program_->ended() : std::nullopt;
        const std::string how = !ended ? "has closed its connection"
                                : ended->signal != 0
                                    ? "was killed by signal " + std::to_string(ended->signal)
                                    : "exited with code " + std::to_string(ended->exit_code);
        fail(how + ", for the third time");
      }
      program_.reset();
    }
  }
}

void PolicyHost::tell(const Json& message) {
  std::string line = line_of(message);
  if (program_) {
    outbox_ += line;
    if (outbox_.size() >= most_buffered_bytes) {
      try {
        send(std::exchange(outbox_, {}));
      } catch (const HostDied&) {
        program_.reset();  // the next question starts it again
      }
    }
  }
  told_.push_back({std::move(line)});
}

Said PolicyHost::ask(const Json& question) {
  std::string line = line_of(question);
  Said said = ask_running(line);
  deaths_ = 0;
  told_.push_back({std::move(line), true});
  return said;
}

std::string PolicyHost::save() {
  if (!program_ && told_.empty()) return state_;
  const Said said = ask_running(line_of({{"type", "save"}}));
  deaths_ = 0;
  std::string state = accept([&] { return state_in(said); });
  state_ = state == "null" ? std::string() : std::move(state);
  told_.clear();
  return state_;
}

void PolicyHost::load(const std::string& state) {
  program_.reset();
  told_.clear();
  state_ = state;
}

}  // namespace tune
