// What the threads of a driver are at, for whoever has to say why it does not end.
// Knows no thread.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tuner/core/clock.h"

namespace tune {

/// From any thread. Nothing here allocates or waits but `list`.
class Doings {
 public:
  /// One of them; lasts as long as the object.
  class Doing {
   public:
    /// `what`: a literal, as in "a checkpoint is being kept". Without `doings`, nobody asks.
    Doing(Doings* doings, const char* what);
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    friend class Doings;
    Doings* const doings_;
    const char* const what_;
    const Seconds since_;  ///< steady
    Doing* next_ = nullptr;
    Doing* before_ = nullptr;
  };

  Doings() = default;
  Doings(const Doings&) = delete;
  Doings& operator=(const Doings&) = delete;

  /// Those that have lasted for `least_s`, the latest first: "a checkpoint is being kept, for 12
  /// s".
  std::vector<std::string> list(Seconds least_s) const;

 private:
  mutable std::mutex mutex_;
  Doing* first_ = nullptr;
};

}  // namespace tune
