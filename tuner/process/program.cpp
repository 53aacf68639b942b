// Looks programs up and puts environments together, in Boost.Process's terms.
#include "tuner/process/program.h"

#include <algorithm>
#include <array>
#include <boost/process/v2/environment.hpp>
#include <cerrno>
#include <map>
#include <string_view>

#include "trainable/protocol.h"
#include "tuner/base/error.h"

namespace tune {
namespace {

namespace environment = boost::process::v2::environment;

/// Neither a request nor a task: which cluster, job and directory.
constexpr std::array<std::string_view, 8> slurm_places = {
    "SLURM_CONF",       "SLURM_CLUSTER_NAME", "SLURM_JOB_ID",      "SLURM_JOB_NAME",
    "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST",  "SLURM_JOB_ACCOUNT", "SLURM_TMPDIR"};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool is_inherited(std::string_view name) {
  if (name.starts_with("SLURM_")) {
    return std::find(slurm_places.begin(), slurm_places.end(), name) != slurm_places.end();
  }
  return !name.starts_with("TUNE_") && !name.starts_with("SRUN_");
}

std::vector<std::string> wire_of(const ProcessSpec& spec) {
  if (!spec.knows_socket) return {};
  return {protocol::env_socket_fd + ("=" + std::to_string(protocol::socket_fd)),
          protocol::env_version + ("=" + std::to_string(protocol::version))};
}

std::vector<std::string> merged(const std::vector<std::string>& inherited,
                                const ProcessSpec& spec) {
  const std::vector<std::string> wire = wire_of(spec);
  std::map<std::string_view, const std::string*> by_name;
  for (const auto* variables : {&inherited, &wire, &spec.environment, &spec.own_environment}) {
    for (const auto& variable : *variables) by_name.insert_or_assign(name_of(variable), &variable);
  }
  std::vector<std::string> result;
  result.reserve(by_name.size());
  for (const auto& [name, variable] : by_name) result.push_back(*variable);
  return result;
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string find_in_path(const std::string& name, const std::vector<std::string>& variables) {
  std::vector<environment::key_value_pair_view> pairs;
  pairs.reserve(variables.size());
  for (const auto& variable : variables) pairs.emplace_back(variable.c_str());
  const auto found = environment::find_executable(name, pairs);
  if (found.empty()) throw file_error("cannot run", "'" + name + "'", ENOENT);
  return absolute(found.string());
}

}  // namespace

std::vector<std::string> inherited_environment() {
  std::vector<std::string> result;
  for (const auto variable : environment::current()) {
    std::string text = variable.native_string();
    if (is_inherited(name_of(text))) result.push_back(std::move(text));
  }
  return result;
}

Program resolve_program(const ProcessSpec& spec, const std::vector<std::string>& inherited) {
  if (spec.argv.empty() || spec.argv[0].empty()) {
    throw user_error("cannot run a program without a name");
  }
  Program program{{}, spec.argv, merged(inherited, spec)};
  auto& name = program.argv[0];
  if (name.find('/') == std::string::npos) {
    program.path = find_in_path(name, program.environment);
  } else {
    // An interpreter finds its own files by argv[0], from a working directory that is another.
    name = absolute(name);
    program.path = name;
  }
  return program;
}

}  // namespace tune
