// A trainable under a driver: speaks docs/protocol.md over the socket the environment names.
#pragma once

#include "trainable/trainable.h"

namespace tune {

/// Both run to the end and return the exit code: 0 told to stop, 1 the trainable failed, 2 the
/// driver said something that the protocol does not know, 3 the driver is gone.
int drive(const TrainableFactory& factory);
int drive(const TrainFunction& function);

}  // namespace tune
