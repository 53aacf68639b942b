// The command line of the commands that run an experiment, or would: run, resume, suggest, tell,
// simulate, what is about a spec, and what is about a remote.
#include <CLI/CLI.hpp>

#include "apps/tune/cli_parts.h"

namespace tune {

namespace {

void add_style(CLI::App& command, RunStyle& style) {
  command
      .add_option("--progress", style.progress,
                  "A live table, plain lines, nothing, or what fits the terminal")
      ->check(CLI::IsMember({"auto", "table", "lines", "none"}))
      ->capture_default_str();
  command
      .add_option("--grace", style.grace_s,
                  "After an interrupt, the time that trials have for a last checkpoint")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      .add_option("--lease-s", style.lease_s,
                  "Another host takes over once this driver has been silent for so long")
      ->type_name("SECONDS")
      ->check(CLI::Range(5.0, 1e6))
      ->capture_default_str();
  command.add_flag("--dashboard", style.dashboard,
                   "Start a page beside it that shows it, and print its address; see tune "
                   "dashboard");
  command.add_flag("--strict", style.strict,
                   "At a resume, a policy that answers differently than it did is an error");
  add_json(command, style.json,
           "How it has ended, as one JSON object; progress goes to standard error");
}

void add_agent(CLI::App& app, Line& line) {
  CLI::App* const agent =
      add_command(app, "agent", "Run trials on this machine for a driver elsewhere (--hosts)",
                  "  tune agent /shared/results/digits\n"
                  "  tune agent /shared/results/digits --node oak\n");
  add_directory(*agent, line.agent.directory);
  agent->add_option("--node", line.agent.node, "What the driver calls this machine [its name]")
      ->type_name("NAME");
}

void add_margin(CLI::App& command, double& margin_s) {
  command.add_option("--margin", margin_s, "So long before the job's end all trials are saved")
      ->type_name("SECONDS")
      ->check(CLI::Range(30.0, 1e6))
      ->capture_default_str();
}

void add_submit(CLI::App& app, Line& line) {
  SubmitRequest& request = line.submit;
  CLI::App* const submit = add_command(
      app, "submit", "Give a search to Slurm, as a job that is requeued until it is done",
      "  tune submit spec.json --nodes 4 --gpus-per-node 8 --time 8:00:00\n"
      "  tune submit spec.json --nodes 2 --time 1-0 -- --partition=long --exclusive\n");
  submit->add_option("--nodes", request.nodes, "Of the job")->type_name("N")->required();
  submit->add_option("--gpus-per-node", request.gpus_per_node, "On each of them [none]")
      ->type_name("N");
  submit
      ->add_option("--time", request.time,
                   "Of each run of the job: 30 (minutes), 8:00:00, 1-12:00:00")
      ->type_name("TIME")
      ->required();
  add_spec(*submit, line.spec);
  add_margin(*submit, request.margin_s);
}

void add_batch(CLI::App& app, Line& line) {
  CLI::App* const batch =
      add_command(app, "batch", "What a job of tune submit runs: its driver, and the job's end",
                  "  tune batch /shared/results/digits --margin 120\n");
  add_directory(*batch, line.batch.directory);
  add_margin(*batch, line.batch.margin_s);
}

void add_check(CLI::App& app, Line& line) {
  CheckRequest& request = line.check;
  CLI::App* const check =
      add_command(app, "check", "Play a driver with a training program, and say what does not hold",
                  "  tune check spec.json\n"
                  "  tune check spec.json --iterations 10 --tolerance 1e-6\n"
                  "  tune check --config '{\"lr\": 0.1}' -- python3 train.py\n");
  add_spec(*check, line.spec);
  check
      ->add_option("--config", request.config,
                   "Of its trials [the first that the search would try]")
      ->type_name("JSON");
  check
      ->add_option("--iterations", request.iterations,
                   "Of a whole run; it is saved, killed and restored in the middle")
      ->type_name("N")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  check
      ->add_option("--tolerance", request.tolerance,
                   "Metrics are equal that differ by at most this part of their value; 0: not by a "
                   "bit")
      ->type_name("PART")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  check->add_option("--timeout", request.timeout_s, "For a step, and for a save")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e9))
      ->capture_default_str();
  check->add_flag("--keep", request.keep, "Keep the directories of the trials, also if all holds");
  check->add_flag("--json", request.json, "As a JSON object a line");
}

void add_init(CLI::App& app, Line& line) {
  InitRequest& request = line.init;
  CLI::App* const init =
      add_command(app, "init", "Write a commented spec to start from",
                  "  tune init\n  tune init digits.json\n  tune init - > digits.json\n"
                  "  tune init --from train.py --metric val_loss --mode min\n"
                  "  tune init --from train.py mnist.json -- --data mnist\n"
                  "  tune init --from sweep.yaml\n"
                  "  tune init --skill ~/.skills/tune/SKILL.md\n");
  init->add_option("FILE", request.file,
                   "The file to write, -: standard output [spec.json, SKILL.md]");
  CLI::Option* const from =
      init->add_option(
              "--from", request.from,
              "A program that knows nothing of tune: it is run with --help, and the options "
              "that it names are proposed as hyperparameters; or a sweep of W&B or an experiment "
              "of "
              "Katib, FILE.yaml, that is written as a spec")
          ->type_name("PROGRAM");
  init->add_flag("--skill", request.skill,
                 "Instead of a spec, a file that tells coding agents how to use tune")
      ->excludes(from);
  init->add_option("--metric", request.metric,
                   "With --from: the metric that it prints and that counts")
      ->type_name("NAME");
  init->add_option("--mode", request.mode,
                   "With --from: which values are better [by the metric's name]")
      ->type_name("min|max")
      ->check(CLI::IsMember({"min", "max"}));
  init->add_option("--timeout", request.timeout_s, "With --from: for the program's help")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  add_json(*init, request.json, "Which file was written, as one JSON object");
}

void add_schema(CLI::App& app, Line& line) {
  CLI::App* const schema =
      add_command(app, "schema", "Print the JSON schema of a spec, or of a command's --json",
                  "  tune schema > experiment.schema.json\n"
                  "  tune schema status\n"
                  "  tune schema remote verify\n"
                  "  tune schema exit-codes\n");
  schema->add_option("COMMAND", line.schema_of,
                     "The command; exit-codes: what each exit code means [spec]");
  add_json_in_any_case(*schema, line.json);
}

void add_wait(CLI::App& command, double& wait_s) {
  command.add_option("--wait", wait_s, "For another process that is asking or telling just now")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
}

}  // namespace

void add_run_commands(CLI::App& app, Line& line) {
  CLI::App* const run = add_command(
      app, "run", "Start an experiment and run it to its end",
      "  tune run spec.json\n"
      "  tune run spec.json --num-samples 100 --scheduler asha --max-concurrent-trials 8\n"
      "  tune run spec.json --warm-start results/digits results/letters\n"
      "  tune run train.py --metric val_loss --mode min -p lr=loguniform:1e-5,1e-1 "
      "--num-samples 20\n"
      "  tune run --param-space space.json --metric loss --mode min --num-samples 20 \\\n"
      "           --stop training_iteration=50 -- python3 train.py --data digits\n");
  add_spec(*run, line.spec);
  add_warm_start(*run, line.spec);
  run->add_option("--resume", line.resume_mode,
                  "An experiment that is there already: never: refuse it; auto: go on with it, for "
                  "scripts that are run again; must: refuse to start a new one")
      ->check(CLI::IsMember({"auto", "never", "must"}))
      ->capture_default_str();
  add_style(*run, line.style);
  CLI::App* const resume =
      add_command(app, "resume", "Go on with an experiment whose driver ended or died",
                  "  tune resume results/digits\n"
                  "  tune resume results/digits --errored\n"
                  "  tune resume results/digits --trial 3 --trial 7\n"
                  "  tune resume results/digits --num-samples 200 --max-concurrent-trials 4\n"
                  "  tune resume results/digits --stop training_iteration=100 --finished\n"
                  "  tune resume --remote s3:bucket/prefix/digits\n"
                  "  tune resume results/digits -- ./moved/train --data digits\n");
  resume->add_option("DIR", line.resume.directory,
                     "The experiment's directory; with --remote [results/NAME]");
  resume
      ->add_option("--remote", line.resume.remote,
                   "Take it from there if it is not in DIR: s3:bucket/prefix/NAME")
      ->type_name("REMOTE");
  CLI::Option* const errored = resume->add_flag(
      "--errored", line.resume.errored, "Failed trials go on from their latest checkpoints");
  resume
      ->add_flag("--restart-errored", line.resume.restart_errored,
                 "Failed trials start from scratch; their checkpoints and results are deleted")
      ->excludes(errored);
  resume->add_flag("--salvage", line.resume.salvage,
                   "Go on from before the damage in a journal; the rest is kept beside it");
  resume
      ->add_option(
          "--trial", line.resume.trials,
          "Run only this one, also if it has ended: 3 or trial_00003; may be given several "
          "times")
      ->type_name("ID")
      ->allow_extra_args(false);
  resume->add_flag("--finished", line.resume.finished,
                   "With a longer --stop: trials that a shorter one has ended go on too");
  add_spec_fields(*resume, line.spec, SpecFields::changes);
  add_style(*resume, line.style);
  add_submit(app, line);
  add_agent(app, line);
  add_batch(app, line);
}

void add_remote_commands(CLI::App& app, Line& line) {
  RemoteRequest& request = line.remote;
  CLI::App* const pull =
      add_command(app, "pull", "Take a copy of an experiment from its remote, to look at",
                  "  tune pull s3:bucket/prefix/digits\n"
                  "  tune pull s3:bucket/prefix/digits /scratch/digits\n");
  pull->add_option("REMOTE", request.remote, "Where the experiment is")->required();
  pull->add_option("DIR", request.directory, "An empty or new directory [results/NAME]");
  add_json(*pull, request.json);

  CLI::App* const push =
      add_command(app, "push", "Put on the remote what is not there, of an experiment that rests",
                  "  tune push results/digits\n"
                  "  tune push results/digits --remote s3:bucket/prefix\n");
  add_directory(*push, request.directory);
  push->add_option("--remote", request.remote, "Instead of the one in its spec")
      ->type_name("REMOTE");
  add_json(*push, request.json);

  CLI::App* const fetch =
      add_command(app, "fetch", "Bring checkpoints back that are only on the remote",
                  "  tune fetch results/digits/trial_00003/checkpoint_000001\n");
  fetch
      ->add_option("CHECKPOINT", request.checkpoints,
                   "Their directories, as tune checkpoints names them; that of a trial or an "
                   "experiment: all of theirs")
      ->required();
  fetch
      ->add_option("--to", request.to,
                   "A copy of one into this directory, also while a driver runs")
      ->type_name("DIR");
  add_json(*fetch, request.json);

  CLI::App* const remote = add_command(app, "remote", "Look at an experiment on its remote",
                                       "  tune remote verify s3:bucket/prefix/digits\n"
                                       "  tune remote verify s3:bucket/prefix/digits --read\n");
  remote->require_subcommand(1);
  CLI::App* const verify =
      add_command(*remote, "verify", "Say whether what is there is whole; exit code 3 if it is not",
                  "  tune remote verify s3:bucket/prefix/digits --read\n");
  verify->add_option("REMOTE", request.remote, "Where the experiment is")->required();
  verify->add_flag("--read", request.reads, "Read every byte, not the sizes alone");
  add_json(*verify, request.json);
}

void add_spec_commands(CLI::App& app, Line& line) {
  add_init(app, line);
  CLI::App* const validate =
      add_command(app, "validate", "Check a spec, and say everything that is wrong with it",
                  "  tune validate spec.json\n"
                  "  tune validate spec.json --searcher '{\"type\": \"random\"}'\n");
  add_spec(*validate, line.spec);
  add_json(*validate, line.json);
  CLI::App* const preview =
      add_command(app, "preview", "Show what a run would do: configs, resources; runs nothing",
                  "  tune preview spec.json\n"
                  "  tune preview spec.json --seed 7 --json\n");
  add_spec(*preview, line.spec);
  add_json(*preview, line.json);
  add_check(app, line);
  add_schema(app, line);
}

void add_ask_commands(CLI::App& app, Line& line) {
  CLI::App* const suggest =
      add_command(app, "suggest", "Print the next config, for a trial that you run yourself",
                  "  tune suggest results/mine --spec spec.json\n"
                  "  tune suggest results/mine -n 8\n"
                  "  tune suggest results/mine --param-space space.json --metric loss --mode min "
                  "--searcher tpe\n");
  add_directory(*suggest, line.ask.directory);
  suggest->add_option("--spec", line.spec.file, "With this spec, if there is no experiment yet")
      ->type_name("FILE");
  suggest->add_option("-n,--count", line.ask.count, "How many, a line each")
      ->type_name("K")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_wait(*suggest, line.ask.wait_s);
  add_json_in_any_case(*suggest, line.json);
  add_warm_start(*suggest, line.spec);
  add_spec_fields(*suggest, line.spec);

  TellRequest& request = line.tell;
  CLI::App* const tell = add_command(
      app, "tell", "Take in how a trial has ended that tune suggest has suggested",
      "  tune tell results/mine 3 --value 0.25\n"
      "  tune tell results/mine 3 --metrics '{\"loss\": 0.25, \"training_iteration\": 20}'\n"
      "  tune tell results/mine 3 --failed --reason 'out of memory'\n"
      "  echo '{\"trial_id\": \"trial_00003\", \"value\": 0.25}' | tune tell results/mine -\n");
  add_directory(*tell, request.directory);
  add_trial(*tell, request.trial, "Which one: 3 or trial_00003; -: JSON lines on standard input")
      ->required();
  CLI::Option* const value =
      tell->add_option("--value", request.value, "Of the experiment's metric")->type_name("X");
  CLI::Option* const metrics =
      tell->add_option("--metrics", request.metrics, "All metrics, as a JSON object")
          ->type_name("JSON")
          ->excludes(value);
  CLI::Option* const failed = tell->add_flag("--failed", request.failed, "It has failed for good")
                                  ->excludes(value)
                                  ->excludes(metrics);
  tell->add_option("--reason", request.reason, "Why it has failed")
      ->type_name("TEXT")
      ->needs(failed);
  add_wait(*tell, request.wait_s);
  add_json_in_any_case(*tell, line.json);
  add_plugins(*tell, request.plugins);
}

void add_simulate(CLI::App& app, Line& line) {
  SimulateRequest& request = line.simulate;
  CLI::App* const simulate = add_command(
      app, "simulate", "Compare schedulers on learning curves that are known; runs nothing",
      "  tune simulate spec.json --curves sweep.csv --workers 4,400\n"
      "  tune simulate spec.json --curves a.csv b.csv --scheduler fifo,asha --seeds 30\n"
      "  tune simulate --curves sweep.csv --metric accuracy --mode max --csv \\\n"
      "                --scheduler 'asha,{\"type\":\"asha\",\"brackets\":3}' --time-budget-s "
      "600,3600\n");
  add_spec(*simulate, line.spec);
  simulate
      ->add_option("--curves", request.curves, "CSV files of curves, as tune export writes them")
      ->type_name("FILE")
      ->required();
  simulate->add_option("--workers", request.workers, "Trials at one time, to be compared")
      ->type_name("N,...")
      ->capture_default_str();
  simulate->add_option("--seeds", request.seeds, "Simulations of each, from --seed on")
      ->type_name("K")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  simulate
      ->add_option("--target", request.target,
                   "Of the metric, to be reached [within 1 % of the best in the curves]")
      ->type_name("VALUE");
  simulate->add_option("--launch-s", request.launch_s, "What each start of a trial costs")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  simulate->add_option("--save-s", request.save_s, "What each checkpoint costs")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  simulate->add_flag("--allow-short", request.allow_short,
                     "Curves that end before the others are over there");
  simulate
      ->add_option("--dir", request.directory,
                   "Keep each simulation's journal in a directory of its own in there")
      ->type_name("DIR");
  CLI::Option* const json = simulate->add_flag("--json", request.json, "As one JSON object");
  simulate->add_flag("--csv", request.csv, "As CSV")->excludes(json);
}

}  // namespace tune
