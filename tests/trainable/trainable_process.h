// A trainable's process with the test in the driver's place: raw lines over a socketpair.
// Knows no message: what is sent and received is the test's own text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune::test {

/// A new empty directory, deleted with everything in it.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path make(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& file);

enum class Output { apart, merged };

/// Launched as the driver does it: the socket as descriptor 3, named in the environment; working
/// in `trial_dir`, with its output in stdout.log and stderr.log there, or all of it in the first.
/// Killed if a test leaves it alive.
class TrainableProcess {
 public:
  TrainableProcess(std::vector<std::string> arguments, std::filesystem::path trial_dir,
                   Output output = Output::apart);
  ~TrainableProcess();
  TrainableProcess(const TrainableProcess&) = delete;
  TrainableProcess& operator=(const TrainableProcess&) = delete;

  void send(const std::string& text);  ///< as it is: a line needs its newline
  std::string receive_line();          ///< without newline; fails the test at end of file
  Json receive();
  bool at_end();  ///< waits: true if the process has closed its end and nothing is left to read
  void close();   ///< as a driver that dies
  int wait();     ///< exit code, or minus the signal

  /// `{"type":"start"...}` or "reset", as one line.
  std::string start(const Json& config, const Json& more = Json::object()) const;
  Json start_and_step(const Json& config);  ///< past hello; returns the answer to the step

 private:
  bool fill();

  std::filesystem::path trial_dir_;
  int fd_ = -1;
  int pid_ = -1;
  std::string unread_;
};

struct Finished {
  int exit_code;
  std::string out;
  std::string err;
};

/// Runs a program by hand, without a driver, in `directory`, to its end.
Finished run_standalone(std::vector<std::string> arguments, const std::filesystem::path& directory);

}  // namespace tune::test
