// Interprets the signals to the driver: which is the first interrupt, which is meant as a second
// one, and which are echoes of the first.
// It is given the numbers of signals.
#pragma once

#include <csignal>
#include <optional>

#include "tuner/base/clock.h"

namespace tune {

enum class Interrupt {
  first,    ///< save, then leave
  ignored,  ///< the same wish told once more
  second,   ///< leave at once
};

/// One interrupt often comes as several signals: a shell passes on SIGHUP and the kernel sends one
/// more when a window closes, `timeout` signals its child and then the group, a wrapper forwards
/// the Ctrl-C that the terminal has sent to all. A user who insists does so later, and not by
/// closing a window.
class InterruptRule {
 public:
  /// What comes so soon after the first is an echo of it.
  static constexpr Seconds echo_s = 1.5;

  /// `at`: steady time at which the signal came. Every signal after a second one that is no echo
  /// and no SIGHUP is a second one, too.
  Interrupt feed(int signal, Seconds at) {
    if (!first_at_) {
      first_at_ = at;
      return Interrupt::first;
    }
    if (signal == SIGHUP || at <= *first_at_ + echo_s) return Interrupt::ignored;
    return Interrupt::second;
  }

 private:
  std::optional<Seconds> first_at_;
};

}  // namespace tune
