// Reserves a TCP port of this machine for a program that will listen there later.
#pragma once

#include <cstdint>
#include <string_view>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

struct ReservedPort {
  FileDescriptor socket;  ///< bound to it on all addresses; nobody listens
  std::uint16_t number = 0;
};

/// While it is held, the kernel gives the number to nobody who asks for any port. A program that
/// asks for this one gets it if it sets SO_REUSEADDR, as servers do. Error (machine) with a
/// sentence that tells a lack of ports from one of descriptors.
ReservedPort reserve_port();

/// The same sentence: `call` has failed with `error`, of errno.h.
Error no_port(std::string_view call, int error);

/// Whether a program listens there: the one that the port was reserved for, while it lives.
bool is_taken(const ReservedPort& port);

}  // namespace tune
