// The part of a spec that says on which other machines its trials run.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

constexpr std::size_t most_hosts = 10'000;
constexpr std::size_t longest_host = 253;

/// One that no command takes for an option, and no file system for a path.
bool is_host(const std::string& name) {
  if (name.empty() || name.size() > longest_host || name.front() == '-' || name.front() == '.') {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("._-:@").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// A text, or a list of some.
std::optional<std::vector<std::string>> to_words(const Json& json) {
  std::vector<std::string> words;
  for (const Json& word : json.is_array() ? json : Json::array({json})) {
    auto text = to_text(word);
    if (!text) return std::nullopt;
    words.push_back(*std::move(text));
  }
  return words.empty() ? std::nullopt : std::optional(std::move(words));
}

std::optional<std::vector<std::string>> to_hosts(const Json& json) {
  auto hosts = to_words(json);
  if (!hosts || hosts->size() > most_hosts) return std::nullopt;
  const std::set<std::string> each(hosts->begin(), hosts->end());
  const bool are_good = std::all_of(hosts->begin(), hosts->end(), is_host);
  return are_good && each.size() == hosts->size() ? hosts : std::nullopt;
}

/// A host that stands in the list more than once; nothing if there is none.
std::optional<std::string> named_twice(const Json& json) {
  std::set<std::string> seen;
  for (const std::string& host : to_words(json).value_or(std::vector<std::string>())) {
    if (!seen.insert(host).second) return host;
  }
  return std::nullopt;
}

constexpr std::array<std::pair<const char*, ClusterConfig::Type>, 3> types = {{
    {"none", ClusterConfig::Type::none},
    {"hosts", ClusterConfig::Type::hosts},
    {"slurm", ClusterConfig::Type::slurm},
}};

std::optional<ClusterConfig::Type> to_type(const Json& json) {
  for (const auto& [name, type] : types) {
    if (json == name) return type;
  }
  return std::nullopt;
}

Json from_type(ClusterConfig::Type wanted) {
  for (const auto& [name, type] : types) {
    if (type == wanted) return name;
  }
  return nullptr;
}

std::optional<Seconds> to_lease(const Json& json) {
  const auto seconds = to_seconds(json);
  return seconds && *seconds >= 1 ? seconds : std::nullopt;
}

/// Fields of jobs that an agent is started by, each on its node.
void parse_jobs(const FieldReader& fields, ClusterConfig& cluster) {
  fields.read(
      "agent_jobs", "an integer from 1", [](const Json& count) { return to_int(count, 1); },
      cluster.agent_jobs);
  fields.read("time", "like \"30\" (minutes), \"8:00:00\" or \"1-12:00:00\"", to_text,
              cluster.time);
  std::optional<std::vector<std::string>> options;
  fields.read("sbatch_options", "a list of options for sbatch like [\"--partition=gpu\"]", to_words,
              options);
  cluster.sbatch_options = options.value_or(std::vector<std::string>());
  fields.read("agent_idle_s", "a positive number of seconds up to 1e9", to_seconds,
              cluster.agent_idle_s);
  fields.read("job_margin_s", "a positive number of seconds up to 1e9", to_seconds,
              cluster.job_margin_s);
  if (!cluster.agent_jobs) {
    const Json* const given = fields.find("agent_jobs");
    const bool are_wrong = given != nullptr && !given->is_null();
    if (cluster.time && !are_wrong) {
      fields.complain("time", "time is that of each of agent_jobs, and there are none");
    }
    return;
  }
  if (!cluster.time) {
    fields.complain("agent_jobs",
                    "agent_jobs need time, how long each of them runs, like \"2:00:00\"");
  }
  using Type = ClusterConfig::Type;
  if (!cluster.hosts.empty() || (cluster.type && *cluster.type != Type::none)) {
    fields.complain("agent_jobs",
                    "agent_jobs are where trials run: leave hosts and type (--cluster) out");
  }
}

}  // namespace

void parse_cluster(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems) {
  const Json* const json = top.find("cluster");
  if (json == nullptr || json->is_null()) return;
  if (!json->is_object()) return top.wrong("cluster", "an object", *json);
  const FieldReader fields(*json, "/cluster", problems);
  ClusterConfig& cluster = spec.cluster;
  fields.read("type", "\"none\" (this machine), \"hosts\" or \"slurm\"", to_type, cluster.type);
  if (cluster.type == ClusterConfig::Type::hosts && fields.find("hosts") == nullptr) {
    fields.complain("hosts", "a cluster of hosts needs hosts, a list of names");
  }
  std::optional<std::vector<std::string>> hosts;
  const Json* const named = fields.find("hosts");
  if (const auto twice = named == nullptr ? std::nullopt : named_twice(*named)) {
    fields.complain("hosts", "hosts must differ, got " + quote(*twice) + " twice");
  } else {
    fields.read("hosts", "a list of different names of hosts like [\"node1\", \"ada@node2\"]",
                to_hosts, hosts);
  }
  cluster.hosts = hosts.value_or(std::vector<std::string>());
  fields.read("launcher",
              "a command like [\"ssh\", \"${host}\", \"${agent}\"] that starts an agent on a host",
              to_words, cluster.launcher);
  fields.read("bind", "a numeric address of this machine like \"10.0.0.1\"", to_text, cluster.bind);
  fields.read("agent_lease_s", "a number of seconds from 1 to 1e9", to_lease,
              cluster.agent_lease_s);
  parse_jobs(fields, cluster);
}

Json cluster_to_json(const ClusterConfig& cluster) {
  return {
      {"type", cluster.type ? from_type(*cluster.type) : Json()},
      {"hosts", cluster.hosts.empty() ? Json() : Json(cluster.hosts)},
      {"launcher", cluster.launcher},
      {"bind", cluster.bind ? Json(*cluster.bind) : Json()},
      {"agent_lease_s", cluster.agent_lease_s},
      {"agent_jobs", cluster.agent_jobs ? Json(*cluster.agent_jobs) : Json()},
      {"time", cluster.time ? Json(*cluster.time) : Json()},
      {"sbatch_options", cluster.sbatch_options.empty() ? Json() : Json(cluster.sbatch_options)},
      {"agent_idle_s", cluster.agent_idle_s},
      {"job_margin_s", cluster.job_margin_s}};
}

}  // namespace tune
