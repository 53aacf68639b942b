// A TCP port of this machine that is kept for somebody who is yet to listen there.
#pragma once

#include <cstdint>
#include <optional>

#include "tuner/files/file_descriptor.h"

namespace tune {

struct ReservedPort {
  FileDescriptor socket;  ///< bound to it on all addresses; nobody listens
  std::uint16_t number = 0;
};

/// While it is held, the kernel gives the number to nobody who asks for any port. A program that
/// asks for this one gets it if it sets SO_REUSEADDR, as servers do. Nothing if none is free.
std::optional<ReservedPort> reserve_port();

}  // namespace tune
