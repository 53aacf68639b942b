// `tune agent`: this machine's part in a search that a driver elsewhere runs.
#include <cstddef>
#include <filesystem>
#include <string>

#include "apps/tune/commands.h"
#include "apps/tune/exit_codes.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/cluster/agent.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/job_list.h"
#include "tuner/cluster/slurm.h"
#include "tuner/version.h"

namespace tune {

namespace {

/// It stands in lines, columns and comma-separated lists.
void require_node_name(const std::string& name) {
  constexpr std::size_t most_bytes = 255;
  const bool is_one_word = clean_text(name) == name && name.find_first_of(" ,/") == name.npos;
  if (is_one_word && name.size() <= most_bytes) return;
  throw user_error(
      "--node: a node's name is one word of at most 255 bytes, without commas and "
      "slashes, not " +
      as_quoted(clean_text(name)));
}

}  // namespace

int agent_command(const AgentRequest& request) {
  require_node_name(request.node);
  AsioReactor reactor;
  const auto job = slurm_job(own_environment);
  const std::string here = slurm_node(own_environment).value_or(host_name());
  const AgentEnd end = run_agent(
      reactor,
      {.directory = std::filesystem::absolute(request.directory).lexically_normal(),
       .node = request.node.empty() ? here : request.node,
       .version = version(),
       // It is all that its job runs, or a step of it.
       .is_warned_by_signal = job && (job->is_task || job_of_agent(request.node) == job->id)});
  switch (end.kind) {
    case AgentEnd::Kind::released:
      return exit_ok;
    case AgentEnd::Kind::left:
      complain(end.reason);
      return exit_interrupted;
    case AgentEnd::Kind::lost:
      throw machine_error(end.reason);
    case AgentEnd::Kind::refused:
      throw user_error(end.reason);
  }
  return exit_ok;
}

}  // namespace tune
