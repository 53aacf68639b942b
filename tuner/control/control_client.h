// The client of a driver's control socket.
// Whether a driver runs at all is for the caller to find out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/base/error.h"
#include "tuner/control/control.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

/// The socket is there, but the driver does not answer, or not as a driver does.
class NoAnswer : public Error {
 public:
  explicit NoAnswer(const std::string& sentence) : Error(Fault::machine, sentence) {}
};

class ControlClient {
 public:
  /// Nothing if nobody listens in this directory. Throws Error if that cannot be told, and NoAnswer
  /// if the driver takes no connection within `patience_s`.
  static std::optional<ControlClient> connect(const std::filesystem::path& directory,
                                              Seconds patience_s = 10);

  /// Throws NoAnswer if there is no answer within `patience_s`, however much is said meanwhile, or
  /// none that can be understood; Error if the driver has left.
  ControlAnswer ask(const ControlRequest& request, Seconds patience_s = 60);

  /// Returns when the driver has closed the connection, as it does when it leaves or dies.
  void wait_for_end();

 private:
  explicit ControlClient(FileDescriptor socket) : socket_(std::move(socket)) {}
  FileDescriptor socket_;
};

}  // namespace tune
