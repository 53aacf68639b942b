// SpecParser reads the spec field by field and collects all problems.
#include "tuner/spec/spec.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <system_error>

#include "tuner/model/result.h"
#include "tuner/spec/spec_parts.h"
#include "tuner/spec/spec_policy.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_samples = 1'000'000'000;
constexpr std::size_t longest_name = 100;
/// What rules look at, the end of a log, always stays.
constexpr std::uint64_t least_rate = 1024;  // of uploads, in bytes a second
constexpr std::uint64_t least_log_bytes = 1'000'000;

std::optional<std::string> to_name(const Json& json) {
  auto name = to_text(json);
  if (!name || name->size() > longest_name || name->front() == '.') return std::nullopt;
  const bool is_plain = std::all_of(name->begin(), name->end(), [](unsigned char c) {
    return (c < 128 && std::isalnum(c)) || c == '.' || c == '_' || c == '-';
  });
  return is_plain ? name : std::nullopt;
}

std::optional<std::int64_t> to_num_samples(const Json& json) {
  const auto number = to_integer(json, -1);
  return !number || *number == 0 || *number > most_samples ? std::nullopt : number;
}

std::optional<std::uint64_t> to_seed(const Json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  return to_integer(json, 0);
}

std::optional<KeepPaused> to_keep_paused(const Json& json) {
  if (json.is_string()) {
    const auto bytes = to_bytes(json);
    return bytes ? std::optional(KeepPaused{.bytes = bytes}) : std::nullopt;
  }
  const auto processes = to_int(json, 0);
  if (!processes) return std::nullopt;
  return KeepPaused{.processes = static_cast<std::size_t>(*processes)};
}

std::optional<Mode> to_mode(const Json& json) {
  return json.is_string() ? parse_mode(json.get<std::string>()) : std::nullopt;
}

/// One parse of one spec: each member reads a part of it.
class SpecParser {
 public:
  /// `base`: null for a recorded spec.
  SpecParser(const Json& json, const fs::path* base, const Catalogue& catalogue,
             std::vector<Problem>& problems, bool is_new)
      : is_new_(is_new),
        base_(base),
        catalogue_(catalogue),
        problems_(problems),
        top_(json, "", problems) {}

  ExperimentSpec parse() {
    parse_paths();
    parse_plugins();
    parse_trainable(top_, base_, spec_, problems_);
    // A policy would complain about what is wrong here already: it gets what is right of it, and
    // something harmless for the rest.
    const std::size_t before = problems_.size();
    SearchSpace space = parse_param_space();
    std::vector<Constraint> constraints = parse_constraints(space);
    if (problems_.size() > before) {
      space = SearchSpace();
      constraints.clear();
    }
    const std::size_t between = problems_.size();
    parse_objectives();
    std::vector<Objective> objectives = spec_.objectives;
    if (problems_.size() > between) objectives = {{"metric", Mode::min}};
    top_.read("num_samples", "a positive integer or -1 (endless)", to_num_samples,
              spec_.num_samples);
    is_context_good_ = problems_.size() == before;
    parse_limits();
    parse_resources(top_, spec_, problems_);
    parse_checkpoint_config();
    parse_failures(top_, spec_, problems_);
    parse_remote();
    parse_cluster(top_, spec_, problems_);

    parse_policies({.space = space,
                    .objectives = std::move(objectives),
                    .num_samples = spec_.num_samples,
                    .seed = spec_.seed,
                    .resources = spec_.resources,
                    .resources_per_trial = spec_.resources_per_trial,
                    .max_concurrent_trials = spec_.max_concurrent_trials,
                    .constraints = std::move(constraints),
                    .is_partial = !is_context_good_,
                    .is_new = is_new_});
    check_plain(top_, spec_);
    if (base_ != nullptr) check_config_names(spec_, problems_);
    return std::move(spec_);
  }

 private:
  void parse_paths() {
    top_.read("name", "1 to 100 letters, digits, '.', '_' or '-' without a leading '.'", to_name,
              spec_.name);
    top_.read("storage_path", "the path of a directory", to_text, spec_.storage_path);
    const std::string storage = spec_.storage_path.string();
    if (const auto scheme = storage.find("://"); scheme != storage.npos) {
      const std::string remote = storage.substr(0, scheme + 1) + storage.substr(scheme + 3);
      top_.complain("storage_path", "storage_path is a directory of this machine, and '" + storage +
                                        "' is an address: \"remote\": {\"path\": \"" + remote +
                                        "\"} has a copy there (docs/remote.md)");
    }
    if (base_ != nullptr) spec_.storage_path = at_home(spec_.storage_path);
    std::optional<std::string> checkpoint;
    top_.read("resume_from_checkpoint", "the path of a checkpoint", to_text, checkpoint);
    if (!checkpoint) return;
    spec_.resume_from_checkpoint =
        base_ != nullptr ? resolve(*base_, at_home(*checkpoint)) : fs::path(*checkpoint);
    if (base_ == nullptr) return;
    std::error_code ignored;
    if (!fs::is_directory(spec_.resume_from_checkpoint, ignored)) {
      top_.complain("resume_from_checkpoint",
                    "resume_from_checkpoint must be a directory that exists, got " +
                        describe(spec_.resume_from_checkpoint.string()));
    }
  }

  void parse_plugins() {
    const Json* const json = top_.find("plugins");
    if (json == nullptr || json->is_null()) return;
    if (!json->is_array()) {
      top_.wrong("plugins", "a list of paths of shared libraries", *json);
      return;
    }
    for (std::size_t i = 0; i < json->size(); ++i) {
      if (to_text(json->at(i))) continue;
      problems_.push_back({"/plugins/" + std::to_string(i),
                           "a plugin must be a path, got " + describe(json->at(i))});
    }
    // Recorded ones are absolute.
    spec_.plugins = plugins_in({{"plugins", *json}}, base_ != nullptr ? *base_ : fs::path("/"));
  }

  SearchSpace parse_param_space() {
    const Json* json = top_.find("param_space");
    if (!json) return {};
    spec_.param_space = *json;
    SearchSpace space = SearchSpace::parse(*json, "/param_space", problems_);
    // What is recorded goes on as it was begun.
    const bool is_new = base_ != nullptr;
    for (const SpaceLeaf& leaf : space.leaves()) {
      const auto sentence = is_new ? bounds_off_steps(leaf.domain) : std::nullopt;
      if (sentence) problems_.push_back({"/param_space" + leaf.pointer, *sentence});
    }
    return space;
  }

  /// The field's value, or those of its list; what is wrong with one of them is a problem.
  template <class Convert>
  auto read_each(const std::string& name, const std::string& expected, const Convert& convert) {
    std::vector<typename decltype(convert(Json()))::value_type> values;
    const Json* json = top_.find(name);
    if (!json || json->is_null()) return values;
    const bool is_list = json->is_array() && !json->empty();
    for (std::size_t i = 0; i < (is_list ? json->size() : 1); ++i) {
      const Json& one = is_list ? json->at(i) : *json;
      if (auto value = convert(one)) {
        values.push_back(*std::move(value));
      } else {
        problems_.push_back({"/" + name + (is_list ? "/" + std::to_string(i) : ""),
                             name + " must be " + expected + ", got " + describe(one)});
      }
    }
    return values;
  }

  void parse_objectives() {
    const std::size_t before = problems_.size();
    const auto metrics = read_each("metric", "the name of a metric", to_text);
    const auto modes = read_each("mode", "\"min\" or \"max\"", to_mode);
    if (problems_.size() > before) return;
    if (modes.empty() && !metrics.empty()) {
      top_.complain("mode", "metric " + quote(metrics[0]) +
                                " needs a mode that says which values are better, "
                                "\"min\" or \"max\", got nothing");
    } else if (metrics.empty() && !modes.empty()) {
      top_.complain("metric", "mode needs the name of a metric, got nothing");
    } else if (metrics.size() != modes.size()) {
      top_.complain("mode", "mode must be a list with \"min\" or \"max\" for each metric, got " +
                                std::to_string(modes.size()) + " for " +
                                std::to_string(metrics.size()));
    }
    if (problems_.size() > before) return;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (find_objective(spec_.objectives, metrics[i])) {
        problems_.push_back({"/metric/" + std::to_string(i),
                             "metrics must differ, got " + quote(metrics[i]) + " twice"});
      }
      if (is_new_ && is_drivers_column(metrics[i]) && metrics[i] != "time_total_s") {
        top_.complain("metric",
                      "metric must be what the program reports, training_iteration or "
                      "time_total_s, got " +
                          quote(metrics[i]) + ", which the driver fills in");
      }
      spec_.objectives.push_back({metrics[i], modes[i]});
    }
  }

  std::vector<Constraint> parse_constraints(const SearchSpace& space) {
    std::vector<Constraint> constraints;
    const Json* json = top_.find("constraints");
    if (!json || json->is_null()) return constraints;
    if (!json->is_array()) {
      top_.wrong("constraints", "a list of texts like \"latency <= 20\"", *json);
      return constraints;
    }
    for (std::size_t i = 0; i < json->size(); ++i) {
      const std::string pointer = "/constraints/" + std::to_string(i);
      Json one = json->at(i);
      if (one.is_object() && one.size() == 1 && one.contains("constraint")) {
        one = Json(one["constraint"]);
      }
      if (!one.is_string()) {
        problems_.push_back(
            {pointer, "a constraint must be text like \"latency <= 20\", got " + describe(one)});
        continue;
      }
      try {
        constraints.push_back(space.constraint(one.get<std::string>()));
        spec_.constraints.push_back(constraints.back().text());
      } catch (const std::invalid_argument& error) {
        problems_.push_back({pointer, error.what()});
      }
    }
    return constraints;
  }

  void parse_limits() {
    const std::string seconds = "a positive number of seconds up to 1e9";
    const auto to_count = [](const Json& json) { return to_int(json, 1); };
    top_.read("max_concurrent_trials", "a positive integer", to_count, spec_.max_concurrent_trials);
    top_.read("time_budget_s", seconds, to_seconds, spec_.time_budget_s);
    top_.read("snapshot_period_s", seconds, to_seconds, spec_.snapshot_period_s);
    top_.read("launch_timeout_s", seconds, to_seconds, spec_.launch_timeout_s);
    top_.read("trial_timeout_s", seconds, to_seconds, spec_.trial_timeout_s);
    top_.read("stop_grace_s", seconds, to_seconds, spec_.stop_grace_s);
    top_.read("last_result_grace_s", seconds, to_seconds, spec_.last_result_grace_s);
    top_.read("min_free_bytes", "a number of bytes from 0 like 1000000 or \"10GB\"", to_bytes,
              spec_.min_free_bytes);
    const auto to_log_bytes = [](const Json& json) {
      const auto bytes = to_bytes(json);
      return bytes && *bytes >= least_log_bytes ? bytes : std::nullopt;
    };
    top_.read("max_log_bytes", "a number of bytes from 1MB like 50000000 or \"50MB\"", to_log_bytes,
              spec_.max_log_bytes);
    top_.read("seed", "an integer from 0 to 18446744073709551615", to_seed, spec_.seed);
    top_.read("reuse_processes", "true or false", to_flag, spec_.reuse_processes);
    top_.read("keep_paused", "a number of processes from 0, or a size like \"8GB\"", to_keep_paused,
              spec_.keep_paused);
  }

  /// Reads the object of that name; nothing if there is none.
  std::optional<FieldReader> fields_of(const std::string& name) {
    const Json* json = top_.find(name);
    if (!json) return std::nullopt;
    if (!json->is_object()) {
      top_.wrong(name, "an object", *json);
      return std::nullopt;
    }
    return FieldReader(*json, append_pointer("", name), problems_);
  }

  void parse_remote() {
    const Json* json = top_.find("remote");
    if (json == nullptr || json->is_null()) return;
    const auto fields = fields_of("remote");
    if (!fields) return;
    RemoteConfig& remote = spec_.remote;
    const auto to_which = [](const Json& word) {
      return word.is_string() ? parse_remote_checkpoints(word.get<std::string>()) : std::nullopt;
    };
    const auto to_rate = [](const Json& rate) {
      const auto bytes = to_bytes(rate);
      return bytes && *bytes >= least_rate ? bytes : std::nullopt;
    };
    std::optional<std::string> path;
    fields->read("path", "a remote of rclone like \"s3:bucket/prefix\", or an absolute path",
                 to_text, path);
    remote.path = path.value_or("");
    fields->read("checkpoints", "\"all\", \"kept\", \"best\" or \"none\"", to_which,
                 remote.checkpoints);
    fields->read("bytes_per_s", "a number of bytes from 1024 like \"10MB\"", to_rate,
                 remote.bytes_per_s);
    fields->read("flush_s", "a positive number of seconds up to 1e9", to_seconds, remote.flush_s);
    const auto to_count = [](const Json& count) { return to_int(count, 1); };
    fields->read("keep_local", "an integer from 1", to_count, remote.keep_local);
    using Which = RemoteConfig::Checkpoints;
    if (remote.keep_local && remote.checkpoints != Which::kept &&
        remote.checkpoints != Which::all) {
      fields->complain("keep_local",
                       "keep_local needs all that is kept on the remote: checkpoints must be "
                       "\"kept\" or \"all\", not \"" +
                           to_string(remote.checkpoints) + "\"");
    }
    if (fields->find("path") == nullptr) fields->complain("path", "remote needs a path");
    if (remote.path.empty()) return;
    if (const auto wrong = wrong_remote_path(remote.path))
      fields->complain("path", "path " + *wrong);
  }

  void parse_checkpoint_config() {
    CheckpointConfig& config = spec_.checkpoint_config;
    if (const auto fields = fields_of("checkpoint_config")) read(*fields, config);
    // A recorded null is of an experiment that has ranked its checkpoints by their age.
    if (!config.checkpoint_score_attribute && base_ != nullptr && !spec_.objectives.empty()) {
      config.checkpoint_score_attribute = spec_.objectives.front().metric;
    }
    if (config.checkpoint_score_order || !config.checkpoint_score_attribute) return;
    const Objective* const objective =
        find_objective(spec_.objectives, *config.checkpoint_score_attribute);
    config.checkpoint_score_order = objective != nullptr ? objective->mode : Mode::max;
  }

  static void read(const FieldReader& fields, CheckpointConfig& config) {
    const auto to_keep = [](const Json& json) { return to_int(json, 0); };
    const auto to_frequency = [](const Json& json) { return to_integer(json, 0); };
    fields.read("num_to_keep", "an integer from 0, or null (keep all)", to_keep,
                config.num_to_keep);
    fields.read("checkpoint_score_attribute", "the name of a metric", to_text,
                config.checkpoint_score_attribute);
    fields.read("checkpoint_score_order", "\"min\" or \"max\"", to_mode,
                config.checkpoint_score_order);
    fields.read("checkpoint_frequency", "an integer from 0", to_frequency,
                config.checkpoint_frequency);
    fields.read("checkpoint_at_end", "true or false", to_flag, config.checkpoint_at_end);
    fields.read("checkpoint_at_start", "true or false", to_flag, config.checkpoint_at_start);
    fields.read("max_checkpoint_bytes", "a number of bytes from 0 like 1000000 or \"10GB\"",
                to_bytes, config.max_checkpoint_bytes);
  }

  void parse_policies(PolicyContext context) {
    const Json* searcher = top_.find("searcher");
    const Json* scheduler = top_.find("scheduler");
    Json typed = scheduler ? *scheduler : spec_.scheduler;
    if (base_ && !read_policy_file(*base_, "/scheduler", typed, problems_)) return;
    if (base_) resolve_program_policy(*base_, typed);
    // Some go together: each is made with the other's object at hand.
    context.scheduler = with_type(typed);
    Json chosen = searcher ? *searcher : spec_.searcher;
    if (base_) resolve_program_policy(*base_, chosen);
    choose_searcher(chosen, context);
    const bool is_open = is_auto(searcher ? *searcher : spec_.searcher);
    if (is_open && !is_context_good_) {
      spec_.searcher = chosen;  // which it would be, and so with which options, is not known
    } else {
      spec_.searcher = parse_typed(chosen, "/searcher", "searcher", catalogue_.searchers, context);
      context.searcher = with_type(spec_.searcher);
    }
    spec_.scheduler = parse_typed(typed, "/scheduler", "scheduler", catalogue_.schedulers, context);
    if (const Json* callbacks = top_.find("callbacks")) parse_callbacks(*callbacks, context);
    if (const Json* stop = top_.find("stop")) spec_.stop = *stop;
    if (base_) resolve_program_policy(*base_, spec_.stop);
    make_stopper(spec_, catalogue_, context, problems_);
    if (base_) refuse_misspelt_bounds(spec_, problems_);
  }

  /// In the place of "auto". A choice is made once: with more samples, say, it would be another
  /// one, which cannot go on from what this one has learned.
  void choose_searcher(Json& searcher, const PolicyContext& context) {
    if (searcher.is_string()) searcher = {{"type", searcher}};
    if (!is_auto(searcher)) return;
    SearcherChoice choice{"random", ""};
    if (catalogue_.choose_searcher && is_context_good_) {
      PolicyContext told = context;
      const Json rewards = searcher.value("evaluated_rewards", Json());
      told.knows_trials = rewards.is_array() && !rewards.empty();
      choice = catalogue_.choose_searcher(told);
    }
    searcher["type"] = std::move(choice.type);
    spec_.searcher_reason = std::move(choice.reason);
  }

  /// A policy's object; empty of what is none.
  static Json with_type(const Json& policy) {
    if (policy.is_string()) return {{"type", policy}};
    const bool is_typed = policy.is_object() && policy.value("type", Json()).is_string();
    return is_typed ? policy : Json::object();
  }

  static bool is_auto(const Json& searcher) {
    return searcher == "auto" || (searcher.is_object() && searcher.value("type", Json()) == "auto");
  }

  void parse_callbacks(const Json& callbacks, const PolicyContext& context) {
    if (!callbacks.is_array()) {
      top_.wrong("callbacks", "a list of names or of objects with a \"type\"", callbacks);
      return;
    }
    for (std::size_t i = 0; i < callbacks.size(); ++i) {
      spec_.callbacks.push_back(parse_typed(callbacks[i],
                                            append_pointer("/callbacks", std::to_string(i)),
                                            "callback", catalogue_.callbacks, context));
    }
  }

  /// "asha" or {"type": "asha"} as the latter, checked by making one.
  template <class Policy>
  Json parse_typed(const Json& json, const std::string& pointer, const std::string& kind,
                   const std::map<std::string, Factory<Policy>>& factories,
                   const PolicyContext& context) {
    const Json typed = json.is_string() ? Json{{"type", json}} : json;
    if (!typed.is_object()) {
      problems_.push_back(
          {pointer,
           "a " + kind + " must be a name or an object with a \"type\", got " + describe(json)});
    } else {
      make_policy(typed, pointer, kind, factories, context, problems_);
    }
    return typed;
  }

  const bool is_new_;
  const fs::path* const base_;
  const Catalogue& catalogue_;
  std::vector<Problem>& problems_;
  const FieldReader top_;
  ExperimentSpec spec_;
  bool is_context_good_ = false;
};

ExperimentSpec parse(const Json& json, const fs::path* base, const Catalogue& catalogue,
                     std::vector<Problem>& problems, bool is_new) {
  if (!json.is_object()) {
    problems.push_back({"", "the spec must be an object, got " + describe(json)});
    return {};
  }
  return SpecParser(json, base, catalogue, problems, is_new).parse();
}

}  // namespace

ExperimentSpec parse_spec(const Json& json, const fs::path& base, const Catalogue& catalogue,
                          std::vector<Problem>& problems) {
  return parse(json, &base, catalogue, problems, true);
}

ExperimentSpec parse_recorded_spec(const Json& json, const Catalogue& catalogue,
                                   std::vector<Problem>& problems) {
  return parse(json, nullptr, catalogue, problems, false);
}

ExperimentSpec parse_changed_spec(const Json& json, const fs::path& base,
                                  const Catalogue& catalogue, std::vector<Problem>& problems) {
  return parse(json, &base, catalogue, problems, false);
}

fs::path path_in_spec(const fs::path& base, const std::string& text) {
  return resolve(base, at_home(text));
}

std::vector<fs::path> plugins_in(const Json& json, const fs::path& base) {
  std::vector<fs::path> plugins;
  const bool has_list = json.is_object() && json.contains("plugins") && json["plugins"].is_array();
  if (!has_list) return plugins;
  for (const Json& plugin : json["plugins"]) {
    if (const auto text = to_text(plugin)) plugins.push_back(resolve(base, at_home(*text)));
  }
  return plugins;
}

std::vector<Constraint> constraints_of(const ExperimentSpec& spec) {
  if (spec.constraints.empty()) return {};
  std::vector<Problem> none;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", none);
  std::vector<Constraint> constraints;
  try {
    for (const std::string& text : spec.constraints) constraints.push_back(space.constraint(text));
  } catch (const std::invalid_argument& error) {
    throw user_error(error.what());
  }
  return constraints;
}

}  // namespace tune
