// Copy-on-write values: a copy shares all parts, and who changes one copies that part first. So a
// snapshot takes a scheduler's state in no time on the loop, and makes text of it on a thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "tuner/model/trial.h"

namespace tune {

/// A part. Copying and changing is for one thread; another may read, and destroy, the copy.
template <class T>
class CopyOnWrite {
 public:
  CopyOnWrite() : value_(std::make_shared<T>()) {}
  CopyOnWrite(const CopyOnWrite& other) : value_(other.value_), is_own_(false) {
    other.is_own_ = false;
  }
  CopyOnWrite(CopyOnWrite&&) noexcept = default;
  CopyOnWrite& operator=(const CopyOnWrite& other) {
    value_ = other.value_;
    is_own_ = other.is_own_ = false;
    return *this;
  }
  CopyOnWrite& operator=(CopyOnWrite&&) noexcept = default;
  ~CopyOnWrite() = default;

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  /// To be changed. Whether a copy is left is not asked: that would need the other thread's help.
  T& change() {
    if (!is_own_) value_ = std::make_shared<T>(*value_);
    is_own_ = true;
    return *value_;
  }

 private:
  std::shared_ptr<T> value_;
  mutable bool is_own_ = true;
};

/// A pointer that is copied with what it points at, by that one's `copy`.
template <class T>
class CopiedPtr {
 public:
  explicit CopiedPtr(std::unique_ptr<T> value) : value_(std::move(value)) {}
  CopiedPtr(const CopiedPtr& other)
      : value_(other.value_ != nullptr ? other.value_->copy() : nullptr) {}
  CopiedPtr& operator=(const CopiedPtr&) = delete;
  ~CopiedPtr() = default;
  T* operator->() const { return value_.get(); }

 private:
  const std::unique_ptr<T> value_;
};

/// Something for each of some trials, in their order.
template <class T>
class TrialTable {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Null if there is none. Stays where it is until the table is copied.
  const T* find(TrialId trial) const {
    const auto bucket = buckets_.find(bucket_of(trial));
    if (bucket == buckets_.end()) return nullptr;
    const auto found = bucket->second->find(trial);
    return found == bucket->second->end() ? nullptr : &found->second;
  }
  T* find(TrialId trial) {
    if (!contains(trial)) return nullptr;
    return &buckets_.at(bucket_of(trial)).change().at(trial);
  }
  bool contains(TrialId trial) const { return find(trial) != nullptr; }
  /// The trial is there.
  const T& at(TrialId trial) const { return buckets_.at(bucket_of(trial))->at(trial); }
  T& at(TrialId trial) { return buckets_.at(bucket_of(trial)).change().at(trial); }

  /// Makes one if there is none.
  T& operator[](TrialId trial) {
    const auto [found, is_new] = buckets_[bucket_of(trial)].change().try_emplace(trial);
    if (is_new) ++size_;
    return found->second;
  }

  void erase(TrialId trial) {
    if (!contains(trial)) return;
    const auto bucket = buckets_.find(bucket_of(trial));
    --size_;
    if (bucket->second->size() == 1) {
      buckets_.erase(bucket);
    } else {
      bucket->second.change().erase(trial);
    }
  }

  /// Calls `visit(trial, value)` for each.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for_each_until([&](TrialId trial, const T& value) {
      visit(trial, value);
      return false;
    });
  }
  /// For each until it answers true.
  template <class Visit>
  void for_each_until(const Visit& visit) const {
    for (const auto& [number, bucket] : buckets_) {
      for (const auto& [trial, value] : *bucket) {
        if (visit(trial, value)) return;
      }
    }
  }

 private:
  static constexpr std::size_t bucket_trials = 64;
  static std::size_t bucket_of(TrialId trial) { return index_of(trial) / bucket_trials; }

  std::map<std::size_t, CopyOnWrite<std::map<TrialId, T>>> buckets_;  ///< none is empty
  std::size_t size_ = 0;
};

}  // namespace tune
