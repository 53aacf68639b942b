// `tune stop`, `pause`, `unpause`, `checkpoint`, `set`, `add`: a word to a running driver.
#include <chrono>
#include <thread>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/spec_options.h"
#include "tuner/ask_session.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/quoted.h"
#include "tuner/cluster/job_ending.h"
#include "tuner/cluster/submitted_job.h"
#include "tuner/control/control_client.h"
#include "tuner/disk/lock.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

constexpr std::size_t most_named_trials = 10;

/// As the command is called.
const char* name_of(ControlRequest::Kind kind) {
  switch (kind) {
    case ControlRequest::Kind::stop:
      return "stop";
    case ControlRequest::Kind::pause:
      return "pause";
    case ControlRequest::Kind::checkpoint:
      return "checkpoint";
    case ControlRequest::Kind::unpause:
      return "unpause";
    case ControlRequest::Kind::set:
      return "set";
    case ControlRequest::Kind::add:
      return "add";
    case ControlRequest::Kind::waits:
      return "waits";
  }
  return "";
}

const char* verb(ControlRequest::Kind kind) {
  switch (kind) {
    case ControlRequest::Kind::stop:
      return "stop";
    case ControlRequest::Kind::pause:
      return "pause";
    case ControlRequest::Kind::checkpoint:
      return "save";
    case ControlRequest::Kind::unpause:
      return "go on with";
    case ControlRequest::Kind::set:
      return "change";
    case ControlRequest::Kind::add:
      return "add to";
    case ControlRequest::Kind::waits:
      return "ask about";
  }
  return "";
}

/// "num_samples=100" as {"num_samples": 100}.
Json to_fields(const std::vector<std::string>& given) {
  Json fields = Json::object();
  for (const std::string& field : given) {
    const std::size_t equals = field.find('=');
    if (equals == 0 || equals == field.npos) {
      throw user_error("what is to change must be like num_samples=100, got " + as_quoted(field));
    }
    const std::string name = field.substr(0, equals);
    if (fields.contains(name)) throw user_error(name + " is given twice");
    fields[name] = field_value(name, field.substr(equals + 1));
  }
  return fields;
}

/// What is said, behind that no driver runs it, where a resume alone would do nothing of what is
/// wished: all trials have ended, or the one that is named. Else empty.
std::string sentence_if_ended(const std::filesystem::path& directory,
                              const ControlOptions& options) {
  const bool is_add = options.kind == ControlRequest::Kind::add;
  if (!is_add && options.kind != ControlRequest::Kind::unpause) return "";
  const ExperimentView view = view_experiment(directory);
  const Experiment& experiment = view.grid.experiment();
  const std::string resume = "tune resume " + shell_word(directory);
  if (!is_add) {
    const Trial& trial = find_trial(view.grid, options.trial);
    if (!is_final(trial.state)) return "";
    const bool has_failed = trial.state == TrialState::error;
    return ", and " + to_string(trial.id) + " has ended: it " +
           (has_failed ? "failed, and was not paused; to try it again: " + resume + " --trial " +
                             std::to_string(index_of(trial.id))
                       : "is not paused; under a longer stop rule it may go on: " + resume +
                             " --stop RULES --trial " + std::to_string(index_of(trial.id)));
  }
  if (has_unfinished(experiment)) return "";
  return ", and all of its trials have ended: nothing was added. Start a driver with " + resume +
         " --num-samples " + std::to_string(experiment.trials().size() + 1) +
         " or more, and give this command again while it runs";
}

/// Who drives the experiment, on this machine; Error (user) if nobody does.
Driver require_driver(FileSystem& files, const std::filesystem::path& directory,
                      const ControlOptions& options) {
  const auto driver = ExperimentStore::driver(files, directory);
  const std::string experiment = "experiment " + directory.string();
  if (!driver) {
    const Json spec = ExperimentStore::read_spec(files, directory);
    std::vector<Problem> ignored;
    if (is_told(parse_recorded_spec(spec, Catalogue{}, ignored))) {
      throw user_error("no driver runs " + experiment +
                       ": its trials are run by whoever asks; tune tell " + shell_word(directory) +
                       " ID --failed ends one");
    }
    std::string changes;
    if (options.kind == ControlRequest::Kind::set) {
      const Json fields = to_fields(options.fields);
      for (const auto& [name, value] : fields.items()) {
        changes += " --set " + shell_word(name + "=" + value.dump());
      }
    }
    if (options.kind == ControlRequest::Kind::unpause) {
      changes = " --trial " + shell_word(options.trial);
    }
    if (const std::string ended = sentence_if_ended(directory, options); !ended.empty()) {
      throw user_error("no driver runs " + experiment + ended);
    }
    throw user_error("no driver runs " + experiment + ": there is nothing to " +
                     verb(options.kind) + "; tune ls " + shell_word(directory) +
                     " shows its trials, tune resume " + shell_word(directory) + changes +
                     " goes on with it" +
                     (options.kind == ControlRequest::Kind::set ? " so changed" : ""));
  }
  if (!driver->is_here) {
    throw user_error(experiment + " is driven by " + name_of(*driver) +
                     ": give this command on that host (this one is " + this_identity().host + ")");
  }
  return *driver;
}

/// A driver that has just started has its lock before its socket.
ControlClient connect(FileSystem& files, const std::filesystem::path& directory,
                      const ControlOptions& options) {
  using namespace std::chrono_literals;
  const auto until = std::chrono::steady_clock::now() + 10s;
  for (;;) {
    const Driver driver = require_driver(files, directory, options);
    if (auto client = ControlClient::connect(directory)) return std::move(*client);
    if (std::chrono::steady_clock::now() > until) {
      throw machine_error("the driver (" + name_of(driver) + ") does not listen on " +
                          (directory / control_socket_name).string() + "; kill -INT " +
                          std::to_string(driver.pid) + " saves its trials and makes it leave");
    }
    std::this_thread::sleep_for(100ms);
  }
}

/// Until the lock is free too, so that a resume may follow.
void wait_for_end(FileSystem& files, const std::filesystem::path& directory,
                  ControlClient& client) {
  const auto before = ExperimentStore::driver(files, directory);
  client.wait_for_end();
  for (;;) {
    const auto driver = ExperimentStore::driver(files, directory);
    if (!before || !driver || driver->pid != before->pid ||
        driver->start_ticks != before->start_ticks) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string names_of(const std::vector<TrialId>& trials) {
  std::string names;
  for (std::size_t i = 0; i < trials.size() && i < most_named_trials; ++i) {
    names += (i > 0 ? ", " : "") + to_string(trials[i]);
  }
  if (trials.size() > most_named_trials) {
    names += " and " + std::to_string(trials.size() - most_named_trials) + " more";
  }
  return names;
}

Json answer_json(const ControlRequest& request, const ControlAnswer& answer) {
  Json trials = Json::array();
  for (const TrialId id : answer.trials) trials.push_back(to_string(id));
  return {{"command", name_of(request.kind)},
          {"trials", std::move(trials)},
          {"fields", request.fields.is_object() ? request.fields : Json::object()},
          {"message", answer.sentence}};
}

Json to_config(const std::string& text) {
  if (!parse_shallow(text).is_object()) {
    throw user_error("a config must be a JSON object like '{\"lr\": 0.01}', got " +
                     as_quoted(text));
  }
  try {
    return parse_unambiguous(text);
  } catch (const std::invalid_argument& error) {
    throw user_error("a config says each thing once: " + std::string(error.what()) + ", got " +
                     as_quoted(text));
  }
}

/// A job that waits is taken out of the queue; empty: none does.
std::string stop_waiting_job(const std::filesystem::path& directory) {
  const auto id = read_submitted(directory);
  if (!id) return "";
  const auto job = look_at_job(*id);
  if (!job || job->state != "PENDING") return "";
  const SlurmAnswer answer = ask_slurm({"scancel", *id});
  if (answer.exit_code != 0) throw machine_error("cannot end job " + *id + ": " + answer.said);
  return "job " + *id + " waited in the queue, and was taken out of it; tune submit goes on";
}

/// Jobs that an experiment has left which nobody drives are ended; empty: there are none.
std::string stop_jobs_left(const std::filesystem::path& directory) {
  if (ExperimentStore::driver(*make_posix_file_system(), directory)) return "";
  const auto listed = read_job_list(directory);
  if (listed.empty()) return "";
  const JobsEnding ending = end_jobs(listed);
  write_job_list(directory, ending.left);
  if (!ending.left.empty()) {
    throw machine_error(
        "no driver runs this experiment, and not all jobs that it has left could "
        "be ended: " +
        ending.trouble + "; once Slurm answers: " + scancel_command(ending.left));
  }
  return "no driver runs this experiment; " +
         count_of(listed.size(), "job that it had left in Slurm has been ended: ",
                  "jobs that it had left in Slurm have been ended: ") +
         names_of(listed);
}

}  // namespace

int control_command(const ControlOptions& options) {
  ControlRequest request{options.kind, {}};
  if (options.kind == ControlRequest::Kind::set) request.fields = to_fields(options.fields);
  if (options.kind == ControlRequest::Kind::add) request.fields = to_config(options.config);
  if (!options.trial.empty()) {
    request.trial = parse_trial_id(options.trial);
    if (!request.trial) {
      throw user_error("a trial is written like 3 or trial_00003, got " + as_quoted(options.trial));
    }
  }
  const auto directory = std::filesystem::absolute(options.directory).lexically_normal();
  if (options.kind == ControlRequest::Kind::stop && !request.trial) {
    auto sentence = stop_waiting_job(directory);
    if (sentence.empty()) sentence = stop_jobs_left(directory);
    if (!sentence.empty()) {
      if (options.json) {
        print_json(answer_json(request, {.accepted = true, .sentence = sentence}));
      } else {
        print(sentence + "\n");
      }
      return exit_ok;
    }
  }
  require_experiment(options.directory);
  const auto files = make_posix_file_system();
  ControlClient client = connect(*files, directory, options);
  const ControlAnswer answer = client.ask(request);
  if (!answer.accepted) throw user_error(answer.sentence);
  const bool is_named = request.trial || request.kind == ControlRequest::Kind::add;
  const bool names_help = !is_named && !answer.trials.empty();
  if (options.json) {
    print_json(answer_json(request, answer));
  } else {
    print(answer.sentence + (names_help ? ": " + names_of(answer.trials) : "") + "\n");
  }
  if (options.wait) wait_for_end(*files, directory, client);
  return exit_ok;
}

}  // namespace tune
