// A trainable started by hand: no driver, a config from the command line, results on stdout.
#pragma once

#include <string>
#include <vector>

#include "trainable/trainable.h"

namespace tune {

struct StandaloneOptions {
  Json config = Json::object();
  std::optional<std::int64_t> iterations;  ///< of this run
  std::optional<std::filesystem::path> checkpoint;
  std::optional<std::filesystem::path> save_to;
  bool help = false;
};

/// Throws std::invalid_argument with one sentence for a user. Touches nothing.
StandaloneOptions parse_standalone_options(const std::vector<std::string>& arguments);

/// Both return the exit code: 0 trained to the end, 1 the trainable failed, 2 bad options.
int train_standalone(int argc, char** argv, const TrainableFactory& factory);
int train_standalone(int argc, char** argv, const TrainFunction& function);

}  // namespace tune
