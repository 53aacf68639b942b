// How a run of the loop ended. Apart from loop.h, so that whoever only asks for it need not include
// the loop.
#pragma once

#include <string>

#include "tuner/base/error.h"

namespace tune {

/// Why the loop ended.
struct LoopEnd {
  enum class Kind {
    finished,     ///< nothing is left to do
    stopped,      ///< by a stopper, a budget, fail_fast true or `tune stop`
    raised,       ///< by a failed trial at once, since fail_fast is "raise"
    interrupted,  ///< by a signal or `tune pause`; `tune resume` goes on
    given_up,     ///< trial after trial has failed, or none could be started
  };
  Kind kind = Kind::finished;
  std::string reason;
};

/// The journal cannot be written, so nothing more was done. What was recorded is kept; once the
/// disk takes writes again, a resume goes on.
class JournalFailed : public Error {
 public:
  explicit JournalFailed(const std::string& sentence) : Error(Fault::machine, sentence) {}
};

}  // namespace tune
