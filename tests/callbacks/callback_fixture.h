// A directory that vanishes, files as text, and experiments built from events.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "callbacks/callbacks.h"
#include "tuner/model/experiment.h"

namespace tune::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tune-callbacks-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// While it lives, files of this process cannot grow beyond so many bytes, as on a full disk.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

/// Changes whenever the file is written, even with the same content.
inline auto identity(const std::filesystem::path& file) {
  return std::filesystem::last_write_time(file);
}

/// Takes notices from any thread.
class Notices {
 public:
  Notice taker() {
    return [this](std::string sentence) {
      const std::lock_guard lock(mutex_);
      sentences_.push_back(std::move(sentence));
    };
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return sentences_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> sentences_;
};

inline Result result_of(std::int64_t iteration, const std::string& metrics = R"({"loss":0.5})") {
  Result result;
  result.training_iteration = iteration;
  result.timestamp = 1700000000.25;
  result.time_this_iter_s = 0.5;
  result.time_total_s = 0.5 * static_cast<double>(iteration);
  result.time_since_restore = result.time_total_s;
  result.iterations_since_restore = iteration;
  result.metrics = parse_metrics(metrics);
  return result;
}

/// An experiment, and the events that a run would write.
class Story {
 public:
  Experiment experiment;

  Story() { apply(SessionStarted{"host", 1, "0.1.0"}); }

  const Trial& add(const std::string& config = "{}", const std::string& tag = "") {
    const TrialId id{static_cast<std::uint32_t>(experiment.trials().size())};
    apply(TrialAdded{id, config, tag, ""});
    return experiment.trial(id);
  }
  const Trial& start(TrialId id, int checkpoint = 0) {
    apply(AttemptStarted{id, experiment.trial(id).attempt + 1, checkpoint, {}});
    return experiment.trial(id);
  }
  /// It stops, and waits to go on as a copy.
  void exploit(TrialId id, const Exploit& exploit) {
    apply(AttemptEnded{id, experiment.trial(id).attempt, Outcome::paused, ""});
    apply(TrialExploited{id, exploit});
  }
  /// From where it is to start.
  const Trial& start_clone(TrialId id) {
    const auto [owner, checkpoint] = experiment.restore_point(id);
    apply(AttemptStarted{id,
                         experiment.trial(id).attempt + 1,
                         checkpoint != nullptr ? checkpoint->index : 0,
                         {},
                         owner == id ? std::nullopt : std::optional(owner)});
    return experiment.trial(id);
  }
  const Trial& report(TrialId id, const Result& result) {
    apply(ResultReported{id, experiment.trial(id).attempt, result, {}});
    return experiment.trial(id);
  }
  const Checkpoint& save(TrialId id) {
    Checkpoint checkpoint;
    checkpoint.index = experiment.trial(id).saves + 1;
    checkpoint.iteration = experiment.trial(id).iteration;
    apply(CheckpointCommitted{id, checkpoint});
    return experiment.trial(id).checkpoints.back();
  }
  const Trial& end(TrialId id, Outcome outcome, const std::string& reason = "",
                   bool retry = false) {
    apply(AttemptEnded{id, experiment.trial(id).attempt, outcome, reason, retry, 0});
    return experiment.trial(id);
  }
  /// The driver is killed and another one takes over.
  void resume() {
    apply(SessionStarted{"host", 2, "0.1.0"});
    const auto running = experiment.running();
    for (const TrialId id : running) end(id, Outcome::interrupted);
  }

 private:
  void apply(EventBody body) {
    time_ += 1;
    experiment.apply({experiment.last_event() + 1, time_, std::move(body)});
  }
  Seconds time_ = 1700000000;
};

inline RunInfo info_of(const std::filesystem::path& directory, bool resumed = false) {
  RunInfo info;
  info.name = "digits";
  info.directory = directory;
  info.objectives = {{"loss", Mode::min}};
  info.total_trials = 3;
  info.resources = {{"cpu", 8}, {"gpu", 2}, {"licence", 1}};
  info.resources_per_trial = {{"cpu", 2}, {"gpu", 0.5}};
  info.resumed = resumed;
  return info;
}

}  // namespace tune::testing
