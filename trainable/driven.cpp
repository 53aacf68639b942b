// The conversation with the driver, for a class and for a function.
// Knows no option of the command line.
#include "trainable/driven.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "trainable/hangup_watch.h"
#include "trainable/line_socket.h"
#include "trainable/protocol.h"
#include "trainable/runner.h"

namespace tune {
namespace {

constexpr int exit_stopped = 0;
constexpr int exit_failed = 1;
constexpr int exit_bad_command = 2;

/// Why this process is to end now. No std::exception, since it passes through the user's function,
/// which may well catch those.
struct End {
  int exit_code;
  std::string reason;  ///< for standard error, empty if there is nothing to say
};

int descriptor_from_environment() {
  const char* text = std::getenv(protocol::env_socket_fd);
  const std::string_view digits = text == nullptr ? "" : text;
  int fd = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
  if (error != std::errc() || end != digits.data() + digits.size() || fd < 0) {
    throw std::invalid_argument(std::string(protocol::env_socket_fd) + " is '" +
                                std::string(digits) + "', and it must be a descriptor's number");
  }
  // A program that this one starts is no trial of the driver's.
  ::unsetenv(protocol::env_socket_fd);
  return fd;
}

/// Messages to and from the driver. Its being gone, or not making sense, is an `End`.
class Connection {
 public:
  Connection() : socket_(descriptor_from_environment()), watch_(socket_.fd()) {}

  void send(const protocol::Answer& answer) {
    if (!socket_.write(protocol::format(answer))) throw gone();
  }

  protocol::Command receive() {
    try {
      const auto line = socket_.read_line();
      if (line) return protocol::parse_command(*line);
    } catch (const std::exception& error) {
      throw End{exit_bad_command, std::string("bad command from the driver: ") + error.what()};
    }
    throw gone();
  }

  protocol::Start receive_start() {
    auto command = receive();
    auto* start = std::get_if<protocol::Start>(&command);
    if (start == nullptr || start->reset) throw unexpected("start was expected first");
    return std::move(*start);
  }

  static End unexpected(const std::string& what) {
    return {exit_bad_command, "bad command from the driver: " + what};
  }

 private:
  static End gone() { return {exit_driver_gone, "the driver is gone"}; }

  LineSocket socket_;
  HangupWatch watch_;
};

int end_with(const End& end) {
  if (!end.reason.empty()) std::fprintf(stderr, "tune: %s\n", end.reason.c_str());
  return end.exit_code;
}

std::string type_of_current_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown";
  int status = 0;
  char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? readable : type->name();
  std::free(readable);
  return name;
}

/// Tells the driver of the exception being handled, and returns the exit code.
int fail(Connection& connection, const std::string& called_last) {
  const protocol::Failure failure{
      current_exception_text(),
      "thrown as " + type_of_current_exception() + "; called last: " + called_last};
  std::fprintf(stderr, "tune: %s (%s)\n", failure.message.c_str(), failure.trace.c_str());
  try {
    connection.send(failure);
  } catch (const End&) {
    return exit_driver_gone;
  }
  return exit_failed;
}

/// The regular file behind `fd`, if that is what is behind it.
std::optional<struct stat> regular_file(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

void continue_output_in(const std::string& file, int fd) {
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (opened < 0) throw std::system_error(errno, std::generic_category(), file);
  const int copied = ::dup2(opened, fd);
  const int why = errno;
  ::close(opened);
  if (copied < 0) throw std::system_error(why, std::generic_category(), file);
}

/// Makes the trial's directory the working directory, and its log files the place of all further
/// output, as they are for a process started there.
void move_to(const protocol::Start& start) {
  const std::string& trial_dir = start.trial_dir;
  std::cout.flush();
  std::fflush(stdout);
  if (::chdir(trial_dir.c_str()) != 0) {
    throw std::system_error(errno, std::generic_category(), trial_dir);
  }
  const auto out = regular_file(STDOUT_FILENO);
  const auto err = regular_file(STDERR_FILENO);
  const bool merged = out && err && out->st_dev == err->st_dev && out->st_ino == err->st_ino;
  // A driver that does not say where they are has them in that directory.
  const std::string to = start.stdout_log.value_or("stdout.log");
  if (out) continue_output_in(to, STDOUT_FILENO);
  if (err) continue_output_in(merged ? to : start.stderr_log.value_or("stderr.log"), STDERR_FILENO);
}

protocol::Saved save(TrainableRunner& runner, const std::string& directory) {
  try {
    runner.save(directory);
    return {};
  } catch (...) {
    return {current_exception_text()};
  }
}

/// A class trainable's hello. Only asking shows whether it can be reset: `reset_config` answers.
protocol::Hello class_hello() {
  protocol::Hello hello;
  hello.pid = ::getpid();
  hello.api = protocol::Api::class_api;
  hello.can_reset = true;
  return hello;
}

void reset(Connection& connection, TrainableRunner& runner, const protocol::Start& start) {
  move_to(start);
  protocol::Hello hello = class_hello();
  hello.reset_refused = !runner.reset(start);
  connection.send(hello);
  if (!hello.reset_refused) return;
  const auto command = connection.receive();
  if (!std::holds_alternative<protocol::Stop>(command)) {
    throw Connection::unexpected("only stop can follow a refused reset");
  }
  throw End{exit_stopped, ""};
}

/// Does what the driver says until an End.
[[noreturn]] void obey(Connection& connection, TrainableRunner& runner) {
  for (;;) {
    const auto command = connection.receive();
    if (std::holds_alternative<protocol::Step>(command)) {
      connection.send(runner.step());
    } else if (const auto* wanted = std::get_if<protocol::Save>(&command)) {
      connection.send(save(runner, wanted->directory));
    } else if (const auto* start = std::get_if<protocol::Start>(&command)) {
      if (!start->reset) throw Connection::unexpected("start came a second time");
      reset(connection, runner, *start);
    } else {
      throw End{exit_stopped, ""};
    }
  }
}

int drive_class(Connection& connection, const TrainableFactory& factory) {
  TrainableRunner runner(factory);
  try {
    try {
      connection.send(class_hello());
      runner.begin(connection.receive_start());
      obey(connection, runner);
    } catch (const End& end) {
      runner.cleanup();
      return end_with(end);
    }
  } catch (...) {
    return fail(connection, runner.called());
  }
}

class DrivenSession : public Session {
 public:
  DrivenSession(Connection& connection, const protocol::Start& start)
      : connection_(connection), context_(context_of(start)) {
    if (start.checkpoint) checkpoint_ = *start.checkpoint;
  }

  void report(Json metrics, const std::optional<std::filesystem::path>& checkpoint_dir) override {
    if (end_) throw *end_;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - went_on_;
    if (checkpoint_dir && !std::filesystem::is_directory(*checkpoint_dir)) {
      throw std::invalid_argument("the reported checkpoint '" + checkpoint_dir->string() +
                                  "' is not a directory");
    }
    protocol::Result result = finish_iteration(std::move(metrics), seconds.count(), context_);
    if (checkpoint_dir) result.checkpoint = std::filesystem::absolute(*checkpoint_dir).string();
    send(std::move(result));
    await_step();
  }

  const std::optional<std::filesystem::path>& checkpoint() const override { return checkpoint_; }

  std::filesystem::path new_checkpoint_dir() override {
    return make_checkpoint_dir(context_.trial_dir, last_checkpoint_);
  }

  const TrialContext& context() const override { return context_; }

  /// Returns when the driver says step; all else that ends the wait is thrown as an End.
  void await_step() {
    for (;;) {
      const auto command = receive();
      if (std::holds_alternative<protocol::Step>(command)) break;
      if (std::holds_alternative<protocol::Save>(command)) {
        send(
            protocol::Saved{"a function trainable cannot be told to save: it must report its "
                            "checkpoints itself"});
      } else if (std::holds_alternative<protocol::Stop>(command)) {
        end(End{exit_stopped, ""});
      } else {
        end(Connection::unexpected("a function trainable can be neither reset nor started twice"));
      }
    }
    went_on_ = std::chrono::steady_clock::now();
  }

  /// The function has returned: says so and waits for the end.
  [[noreturn]] void finish() {
    if (end_) throw *end_;
    protocol::Result nothing_new;
    nothing_new.done = true;
    send(std::move(nothing_new));
    await_step();
    throw Connection::unexpected("step came after the function had returned");
  }

 private:
  void send(const protocol::Answer& answer) {
    try {
      connection_.send(answer);
    } catch (const End& why) {
      end(why);
    }
  }

  protocol::Command receive() {
    try {
      return connection_.receive();
    } catch (const End& why) {
      end(why);
    }
  }

  /// Remembered, since a function may swallow what is thrown through it, and report again.
  [[noreturn]] void end(const End& why) {
    end_ = why;
    throw why;
  }

  Connection& connection_;
  TrialContext context_;
  std::optional<std::filesystem::path> checkpoint_;
  std::optional<End> end_;
  std::int64_t last_checkpoint_ = 0;
  std::chrono::steady_clock::time_point went_on_;
};

int drive_function(Connection& connection, const TrainFunction& function) {
  try {
    protocol::Hello hello;
    hello.pid = ::getpid();
    hello.api = protocol::Api::function_api;
    connection.send(hello);
    const protocol::Start start = connection.receive_start();
    DrivenSession session(connection, start);
    session.await_step();
    function(start.config, session);
    session.finish();
  } catch (const End& end) {
    return end_with(end);
  } catch (...) {
    return fail(connection, "the function");
  }
}

template <class Drive>
int with_connection(const Drive& drive_over) {
  std::optional<Connection> connection;
  try {
    connection.emplace();
  } catch (const std::exception& error) {
    return end_with({exit_bad_command, std::string("no way to the driver: ") + error.what()});
  }
  return drive_over(*connection);
}

}  // namespace

int drive(const TrainableFactory& factory) {
  return with_connection([&](Connection& connection) { return drive_class(connection, factory); });
}

int drive(const TrainFunction& function) {
  return with_connection(
      [&](Connection& connection) { return drive_function(connection, function); });
}

}  // namespace tune
