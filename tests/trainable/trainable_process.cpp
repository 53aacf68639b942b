// Fork, exec, and reads that give up instead of hanging the test.
// Knows no message.
#include "tests/trainable/trainable_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "trainable/protocol.h"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

constexpr int patience_ms = 60'000;

void open_as(const char* file, int fd) {
  const int opened = ::open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (opened < 0 || ::dup2(opened, fd) < 0) ::_exit(126);
  ::close(opened);
}

/// Forks and execs in `directory`; `socket` becomes the child's descriptor 3 unless it is -1.
int launch(const std::vector<std::string>& arguments, const fs::path& directory, int socket,
           Output output) {
  const int pid = ::fork();
  if (pid != 0) return pid;
  fs::current_path(directory);
  open_as("stdout.log", STDOUT_FILENO);
  open_as(output == Output::merged ? "stdout.log" : "stderr.log", STDERR_FILENO);
  ::unsetenv(protocol::env_socket_fd);
  if (socket >= 0) {
    if (socket == protocol::socket_fd) {
      ::fcntl(socket, F_SETFD, 0);
    } else {
      ::dup2(socket, protocol::socket_fd);
    }
    ::setenv(protocol::env_socket_fd, std::to_string(protocol::socket_fd).c_str(), 1);
    ::setenv(protocol::env_version, std::to_string(protocol::version).c_str(), 1);
    ::setenv(protocol::env_trial_dir, directory.c_str(), 1);
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

int exit_code_of(int pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("waitpid failed");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

ScratchDir::ScratchDir() {
  std::string name = (fs::temp_directory_path() / "tune_test_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path ScratchDir::make(const std::string& name) const {
  fs::create_directories(path_ / name);
  return path_ / name;
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TrainableProcess::TrainableProcess(std::vector<std::string> arguments, fs::path trial_dir,
                                   Output output)
    : trial_dir_(std::move(trial_dir)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("socketpair failed");
  }
  fd_ = ends[0];
  pid_ = launch(arguments, trial_dir_, ends[1], output);
  ::close(ends[1]);
}

TrainableProcess::~TrainableProcess() {
  close();
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  exit_code_of(pid_);
}

void TrainableProcess::send(const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0) throw std::runtime_error("the trainable does not read");
    sent += static_cast<std::size_t>(count);
  }
}

bool TrainableProcess::fill() {
  pollfd readable{fd_, POLLIN, 0};
  if (::poll(&readable, 1, patience_ms) <= 0) throw std::runtime_error("the trainable is silent");
  char block[64 * 1024];
  const ssize_t count = ::recv(fd_, block, sizeof block, 0);
  if (count <= 0) return false;
  unread_.append(block, static_cast<std::size_t>(count));
  return true;
}

std::string TrainableProcess::receive_line() {
  std::size_t newline;
  while ((newline = unread_.find('\n')) == std::string::npos) {
    if (!fill()) {
      throw std::runtime_error("the trainable has gone, and said on stderr: " +
                               read_text(trial_dir_ / "stderr.log"));
    }
  }
  std::string line = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  return line;
}

Json TrainableProcess::receive() { return Json::parse(receive_line()); }

bool TrainableProcess::at_end() { return unread_.empty() && !fill(); }

void TrainableProcess::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int TrainableProcess::wait() { return exit_code_of(std::exchange(pid_, -1)); }

std::string TrainableProcess::start(const Json& config, const Json& more) const {
  Json message = {{"type", "start"},
                  {"trial_id", "trial_00003"},
                  {"trial_dir", trial_dir_.string()},
                  {"config", config.is_null() ? Json::object() : config},
                  {"checkpoint", nullptr},
                  {"iteration", 0},
                  {"rank", 0},
                  {"world_size", 1}};
  message.update(more);
  return message.dump() + "\n";
}

Json TrainableProcess::start_and_step(const Json& config) {
  receive();
  send(start(config) + "{\"type\":\"step\",\"iteration\":1}\n");
  return receive();
}

Finished run_standalone(std::vector<std::string> arguments, const fs::path& directory) {
  const int exit_code = exit_code_of(launch(arguments, directory, -1, Output::apart));
  return {exit_code, read_text(directory / "stdout.log"), read_text(directory / "stderr.log")};
}

}  // namespace tune::test
