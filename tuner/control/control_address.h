// The address of a driver's control socket, to bind or connect to.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>

#include "tuner/disk/file_descriptor.h"

namespace tune {

/// An address holds at most 107 bytes, a directory's path may be longer: so the address goes
/// through a descriptor of the directory, and is good while this object lives.
class ControlAddress {
 public:
  /// Throws Error if the directory cannot be opened.
  explicit ControlAddress(const std::filesystem::path& directory);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size = sizeof(sockaddr_un);
  int directory() const { return directory_.get(); }

 private:
  FileDescriptor directory_;
  sockaddr_un address_{};
};

}  // namespace tune
