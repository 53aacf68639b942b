// The event source that a driver waits on (reactor pattern). Events of launches, signals to the
// driver and control requests come in batches, in the order in which they happened.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/control/control.h"
#include "tuner/execution/executor.h"
#include "tuner/model/resources.h"

namespace tune {

/// The driver itself got this signal.
struct Interrupted {
  int signal = 0;
};

/// Somebody asks the driver for something, and waits for an answer (Reactor::answer).
struct ControlAsked {
  ControlId id{};
  ControlRequest request;
};

/// One more machine can run trials: the next node.
struct NodeJoined {
  NodeResources node;
  std::optional<int> instead_of = {};  ///< the same machine before; it was awaited
};

/// It can run none any more. What runs there is Lost, now or later.
struct NodeLost {
  int node = 0;
  std::string reason;  ///< a phrase
  /// Its agent is started again: a NodeJoined follows, or the same once more when none comes.
  bool is_awaited = false;
  bool is_planned = false;  ///< nothing was to run there any more
};

/// It ends soon: it is to get no more trials, and those that run there go on elsewhere, each from a
/// checkpoint that it makes first.
struct NodeEnding {
  int node = 0;
  std::string reason;        ///< a phrase
  bool has_no_time = false;  ///< for checkpoints that have not been made by now
};

/// A variant with the alternatives of `Variant` and more.
template <class Variant, class... More>
struct Extended;
template <class... Kinds, class... More>
struct Extended<std::variant<Kinds...>, More...> {
  using type = std::variant<Kinds..., More...>;
};

using Wakeup =
    Extended<LaunchEvent, Interrupted, ControlAsked, NodeJoined, NodeLost, NodeEnding>::type;

class Reactor {
 public:
  virtual ~Reactor() = default;

  /// Blocks until something happened, `wake` was called, or `deadline` (steady time, see Clock)
  /// has passed; appends what happened to `wakeups`, perhaps nothing.
  virtual void wait(Seconds deadline, std::vector<Wakeup>& wakeups) = 0;

  /// Makes the current or next `wait` return. From any thread.
  virtual void wake() noexcept = 0;

  /// Answers a control request. Ignored if the client has gone. Does not block.
  virtual void answer(ControlId id, const ControlAnswer& answer) = 0;
};

}  // namespace tune
