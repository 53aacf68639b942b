// An agent to be run by the tests.
//   cluster_agent agent DIR --node NAME     as tune agent; TUNE_TEST_VERSION: of another version,
//                                           TUNE_TEST_WARNED: as if Slurm had started it
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "tuner/cluster/agent.h"

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const char* const version = std::getenv("TUNE_TEST_VERSION");
  try {
    tune::AsioReactor reactor;
    const auto end = tune::run_agent(
        reactor, {.directory = argv[2],
                  .node = argv[4],
                  .version = version ? version : "1.0",
                  .is_warned_by_signal = std::getenv("TUNE_TEST_WARNED") != nullptr});
    std::fprintf(stderr, "%s\n", end.reason.c_str());
    return static_cast<int>(end.kind);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 65;
  }
}
