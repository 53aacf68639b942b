// Builds command, environment, GPU assignment and ranks of a launch, and the start message.
#include "tuner/run/trials/launch.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tuner/model/paths.h"
#include "tuner/plain/command_words.h"
#include "tuner/spec/python_command.h"
#include "tuner/spec/spec_warnings.h"

namespace tune {

namespace {

std::vector<std::string> devices(const LaunchContext& context, const std::vector<int>& gpus) {
  std::vector<std::string> names;
  if (context.gpu_names.empty()) return names;
  for (const int gpu : gpus) {
    names.push_back(context.gpu_names.at(static_cast<std::size_t>(gpu)));
  }
  return names;
}

void unset(std::vector<std::string>& environment, std::string_view name) {
  const std::string beginning = std::string(name) + '=';
  std::erase_if(environment,
                [&](const std::string& variable) { return variable.starts_with(beginning); });
}

void set(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  unset(environment, name);
  environment.push_back(std::string(name).append(1, '=').append(value));
}

std::string threads_for(const Resources& resources) {
  const auto cpus = resources.find("cpu");
  if (cpus == resources.end()) return "";
  return std::to_string(std::max(1L, std::lround(std::floor(cpus->second))));
}

/// What one of `workers` has of what the trial was given.
Resources share_of(const ExperimentSpec& spec, const Resources& given) {
  const TrialWorkers& workers = *spec.workers;
  if (!workers.each.empty() && given == spec.resources_per_trial) return workers.each;
  Resources share = given;
  for (auto& [name, amount] : share) amount /= workers.count;
  return share;
}

/// Those of one rank. Several ranks share a device where there are fewer devices than ranks.
std::vector<std::string> devices_of(std::size_t rank, std::size_t ranks,
                                    const std::vector<std::string>& all) {
  if (all.empty()) return {};
  const std::size_t begin = rank * all.size() / ranks;
  const std::size_t end = std::max(begin + 1, (rank + 1) * all.size() / ranks);
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// Where a worker is among the nodes of its trial.
struct Seat {
  int node_rank = 0;
  int local_world_size = 1;
  std::string master;  ///< the address of rank 0's node
};

/// What torch.distributed and others take from the environment; MASTER_PORT comes with the launch.
void add_rank(LaunchSpec& launch, const ExperimentSpec& spec, const Rank& rank, const Seat& seat) {
  const std::pair<const char*, std::string> variables[] = {
      {"RANK", std::to_string(rank.rank)},
      {"WORLD_SIZE", std::to_string(rank.world_size)},
      {"LOCAL_RANK", std::to_string(rank.local_rank)},
      {"LOCAL_WORLD_SIZE", std::to_string(seat.local_world_size)},
      {"NODE_RANK", std::to_string(seat.node_rank)},
      {"MASTER_ADDR", seat.master}};
  for (const auto& [name, value] : variables) {
    if (!spec.env.contains(name)) launch.own_environment.push_back(std::string(name) + '=' + value);
  }
}

}  // namespace

void LaunchContext::add_node(const NodeResources& node) {
  nodes.push_back(node.name);
  addresses.push_back(node.address);
  gpu_names.insert(gpu_names.end(), node.gpus.begin(), node.gpus.end());
}

std::string LaunchContext::node_names(const Allocation& allocation) const {
  if (nodes.empty()) return "";
  std::vector<std::string> names;
  for (const NodeAllocation& each : allocation.nodes) {
    names.push_back(nodes.at(static_cast<std::size_t>(each.node)));
  }
  return joined(names);
}

std::string visible_devices(const LaunchContext& context, const std::vector<int>& gpus) {
  return joined(devices(context, gpus));
}

LaunchSpec launch_spec(const ExperimentSpec& spec, const LaunchContext& context, TrialId trial,
                       int attempt, const Allocation& allocation,
                       const std::filesystem::path& work) {
  LaunchSpec launch;
  launch.argv = spec.command;
  const auto own = paths::trial(context.experiment_dir, trial);
  launch.directory = work;
  const NodeAllocation& first = allocation.nodes.front();
  launch.node = first.node;
  launch.stdout_path = paths::standard_output(own);
  launch.stderr_path = spec.merge_output ? launch.stdout_path : paths::standard_error(own);
  launch.environment.reserve(spec.env.size() + 6);
  launch.own_environment.reserve(6);
  const auto add_to = [](std::vector<std::string>& environment, std::string_view name,
                         std::string_view value) {
    std::string& variable = environment.emplace_back();
    variable.reserve(name.size() + 1 + value.size());
    variable.append(name).append(1, '=').append(value);
  };
  const auto add = [&](std::string_view name, std::string_view value) {
    add_to(launch.environment, name, value);
  };
  const auto add_own = [&](std::string_view name, std::string_view value) {
    add_to(launch.own_environment, name, value);
  };
  for (const auto& [name, value] : spec.env) add(name, value);
  add(protocol::env_socket_fd, std::to_string(protocol::socket_fd));
  add(protocol::env_version, std::to_string(protocol::version));
  add(protocol::env_experiment, spec.name);
  add(protocol::env_experiment_dir, context.experiment_dir.native());
  add(protocol::env_session, context.session_mark);
  add_own(protocol::env_trial_id, to_string(trial));
  add_own(protocol::env_trial_dir, launch.directory.native());
  add_own(protocol::env_attempt, std::to_string(attempt));
  add_own(protocol::env_resources, text_of_resources(allocation.amounts));
  const bool is_told = !context.sets_threads || spec.env.contains(threads_variable);
  const std::string threads = threads_for(allocation.amounts);
  if (!threads.empty() && !is_told) add(threads_variable, threads);
  // Without gpus on the machine the variable stays as the user has it.
  if (!context.gpu_names.empty()) {
    add_own("CUDA_VISIBLE_DEVICES", visible_devices(context, first.gpus));
  }
  if (const auto words = interpreter_words(spec.command)) {
    launch.preload = Preload{.modules = spec.preload,
                             .interpreter_words = *words,
                             .log = paths::preload_log(context.experiment_dir),
                             .patience_s = spec.launch_timeout_s / 2};
  }
  return launch;
}

std::vector<LaunchSpec> launch_specs(const ExperimentSpec& spec, const LaunchContext& context,
                                     TrialId trial, int attempt, const Allocation& allocation,
                                     const std::filesystem::path& work) {
  std::vector<LaunchSpec> launches;  // no list in braces, which would be copied
  launches.push_back(launch_spec(spec, context, trial, attempt, allocation, work));
  if (!spec.workers) return launches;
  const int count = spec.workers->count;
  launches.resize(static_cast<std::size_t>(count), launches.front());
  const auto own = paths::trial(context.experiment_dir, trial);
  const Resources share = share_of(spec, allocation.amounts);
  Seat seat{.master = "127.0.0.1"};
  if (allocation.nodes.size() > 1) {
    seat.master = context.addresses.at(static_cast<std::size_t>(allocation.nodes.front().node));
  }
  std::size_t place = 0;
  for (const NodeAllocation& node : allocation.nodes) {
    const auto node_devices = devices(context, node.gpus);
    seat.local_world_size = node.workers;
    for (int local = 0; local < node.workers; ++local, ++place) {
      LaunchSpec& launch = launches.at(place);
      const int rank = static_cast<int>(place);
      launch.node = node.node;
      launch.stdout_path = paths::standard_output(own, rank);
      launch.stderr_path =
          spec.merge_output ? launch.stdout_path : paths::standard_error(own, rank);
      launch.rank =
          Rank{.rank = rank,
               .world_size = count,
               .local_rank = local,
               .resources = share,
               .devices = devices_of(static_cast<std::size_t>(local),
                                     static_cast<std::size_t>(node.workers), node_devices),
               .first = {}};
      set(launch.own_environment, protocol::env_resources, text_of_resources(share));
      const std::string threads = threads_for(share);
      if (context.sets_threads && !spec.env.contains(threads_variable) && !threads.empty()) {
        set(launch.environment, threads_variable, threads);
      }
      if (!context.gpu_names.empty()) {
        set(launch.own_environment, "CUDA_VISIBLE_DEVICES", visible_devices(context, node.gpus));
      }
      add_rank(launch, spec, *launch.rank, seat);
    }
    ++seat.node_rank;
  }
  return launches;
}

bool can_keep_state(const ExperimentSpec& spec) { return !spec.plain || spec.plain->checkpoints; }

void make_plain(LaunchSpec& launch, const ExperimentSpec& spec, const Trial& trial,
                const PlainSource& source) {
  const PlainProgram& plain = *spec.plain;
  const WordValues values{.config = Json::parse(trial.config.text()),
                          .trial_id = to_string(trial.id),
                          .trial_dir = launch.directory.string(),
                          .checkpoint_dir = source.root.string(),
                          .checkpoint = source.checkpoint.string(),
                          .config_file = source.config_file.string(),
                          .typed = plain.typed};
  launch.argv = expand_command(spec.command, values);
  if (plain.checkpoints && !source.checkpoint.empty()) {
    for (std::string& more : expand_command(plain.checkpoints->resume, values)) {
      launch.argv.push_back(std::move(more));
    }
  }
  // It does not listen: a library of ours in it is to know that.
  unset(launch.environment, protocol::env_socket_fd);
  unset(launch.environment, protocol::env_version);
  for (const auto& [name, text] : spec.env) {
    unset(launch.environment, name);
    unset(launch.own_environment, name);
    if (const auto value = expand_text(text, values)) {
      launch.environment.push_back(name + "=" + *value);
    }
  }
  // Python keeps what it prints into a file for minutes.
  constexpr const char* unbuffered = "PYTHONUNBUFFERED";
  if (!spec.env.contains(unbuffered)) {
    launch.environment.push_back(std::string(unbuffered) + "=1");
  }
  if (!plain.directory.empty()) launch.directory = plain.directory;

  PlainReading reading;
  const auto add = [&reading](const std::string& name, const std::string& expression) {
    const auto is_it = [&](const PlainMetric& metric) { return metric.name == name; };
    if (std::none_of(reading.metrics.begin(), reading.metrics.end(), is_it)) {
      reading.metrics.push_back({name, expression});
    }
  };
  for (const PlainMetric& metric : plain.metrics) add(metric.name, metric.expression);
  for (const Objective& objective : spec.objectives) {
    add(objective.metric, "");
    reading.closing.push_back(objective.metric);
  }
  // What is not named is not read.
  const std::vector<AwaitedMetric> awaited = metrics_awaited(spec);
  for (const AwaitedMetric& metric : awaited) add(metric.name, "");
  // A result without one of these is a failure, as one without the metric is. To wait for what stop
  // rules and schedulers go by would withhold results that lack it, and lose those of a program
  // that never prints it.
  const auto is_awaited = [&awaited](const std::string& name) {
    return std::any_of(awaited.begin(), awaited.end(),
                       [&](const AwaitedMetric& metric) { return metric.name == name; });
  };
  for (const Constraint& constraint : constraints_of(spec)) {
    for (const std::string& name : constraint.metrics()) {
      const auto& closing = reading.closing;
      const bool is_new = std::find(closing.begin(), closing.end(), name) == closing.end();
      if (is_new && is_awaited(name)) reading.closing.push_back(name);
    }
  }
  if (reading.closing.empty()) reading.closing.push_back(reading.metrics.front().name);
  const bool is_first = !launch.rank || launch.rank->rank == 0;
  if (!is_first) {
    reading.is_unmonitored = true;
    if (plain.checkpoints) reading.stop_signal = plain.checkpoints->save_signal;
  }
  const auto& saves = plain.checkpoints;
  if (is_first) reading.ahead = source.ahead;
  reading.begins_with_guess = is_first && source.is_guess;
  reading.counts_from_guess = is_first && source.counts_from_guess;
  reading.restored = source.metrics;
  reading.counts = source.counts;
  if (saves && is_first) {
    reading.checkpoints = PlainWatch{.root = source.root,
                                     .pattern = saves->pattern,
                                     .complete = saves->complete,
                                     .known = source.known,
                                     .others = source.others,
                                     .save_signal = saves->save_signal,
                                     .exit_code = saves->exit_code,
                                     .saved = saves->saved};
  }
  launch.plain = std::move(reading);
}

protocol::Start start_message(const LaunchContext& context, const Trial& trial,
                              const Allocation& allocation, const LaunchSpec& launch,
                              const std::filesystem::path& checkpoint) {
  protocol::Start start;
  start.trial_id = to_string(trial.id);
  start.trial_dir = launch.directory.string();
  start.attempt = trial.attempt;
  start.resources = allocation.amounts;
  start.devices = devices(context, allocation.gpus());
  start.stdout_log = launch.stdout_path.string();
  start.stderr_log = launch.stderr_path.string();
  start.config = Json::parse(trial.config.text());
  start.iteration = trial.iteration;
  if (!checkpoint.empty()) {
    start.checkpoint = checkpoint.string();
  } else if (!trial.start_checkpoint.empty()) {
    start.checkpoint = *trial.start_checkpoint;
  }
  return start;
}

}  // namespace tune
