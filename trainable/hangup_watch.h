// Ends this process when the driver is gone and the training thread does not notice.
#pragma once

#include <thread>

namespace tune {

/// The exit code of a trainable whose driver is gone.
inline constexpr int exit_driver_gone = 3;

inline constexpr int hangup_grace_ms = 3000;

/// While it lives, a thread that costs nothing waits for the other end of a socket to close. Then
/// the training thread, which sees the same at its next read or write, has `hangup_grace_ms` to
/// clean up; after that the process exits with `exit_driver_gone`, whatever it is in the middle
/// of: nobody is left who could want its result.
class HangupWatch {
 public:
  explicit HangupWatch(int socket_fd);
  ~HangupWatch();
  HangupWatch(const HangupWatch&) = delete;
  HangupWatch& operator=(const HangupWatch&) = delete;

 private:
  void watch(int socket_fd) const;

  int over_fd_;  ///< an eventfd: readable once this object is being destroyed
  std::thread thread_;
};

}  // namespace tune
