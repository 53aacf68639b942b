// All signals of this thread, blocked for a scope. A thread inherits the mask of its maker, so one
// that is started meanwhile never runs a handler; nor does a child that shares our memory until it
// becomes another program.
#pragma once

#include <signal.h>

namespace tune {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  /// What has come meanwhile comes now.
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace tune
