// A search in one file: search DIRECTORY. Knows nothing of the command line tool.
#include <iostream>

#include "tuner/tuner.h"

void parabola(const tune::Json& config, tune::Session& session) {
  const double x = config.at("x");
  session.report({{"y", (x - 3) * (x - 3)}});
}

int main(int, char** argv) {
  tune::TuneConfig config{.name = "outside", .storage_path = argv[1]};
  config.objectives = {{"y", tune::Mode::min}};
  const tune::Json space = {{"x", {{"grid_search", {1, 2, 3, 4}}}}};
  tune::Tuner tuner(tune::TrainFunction(parabola), space, config);
  std::cout << tuner.show_progress(false).fit().best_result().config << "\n";
}
