// How a run ends before everything is done.
#pragma once

#include <string>

namespace tune {

/// Once it is no longer `no`, nothing is started any more, and what runs is saved and let go.
struct ShutdownState {
  enum class Kind { no, stopping, interrupted } kind = Kind::no;
  std::string reason;     ///< a sentence for people
  bool raises = false;    ///< because of a failure, at once (fail_fast "raise")
  bool gives_up = false;  ///< because trial after trial has failed, or none could be started

  explicit operator bool() const { return kind != Kind::no; }
  /// What the record of an attempt says that ends because of it.
  std::string why_attempts_end() const {
    if (raises) return "another trial has failed (fail_fast)";
    return kind == Kind::interrupted ? "interrupted" : reason;
  }
};

}  // namespace tune
