// The other end of a driver's control socket.
// Knows no lock: whether a driver runs at all is for the caller to find out.
#pragma once

#include <filesystem>
#include <optional>

#include "tuner/core/clock.h"
#include "tuner/exec/control.h"
#include "tuner/files/file_descriptor.h"

namespace tune {

class ControlClient {
 public:
  /// Nothing if nobody listens in this directory. Throws Error if that cannot be told, or if the
  /// driver takes no connection within `patience_s`.
  static std::optional<ControlClient> connect(const std::filesystem::path& directory,
                                              Seconds patience_s = 10);

  /// Throws Error if there is no answer within `patience_s`, or none that can be understood.
  ControlAnswer ask(const ControlRequest& request, Seconds patience_s = 60);

  /// Returns when the driver has closed the connection, as it does when it leaves or dies.
  void wait_for_end();

 private:
  explicit ControlClient(FileDescriptor socket) : socket_(std::move(socket)) {}
  FileDescriptor socket_;
};

}  // namespace tune
