// How a run of the loop ended. Knows no loop, so that who only asks need not see one.
#pragma once

#include <string>

namespace tune {

/// Why the loop ended.
struct LoopEnd {
  enum class Kind {
    finished,     ///< nothing is left to do
    stopped,      ///< by a stopper, a budget or fail_fast true
    raised,       ///< by a failed trial at once, since fail_fast is "raise"
    interrupted,  ///< by a signal; `tune resume` goes on
  };
  Kind kind = Kind::finished;
  std::string reason;
};

}  // namespace tune
