// The end of a driver's session with agents: how long they, their launcher and Slurm are waited
// for.
#pragma once

#include <functional>
#include <string>

#include "tuner/cluster/agent_launcher.h"
#include "tuner/cluster/job_launcher.h"
#include "tuner/execution/reactor/asio_reactor.h"

namespace tune {

/// Runs the reactor while it waits. `is_given_up`, asked again and again, ends each wait.
class SessionEnd {
 public:
  /// Begins now. All outlive it.
  SessionEnd(AsioReactor& reactor, const std::function<bool()>& is_given_up,
             const std::function<void(const std::string&)>& notice);

  /// Until none of them talks, or they have had their time.
  void wait_for_agents(const std::function<bool()>& any_talks);
  /// What has started them has the rest of that time.
  void wait_for_launcher(const AgentLauncher& launcher);
  /// Which may not answer. What it has not ended by then, `patience_s` from the beginning, is said,
  /// and stays in the list.
  void wait_for_slurm(JobLauncher& jobs, Seconds patience_s);

 private:
  void wait_while(const std::function<bool()>& holds, Seconds until);

  AsioReactor& reactor_;
  const std::function<bool()>& is_given_up_;
  const std::function<void(const std::string&)>& notice_;
  const Seconds since_;  ///< boot
};

}  // namespace tune
