#include "tuner/host/policy_host.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "trainable/protocol.h"
#include "tuner/core/clean_text.h"
#include "tuner/core/error.h"
#include "tuner/exec/process_wide.h"
#include "tuner/exec/spawn.h"

namespace tune {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int most_deaths = 3;
constexpr std::size_t most_buffered_bytes = 64 * 1024;
/// Whoever closes its connection mostly ends at once; how is more telling.
constexpr Seconds end_after_hangup_s = 1;
constexpr std::size_t last_words_bytes = 4096;

/// It has ended, or closed its connection: starting it again may help.
struct HostDied {};

bool is_ready(int fd, short events, SteadyTime until) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd wanted{fd, events, 0};
    const int count = ::poll(&wanted, 1, std::max(0, static_cast<int>(left.count())));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

SteadyTime after(Seconds seconds) {
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::duration<double>(seconds));
}

/// JSON has no NaN; a score that is none is null, as nlohmann writes it.
std::string line_of(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

PolicyHost::PolicyHost(Options options)
    : options_(std::move(options)),
      name_("the " + options_.hello.at("kind").get<std::string>() + "'s program '" +
            options_.command.back() + "'") {}

PolicyHost::~PolicyHost() = default;

void PolicyHost::complain(const std::string& what) const { throw user_error(name_ + " " + what); }

void PolicyHost::fail(std::string what) {
  // A trace may stand below the first line.
  what.insert(std::min(what.find('\n'), what.size()), last_words());
  process_.reset();
  socket_ = FileDescriptor();
  complain(what);
}

std::string PolicyHost::last_words() const {
  std::string text(last_words_bytes, '\0');
  const off_t end = output_ ? ::lseek(output_.get(), 0, SEEK_END) : 0;
  if (end <= 0) return "";
  const off_t from = std::max<off_t>(0, end - static_cast<off_t>(text.size()));
  const ssize_t count = ::pread(output_.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto line = text.rfind('\n');
  text = clean_text(line == text.npos ? text : text.substr(line + 1));
  return text.empty() ? "" : "; it printed last: " + text;
}

void PolicyHost::start() {
  unread_.clear();
  std::string log = (std::filesystem::temp_directory_path() / "tune-policy-XXXXXX").string();
  output_ = FileDescriptor(::mkstemp(log.data()));
  if (!output_) throw file_error("cannot make a file in", "the temporary directory", errno);
  LaunchSpec spec;
  spec.argv = options_.command;
  spec.directory = std::filesystem::current_path();
  spec.stdout_path = log;
  spec.stderr_path = log;
  // A handler must not run in the child while that shares our memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<Error> error;
  try {
    const ProcessWide process_wide;
    Spawned spawned = Spawner(process_wide.descriptors_before()).spawn(spec);
    process_.emplace(std::move(spawned.process));
    socket_ = std::move(spawned.socket);
  } catch (const Error& thrown) {
    error = thrown;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::unlink(log.c_str());
  if (error) throw Error(error->fault(), name_ + ": " + error->what());
}

void PolicyHost::send(std::string_view bytes) {
  const auto until = after(options_.patience_s);
  while (!bytes.empty()) {
    const ssize_t count =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      if (!is_ready(socket_.get(), POLLOUT, until)) fail("does not read what it is told");
    } else if (errno != EINTR) {
      throw HostDied();
    }
  }
}

std::string PolicyHost::receive() {
  const auto until = after(options_.patience_s);
  for (;;) {
    const auto end = unread_.find('\n');
    if (end != unread_.npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() >= protocol::max_line_bytes) fail("said a line longer than 16 MiB");
    if (!is_ready(socket_.get(), POLLIN, until)) {
      fail("has not answered within " + std::to_string(static_cast<int>(options_.patience_s)) +
           " s");
    }
    char block[64 * 1024];
    const ssize_t count = ::recv(socket_.get(), block, sizeof block, MSG_DONTWAIT);
    if (count > 0) {
      unread_.append(block, static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw HostDied();
    }
  }
}

/// Of a process that runs.
Json PolicyHost::exchange(const std::string& line) {
  send(line);
  const std::string answer = receive();
  Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object()) {
    fail("answered what is no JSON object: " + clean_text(answer.substr(0, 200)));
  }
  const auto error = json.find("error");
  if (error != json.end()) {
    fail(
        "failed: " +
        clean_text((error->is_string() ? error->get<std::string>() : error->dump()).substr(0, 4000),
                   Lines::keep));
  }
  return json;
}

/// Starts it if it does not run, and tells it anew what it has forgotten then.
Json PolicyHost::ask_running(const std::string& line) {
  for (;;) {
    try {
      if (!process_) {
        start();
        outbox_.clear();
        exchange(line_of(options_.hello));
        if (!state_.empty()) exchange(state_);
        std::string told;
        for (const Said& each : said_) {
          if (!each.is_asked) {
            told += each.line;
            continue;
          }
          // What it answers now was taken when it first said it.
          exchange(std::exchange(told, {}) + each.line);
        }
        outbox_ = std::move(told);
      }
      return exchange(std::exchange(outbox_, {}) + line);
    } catch (const HostDied&) {
      if (++deaths_ >= most_deaths) {
        if (process_) is_ready(process_->pidfd(), POLLIN, after(end_after_hangup_s));
        const auto ended = process_ ? process_->ended() : std::nullopt;
        const std::string how = !ended ? "has closed its connection"
                                : ended->signal != 0
                                    ? "was killed by signal " + std::to_string(ended->signal)
                                    : "exited with code " + std::to_string(ended->exit_code);
        fail(how + ", for the third time");
      }
      process_.reset();
    }
  }
}

void PolicyHost::tell(const Json& message) {
  std::string line = line_of(message);
  if (process_) {
    outbox_ += line;
    if (outbox_.size() >= most_buffered_bytes) {
      try {
        send(std::exchange(outbox_, {}));
      } catch (const HostDied&) {
        process_.reset();  // the next question starts it again
      }
    }
  }
  said_.push_back({std::move(line)});
}

Json PolicyHost::ask(const Json& message) {
  std::string line = line_of(message);
  Json answer = ask_running(line);
  deaths_ = 0;
  said_.push_back({std::move(line), true});
  return answer;
}

Json PolicyHost::save() {
  if (!process_ && said_.empty()) {
    return state_.empty() ? Json() : Json::parse(state_).at("state");
  }
  Json answer = ask_running(line_of({{"type", "save"}}));
  deaths_ = 0;
  const auto state = answer.find("state");
  if (state == answer.end())
    fail("was to say its state, and said " + clean_text(answer.dump().substr(0, 200)));
  state_ = line_of({{"type", "load"}, {"state", *state}});
  said_.clear();
  return std::move(*state);
}

void PolicyHost::load(const Json& state) {
  process_.reset();
  said_.clear();
  state_ = state.is_null() ? std::string() : line_of({{"type", "load"}, {"state", state}});
}

}  // namespace tune
