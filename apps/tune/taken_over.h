// An experiment that was taken from its remote, with the lease, to be gone on with.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

namespace tune {

/// While it lives, what interrupts this process is noted, and does not end it at once: it may hold
/// a lease. What was ignored at the start stays so.
class InterruptsNoted {
 public:
  InterruptsNoted();
  ~InterruptsNoted();
  InterruptsNoted(const InterruptsNoted&) = delete;
  InterruptsNoted& operator=(const InterruptsNoted&) = delete;

  /// Whether one came, to whichever of them.
  static const std::atomic<bool>& came();

 private:
  static constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_{};
};

/// At its end it gives the lease back, if the driver has not.
class TakenOver {
 public:
  /// Nothing.
  TakenOver() = default;
  TakenOver(std::string remote, std::filesystem::path directory,
            std::unique_ptr<InterruptsNoted> interrupts);
  ~TakenOver();
  TakenOver(TakenOver&& other) noexcept;
  TakenOver& operator=(TakenOver&& other) noexcept;

 private:
  std::string remote_;
  std::filesystem::path directory_;
  std::unique_ptr<InterruptsNoted> interrupts_;
};

}  // namespace tune
