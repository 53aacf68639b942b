// The worker group with the driver, for a class and for a function.
#include "trainable/driven.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
    if (std::holds_alternative<protocol::Stop>(command)) throw End{exit_stopped, ""};
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

/// Who has sent its output elsewhere, keeps it there.
bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
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
  const auto move = [](const std::string& log, int fd) {
    if (!log.empty() && is_regular_file(fd)) continue_output_in(log, fd);
  };
  move(start.stdout_log, STDOUT_FILENO);
  move(start.stderr_log, STDERR_FILENO);
}

/// What this process has written so far, to whatever it was.
std::optional<std::int64_t> bytes_written() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  std::int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "wchar:") return count;
  }
  return std::nullopt;
}

/// What to answer: an error is the save's, and training goes on.
protocol::Saved save_with(const SaveFunction& save, const protocol::Save& wanted) {
  protocol::Saved saved;
  saved.iteration = wanted.iteration;
  const auto before = bytes_written();
  try {
    save(wanted.directory);
    const auto after = bytes_written();
    if (before && after) saved.bytes = *after - *before;
  } catch (...) {
    saved.error = current_exception_text();
  }
  return saved;
}

protocol::Result step(TrainableRunner& runner, const protocol::Step& wanted) {
  protocol::Result result = runner.step();
  result.iteration = wanted.iteration;
  return result;
}

bool is_within(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// Links from the root on that stay in `from` become relative ones, so that they stay in `to`.
void copy_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const auto& entry : fs::recursive_directory_iterator(to)) {
    if (!entry.is_symlink()) continue;
    const fs::path target = fs::read_symlink(entry.path());
    if (!target.is_absolute() || !is_within(target, from)) continue;
    fs::remove(entry.path());
    fs::create_symlink(
        (to / target.lexically_relative(from)).lexically_relative(entry.path().parent_path()),
        entry.path());
  }
}

/// A class trainable's hello. Only asking shows whether it can be reset: `reset_config` answers.
protocol::Hello class_hello() {
  protocol::Hello hello;
  hello.api = protocol::Api::class_api;
  hello.can_reset = true;
  hello.can_save_at_start = true;
  return hello;
}

void reset(Connection& connection, TrainableRunner& runner, const protocol::Start& start) {
  move_to(start);
  if (runner.reset(start)) return;
  connection.send(protocol::Refused{});
  // The step or save that came with the reset is for its successor.
  while (!std::holds_alternative<protocol::Stop>(connection.receive())) {
  }
  throw End{exit_stopped, ""};
}

/// Does what the driver says until an End.
[[noreturn]] void serve(Connection& connection, TrainableRunner& runner) {
  for (;;) {
    const auto command = connection.receive();
    if (const auto* next = std::get_if<protocol::Step>(&command)) {
      connection.send(step(runner, *next));
    } else if (const auto* wanted = std::get_if<protocol::Save>(&command)) {
      connection.send(save_with([&](const auto& directory) { runner.save(directory); }, *wanted));
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
      serve(connection, runner);
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
    if (checkpoint_dir && !std::filesystem::is_directory(*checkpoint_dir)) {
      throw std::invalid_argument("the reported checkpoint '" + checkpoint_dir->string() +
                                  "' is not a directory");
    }
    protocol::Result result = result_of(std::move(metrics));
    if (checkpoint_dir) result.checkpoint = name_in_trial_dir(*checkpoint_dir);
    send(std::move(result));
    await_step(nullptr);
  }

  void report(Json metrics, const SaveFunction& save) override {
    if (end_) throw *end_;
    protocol::Result result = result_of(std::move(metrics));
    result.can_save = save != nullptr;
    send(std::move(result));
    await_step(save);
  }

  const std::optional<std::filesystem::path>& checkpoint() const override { return checkpoint_; }

  std::filesystem::path new_checkpoint_dir() override {
    return make_checkpoint_dir(context_.trial_dir, last_checkpoint_);
  }

  const TrialContext& context() const override { return context_; }

  /// Returns when the driver says step, and until then saves when it says so; all else that ends
  /// the wait is thrown as an End.
  void await_step(const SaveFunction& save) {
    for (;;) {
      const auto command = receive();
      if (const auto* step = std::get_if<protocol::Step>(&command)) {
        iteration_ = step->iteration;
        break;
      }
      if (const auto* wanted = std::get_if<protocol::Save>(&command)) {
        send(save ? save_with(save, *wanted)
                  : protocol::Saved{
                        "report() was given no function that saves", wanted->iteration, {}});
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
    nothing_new.iteration = iteration_;
    send(std::move(nothing_new));
    await_step(nullptr);
    throw Connection::unexpected("step came after the function had returned");
  }

 private:
  /// The protocol hands over what lies in the trial's directory. What is elsewhere is the user's:
  /// it is copied, and stays.
  std::string name_in_trial_dir(const std::filesystem::path& reported) {
    namespace fs = std::filesystem;
    const fs::path own = fs::canonical(context_.trial_dir);
    const fs::path from = fs::canonical(reported);
    if (from == own || is_within(own, from)) {
      throw std::invalid_argument("the reported checkpoint '" + reported.string() +
                                  "' holds the trial's own directory; report a directory in it");
    }
    const bool is_link = fs::is_symlink(fs::absolute(reported / ".").parent_path());
    if (from.parent_path() == own && !is_link) return from.filename();
    const fs::path copy = new_checkpoint_dir();
    try {
      copy_checkpoint(from, copy);
    } catch (const fs::filesystem_error& error) {
      // A save that fails is no end of the training. The driver counts it: there is nothing.
      std::fprintf(stderr, "tune: the reported checkpoint cannot be copied: %s\n", error.what());
      std::error_code ignored;
      fs::remove_all(copy, ignored);
    }
    return copy.filename();
  }

  protocol::Result result_of(Json metrics) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - went_on_;
    protocol::Result result = finish_iteration(std::move(metrics), seconds.count(), context_);
    result.iteration = iteration_;
    return result;
  }

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
  std::int64_t iteration_ = 0;  ///< of the step that is to be answered
  std::chrono::steady_clock::time_point went_on_;
};

int drive_function(Connection& connection, const TrainFunction& function) {
  try {
    protocol::Hello hello;
    hello.api = protocol::Api::function_api;
    hello.can_save = true;  // only its reports show whether it can
    connection.send(hello);
    const protocol::Start start = connection.receive_start();
    DrivenSession session(connection, start);
    session.await_step(nullptr);
    function(start.config, session);
    session.finish();
  } catch (const End& end) {
    return end_with(end);
  } catch (...) {
    return fail(connection, "the function");
  }
}

template <class RunParts>
int with_connection(const RunParts& drive_over) {
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
