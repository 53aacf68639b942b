// What somebody asks of the running driver by hand: tune stop, pause, unpause, checkpoint, set,
// add. What is answered has been recorded or will happen without further doubt. Knows no socket.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tuner/execution/executor.h"
#include "tuner/model/experiment.h"
#include "tuner/run/trials/attempt.h"
#include "tuner/run/trials/shutdown.h"
#include "tuner/spec/spec.h"

namespace tune {

/// How a run is steered from outside.
class Steering {
 public:
  virtual ~Steering() = default;
  /// Ends the experiment: what runs is saved with its next result.
  virtual void request_stop(const std::string& reason) = 0;
  /// Ends one trial, as the user wants, that has not reported just now: at once, or with its next
  /// result.
  virtual void stop_trial(TrialId trial, const std::string& reason) = 0;
  /// Has all saved, and leaves.
  virtual void interrupt(const std::string& reason) = 0;
  /// Pauses one trial by hand, or lets it go on.
  virtual void hold(TrialId trial) = 0;
  virtual void release(TrialId trial) = 0;
  /// A trial with this config; what it leaves out is drawn. Error (user): there is none.
  virtual TrialId add(const Json& config) = 0;
  /// Changes fields of the spec; answers what that comes to, in a sentence. Error (user): nothing
  /// has changed.
  virtual std::string change(const Json& fields) = 0;
  /// See Loop::waits_for.
  virtual std::string waits_for() const = 0;
  /// Steps that take far too long.
  virtual std::vector<TrialHang> hangs() const = 0;
  /// See CallbackList::last_notices.
  virtual std::vector<std::string> last_notices() const = 0;
  virtual const ShutdownState& shutdown() const = 0;
  virtual std::map<TrialId, Attempt>& attempts() = 0;
  virtual const Experiment& experiment() const = 0;
  virtual const ExperimentSpec& spec() const = 0;
  virtual Seconds steady() const = 0;
};

class ControlHandler {
 public:
  explicit ControlHandler(Steering& run) : run_(run) {}

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

  Steering& run_;
};

}  // namespace tune
