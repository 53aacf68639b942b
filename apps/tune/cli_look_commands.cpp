// The command line of the commands that look at an experiment.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <tuple>

#include "apps/tune/cli_parts.h"
#include "apps/tune/plot_script.h"

namespace tune {

namespace {

/// The library's own check names the largest number there is.
CLI::Validator above_zero() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            const bool is_good = error == std::errc() && stop == end && value > 0;
            return is_good ? "" : text + " is no whole number above 0";
          },
          ""};
}

void add_list(CLI::App& app, Line& line) {
  CLI::App* const list =
      add_command(app, "ls", "List the trials, or a folder's experiments",
                  "  tune ls results\n"
                  "  tune ls results/digits --sort accuracy --desc --limit 10\n"
                  "  tune ls results/digits --filter 'accuracy > 0.9 && optimizer == \"adam\"'\n"
                  "  tune ls results/digits --state ERROR --columns trial_id,failures,error\n"
                  "  tune ls results/digits --columns trial_id,best,best_iteration,gpus,started\n"
                  "  tune ls results/digits results/more --sort best\n"
                  "  tune ls results/digits --over seed\n"
                  "  tune ls results/digits --csv > trials.csv\n");
  ListRequest& request = line.list;
  list->add_option("DIR", request.directories,
                   "The experiment's directory; the trials of several are one table")
      ->required();
  list->add_option("--sort", request.sort, "Metric, config value or field to sort by")
      ->type_name("NAME");
  list->add_flag("--desc", request.descending, "Largest first");
  list->add_option("--filter", request.filter,
                   "Only trials of which this is true: an expression over metrics, config values "
                   "and fields; '.' stands for '/'")
      ->type_name("EXPR");
  list->add_option("--state", request.states, "Only trials in these states")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("STATE,...");
  list->add_option("--columns", request.columns, "What to show of each trial")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  list->add_option("--over", request.over,
                   "One row for all trials whose configs differ in these hyperparameters alone "
                   "(seeds, folds): how many, mean, standard deviation")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  list->add_option("--limit", request.limit, "At most so many trials")
      ->type_name("N")
      ->check(above_zero());
  list->add_flag("--results", request.results, "With --json: each result of each trial, too");
  CLI::Option* const json = list->add_flag("--json", request.json, "As a JSON list of objects");
  list->add_flag("--csv", request.csv, "As CSV, with all there is unless --columns says less")
      ->excludes(json);
}

/// Which values of the trials count.
template <class Request>
void add_metric(CLI::App& command, Request& request) {
  command.add_option("--metric", request.metric, "Instead of the experiment's own")
      ->type_name("NAME");
  command.add_option("--mode", request.mode, "Which values are better")->type_name("min|max");
  command
      .add_option("--scope", request.scope,
                  "Over which of a trial's results: last, all, avg, last-5-avg, last-10-avg")
      ->type_name("SCOPE")
      ->default_str(request.scope.empty() ? "all; of several metrics last" : request.scope);
}

void add_compare(CLI::App& app, Line& line) {
  CompareRequest& request = line.compare;
  CLI::App* const compare = add_command(app, "compare", "Show how trials differ, side by side",
                                        "  tune compare results/digits 3 7\n"
                                        "  tune compare results/digits:3 results/more:7 --json\n");
  compare
      ->add_option("DIR", request.words,
                   "An experiment's directory, and trials of it: DIR 3 7, or DIR:3 OTHER:7")
      ->required();
  compare->add_option("--metric", request.metric, "Instead of the experiment's own")
      ->type_name("NAME");
  compare->add_option("--mode", request.mode, "Which values are better")->type_name("min|max");
  compare->add_flag("--all", request.all, "Also hyperparameters that are equal");
  add_json(*compare, request.json);
}

void add_note(CLI::App& app, Line& line) {
  NoteRequest& request = line.note;
  CLI::App* const note =
      add_command(app, "note", "Write a note about a trial, give it tags, or print both",
                  "  tune note results/digits 3          # prints its notes and tags\n"
                  "  tune note results/digits 3 \"loss jumps at 40, but comes back\"\n"
                  "  tune note results/digits 3 --tag good,final\n"
                  "  tune note results/digits 3 --untag final\n"
                  "  tune note results/digits 3 --clear  # removes its notes\n"
                  "  tune ls results/digits --filter 'tags == \"good\"'\n");
  add_directory(*note, request.directory);
  add_trial(*note, request.trial, "Which one: 3 or trial_00003")->required();
  note->add_option("TEXT", request.text,
                   "A note to add, in quotes; without it, and without options, its "
                   "notes and tags are printed")
      ->type_name("");
  const auto add_tags = [&](const char* name, std::vector<std::string>& tags, const char* what) {
    note->add_option(name, tags, what)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("TAG,...");
  };
  add_tags("--tag", request.tags, "Tags to give it, beside those that it has");
  add_tags("--untag", request.removed_tags, "Tags to take away");
  note->add_flag("--clear", request.clear,
                 "Remove its notes; a TEXT is added after that. Tags stay");
  add_json(*note, request.json);
}

}  // namespace

void add_look_commands(CLI::App& app, Line& line) {
  CLI::App* const status = add_command(app, "status", "Show how an experiment is doing",
                                       "  tune status results/digits\n"
                                       "  tune status results/digits --follow\n"
                                       "  tune status results/digits --json\n");
  add_directory(*status, line.status.directory);
  status->add_flag("-f,--follow", line.status.follow,
                   "Again and again, until its driver has ended; in a pipe a line for each change");
  add_json(*status, line.status.json);

  add_list(app, line);

  CLI::App* const show = add_command(app, "show", "Show all there is about one trial",
                                     "  tune show results/digits 3\n"
                                     "  tune show results/digits trial_00003 --json\n");
  add_directory(*show, line.show.directory);
  add_trial(*show, line.show.trial, "Which one: 3 or trial_00003")->required();
  show->add_flag("--results", line.show.results, "With --json: each of its results, too");
  add_json(*show, line.show.json);

  add_compare(app, line);
  add_note(app, line);

  CLI::App* const logs = add_command(app, "logs", "Print what a trial's program prints",
                                     "  tune logs results/digits 3\n"
                                     "  tune logs results/digits 3 --stderr --follow\n");
  add_directory(*logs, line.logs.directory);
  add_trial(*logs, line.logs.trial, "Which one: 3 or trial_00003")->required();
  logs->add_flag("--stderr", line.logs.is_stderr, "Its standard error instead");
  logs->add_option("--rank", line.logs.rank, "Of several workers, which one's")
      ->type_name("N")
      ->check(CLI::Range(0, 999))
      ->capture_default_str();
  logs->add_flag("-f,--follow", line.logs.follow, "Go on as more comes, until the trial has ended");

  CLI::App* const events =
      add_command(app, "events", "Print everything that has happened, a JSON object a line",
                  "  tune events results/digits | jq -c 'select(.e == \"result\")'\n"
                  "  tune events results/digits --follow --from 1000\n");
  add_directory(*events, line.events.directory);
  events->add_option("--from", line.events.from, "Number of the first event to print")
      ->type_name("N")
      ->check(above_zero())
      ->capture_default_str();
  events->add_flag("-f,--follow", line.events.follow,
                   "Go on as more happens, until the experiment is finished or its driver leaves");
  add_json_in_any_case(*events, line.json);

  CLI::App* const best =
      add_command(app, "best", "Show the best trial, or the Pareto front of several metrics",
                  "  tune best results/digits\n"
                  "  tune best results/digits --metric loss --mode min --scope last\n"
                  "  tune best results/digits -n 5\n"
                  "  tune best results/digits --over-time\n"
                  "  cp -r \"$(tune best results/digits --json | jq -r "
                  "'.best_checkpoints[0].path')\" model\n");
  add_directory(*best, line.best.directory);
  add_metric(*best, line.best);
  CLI::Option* const count = best->add_option("-n", line.best.count, "List the K best trials")
                                 ->type_name("K")
                                 ->check(above_zero());
  best->add_flag("--over-time", line.best.over_time,
                 "List the moments at which there was a better one")
      ->excludes(count);
  best->add_flag("--json", line.best.json,
                 "As a JSON object, or a list with -n and of several metrics");

  CLI::App* const checkpoints =
      add_command(app, "checkpoints", "List the checkpoints, and verify them",
                  "  tune checkpoints results/digits --trial 3\n"
                  "  tune checkpoints results/digits --verify\n"
                  "  tune checkpoints results/digits --trial 3 --blobs\n");
  add_directory(*checkpoints, line.checkpoints.directory);
  add_trial(*checkpoints, line.checkpoints.trial, "Of this trial only: 3 or trial_00003");
  checkpoints->add_flag("--verify", line.checkpoints.verify,
                        "Compare every file with its checksum; exit code 3 if any is damaged");
  checkpoints->add_flag("--blobs", line.checkpoints.blobs,
                        "List the tensors in their *.safetensors files");
  checkpoints->add_flag("--json", line.checkpoints.json, "As a JSON list of objects");

  CLI::App* const diff = add_command(
      app, "diff", "Show which tensors of two checkpoints differ; exit code 0: none, 1: some",
      "  tune diff results/digits:3@5 results/digits:3\n"
      "  tune diff digits:best ./pretrained\n");
  for (const auto& [name, text] :
       {std::pair("BEFORE", &line.diff.before), std::pair("AFTER", &line.diff.after)}) {
    diff->add_option(name, *text,
                     "A checkpoint: a directory or file, digits:3, digits:3@10, digits:best")
        ->type_name("CHECKPOINT")
        ->required();
  }
  diff->add_flag("--json", line.diff.json, "As a JSON object");
}

void add_report(CLI::App& app, Line& line) {
  CLI::App* const report =
      add_command(app, "report", "Say what came out and what is worth knowing, also as a page",
                  "  tune report results/digits\n"
                  "  tune report results/digits --html digits.html\n"
                  "  tune report results/digits results/more --html both.html\n");
  report
      ->add_option("DIR", line.report.directories,
                   "The experiment's directory, several, or a folder of experiments")
      ->required();
  report
      ->add_option("--html", line.report.html,
                   "Write one file for a browser, with all pictures and tables; -: to standard "
                   "output. Replaces a report, and no other file")
      ->type_name("FILE");
  add_json(*report, line.report.json);
}

void add_plot(CLI::App& app, Line& line) {
  CLI::App* const plot =
      add_command(app, "plot", "Draw one picture: for the terminal, or as PNG or SVG (by gnuplot)",
                  "  tune plot results/digits curves\n"
                  "  tune plot results/digits parallel --png parallel.png\n"
                  "  tune plot results/digits best --gnuplot best.gp && gnuplot -p best.gp\n");
  plot->add_option("DIR", line.plot.directory, "The experiment's directory")->required();
  std::string known;
  for (const char* const name : plot_names())
    known += std::string(known.empty() ? "" : ", ") + name;
  plot->add_option("PICTURE", line.plot.plot, "Which one: " + known)->required();
  CLI::Option* before = nullptr;
  for (const auto& [name, file, text] :
       {std::tuple("--png", &line.plot.png, "Write a PNG; -: to standard output"),
        std::tuple("--svg", &line.plot.svg, "Write an SVG; -: to standard output"),
        std::tuple("--gnuplot", &line.plot.gnuplot,
                   "Write what gnuplot is to draw, with all numbers, to change it by hand; -: to "
                   "standard output")}) {
    CLI::Option* const option = plot->add_option(name, *file, text)->type_name("FILE");
    if (before != nullptr) option->excludes(before);
    before = option;
  }
  plot->get_option("--gnuplot")->excludes("--png");
  constexpr int least = 100, most = 10'000;
  plot->add_option("--width", line.plot.width, "Of a PNG or SVG, in pixels")
      ->check(CLI::Range(least, most))
      ->capture_default_str();
  plot->add_option("--height", line.plot.height, "Of a PNG or SVG, in pixels")
      ->check(CLI::Range(least, most))
      ->capture_default_str();
}

void add_dashboard(CLI::App& app, Line& line) {
  DashboardRequest& request = line.dashboard;
  CLI::App* const dashboard =
      add_command(app, "dashboard", "Show experiments as a page that goes on while they run",
                  "  tune dashboard results/digits\n"
                  "  tune dashboard results --port 8080\n"
                  "  tune dashboard results/digits --allow-control\n");
  dashboard
      ->add_option("DIR", request.directories,
                   "The experiment's directory, several, or a folder of experiments")
      ->required();
  dashboard->add_option("--port", request.port, "The port to listen on; 0: a free one")
      ->capture_default_str()
      ->type_name("N");
  dashboard
      ->add_option("--bind", request.bind,
                   "The address to listen on. Another one than that of this machine alone is "
                   "without TLS")
      ->capture_default_str()
      ->type_name("ADDRESS");
  dashboard
      ->add_option("--host", request.hosts,
                   "A further name that browsers may use for the server; may be repeated")
      ->type_name("NAME");
  dashboard->add_flag("--allow-control", request.allow_control,
                      "Let the page stop, pause and save trials, and add configs");
  dashboard->add_flag("--no-browser", request.no_browser, "Only print the address");
  dashboard->add_option("--with-parent", request.parent)->group("");
  dashboard->add_flag("--wait", request.waits)->group("");
}

void add_lineage(CLI::App& app, Line& line) {
  CLI::App* const lineage = add_command(
      app, "lineage", "Show which trials went on as copies of which, and the best one's schedule",
      "  tune lineage results/digits\n"
      "  tune lineage results/digits --trial 3 --all\n"
      "  tune lineage results/digits --json | jq .schedule.steps\n");
  add_directory(*lineage, line.lineage.directory);
  add_trial(*lineage, line.lineage.trial,
            "Show the schedule of this one instead of the best: 3 or trial_00003");
  lineage->add_flag("--all", line.lineage.all, "Also what has no descendants any more");
  add_json(*lineage, line.lineage.json);
}

void add_importance(CLI::App& app, Line& line) {
  ImportanceRequest& request = line.importance;
  CLI::App* const importance =
      add_command(app, "importance", "Show which hyperparameters mattered",
                  "  tune importance results/digits\n"
                  "  tune importance results/digits --slice learning_rate\n"
                  "  tune importance results/digits --method ped_anova --top 0.2 --json\n");
  add_directory(*importance, request.directory);
  add_metric(*importance, request);
  importance
      ->add_option("--method", request.method,
                   "fanova: of the metric's variance; ped_anova: for being among the best")
      ->type_name("METHOD")
      ->check(CLI::IsMember({"fanova", "ped_anova"}))
      ->capture_default_str();
  importance
      ->add_option("--at", request.iteration,
                   "Compare values at this iteration; without it, at one that nine of ten trials "
                   "have reached, if trials were cut short")
      ->type_name("ITERATION")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  importance
      ->add_option("--slice", request.slice,
                   "Show how the metric is along one hyperparameter, and which part is good")
      ->type_name("NAME");
  importance
      ->add_option("--top", request.top,
                   "Of ped_anova: the part of the trials that counts as the best ones")
      ->type_name("PART")
      ->check(CLI::Range(1e-6, 0.999))
      ->capture_default_str();
  add_json(*importance, request.json);
}

void add_export(CLI::App& app, Line& line) {
  CLI::App* const command =
      add_command(app, "export", "Write the learning curves of an experiment, for tune simulate",
                  "  tune export results/digits --curves curves.csv\n"
                  "  tune export results/population --curves curves.csv --lineage\n"
                  "  tune export results/digits --curves - | head\n");
  add_directory(*command, line.exported.directory);
  command->add_option("--curves", line.exported.curves, "The CSV file to write; -: standard output")
      ->type_name("FILE")
      ->required();
  command->add_flag("--lineage", line.exported.lineage,
                    "Of clones, what their models went through, over all whose copies they are");
  add_json(*command, line.exported.json, "What was written, as one JSON object");
}

}  // namespace tune
