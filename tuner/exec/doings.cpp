#include "tuner/exec/doings.h"

#include <chrono>

namespace tune {

namespace {

Seconds steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Doings::Doing::Doing(Doings* doings, const char* what)
    : doings_(doings), what_(what), since_(steady_now()) {
  if (doings_ == nullptr) return;
  const std::lock_guard lock(doings_->mutex_);
  next_ = doings_->first_;
  if (next_ != nullptr) next_->before_ = this;
  doings_->first_ = this;
}

Doings::Doing::~Doing() {
  if (doings_ == nullptr) return;
  const std::lock_guard lock(doings_->mutex_);
  if (next_ != nullptr) next_->before_ = before_;
  (before_ != nullptr ? before_->next_ : doings_->first_) = next_;
}

std::vector<std::string> Doings::list(Seconds least_s) const {
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
