// A thread of its own starts it: the kernel ends a process with the thread that has started it, and
// gives what it leaves behind to the first thread, whose children Adopted reaps.
#include "tuner/process/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/disk/log_limit.h"
#include "tuner/disk/regular_file.h"
#include "tuner/process/launcher.h"
#include "tuner/process/orphans.h"
#include "tuner/process/process_wide.h"
#include "tuner/process/subreaper.h"
#include "tuner/process/watchdog.h"

namespace tune {

namespace {

/// What is stuck in the kernel does not end at all.
constexpr std::chrono::seconds end_patience{5};

}  // namespace

class SideProgram::Running {
 public:
  explicit Running(Options options)
      : word_(side_word()),
        path_(std::move(options.log)),
        most_log_bytes_(options.most_log_bytes),
        groups_(options.groups),
        ends_what_it_launched_(options.ends_what_it_launched),
        launcher_(
            process_wide_.descriptors_before(), servers_,
            [this](LaunchId, LaunchOutcome outcome) { outcome_.set_value(std::move(outcome)); }) {
    ProcessSpec spec;
    spec.argv = std::move(options.argv);
    spec.environment = std::move(options.environment);
    if (ends_what_it_launched_) {
      spec.environment.push_back(launch_variable + ("=" + mark_of(word_)));
    }
    spec.directory = std::move(options.directory);
    std::string unnamed = (std::filesystem::temp_directory_path() / "tune-side-XXXXXX").string();
    if (path_.empty()) {
      log_ = FileDescriptor(::mkostemp(unnamed.data(), O_CLOEXEC));
      if (!log_) throw file_error("cannot make a file in", "the temporary directory", errno);
    }
    spec.stdout_path = spec.stderr_path = path_.empty() ? std::filesystem::path(unnamed) : path_;
    launcher_.launch(LaunchId{1}, std::move(spec));
    LaunchOutcome outcome = outcome_.get_future().get();
    if (path_.empty()) ::unlink(unnamed.c_str());
    if (const auto* const failed = std::get_if<NotLaunched>(&outcome)) {
      throw user_error(failed->reason);
    }
    auto& spawned = std::get<Spawned>(outcome);
    process_.emplace(std::move(spawned.process));
    socket_ = std::move(spawned.socket);
    start_ticks_ = spawned.start_ticks;
    log_begin_ = static_cast<off_t>(spawned.stdout_begin);
    if (!path_.empty()) log_ = FileDescriptor(open_regular(path_.string(), O_RDWR));
    if (groups_ != nullptr) groups_->add(process_->pid(), start_ticks_);
  }

  ~Running() {
    if (!process_) return;
    const pid_t pid = process_->pid();
    process_->signal(SIGKILL);
    // The rest of its group dies after it, and is to be reaped too.
    const auto until = std::chrono::steady_clock::now() + end_patience;
    while (!(process_->ended() && process_->clear()) && std::chrono::steady_clock::now() < until) {
      pollfd ended{process_->pidfd(), POLLIN, 0};
      if (::poll(&ended, 1, 100) > 0) ::poll(nullptr, 0, 1);
    }
    process_->let_go();
    if (ends_what_it_launched_) end_launched(word_);
    if (groups_ != nullptr) groups_->remove(pid, start_ticks_);
    limit_log();  // nobody has looked since it was asked last
  }

  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  int socket() const { return socket_.get(); }
  const Process& process() const { return *process_; }

  void limit_log() {
    if (!log_) return;
    try {
      (void)tune::limit_log(log_, most_log_bytes_);
    } catch (const Error&) {
      // This file system gives nothing back from the middle. It appends, so that a cut leaves no
      // hole.
      if (::ftruncate(log_.get(), 0) == 0) log_begin_ = 0;
    }
  }

  std::string first_words(std::size_t most_bytes) const { return read(log_begin_, most_bytes); }

  std::string last_words() const {
    constexpr off_t most_bytes = 4096;
    struct stat status {};
    if (!log_ || ::fstat(log_.get(), &status) != 0) return "";
    const off_t begin = std::max(log_begin_, status.st_size - most_bytes);
    std::string text = read(begin, static_cast<std::size_t>(most_bytes));
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
    const auto line = text.rfind('\n');
    text = clean_text(line == text.npos ? text : text.substr(line + 1));
    if (text.empty()) return "";
    return "; it printed last: " + text + (path_.empty() ? "" : " (see " + path_.string() + ")");
  }

 private:
  std::string read(off_t begin, std::size_t most_bytes) const {
    std::string text(most_bytes, '\0');
    const ssize_t count = log_ ? ::pread(log_.get(), text.data(), text.size(), begin) : 0;
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    return text;
  }

  const std::string word_;
  const std::filesystem::path path_;
  const std::uint64_t most_log_bytes_;
  ProcessGroups* const groups_;
  const bool ends_what_it_launched_;
  FileDescriptor log_;
  off_t log_begin_ = 0;
  ProcessWide process_wide_;  ///< what it leaves behind becomes this process's
  std::promise<LaunchOutcome> outcome_;
  LivingServers servers_;  ///< none: it is never forked from one
  Launcher launcher_;
  std::optional<Process> process_;  ///< ends before the thread that has started it
  FileDescriptor socket_;
  std::uint64_t start_ticks_ = 0;
};

SideProgram::SideProgram(Options options)
    : running_(std::make_unique<Running>(std::move(options))) {}
SideProgram::~SideProgram() = default;

int SideProgram::socket() const { return running_->socket(); }
int SideProgram::pidfd() const { return running_->process().pidfd(); }
std::optional<ExitStatus> SideProgram::ended() const { return running_->process().ended(); }
void SideProgram::limit_log() { running_->limit_log(); }
std::string SideProgram::first_words(std::size_t most_bytes) const {
  return running_->first_words(most_bytes);
}
std::string SideProgram::last_words() const { return running_->last_words(); }

}  // namespace tune
