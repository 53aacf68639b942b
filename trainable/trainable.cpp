// Decides between a driver and standalone, and says what an unwritten checkpoint function says.
#include "trainable/trainable.h"

#include <cstdlib>
#include <stdexcept>

#include "trainable/driven.h"
#include "trainable/protocol.h"
#include "trainable/standalone.h"

namespace tune {

void Trainable::save_checkpoint(const std::filesystem::path&) {
  throw std::logic_error("this trainable has no save_checkpoint");
}

void Trainable::load_checkpoint(const std::filesystem::path&) {
  throw std::logic_error("this trainable has no load_checkpoint");
}

bool launched_by_driver() {
  // Kept, since the variable is taken away when the worker group begins.
  static const bool launched = std::getenv(protocol::env_socket_fd) != nullptr;
  return launched;
}

int run_trainable(int argc, char** argv, const TrainableFactory& factory) {
  return launched_by_driver() ? drive(factory) : train_standalone(argc, argv, factory);
}

int run_function(int argc, char** argv, const TrainFunction& function) {
  return launched_by_driver() ? drive(function) : train_standalone(argc, argv, function);
}

}  // namespace tune
