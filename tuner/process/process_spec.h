// What a process is started from: its program, environment, directory and logs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// One process that was or is to be started; never used twice.
enum class LaunchId : std::uint64_t {};

/// The program is Python's, and forked from a process that has modules loaded already.
struct Preload {
  std::vector<std::string> modules;   ///< empty: it is not, but might be
  std::size_t interpreter_words = 1;  ///< of argv: the interpreter and its own options
  std::filesystem::path log;          ///< what loading prints is appended to it
  Seconds patience_s = 0;             ///< loading may take so long
};

struct ProcessSpec {
  std::vector<std::string> argv;  ///< argv[0] as the user gave it; never through a shell
  std::vector<std::string>
      environment;                  ///< "NAME=value", added to the driver's own, which it wins over
  std::filesystem::path directory;  ///< working directory; exists
  std::filesystem::path stdout_path;  ///< appended to
  std::filesystem::path stderr_path;  ///< equal to stdout_path: one file, interleaving kept
  /// As `environment`, which it wins over: what this launch alone has (its trial, its rank, its
  /// port), and no program is to read while it is loaded. A process that launches are forked from
  /// is for all that differ in nothing else.
  std::vector<std::string> own_environment = {};
  std::optional<Preload> preload = {};
  /// Its environment says where our end of its socket is. False of a program that knows nothing of
  /// the driver: a library of ours in it would take the variables for somebody who listens.
  bool knows_socket = true;
};

}  // namespace tune
