// Agents by jobs of Slurm's, of one node each, that are asked for as trials wait and ended when
// nobody needs them: job_rules.h says which, this class carries it out.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/cluster/agent_launcher.h"
#include "tuner/cluster/job_rules.h"
#include "tuner/cluster/slurm_client.h"
#include "tuner/execution/node_supply.h"
#include "tuner/model/resources.h"

namespace tune {

/// Jobs that agents are started by.
struct AgentJobs {
  JobPolicy policy;
  std::string time;                 ///< of each, as sbatch has it
  std::vector<std::string> sbatch;  ///< more options for it
  std::string experiment;           ///< its name
};

class JobLauncher final : public AgentLauncher {
 public:
  struct Options {
    std::filesystem::path directory;  ///< of the experiment, absolute
    AgentJobs jobs;
    std::vector<std::string> agent;  ///< the command that starts one, without its node
    std::function<void(const std::string&)> notice;
  };

  /// Error if the jobs of an earlier driver cannot be read.
  explicit JobLauncher(Options options);

  /// It starts agents where Slurm gives it nodes.
  void start(const std::vector<std::string>&) override {}
  bool can_start_again(const std::string&) const override { return false; }
  void start_again(const std::string&) override {}
  void look() override;
  std::optional<std::string> ending(const std::string&) const override { return std::nullopt; }
  /// The batch script, which the agent is, has ended on its node, and that has reported it.
  bool has_ended_there(const std::string& node) const override {
    return ended_agents_.contains(node);
  }
  std::string last_words(const std::string&) const override { return ""; }
  /// At the end: Slurm is told yet that jobs are to end.
  bool is_running() const override;

  // What happens to nodes. Those that no job of these has are nothing here.
  void joined(const NodeResources& node);
  void lost(const std::string& node);
  /// Slurm has told its agent that it will end soon.
  void warned(const std::string& node);

  /// One node, and what runs there.
  struct NodeUse {
    std::string node;
    int running = 0;
    bool is_given_up = false;
  };
  /// See NodeSupply.
  void want(const NodeDemand& demand, const std::vector<NodeUse>& nodes);
  std::string awaited() const;
  std::string exhausted() const;

  struct Order {
    std::string node;
    JobOrder what = JobOrder::none;  ///< one of those that are about a node
    std::string reason;              ///< a sentence for people, or why it leaves, as a phrase
  };
  /// What is to happen with nodes, each once.
  std::vector<Order> take_orders() { return std::exchange(orders_, {}); }

  /// The run is over: nothing is asked for any more, and jobs that have no agent are ended. An
  /// agent that is told to leave ends its own.
  void end();
  /// So are those whose agents have not left.
  void end_rest();
  /// What Slurm is yet waited for, once the run is over, as a phrase; empty: nothing.
  std::string awaited_at_end() const;
  /// Says which jobs Slurm may have yet, by now, and how to end them.
  void tell_what_is_left() const;

 private:
  AgentJob* find_agent(const std::string& node);
  void link(AgentJob& job, const std::string& node);
  void number(AgentJob& job, const std::string& id);
  void note_room();
  void ask_for_more(Seconds now);
  void ask_what_is(Seconds now);
  void hear(const std::vector<NamedJob>& seen, const std::string& silence);
  bool take(AgentJob& job, const NamedJob* seen, Seconds now);
  void over(const AgentJob& job, const std::string& state);
  void tell_what_is_awaited();
  void give_orders(Seconds now);
  void cancel(AgentJob& job);
  void look_soon();
  std::string why_gone(const AgentJob& job, const std::string& state) const;

  const Options options_;
  std::vector<AgentJob> jobs_;  ///< that have not ended, as far as is known
  SlurmClient client_;
  NodeDemand demand_;
  JobDemand use_;
  std::vector<Order> orders_;
  std::set<std::string> agents_;         ///< that are there, also those that no job of these has
  std::set<std::string> ended_agents_;   ///< that run no more for sure
  std::optional<NodeResources> newest_;  ///< of the nodes that trials have not been compared with
  bool has_demand_ = false;
  bool is_unfit_ = false;  ///< trials fit no node that there was
  bool is_looking_ = false;
  bool is_ended_ = false;
  std::string end_trouble_;    ///< why jobs have not ended, as Slurm has said
  Seconds looked_at_ = 0;      ///< since boot, as all of these
  Seconds look_at_ = 0;        ///< when it is due next
  Seconds look_period_s_ = 1;  ///< until then, while something is awaited
  Seconds asked_at_ = 0;       ///< sbatch, last
  Seconds ask_not_before_ = 0;
  bool is_asking_ = false;
  int without_agent_ = 0;  ///< jobs that have ended so, in a row
  std::string stopped_;    ///< why no more are asked for, as a sentence; empty: they are
  std::string refused_;    ///< what was said of that last
  bool is_silent_ = false;
  bool has_told_awaited_ = false;
};

}  // namespace tune
