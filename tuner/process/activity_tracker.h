// Tracks what each thread of a driver is doing, and since when, so that the watchdog can say why it
// does not end. Only this header, since rooms use it that must not link each other.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// From any thread. Nothing here allocates or waits but `list`.
class ActivityTracker {
 public:
  /// One of them; lasts as long as the object.
  class Activity {
   public:
    /// `what`: a literal, as in "a checkpoint is being kept". Without `activities`, nobody asks.
    Activity(ActivityTracker* activities, const char* what);
    ~Activity();
    Activity(const Activity&) = delete;
    Activity& operator=(const Activity&) = delete;

   private:
    friend class ActivityTracker;
    ActivityTracker* const activities_;
    const char* const what_;
    const Seconds since_;  ///< steady
    Activity* next_ = nullptr;
    Activity* before_ = nullptr;
  };

  ActivityTracker() = default;
  ActivityTracker(const ActivityTracker&) = delete;
  ActivityTracker& operator=(const ActivityTracker&) = delete;

  /// Those that have lasted for `least_s`, the latest first: "a checkpoint is being kept, for 12
  /// s".
  std::vector<std::string> list(Seconds least_s) const;

 private:
  static Seconds steady_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }

  mutable std::mutex mutex_;
  Activity* first_ = nullptr;
};

inline ActivityTracker::Activity::Activity(ActivityTracker* activities, const char* what)
    : activities_(activities), what_(what), since_(steady_now()) {
  if (activities_ == nullptr) return;
  const std::lock_guard lock(activities_->mutex_);
  next_ = activities_->first_;
  if (next_ != nullptr) next_->before_ = this;
  activities_->first_ = this;
}

inline ActivityTracker::Activity::~Activity() {
  if (activities_ == nullptr) return;
  const std::lock_guard lock(activities_->mutex_);
  if (next_ != nullptr) next_->before_ = before_;
  (before_ != nullptr ? before_->next_ : activities_->first_) = next_;
}

inline std::vector<std::string> ActivityTracker::list(Seconds least_s) const {
  const Seconds now = steady_now();
  std::vector<std::string> phrases;
  const std::lock_guard lock(mutex_);
  for (const Activity* activity = first_; activity != nullptr; activity = activity->next_) {
    const Seconds lasted_s = now - activity->since_;
    if (lasted_s < least_s) continue;
    phrases.push_back(std::string(activity->what_) + ", for " +
                      std::to_string(static_cast<long>(lasted_s)) + " s");
  }
  return phrases;
}

}  // namespace tune
