// `tune submit`: a search as a job of Slurm's; `tune batch`: what runs it there.
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/cluster/submitted_job.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/liveness.h"
#include "tuner/plugins.h"
#include "tuner/process/helper_process.h"
#include "tuner/run.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

namespace fs = std::filesystem;

/// The limit may be changed, mostly to a later one.
constexpr Seconds ask_again_s = 300;
/// Where Slurm could not be asked.
constexpr Seconds ask_sooner_s = 30;
/// Of the margin, for what follows upon the last saves: agents leave, the state is written, the job
/// is requeued.
constexpr Seconds end_s = 20;
/// A driver that dies so often does so for a reason.
constexpr int most_deaths = 3;
/// Slurm ends a job so soon after it has warned its steps, or after a requeue.
constexpr Seconds end_patience_s = 300;

/// The job that the experiment was given to, if it waits or runs.
std::optional<std::string> job_alive(const fs::path& directory) {
  const auto id = read_submitted(directory);
  if (!id) return std::nullopt;
  const auto job = look_at_job(*id);
  if (!job || !job->is_alive()) return std::nullopt;
  return text_of(*id, *job);
}

void require_option(const std::string& value, const char* option, const char* example) {
  if (value.empty()) {
    throw user_error(std::string("a job needs ") + option + ", for instance " + example);
  }
}

/// The options, before anything is asked or written.
void check_request(const SubmitRequest& request) {
  require_option(request.nodes, "--nodes", "--nodes 4");
  require_option(request.time, "--time", "--time 8:00:00");
  if (const auto option = reserved_option(request.others); !option.empty()) {
    throw user_error(option +
                     " stands behind '--', among the options for sbatch: nodes, gpus and "
                     "time are said before it, and the search is one job that sbatch need not wait "
                     "for");
  }
  const auto time_s = slurm_seconds(request.time);
  if (!time_s || *time_s <= 0) {
    throw user_error("--time must be like 30 (minutes), 8:00:00 or 1-12:00:00, got " +
                     as_quoted(request.time));
  }
  if (*time_s <= 2 * request.margin_s) {
    throw user_error("--time " + request.time + " is no longer than twice the " +
                     std::to_string(static_cast<long>(request.margin_s)) +
                     " s before the end in which all trials are saved (--margin)");
  }
}

/// Where trials run is the job's to say.
SpecDocument on_slurm(SpecDocument document) {
  Json& cluster = document.json["cluster"];
  if (cluster.is_null()) cluster = Json::object();
  if (!cluster.is_object()) return document;
  const Json type = cluster.value("type", Json());
  const bool has_hosts =
      !cluster.value("hosts", Json()).is_null() || !cluster.value("agent_jobs", Json()).is_null();
  if (has_hosts || (!type.is_null() && type != "slurm")) {
    throw user_error(
        "a search that is submitted runs on the nodes of its job: leave cluster.hosts, "
        "cluster.agent_jobs and cluster.type out");
  }
  cluster["type"] = "slurm";
  return document;
}

std::vector<std::string> variables_with(const std::string& prefix) {
  std::vector<std::string> found;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::string_view(*each).starts_with(prefix)) found.emplace_back(*each);
  }
  return found;
}

/// A driver within a job, and the signals to this process meanwhile.
class Batch {
 public:
  Batch(fs::path directory, std::string job, Seconds margin_s)
      : directory_(std::move(directory)), job_(std::move(job)), margin_s_(margin_s) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
    // Before threads are made, which inherit it.
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  int run() {
    ask();
    if (ends_at_ && *ends_at_ - seconds_since_boot() <= margin_s_) {
      throw user_error("job " + job_ + " has no more time than the " +
                       std::to_string(static_cast<long>(margin_s_)) +
                       " s in which all is saved: nothing was started");
    }
    for (int deaths = 0;;) {
      const ExitStatus ended = drive();
      if (ended.signal != 0) {
        if (is_ending_ || ++deaths >= most_deaths) {
          throw machine_error("the driver has died by SIG" +
                              std::string(sigabbrev_np(ended.signal)));
        }
        say("the driver has died by SIG" + std::string(sigabbrev_np(ended.signal)) +
            ", and is started again");
        continue;
      }
      if (ended.exit_code != exit_interrupted || is_ending_) return ended.exit_code;
      if (is_time_over_) return requeue();
      // By Slurm, which has warned the agents, and requeues what it preempts: a job that has ended
      // by itself it does not.
      say("the driver was interrupted, and Slurm has the word");
      wait_for_end();
      if (is_ending_) return exit_interrupted;
      say("Slurm has not ended the job: the search goes on");
    }
  }

 private:
  void say(const std::string& sentence) const { complain("job " + job_ + ": " + sentence); }

  ExitStatus drive() {
    const long grace_s = static_cast<long>(std::max(10.0, margin_s_ - end_s));
    // A driver finds its job by what srun is not to see.
    SideProgram driver({.argv = {own_program(), "run", job_spec(directory_).native(), "--resume",
                                 "auto", "--progress", "lines", "--grace", std::to_string(grace_s)},
                        .environment = variables_with("SLURM_"),
                        .directory = directory_,
                        .log = job_log(directory_)});
    while (!driver.ended()) {
      const Seconds now = seconds_since_boot();
      if (now >= ask_at_) ask();
      if (ends_at_ && !is_time_over_ && now >= *ends_at_ - margin_s_) {
        is_time_over_ = true;
        say("its time is over in " + text_of_time(*ends_at_ - now) + ": all trials are saved");
        send(driver, SIGUSR1);
      }
      if (wait(driver.pidfd(), 1)) send(driver, SIGTERM);
    }
    return *driver.ended();
  }

  static void send(const SideProgram& driver, int signal) {
    ::syscall(SYS_pidfd_send_signal, driver.pidfd(), signal, nullptr, 0);
  }

  /// Until something has come, or for so long. Whether this process was told to end.
  bool wait(int descriptor, Seconds time_s) {
    pollfd watched[] = {{signals_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}};
    ::poll(watched, descriptor < 0 ? 1 : 2, static_cast<int>(time_s * 1000));
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
      return false;
    }
    is_ending_ = true;
    return true;
  }

  void wait_for_end() {
    const Seconds until = seconds_since_boot() + end_patience_s;
    while (!is_ending_ && seconds_since_boot() < until) wait(-1, 1);
  }

  void ask() {
    ask_at_ = seconds_since_boot() + ask_sooner_s;
    try {
      const auto job = look_at_job(job_);
      if (!job) return;
      ask_at_ = seconds_since_boot() + ask_again_s;
      ends_at_ = job->left_s ? std::optional(seconds_since_boot() + *job->left_s) : std::nullopt;
    } catch (const Error& error) {
      say(error.what());
    }
  }

  /// The last act: Slurm ends this process for it.
  int requeue() {
    const SlurmAnswer answer = ask_slurm({"scontrol", "requeue", job_});
    if (answer.exit_code != 0) {
      throw machine_error("job " + job_ + " cannot be requeued: " + answer.said +
                          "; go on with tune submit, or tune resume " +
                          shell_word(directory_.native()));
    }
    wait_for_end();
    return exit_interrupted;
  }

  const fs::path directory_;
  const std::string job_;
  const Seconds margin_s_;
  FileDescriptor signals_;
  Seconds ask_at_ = 0;              ///< since boot
  std::optional<Seconds> ends_at_;  ///< since boot; none: not known, or never
  bool is_time_over_ = false;
  bool is_ending_ = false;  ///< Slurm has told this process to end
};

}  // namespace

int submit_command(const SpecSource& source, const SubmitRequest& request) {
  check_request(request);
  const SpecDocument document = on_slurm(assemble_spec(source));
  auto spec = check_spec(document, catalogue_with(plugins_of(document)));
  if (!spec) return exit_bad_input;
  const fs::path directory = experiment_directory(*spec);
  if (const auto job = job_alive(directory)) {
    throw user_error(directory.native() + " was submitted already: job " + *job + "; tune stop " +
                     shell_word(directory.native()) + " ends it");
  }
  // The job's working directory is nobody's.
  spec->storage_path = directory.parent_path();
  const auto files = make_posix_file_system(Access::owner);
  const bool is_new = !fs::exists(directory);
  files->make_directories(job_directory(directory));
  files->replace(job_spec(directory), to_json(*spec).dump(2) + "\n");
  files->replace(job_script(directory),
                 job_script_text({.name = spec->name,
                                  .nodes = request.nodes,
                                  .gpus_per_node = request.gpus_per_node,
                                  .time = request.time,
                                  .others = request.others},
                                 directory,
                                 {own_program(), "batch", directory.native(), "--margin",
                                  std::to_string(static_cast<long>(request.margin_s))}));
  const auto refuse = [&](const SlurmAnswer& answer) {
    std::error_code ignored;
    if (is_new) fs::remove_all(directory, ignored);
    return user_error("nothing was submitted: " + in_one_line(answer.said));
  };
  const SlurmAnswer tested = ask_slurm({"sbatch", "--test-only", job_script(directory).native()});
  if (tested.exit_code != 0) throw refuse(tested);
  const SlurmAnswer submitted = ask_slurm({"sbatch", "--parsable", job_script(directory).native()});
  if (submitted.exit_code != 0) throw refuse(submitted);
  const std::string id = submitted_id(submitted.said);
  if (id.empty()) {
    throw machine_error("sbatch has taken the job and said no number of it (squeue has that): " +
                        in_one_line(submitted.said));
  }
  write_submitted(directory, id);
  const std::string place = shell_word(directory.native());
  print("job " + id + " runs the search, and is requeued until it is done\n");
  print_pairs({{"its script", job_script(directory).native()},
               {"what it prints", job_log(directory).native()},
               {"look at it", "tune status " + place},
               {"end it", "tune stop " + place}});
  return exit_ok;
}

int batch_command(const BatchRequest& request) {
  const fs::path directory = fs::absolute(request.directory).lexically_normal();
  const auto job = slurm_job(own_environment);
  if (!job || job->is_task || !fs::exists(job_spec(directory))) {
    throw user_error("tune batch is what a job of tune submit runs: give the spec to tune submit");
  }
  return Batch(directory, job->id, request.margin_s).run();
}

}  // namespace tune
