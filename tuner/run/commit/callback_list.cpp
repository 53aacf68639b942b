// Calls each hook under a catch; a callback that throws is dropped with a notice.
#include "tuner/run/commit/callback_list.h"

#include <iostream>

#include "tuner/base/clean_text.h"
#include "tuner/base/json_limits.h"

namespace tune {

void CallbackList::notice(const std::string& sentence) {
  last_.push_back(sentence);
  if (last_.size() > most_last) last_.pop_front();
  if (callbacks_.empty()) std::cerr << "tune: " << clean_text(sentence, Lines::keep) << '\n';
  call("on_notice", [&](Callback& callback) { callback.on_notice(sentence); });
}

void CallbackList::notice_later(std::string sentence) {
  const std::lock_guard lock(mutex_);
  later_.push_back(std::move(sentence));
}

void CallbackList::deliver() {
  std::vector<std::string> sentences;
  {
    const std::lock_guard lock(mutex_);
    sentences.swap(later_);
  }
  for (const auto& sentence : sentences) notice(sentence);
}

CallbackList::States CallbackList::save() {
  States states;
  call("save", [&](Callback& callback) {
    Json state = callback.save();
    if (state.empty()) return;
    state_text(state);  // throws if it could not be read again
    states.emplace_back(callback.name(), std::move(state));
  });
  return states;
}

std::vector<DurableFlush> CallbackList::flush_durable() {
  std::vector<DurableFlush> work;
  call("flush_durable", [&](Callback& callback) {
    if (auto flushes = callback.flush_durable()) work.push_back(std::move(flushes));
  });
  return work;
}

void CallbackList::drop(std::size_t position, const char* hook_name, const std::string& what) {
  Callback* const dropped = callbacks_[position].get();
  dropped_.push_back(std::move(callbacks_[position]));
  callbacks_.erase(callbacks_.begin() + static_cast<std::ptrdiff_t>(position));
  std::string name = "?";
  try {
    name = dropped->name();
  } catch (...) {
  }
  notice("callback '" + name + "' failed in " + hook_name + " and is no longer called: " + what);
}

}  // namespace tune
