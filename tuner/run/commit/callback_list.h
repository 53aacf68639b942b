// The callbacks of a run, called one after another; one that throws is named, dropped, and the run
// goes on.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tuner/policy/callback.h"

namespace tune {

class CallbackList {
 public:
  CallbackList() = default;
  explicit CallbackList(std::vector<std::unique_ptr<Callback>> callbacks)
      : callbacks_(std::move(callbacks)) {}

  /// Called after those that are there.
  void add(std::unique_ptr<Callback> callback) { callbacks_.push_back(std::move(callback)); }

  bool empty() const { return callbacks_.empty(); }

  /// Calls `hook(callback)` for each.
  template <class Hook>
  void call(const char* hook_name, const Hook& hook) {
    for (std::size_t i = 0; i < callbacks_.size();) {
      try {
        hook(*callbacks_[i]);
        ++i;
      } catch (const std::exception& error) {
        drop(i, hook_name, error.what());
      } catch (...) {
        drop(i, hook_name, "an exception of an unknown type");
      }
    }
  }

  /// What each callback wants to know again, by name; those that want nothing are left out.
  using States = std::vector<std::pair<std::string, Json>>;
  States save();

  /// What a snapshot has to wait for, see Callback::flush_durable. Valid as long as this object.
  std::vector<DurableFlush> flush_durable();

  /// A sentence for the user, to every callback.
  void notice(const std::string& sentence);

  /// The same from any thread: it is told at the next `deliver`.
  void notice_later(std::string sentence);
  void deliver();

  /// The last few sentences, oldest first, for who asks a driver whose output nobody has kept.
  std::vector<std::string> last_notices() const { return {last_.begin(), last_.end()}; }

 private:
  void drop(std::size_t position, const char* hook_name, const std::string& what);
  static constexpr std::size_t most_last = 5;

  std::deque<std::string> last_;
  std::mutex mutex_;
  std::vector<std::string> later_;
  /// Last: callbacks end, and perhaps give notice, before what notices need is gone.
  std::vector<std::unique_ptr<Callback>> callbacks_;
  /// What they gave out may still be in use.
  std::vector<std::unique_ptr<Callback>> dropped_;
};

}  // namespace tune
