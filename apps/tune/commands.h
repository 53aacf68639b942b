// The commands of `tune`: what each was given, and the functions that carry them out and answer
// with the exit code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/tune/exit_codes.h"
#include "apps/tune/spec_document.h"
#include "apps/tune/taken_over.h"
#include "tuner/control/control.h"
#include "tuner/spec/spec.h"

namespace tune {

/// How a run behaves, whatever it runs.
struct RunStyle {
  std::string progress = "auto";  ///< auto, table, lines, none
  bool strict = false;
  double grace_s = 30;
  std::vector<std::string> command_line = {};  ///< "tune" and its words, to be recorded
  double lease_s = 60;  ///< other hosts take a driver for dead that has been silent for so long
  bool json = false;    ///< how it has ended, as one object; then progress goes to standard error
  bool dashboard = false;  ///< a process beside it that shows it, until it has ended
};

/// Starts an experiment and runs it to its end. `resume`: what to do with one that is there already
/// (never: refuse it, auto: go on with it), or if there is none (must: refuse that).
int run_command(const SpecSource& source, const RunStyle& style, const std::string& resume);

struct ResumeRequest {
  std::string directory;
  std::string remote;            ///< where to take it from if it is not here; empty: nowhere
  bool errored = false;          ///< failed trials go on
  bool restart_errored = false;  ///< or start from scratch
  bool finished = false;         ///< trials that a longer stop rule lets go on do
  bool salvage = false;          ///< a damaged journal ends where the damage begins
  std::vector<std::string> trials;
};
/// `changes`: over the recorded spec, without a file.
int resume_command(const ResumeRequest& request, const SpecSource& changes, const RunStyle& style);

/// This program, as the machines of a cluster are to find it.
std::string own_program();

struct SubmitRequest {
  std::string nodes, gpus_per_node, time;  ///< as sbatch has them
  double margin_s = 120;                   ///< before the job's end, for saving
  std::vector<std::string> others;         ///< options for sbatch
};
/// Gives the search to Slurm as a job that is requeued until it is done.
int submit_command(const SpecSource& source, const SubmitRequest& request);

struct BatchRequest {
  std::string directory;
  double margin_s = 120;
};
/// What such a job runs: starts the driver, and sees to the job's end.
int batch_command(const BatchRequest& request);

struct AgentRequest {
  std::string directory;
  std::string node;  ///< its name; empty: the host's
};
/// Runs trials for the driver of an experiment, until that needs it no more.
int agent_command(const AgentRequest& request);

/// Says whether the spec is good, or everything that is wrong with it.
int validate_command(const SpecSource& source, bool json);
/// Shows what a run would do; starts and writes nothing.
int preview_command(const SpecSource& source, bool json);

/// Takes the experiment of that spec into `directory`, where that has none, from the spec's remote,
/// if it is there.
TakenOver take_if_on_remote(const ExperimentSpec& spec, const std::filesystem::path& directory,
                            double lease_s);

/// Takes the experiment from the request's remote, if the directory has none, and says the rest of
/// what follows in `request` and `changes`.
TakenOver take_from_remote(ResumeRequest& request, SpecSource& changes, double lease_s);

struct RemoteRequest {
  std::string remote;     ///< of pull and verify: of the experiment; of push: the place above it
  std::string directory;  ///< empty: results/NAME
  std::vector<std::string> checkpoints;  ///< of fetch
  std::string to;                        ///< of fetch: a directory for a copy; empty: their places
  bool reads = false;                    ///< every byte
  bool json = false;
};
/// Takes a copy of an experiment from its remote.
int pull_command(const RemoteRequest& request);
/// Brings checkpoints back that are only on the remote.
int fetch_command(const RemoteRequest& request);
/// Puts up what is not on the remote.
int push_command(const RemoteRequest& request);
/// Says whether what is on the remote is whole.
int verify_remote_command(const RemoteRequest& request);

struct InitRequest {
  std::string file;    ///< "-": standard output; empty: spec.json, or of the skill SKILL.md
  bool skill = false;  ///< for coding agents, instead of a spec
  std::string from;    ///< the program that the spec is about; empty: none yet
  std::vector<std::string> arguments;  ///< of that program's
  std::string metric;
  std::string mode;
  double timeout_s = 10;  ///< for the program's help
  bool json = false;
};
/// Writes a spec to start from; never over a file that exists.
int init_command(const InitRequest& request);

struct CheckRequest {
  std::string config;  ///< JSON; empty: the first that the search would try
  int iterations = 4;
  double tolerance = 0;
  double timeout_s = 300;
  bool keep = false;  ///< the directories, also if all holds
  bool json = false;
};
/// Plays a driver with the spec's trainable and says what does not hold.
int check_command(const SpecSource& source, const CheckRequest& request);

struct StatusRequest {
  std::string directory;
  bool follow = false;  ///< until its driver has ended
  bool json = false;
};
/// Followed, answers with the exit code that the run has, as far as the record says it.
int status_command(const StatusRequest& request);

struct ListRequest {
  std::vector<std::string> directories;  ///< not empty
  std::string sort;                      ///< empty: by trial
  bool descending = false;
  std::string filter;                ///< an expression; empty: none
  std::vector<std::string> states;   ///< empty: all
  std::vector<std::string> columns;  ///< empty: a good choice
  std::vector<std::string> over;     ///< configs that differ in these alone are one row
  std::uint64_t limit = 0;           ///< 0: none
  bool results = false;              ///< all of each trial, as JSON
  bool json = false;
  bool csv = false;
};
int list_command(const ListRequest& request);

struct ShowRequest {
  std::string directory;
  std::string trial;
  bool results = false;  ///< all of them, as JSON
  bool json = false;
};
/// All there is about one trial.
int show_command(const ShowRequest& request);

struct NoteRequest {
  std::string directory;
  std::string trial;
  std::string text;  ///< a note to add; empty: none
  std::vector<std::string> tags, removed_tags;
  bool clear = false;  ///< the notes that were there before
  bool json = false;
};
/// Adds a note or tags to a trial, or takes them away, and prints what it has then.
int note_command(const NoteRequest& request);

struct CompareRequest {
  std::vector<std::string> words;  ///< directories, each with trials behind it: DIR 3 7 OTHER:5
  std::string metric;              ///< empty: the first experiment's own
  std::string mode;
  bool all = false;  ///< also hyperparameters that are equal
  bool json = false;
};
/// How trials differ: configs, ends, values, curves.
int compare_command(const CompareRequest& request);

struct LogsRequest {
  std::string directory;
  std::string trial;
  bool is_stderr = false;
  int rank = 0;         ///< of several workers, which one's
  bool follow = false;  ///< until the trial has ended, or nobody drives the experiment
};
/// What the trial's program has printed.
int logs_command(const LogsRequest& request);

struct EventsRequest {
  std::string directory;
  std::uint64_t from = 1;  ///< number of the first event to print
  bool follow = false;     ///< until the experiment is finished, or its driver leaves
};
/// Everything that has happened, as the journal has it.
int events_command(const EventsRequest& request);

struct BestRequest {
  std::string directory;
  std::string metric;  ///< empty: the experiment's own
  std::string mode;
  std::string scope;  ///< empty: the best of all results; of several metrics the last
  std::optional<std::int64_t> count = {};  ///< a list of so many trials; none: the best one
  bool over_time = false;                  ///< each time that there was a better one
  bool json = false;
};
int best_command(const BestRequest& request);

struct CheckpointsRequest {
  std::string directory;
  std::string trial;  ///< empty: all
  bool verify = false;
  bool blobs = false;  ///< what tensors are in them
  bool json = false;
};
int checkpoints_command(const CheckpointsRequest& request);

struct DiffRequest {
  std::string before, after;  ///< names of checkpoints
  bool json = false;
};
/// Which tensors of two checkpoints differ, and by how much. Answers 0: none, 1: some, 2: there was
/// trouble, which was said.
int diff_command(const DiffRequest& request);

struct ImportanceRequest {
  std::string directory;
  std::string metric;  ///< empty: the experiment's own
  std::string mode;
  std::string scope = "last";
  std::string method = "fanova";  ///< or "ped_anova"
  double top = 0.1;               ///< of ped_anova: the part of the trials that is the best
  std::optional<std::int64_t> iteration = {};  ///< at which trials are compared; none: see --help
  std::string slice;  ///< show how the metric is along this hyperparameter instead; empty: no
  bool json = false;
};
int importance_command(const ImportanceRequest& request);

struct LineageRequest {
  std::string directory;
  std::string trial;  ///< whose schedule; empty: the best one's
  bool all = false;   ///< also stretches of which nothing is left
  bool json = false;
};
int lineage_command(const LineageRequest& request);

struct ReportRequest {
  std::vector<std::string> directories;  ///< not empty; a folder of experiments stands for these
  std::string html;                      ///< file to write, "-": standard output; empty: none
  bool json = false;
};
/// Says what was searched, what came out and what is worth knowing; as a page that needs nothing
/// else, if a file is named.
int report_command(const ReportRequest& request);

struct PlotRequest {
  std::string directory;
  std::string plot;  ///< see plot_names
  /// Files to write, "-": standard output; one of them at most, and characters if none is named.
  std::string png, svg, gnuplot;
  int width = 1000, height = 600;  ///< of a picture, in pixels
};
/// Draws one picture of the experiment.
int plot_command(const PlotRequest& request);

struct DashboardRequest {
  std::vector<std::string> directories;  ///< experiments, or folders of them; not empty
  std::string bind = "127.0.0.1";
  std::uint16_t port = 0;          ///< 0: a free one
  std::vector<std::string> hosts;  ///< further names that the server goes by
  bool allow_control = false;
  bool no_browser = false;
  bool waits = false;  ///< for experiments that are not there yet
  int parent = 0;      ///< the process that has started it, with which it ends; 0: none
};
/// Serves the page of the report, kept up to date, until it is interrupted.
int dashboard_command(const DashboardRequest& request);

struct SimulateRequest {
  std::vector<std::string> curves;  ///< files
  std::string workers = "1";        ///< numbers, separated by commas
  int seeds = 1;
  std::optional<double> target;  ///< none: within 1 % of the best in the curves
  double launch_s = 0;
  double save_s = 0;
  bool allow_short = false;
  std::string directory;  ///< empty: nothing is kept
  bool json = false;
  bool csv = false;
};
/// Compares schedulers on curves. In `source`, --scheduler and --time-budget-s may be lists.
int simulate_command(SpecSource source, const SimulateRequest& request);

struct ExportRequest {
  std::string directory;
  std::string curves;  ///< file to write, "-": standard output; never over a file that exists
  bool json = false;
  bool lineage = false;  ///< of clones: what their models went through
};
/// Writes the experiment's learning curves.
int export_command(const ExportRequest& request);

struct AskRequest {
  std::string directory;
  std::int64_t count = 1;
  double wait_s = 90;  ///< for another process to leave the experiment; longer than a lease
};
/// Prints new configs, for trials that somebody else runs. `source`: of a new experiment, or as
/// that was.
int suggest_command(const SpecSource& source, const AskRequest& request);

struct TellRequest {
  std::string directory;
  std::string trial;    ///< "-": what is on standard input, a JSON object a line
  std::string value;    ///< of the experiment's metric
  std::string metrics;  ///< JSON
  bool failed = false;
  std::string reason;
  double wait_s = 90;
  std::vector<std::string> plugins;
};
/// Takes in how a suggested trial has ended.
int tell_command(const TellRequest& request);

struct ControlOptions {
  ControlRequest::Kind kind{};
  std::string directory;
  std::string trial;                ///< empty: all
  bool wait = false;                ///< until the driver has left
  std::vector<std::string> fields;  ///< of `set`: NAME=VALUE
  std::string config;               ///< of `add`: JSON
  bool json = false;
};
/// Asks the running driver for something. Error (user) if there is none, or if it refuses.
int control_command(const ControlOptions& options);

/// Prints the JSON schema of what a command prints with --json, of a spec if none is named.
int schema_command(const std::vector<std::string>& command);

}  // namespace tune
