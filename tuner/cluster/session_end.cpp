// Waits that come to an end.
#include "tuner/cluster/session_end.h"

#include <chrono>
#include <cmath>

#include "tuner/base/error.h"
#include "tuner/disk/liveness.h"

namespace tune {

namespace {

/// For agents to leave.
constexpr Seconds leave_patience_s = 10;
/// What is waited for longer is said.
constexpr Seconds worth_telling_s = 1;

}  // namespace

SessionEnd::SessionEnd(AsioReactor& reactor, const std::function<bool()>& is_given_up,
                       const std::function<void(const std::string&)>& notice)
    : reactor_(reactor), is_given_up_(is_given_up), notice_(notice), since_(seconds_since_boot()) {}

void SessionEnd::wait_for_agents(const std::function<bool()>& any_talks) {
  wait_while(any_talks, since_ + leave_patience_s);
}

void SessionEnd::wait_for_launcher(const AgentLauncher& launcher) {
  wait_while([&] { return launcher.is_running(); }, since_ + leave_patience_s);
}

void SessionEnd::wait_for_slurm(JobLauncher& jobs, Seconds patience_s) {
  try {
    const Seconds until = since_ + patience_s;
    const auto is_running = [&] { return jobs.is_running(); };
    wait_while(is_running, seconds_since_boot() + worth_telling_s);
    if (is_running()) {
      const std::string awaited = "waiting until " + jobs.awaited_at_end();
      const auto doing = reactor_.be_busy_with(awaited.c_str());
      notice_(awaited + ", at most " + std::to_string(std::lround(until - seconds_since_boot())) +
              " s");
      wait_while(is_running, until);
    }
    jobs.look();
    jobs.tell_what_is_left();
  } catch (const Error& error) {
    notice_(error.what());
  }
}

void SessionEnd::wait_while(const std::function<bool()>& holds, Seconds until) {
  while (holds() && seconds_since_boot() < until && !is_given_up_()) {
    reactor_.context().run_one_for(std::chrono::milliseconds(100));
  }
}

}  // namespace tune
