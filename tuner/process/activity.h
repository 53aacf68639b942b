// What the threads of a driver are at, for whoever has to say why it does not end.
// Knows no thread. Only this header, since rooms use it that must not link each other.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

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
  static Seconds steady_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }

  mutable std::mutex mutex_;
  Doing* first_ = nullptr;
};

inline Doings::Doing::Doing(Doings* doings, const char* what)
    : doings_(doings), what_(what), since_(steady_now()) {
  if (doings_ == nullptr) return;
  const std::lock_guard lock(doings_->mutex_);
  next_ = doings_->first_;
  if (next_ != nullptr) next_->before_ = this;
  doings_->first_ = this;
}

inline Doings::Doing::~Doing() {
  if (doings_ == nullptr) return;
  const std::lock_guard lock(doings_->mutex_);
  if (next_ != nullptr) next_->before_ = before_;
  (before_ != nullptr ? before_->next_ : doings_->first_) = next_;
}

inline std::vector<std::string> Doings::list(Seconds least_s) const {
  const Seconds now = steady_now();
  std::vector<std::string> phrases;
  const std::lock_guard lock(mutex_);
  for (const Doing* doing = first_; doing != nullptr; doing = doing->next_) {
    const Seconds lasted_s = now - doing->since_;
    if (lasted_s < least_s) continue;
    phrases.push_back(std::string(doing->what_) + ", for " +
                      std::to_string(static_cast<long>(lasted_s)) + " s");
  }
  return phrases;
}

}  // namespace tune
