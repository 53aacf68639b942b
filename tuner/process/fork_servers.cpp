// Requests go over the server's socket, with the trial's descriptors; the answer comes through a
// gate of its own, from the trial's process itself, which runs on only when it hears so. So a
// launch that was given up never runs beside its substitute.
#include "tuner/process/fork_servers.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "tuner/process/fork_server_source.h"  // from fork_server.py, by CMake
#include "tuner/process/process_stat.h"
#include "tuner/process/subreaper.h"

namespace tune {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A server that has its modules takes milliseconds. At most the time that loading them may take,
/// by half: a trial that is then started without it has a part of its launch_timeout_s left.
constexpr std::chrono::milliseconds fork_patience{10'000};
/// A program whose environment is another one each time gains nothing by servers.
constexpr std::size_t most_servers = 4;
/// A server that dies so often is not started again.
constexpr int most_deaths = 3;
constexpr std::size_t reserved_bytes = 512;
constexpr std::size_t reply_bytes = 1024;

std::string_view variable_name(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

/// Asks PyTorch to count GPUs without touching them, which would spoil all forks.
constexpr std::string_view torch_looks_gently = "PYTORCH_NVML_BASED_CUDA_CHECK";

/// What modules may read while they are loaded: all but what the launch has for itself.
std::vector<std::string> shared_environment(const ProcessSpec& spec, const Program& program) {
  std::vector<std::string> shared;
  bool is_told = false;
  for (const std::string& variable : program.environment) {
    const auto name = variable_name(variable);
    is_told = is_told || name == torch_looks_gently;
    const bool is_own =
        std::any_of(spec.own_environment.begin(), spec.own_environment.end(),
                    [&](const std::string& own) { return variable_name(own) == name; });
    if (!is_own) shared.push_back(variable);
  }
  if (!is_told) shared.push_back(std::string(torch_looks_gently) + "=1");
  return shared;
}

/// The mark by which what a server has forked is known as this driver's before it has its own,
/// which is written over it: so there is room.
std::string mark_of_server(const Program& program, std::uint64_t number) {
  const std::string start = std::string(launch_variable) + "=";
  std::string mark = start;
  for (const std::string& variable : program.environment) {
    if (variable.starts_with(start)) mark = variable.substr(0, variable.rfind('.') + 1);
  }
  mark += server_launch + std::to_string(number) + " ";
  return mark + std::string(reserved_bytes, ' ');
}

enum class Heard { something, nothing, stop, end };

/// Until `process` has ended, too, if there is one: what it has left may hold the other end of
/// `fd`.
Heard wait_for(int fd, short events, int stop, SteadyTime until, const Process* process = nullptr) {
  const int pidfd = process != nullptr ? process->pidfd() : -1;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() < 0) return Heard::nothing;
    std::array<pollfd, 3> ready = {pollfd{fd, events, 0}, pollfd{stop, POLLIN, 0},
                                   pollfd{pidfd, POLLIN, 0}};
    const int count = ::poll(ready.data(), ready.size(), static_cast<int>(left.count()));
    if (count < 0 && errno != EINTR) return Heard::nothing;
    if (count <= 0) continue;
    if (ready[1].revents != 0) return Heard::stop;
    if (ready[0].revents != 0) return Heard::something;
    if (process->ended()) return Heard::end;
    ::poll(nullptr, 0, 1);  // readable too when a debugger has to reap first
  }
}

struct Reply {
  std::string text;  ///< empty: the other end is closed
  FileDescriptor descriptor;
};

/// One message, of a socket that has one or is closed.
Reply receive_reply(int socket) {
  Reply reply;
  std::array<char, reply_bytes> block{};
  iovec part{block.data(), block.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count > 0) reply.text.assign(block.data(), static_cast<std::size_t>(count));
  const cmsghdr* const head = count > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    reply.descriptor = FileDescriptor(fd);
  }
  return reply;
}

/// The first byte takes the descriptors along. False if the other end is gone or does not listen.
bool send_all(int socket, std::string_view bytes, const std::array<int, 4>& descriptors, int stop,
              SteadyTime until) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  bool are_sent = false;
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!are_sent) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof descriptors);
      std::memcpy(CMSG_DATA(head), descriptors.data(), sizeof descriptors);
    }
    const ssize_t count = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      are_sent = true;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      if (wait_for(socket, POLLOUT, stop, until) != Heard::something) return false;
    } else if (count == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string request_for(const ProcessSpec& spec, const Program& program) {
  std::string fields = std::to_string(::getpid());
  const auto add = [&fields](std::string_view field) { fields.append(1, '\0').append(field); };
  add(spec.directory.native());
  add(std::to_string(spec.preload->interpreter_words));
  add(std::to_string(program.argv.size()));
  for (const std::string& word : program.argv) add(word);
  for (const std::string& variable : program.environment) add(variable);
  const auto length = static_cast<std::uint32_t>(fields.size());
  std::string request(sizeof length, '\0');
  std::memcpy(request.data(), &length, sizeof length);
  return request + fields;
}

bool is_own_child(int pidfd) {
  siginfo_t info{};
  return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ==
         0;
}

/// The rest of a reply that begins with this word.
std::optional<std::string> said(const Reply& reply, std::string_view word) {
  if (!reply.text.starts_with(word)) return std::nullopt;
  return reply.text.substr(std::min(word.size() + 1, reply.text.size()));
}

/// What has become of a process that has not said that its modules are loaded. None: it lives on.
std::optional<ExitStatus> end_of(const Process& process, int stop) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  (void)wait_for(-1, 0, stop, until, &process);
  return process.ended();
}

std::string cold(const std::string& reason) {
  return "is started without \"preload\", and so are those after it: " + reason;
}

std::string cold_once(const std::string& reason) {
  return "is started without \"preload\": " + reason + "; those after it are to have it again";
}

}  // namespace

struct ForkServers::Server {
  std::vector<std::string> words;  ///< the interpreter, its options, and the modules
  std::vector<std::string> environment;
  std::optional<Spawned> process;
  std::uint64_t number = 0;  ///< of the process, among those that live
  bool is_refused = false;
  int deaths = 0;
};

ForkServers::ForkServers(Spawner& spawner, LivingServers& living, int stop)
    : spawner_(spawner), living_(living), stop_(stop) {}

ForkServers::~ForkServers() {
  for (Server& server : servers_) end(server);
}

void ForkServers::end(Server& server) {
  server.process.reset();
  living_.remove(std::exchange(server.number, 0));
}

std::optional<Spawned> ForkServers::spawn(const ProcessSpec& spec, std::string& remark) {
  const Program program = spawner_.resolve(spec);
  Server* const server = server_for(spec, program, remark);
  if (server == nullptr || server->is_refused) return std::nullopt;
  const auto refuse = [&](const std::string& reason) {
    server->is_refused = true;
    end(*server);
    remark = cold(reason);
  };
  const auto count_death = [&](const std::string& reason) {
    end(*server);
    if (++server->deaths >= most_deaths) return refuse(reason + ", for the third time");
    remark = cold_once(reason);
  };
  if (!server->process) {
    begin(*server, spec, program);
    const Process& process = server->process->process;
    const int socket = server->process->socket.get();
    const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(spec.preload->patience_s));
    const auto until = std::chrono::steady_clock::now() + patience;
    const Heard heard = wait_for(socket, POLLIN, stop_, until, &process);
    if (heard == Heard::stop) {
      throw machine_error("cannot run '" + spec.argv[0] + "': the driver ends");
    }
    if (heard == Heard::nothing) {
      refuse("loading its modules has taken longer than half of launch_timeout_s");
      return std::nullopt;
    }
    const Reply reply = receive_reply(socket);
    if (const auto reason = said(reply, "refused")) {
      refuse(*reason);
      return std::nullopt;
    }
    if (!said(reply, "ready")) {
      // A signal comes from outside mostly, from whoever guards the memory: another try is worth
      // it.
      const auto end = end_of(process, stop_);
      if (end && end->signal != 0) {
        count_death("what was to load its modules was killed by signal " +
                    std::to_string(end->signal));
      } else {
        refuse("what was to load its modules has ended; what it printed is in " +
               spec.preload->log.string());
      }
      return std::nullopt;
    }
  }
  std::string reason;
  auto spawned = fork_from(*server, spec, program, reason);
  if (spawned) return spawned;
  if (reason.starts_with("refused ")) {
    refuse(reason.substr(std::string_view("refused ").size()));
  } else {
    count_death(reason);
  }
  return std::nullopt;
}

ForkServers::Server* ForkServers::server_for(const ProcessSpec& spec, const Program& program,
                                             std::string& remark) {
  const auto interpreter = static_cast<std::ptrdiff_t>(spec.preload->interpreter_words);
  std::vector<std::string> words(program.argv.begin(), program.argv.begin() + interpreter);
  words.insert(words.end(), spec.preload->modules.begin(), spec.preload->modules.end());
  auto environment = shared_environment(spec, program);
  for (Server& server : servers_) {
    if (server.words == words && server.environment == environment) return &server;
  }
  if (servers_.size() < most_servers) {
    return &servers_.emplace_back(
        Server{.words = std::move(words), .environment = std::move(environment), .process = {}});
  }
  if (!std::exchange(too_many_, true)) {
    remark = cold("trials differ in more than " + std::to_string(most_servers) +
                  " ways in command or environment, and each would need its modules loaded anew");
  }
  return nullptr;
}

void ForkServers::begin(Server& server, const ProcessSpec& spec, const Program& program) {
  const auto interpreter = static_cast<std::ptrdiff_t>(spec.preload->interpreter_words);
  ProcessSpec process;
  process.argv.assign(spec.argv.begin(), spec.argv.begin() + interpreter);
  process.argv.insert(process.argv.end(), {"-c", fork_server_source});
  process.argv.insert(process.argv.end(), spec.preload->modules.begin(),
                      spec.preload->modules.end());
  process.environment = server.environment;
  server.number = living_.add();
  process.own_environment.push_back(mark_of_server(program, server.number));
  process.directory = spec.directory;
  process.stdout_path = spec.preload->log;
  process.stderr_path = spec.preload->log;
  server.process.emplace(spawner_.spawn(process));
}

/// Nothing, with the reason, if it has to be started in another way.
std::optional<Spawned> ForkServers::fork_from(Server& server, const ProcessSpec& spec,
                                              const Program& program, std::string& reason) {
  LaunchFiles files = open_launch_files(spec);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw file_error("cannot make a socket for", "'" + spec.argv[0] + "'", errno);
  }
  const FileDescriptor gate(ends[0]);
  FileDescriptor theirs(ends[1]);
  const auto load_patience = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(spec.preload->patience_s));
  const auto until = std::chrono::steady_clock::now() + std::min(fork_patience, load_patience / 2);
  const bool is_sent =
      send_all(server.process->socket.get(), request_for(spec, program),
               {theirs.get(), files.theirs.get(), files.out.get(), files.err()}, stop_, until);
  theirs = FileDescriptor();  // so that the end of all who may answer is heard
  files.theirs = FileDescriptor();
  const Heard heard = is_sent ? wait_for(gate.get(), POLLIN, stop_, until) : Heard::nothing;
  if (heard == Heard::stop)
    throw machine_error("cannot run '" + spec.argv[0] + "': the driver ends");
  Reply reply = heard == Heard::something ? receive_reply(gate.get()) : Reply{};
  if (reply.text.starts_with("refused ")) {
    reason = reply.text;
    return std::nullopt;
  }
  if (const auto fault = said(reply, "error")) {
    reason = "what has its modules loaded cannot start it (" + *fault + ")";
    return std::nullopt;
  }
  pid_t pid = 0;
  if (const auto number = said(reply, "pid")) {
    std::from_chars(number->data(), number->data() + number->size(), pid);
  }
  if (pid <= 1 || !reply.descriptor || !is_own_child(reply.descriptor.get())) {
    const bool is_late = std::chrono::steady_clock::now() >= until;
    reason = is_late ? "what has its modules loaded does not answer"
                     : "what had its modules loaded has died";
    return std::nullopt;
  }
  Process process(pid, std::move(reply.descriptor));
  (void)::send(gate.get(), "g", 1, MSG_NOSIGNAL);
  const auto stat = read_process_stat(pid);
  return Spawned{.process = std::move(process),
                 .socket = std::move(files.ours),
                 .start_ticks = stat ? stat->start_ticks : 0,
                 .stdout_begin = files.stdout_begin,
                 .stderr_begin = files.stderr_begin};
}

}  // namespace tune
