// Waiting for agents of a driver before, and then for all.
#include "tuner/cluster/agent_start.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/host_launcher.h"
#include "tuner/cluster/slurm_launcher.h"

namespace tune {

namespace {

/// Agents that live come back sooner.
constexpr Seconds usual_return_s = 1;

}  // namespace

std::unique_ptr<AgentLauncher> make_launcher(const ClusterOptions& options) {
  std::vector<std::string> agent = {options.program, "agent", options.directory.native()};
  if (options.jobs) {
    return std::make_unique<JobLauncher>(JobLauncher::Options{.directory = options.directory,
                                                              .jobs = *options.jobs,
                                                              .agent = std::move(agent),
                                                              .notice = options.notice});
  }
  if (options.slurm) {
    return std::make_unique<SlurmLauncher>(SlurmLauncher::Options{.directory = options.directory,
                                                                  .job = *options.slurm,
                                                                  .agent = std::move(agent),
                                                                  .groups = options.groups});
  }
  return std::make_unique<HostLauncher>(HostLauncher::Options{.directory = options.directory,
                                                              .launcher = options.launcher,
                                                              .agent = std::move(agent),
                                                              .groups = options.groups});
}

AgentStart::AgentStart(const ClusterOptions& options, const NodeTable& nodes)
    : options_(options), nodes_(nodes), left_(agents_left(options.directory)) {}

void AgentStart::refused(const std::string& node, const std::string& reason) {
  // Of another version nobody knows more than that.
  (node.empty() ? unnamed_ : refused_[node]) = reason;
}

bool AgentStart::look(AgentLauncher& launcher, Seconds now) {
  const auto is_missing = [this](const std::string& host) { return nodes_.find(host) == nullptr; };
  if (until_) {
    look_at_hosts(launcher, now);
  } else {
    if (!are_left_gone(now)) return false;
    std::vector<std::string> missing;
    std::copy_if(options_.hosts.begin(), options_.hosts.end(), std::back_inserter(missing),
                 is_missing);
    if (!missing.empty()) launcher.start(missing);
    until_ = now + join_patience_s;
  }
  return std::none_of(options_.hosts.begin(), options_.hosts.end(), is_missing) &&
         !nodes_.is_any_handing_over();
}

/// They come back with what they run, or end it, at the latest after their lease: what runs there
/// is not started once more before.
bool AgentStart::are_left_gone(Seconds now) {
  if (left_.empty()) return true;
  if (!left_since_) {
    left_since_ = now;
    return false;
  }
  const auto there = agents_left(options_.directory);
  std::erase_if(left_, [&](const std::string& file) {
    return std::find(there.begin(), there.end(), file) == there.end() || is_back(file);
  });
  if (left_.empty()) return true;
  const Seconds patience_s = options_.lease_s + options_.after_lease_s;
  if (now >= *left_since_ + usual_return_s && !std::exchange(has_told_left_, true)) {
    options_.notice("agents of an earlier driver may run yet: they have " +
                    std::to_string(std::lround(patience_s)) +
                    " s to come back, or to end what they run");
  }
  if (now < *left_since_ + patience_s) return false;
  for (const std::string& file : left_) {
    std::error_code ignored;
    std::filesystem::remove(cluster_directory(options_.directory) / file, ignored);
  }
  return true;
}

/// The agent of that file has joined, and said all that it has kept.
bool AgentStart::is_back(const std::string& file) const {
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    const NodeTable::Node& node = nodes_.at(place);
    if (node.proof == file && !node.is_lost && !node.is_handing_over) return true;
  }
  return false;
}

void AgentStart::look_at_hosts(AgentLauncher& launcher, Seconds now) const {
  launcher.look();
  for (const std::string& host : options_.hosts) {
    const auto refused = refused_.find(host);
    if (refused != refused_.end()) throw user_error(refused->second);
    if (nodes_.find(host) != nullptr) continue;
    if (const auto ending = launcher.ending(host)) {
      throw user_error("there is no agent on node " + host + ": its launcher has ended with " +
                       *ending + (unnamed_.empty() ? "" : "; " + unnamed_));
    }
    if (now > *until_) {
      throw user_error("no agent of node " + host + " has reached the driver at " + options_.bind +
                       " within " + std::to_string(static_cast<long>(join_patience_s)) +
                       " s: can that node reach this address (--bind)?" +
                       launcher.last_words(host));
    }
  }
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    if (nodes_.at(place).is_lost) throw user_error(nodes_.at(place).why_lost);
  }
}

}  // namespace tune
