// Handles the user's requests to the running driver: tune stop, pause, unpause, checkpoint, set,
// add. A positive answer means that the request is recorded, or certain to be carried out.
#pragma once

#include <optional>
#include <vector>

#include "tuner/control/control.h"
#include "tuner/model/trial.h"

namespace tune {

class Loop;

class ControlHandler {
 public:
  explicit ControlHandler(Loop& loop) : loop_(loop) {}

  ControlAnswer handle(const ControlRequest& request);

  /// All trials have ended, and what is left to do (deleting, say) may take a while.
  static ControlAnswer answer_on_leaving(const ControlRequest& request);

 private:
  ControlAnswer stop();
  ControlAnswer stop(TrialId trial);
  ControlAnswer pause();
  ControlAnswer pause(TrialId trial);
  bool is_ending(TrialId id) const;
  ControlAnswer unpause(TrialId trial);
  ControlAnswer add(const Json& config);
  ControlAnswer set(const Json& fields);
  ControlAnswer save(std::optional<TrialId> only);
  ControlAnswer waits() const;
  ControlAnswer waits(TrialId trial) const;
  std::vector<TrialId> running() const;

  Loop& loop_;
};

}  // namespace tune
