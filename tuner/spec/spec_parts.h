// The parts of parse_spec that have a file of their own. Private to this room.
#pragma once

#include <filesystem>
#include <vector>

#include "tuner/spec/spec.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

/// `path` as seen from `base`, absolute. ".." stays: behind a symbolic link it leads elsewhere.
std::filesystem::path resolve(const std::filesystem::path& base, const std::filesystem::path& path);

/// A path that begins with "~/" in the user's home, as a shell has it; others as they are.
std::filesystem::path at_home(const std::filesystem::path& path);

/// Fills in command, env, merge_output, plain and preload. `base`: where relative paths start;
/// null: they stay.
void parse_trainable(const FieldReader& top, const std::filesystem::path* base,
                     ExperimentSpec& spec, std::vector<Problem>& problems);
Json trainable_to_json(const ExperimentSpec& spec);

/// Fills in plain, once command and env are there. A command with a word for the config is of a
/// plain program, too.
void parse_plain(const FieldReader& trainable, const std::filesystem::path* base,
                 ExperimentSpec& spec, std::vector<Problem>& problems);
/// Complains of wrong words in what a plain program is started with.
void check_plain_words(const ExperimentSpec& spec, std::vector<Problem>& problems);
/// Complains of names in them that no config has: their arguments would be left out in all trials;
/// and where they give nothing that is drawn: all trials would be the same. Once param_space is
/// there.
void check_config_names(const ExperimentSpec& spec, std::vector<Problem>& problems);
/// What of the param space reaches a plain program by none of its words, nor by an expression that
/// does; dotted names. Names that begin with '_' are for expressions alone.
struct NotGiven {
  std::vector<std::string> names;
  bool is_all_drawn = false;  ///< something is drawn, and all of that is among them
};
NotGiven not_given(const ExperimentSpec& spec);
Json plain_to_json(const PlainProgram& plain);
/// What a plain program cannot do, of what the rest of the spec asks.
void check_plain(const FieldReader& top, const ExperimentSpec& spec);

/// Fills in resources, resources_per_trial and workers; max_concurrent_trials must be there
/// already.
void parse_resources(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems);

/// Fills in cluster.
void parse_cluster(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems);
Json cluster_to_json(const ClusterConfig& cluster);

/// A signal's name, with or without "SIG", or number: "SIGBUS", "BUS" or 7.
std::optional<int> to_signal(const Json& json);
Json from_signal(int signal);

/// Fills in failure_config.
void parse_failures(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems);
Json failures_to_json(const FailureConfig& config);

/// A schedule to be replayed is a part of the spec: in the place of a scheduler's "policy_file",
/// the rows of that file as its "policy", also of a scheduler within one. `place` is the JSON
/// pointer to it. False, with a problem, if they cannot be read.
bool read_policy_file(const std::filesystem::path& base, const std::string& place, Json& scheduler,
                      std::vector<Problem>& problems);

/// Makes absolute what in the command of a policy "program" names a file as seen from `base`:
/// "mine.py", "mine.py:Mine". Leaves others as they are.
void resolve_program_policy(const std::filesystem::path& base, Json& policy);

}  // namespace tune
