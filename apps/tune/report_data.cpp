// Puts together the answers of other commands, and samples what would be too much for a page.
#include "apps/tune/report_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "apps/tune/answers.h"
#include "apps/tune/output.h"
#include "searchers/coordinates.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/paths.h"
#include "tuner/process/system_clock.h"
#include "tuner/space/search_space.h"
#include "tuner/version.h"
#include "tuner/view/best_over_time.h"
#include "tuner/view/findings.h"
#include "tuner/view/judged_trials.h"
#include "tuner/view/log_tail.h"
#include "tuner/view/model_curves.h"
#include "tuner/view/run_history.h"
#include "tuner/view/sampled_curve.h"
#include "tuner/view/status.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

// A page of 10,000 trials is to open in a second, and to fit into a mail.
/// Columns of each trial, and values in all of such columns together.
constexpr std::size_t most_metrics = 24, fewest_metrics = 4, most_metric_values = 60'000;
constexpr std::size_t most_config = 64, fewest_config = 16, most_config_values = 200'000;
constexpr std::size_t most_curve_points = 20'000;  ///< in all; a point is up to four numbers
constexpr std::size_t most_points_of_a_curve = 100;
constexpr std::size_t most_whole_listings = 5'000;  ///< checkpoints, stretches, judgements
constexpr std::size_t most_improvements = 2'000;
constexpr std::size_t most_attempts = 20'000;
constexpr std::size_t most_idle = 2'000;
constexpr std::size_t most_logs = 60;  ///< trials
constexpr std::size_t log_tail_bytes = 3'000;
constexpr std::size_t best_with_logs = 5;
constexpr std::size_t longest_text = 400;

Json column_json(const TrialFields::Field& field, const std::vector<Json>& values) {
  static constexpr const char* sources[] = {"own", "metric", "config"};
  Json column = {{"name", field.name},
                 {"source", sources[static_cast<std::size_t>(field.source)]},
                 {"is_time", field.is_time}};
  std::map<std::string, std::size_t> words;
  const bool is_text = std::all_of(values.begin(), values.end(),
                                   [](const Json& value) { return value.is_string(); });
  if (is_text) {
    for (const Json& value : values) words.try_emplace(value.get_ref<const std::string&>(), 0);
  }
  if (!is_text || 4 * words.size() > values.size()) {
    column["values"] = values;
    return column;
  }
  // A word that stands in many rows is written once.
  Json list = Json::array();
  for (auto& [word, place] : words) {
    place = list.size();
    list.push_back(word);
  }
  Json at = Json::array();
  for (const Json& value : values) at.push_back(words.at(value.get_ref<const std::string&>()));
  column["words"] = std::move(list);
  column["at"] = std::move(at);
  return column;
}

/// Which of the fields of trials are shown, and which are too many.
struct ShownFields {
  std::vector<TrialFields::Field> fields;
  std::vector<std::string> left_out;
};

ShownFields shown_fields(const TrialFields& fields, const ExperimentSpec& spec,
                         std::size_t trials) {
  // The page says these once, or shows them elsewhere.
  static const std::set<std::string> elsewhere = {"experiment", "tag", "tags"};
  ShownFields shown;
  trials = std::max<std::size_t>(trials, 1);
  const std::size_t metrics_room =
      std::clamp(most_metric_values / trials, fewest_metrics, most_metrics);
  const std::size_t config_room =
      std::clamp(most_config_values / trials, fewest_config, most_config);
  std::size_t metrics = 0, config = 0;
  const auto is_objective = [&](const TrialFields::Field& field) {
    return find_objective(spec.objectives, field.key) != nullptr;
  };
  for (auto& field : fields.all()) {
    using Source = TrialFields::Field::Source;
    if (field.source == Source::own && elsewhere.contains(field.name)) continue;
    const bool is_one_too_many =
        (field.source == Source::metric && !is_objective(field) && ++metrics > metrics_room) ||
        (field.source == Source::config && ++config > config_room);
    if (is_one_too_many) {
      shown.left_out.push_back(field.name);
    } else {
      shown.fields.push_back(std::move(field));
    }
  }
  return shown;
}

Json trials_json(const TrialSource& source) {
  const TrialFields fields({source});
  const ShownFields shown = shown_fields(fields, source.grid->spec(), source.grid->size());
  std::vector<std::vector<Json>> columns(shown.fields.size());
  for (const Trial& trial : source.grid->experiment().trials()) {
    std::vector<Json> values = values_of(source, trial, shown.fields);
    for (std::size_t i = 0; i < values.size(); ++i) {
      // A page is no place for a whole trace: `tune show` has it.
      if (values[i].is_string() && values[i].get_ref<const std::string&>().size() > longest_text) {
        values[i] = headline(values[i].get_ref<const std::string&>()).substr(0, longest_text);
      }
      columns[i].push_back(std::move(values[i]));
    }
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    list.push_back(column_json(shown.fields[i], columns[i]));
  }
  return {
      {"count", source.grid->size()}, {"columns", std::move(list)}, {"left_out", shown.left_out}};
}

Json domains_json(const ResultGrid& grid) {
  Json list = Json::array();
  std::optional<SearchSpace> space;
  try {
    space = space_to_judge(grid);
  } catch (const Error&) {
    return list;  // nothing is drawn
  }
  for (const SpaceLeaf& leaf : space->leaves()) {
    const Axis axis = axis_of(leaf.domain);
    Json json = {{"name", "config." + parameter_name(leaf.pointer)},
                 {"text", leaf.text},
                 {"log", axis.log},
                 {"lower", axis.is_choice() || !axis.bounded ? Json() : Json(axis.first)},
                 {"upper", axis.is_choice() || !axis.bounded ? Json() : Json(axis.last)},
                 {"values", nullptr}};
    if (const auto* const choice = std::get_if<Choice>(&leaf.domain))
      json["values"] = choice->values;
    list.push_back(std::move(json));
  }
  return list;
}

/// The trials whose curves are shown: all if these are few, else the best ones and some of all.
struct Shown {
  std::vector<TrialId> trials;  ///< ascending
  std::string which;            ///< in words
};

Shown shown_curves(const ResultGrid& grid, const Objective& objective) {
  std::vector<TrialId> all;
  std::size_t points = 0;
  for (const Trial& trial : grid.experiment().trials()) {
    if (trial.summary(objective.metric) == nullptr) continue;
    all.push_back(trial.id);
    points +=
        std::min<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(trial.iteration, 1)),
                              most_points_of_a_curve);
  }
  if (points <= most_curve_points) return {all, "all " + count_of(all.size(), "trial")};
  const std::size_t mean = std::max<std::size_t>(1, points / all.size());
  const std::size_t room = std::max<std::size_t>(2, most_curve_points / mean);
  // The best ones have the longest curves.
  std::set<TrialId> chosen;
  const auto best = grid.best_trials(objective, Scope::all, room / 4);
  chosen.insert(best.begin(), best.end());
  const std::size_t others = std::max<std::size_t>(1, room / 2);
  for (std::size_t i = 0; i < others; ++i) chosen.insert(all[i * all.size() / others]);
  return {{chosen.begin(), chosen.end()},
          "the best " + std::to_string(best.size()) + " of " + count_of(all.size(), "trial") +
              ", and one in " + std::to_string(std::max<std::size_t>(1, all.size() / others)) +
              " of all"};
}

std::vector<CurvePoint> own_curve(const ResultGrid& grid, const Trial& trial,
                                  const std::string& metric) {
  std::vector<CurvePoint> points;
  grid.each_row(trial, [&](const Metrics& row) {
    const auto iteration = row.find("training_iteration");
    const auto value = row.find_exact(metric);
    if (iteration && value) points.push_back({static_cast<std::int64_t>(*iteration), *value});
  });
  return points;
}

/// `since`: up to which iteration its model was, at least in part, another trial's.
Json curve_json(TrialId id, const std::vector<CurvePoint>& points, std::int64_t since) {
  Json json = {{"trial", index_of(id)}, {"results", points.size()},    {"since", since},
               {"min", nullptr},        {"iterations", Json::array()}, {"last", Json::array()},
               {"max", nullptr}};
  const auto buckets = sample_curve(points, most_points_of_a_curve);
  if (buckets.size() < points.size()) json["min"] = json["max"] = Json::array();
  for (const CurveBucket& bucket : buckets) {
    json["iterations"].push_back(bucket.iteration);
    json["last"].push_back(number_json(bucket.last));
    if (!json["min"].is_array()) continue;
    json["min"].push_back(number_json(bucket.min));
    json["max"].push_back(number_json(bucket.max));
  }
  return json;
}

Json curves_json(const ResultGrid& grid, const Objective& objective) {
  const Shown shown = shown_curves(grid, objective);
  const Experiment& experiment = grid.experiment();
  std::vector<TrialId> clones;
  for (const TrialId id : shown.trials) {
    if (present_stretch(experiment.trial(id)).number > 0) clones.push_back(id);
  }
  std::map<TrialId, std::vector<CurvePoint>> models;
  if (!clones.empty()) models = model_curves(grid.directory(), objective.metric, clones);
  Json list = Json::array();
  for (const TrialId id : shown.trials) {
    const Trial& trial = experiment.trial(id);
    const auto model = models.find(id);
    const bool is_known = model != models.end();
    list.push_back(curve_json(id,
                              is_known ? model->second : own_curve(grid, trial, objective.metric),
                              is_known ? last_donated_iteration(experiment, id) : 0));
  }
  return {{"metric", objective.metric}, {"which", shown.which}, {"trials", std::move(list)}};
}

/// A list of equal objects as columns: {"a": [1, 2], "b": [3, 4]}.
Json as_columns(const Json& rows, const std::vector<std::string>& names) {
  Json columns = Json::object();
  for (const auto& name : names) {
    Json& column = columns[name] = Json::array();
    for (const Json& row : rows) column.push_back(row.at(name));
  }
  return columns;
}

Json trial_number(const Json& id) {
  return index_of(*parse_trial_id(id.get_ref<const std::string&>()));
}

Json attempts_json(const std::vector<AttemptSpan>& attempts) {
  Json rows = Json::array();
  for (const AttemptSpan& each : attempts) {
    if (rows.size() == most_attempts) break;
    rows.push_back({{"trial", index_of(each.trial)},
                    {"attempt", each.attempt},
                    {"node", each.node},
                    {"gpus", each.gpus},
                    {"start", each.start},
                    {"end", each.end == 0 ? Json() : Json(each.end)},
                    {"restored", each.restored},
                    {"outcome", each.outcome},
                    {"reason", headline(each.reason).substr(0, longest_text)}});
  }
  Json json = as_columns(rows, {"trial", "attempt", "start", "end", "restored", "reason"});
  for (const char* const name : {"node", "gpus", "outcome"}) {
    std::vector<Json> values;
    for (const Json& row : rows) values.push_back(row.at(name));
    json[name] = column_json({name, TrialFields::Field::Source::own, name}, values);
  }
  json["count"] = attempts.size();
  return json;
}

Json idle_json(const std::vector<IdleStretch>& idle) {
  Json rows = Json::array();
  for (const IdleStretch& each : idle) {
    if (rows.size() == most_idle) break;
    rows.push_back({{"node", each.node},
                    {"gpu", each.gpu},
                    {"from", each.from},
                    {"to", each.to},
                    {"why", each.why}});
  }
  return rows;
}

Json judgements_json(const std::vector<Judgement>& judgements) {
  Json rows = Json::array();
  for (const Judgement& each : judgements) {
    if (rows.size() == most_whole_listings) break;
    rows.push_back({{"trial", index_of(each.trial)},
                    {"iteration", each.iteration},
                    {"rung", each.rung},
                    {"score", encode_number(each.score)},
                    {"cutoff", std::isnan(each.cutoff) ? Json() : encode_number(each.cutoff)},
                    {"went_on", each.went_on}});
  }
  Json json = as_columns(rows, {"trial", "iteration", "rung", "score", "cutoff", "went_on"});
  json["count"] = judgements.size();
  return json;
}

Json agreements_json(const std::vector<RungAgreement>& agreements) {
  Json list = Json::array();
  for (const RungAgreement& each : agreements) {
    list.push_back({{"from", each.from},
                    {"to", each.to},
                    {"trials", each.trials},
                    {"rank_correlation", each.correlation},
                    {"judged", each.judged},
                    {"ended", each.ended}});
  }
  return list;
}

/// What was made of it, and of those that are kept each one if they are not too many.
Json checkpoints_of(const ResultGrid& grid, const RunHistory& history) {
  Json made = Json::array();
  for (const auto& [id, tally] : history.checkpoints) {
    if (made.size() == most_whole_listings) break;
    made.push_back({{"trial", index_of(id)},
                    {"made", tally.made},
                    {"failed", tally.failed},
                    {"dropped", tally.dropped},
                    {"damaged", tally.damaged}});
  }
  std::size_t kept = 0;
  for (const Trial& trial : grid.experiment().trials()) kept += trial.checkpoints.size();
  Json json = {{"trials", as_columns(made, {"trial", "made", "failed", "dropped", "damaged"})},
               {"kept", nullptr}};
  if (kept > most_whole_listings) return json;
  Json rows = checkpoints_json(grid);
  for (Json& row : rows) row["trial"] = trial_number(row.at("trial_id"));
  json["kept"] = as_columns(rows, {"trial", "index", "training_iteration", "is_guess", "score",
                                   "rank", "is_latest", "triggers", "bytes", "where", "path"});
  // What a clone goes on from is kept, whatever retention says.
  Json pinned = Json::array();
  for (const Json& row : rows) {
    const TrialId id{row.at("trial").get<std::uint32_t>()};
    pinned.push_back(grid.experiment().is_donated(id, row.at("index").get<int>()));
  }
  json["kept"]["is_pinned"] = std::move(pinned);
  return json;
}

Json lineage_of(const ResultGrid& grid) {
  const auto& trials = grid.experiment().trials();
  std::size_t clonings = 0;
  for (const Trial& trial : trials) clonings += trial.lineage.size();
  if (clonings == 0 || clonings + trials.size() > most_whole_listings) return nullptr;
  return lineage_json(grid);
}

/// The ends of logs, of the trials that one looks at first: those that failed, and the best.
Json logs_json(const ResultGrid& grid) {
  std::vector<TrialId> ids;
  if (const Objective* const objective = sole(grid.spec().objectives)) {
    ids = grid.best_trials(*objective, Scope::all, best_with_logs);
  }
  const auto& trials = grid.experiment().trials();
  const auto add = [&](const auto& is_wanted) {
    for (const Trial& trial : trials) {
      if (ids.size() >= most_logs) return;
      const bool is_new = std::find(ids.begin(), ids.end(), trial.id) == ids.end();
      if (is_new && trial.attempt > 0 && is_wanted(trial)) ids.push_back(trial.id);
    }
  };
  add([](const Trial& trial) { return trial.failures > 0; });
  if (trials.size() <= most_logs) add([](const Trial&) { return true; });
  Json list = Json::array();
  for (const TrialId id : ids) {
    const auto own = paths::trial(grid.directory(), id);
    for (const bool is_error : {false, true}) {
      const LogTail tail = read_log_tail(
          is_error ? paths::standard_error(own) : paths::standard_output(own), log_tail_bytes);
      if (tail.text.empty()) continue;
      list.push_back({{"trial", index_of(id)},
                      {"stream", is_error ? "stderr" : "stdout"},
                      {"text", tail.text},
                      {"left_out", tail.left_out}});
    }
  }
  return list;
}

Json findings_json(const std::vector<Finding>& findings) {
  constexpr std::size_t most_named = 1'000;
  Json list = Json::array();
  for (const Finding& each : findings) {
    Json trials = Json::array();
    for (const TrialId id : each.trials) {
      if (trials.size() < most_named) trials.push_back(to_string(id));
    }
    list.push_back({{"kind", to_string(each.kind)},
                    {"sentence", each.sentence},
                    {"trials", std::move(trials)},
                    {"hyperparameters", each.parameters}});
  }
  return list;
}

std::string type_of(const Json& policy) { return policy.value("type", std::string("its own")); }

/// Where nothing is drawn, each point of the grid is tried by whoever searches.
std::string searched_by(const ExperimentSpec& spec) {
  const std::string type = type_of(spec.searcher);
  std::vector<Problem> ignored;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "", ignored);
  return type == "random" && space.has_grid() && space.is_deterministic() ? "grid" : type;
}

/// "1,000 trials of sweep: ..." What was searched and what came out.
std::string sentence_of(const StatusView& seen, const Json& best, const Json& domains) {
  const ExperimentSpec& spec = seen.grid().spec();
  std::string text = spec.name + ": " + count_of(seen.grid().size(), "trial");
  if (seen.total && *seen.total > seen.grid().size()) text += " of " + std::to_string(*seen.total);
  const std::string scheduler = spec.scheduler.value("type", std::string("fifo"));
  text +=
      " by " + searched_by(spec) + " search" + (scheduler == "fifo" ? "" : " under " + scheduler);
  if (!domains.empty()) {
    constexpr std::size_t most_named = 4;
    text += " over ";
    for (std::size_t i = 0; i < std::min(domains.size(), most_named); ++i) {
      text += (i == 0 ? "" : ", ") + domains[i].at("name").get<std::string>().substr(7);
    }
    if (domains.size() > most_named) {
      text += " and " + std::to_string(domains.size() - most_named) + " more";
    }
  }
  text += ", in " + format_duration(seen.running_s()) + ".";
  std::string counts;
  for (const auto& [word, count] : counts_of(seen.experiment())) {
    counts += (counts.empty() ? " " : ", ") + std::to_string(count) + " " + word;
  }
  if (!counts.empty()) text += counts + ".";
  if (best.is_object()) {
    const Json& iteration = best.at("best_iteration");
    const bool is_guess = best.at("best_iteration_is_guess").get<bool>();
    text += " The best " + best.at("metric").get<std::string>() + " is " +
            cell_text(best.at("value")) + ", of " + best.at("trial_id").get<std::string>() +
            (iteration.is_number()
                 ? " at iteration " + iteration_text(iteration.get<std::int64_t>(), is_guess)
                 : "") +
            " (" + best.at("tag").get<std::string>() + ").";
  } else if (spec.objectives.size() > 1) {
    text += " " + front_text(seen.grid()) + ".";
  } else if (!spec.objectives.empty()) {
    text += " No trial has a number for " + spec.objectives.front().metric +
            (is_finished(seen.experiment()) ? "." : " yet.");
  }
  const std::string given_up = why_given_up(seen.experiment());
  if (!given_up.empty()) text += " It was given up: " + headline(given_up);
  return text;
}

/// Of many improvements some, the last one among them. Answers how many are left out.
std::size_t thin_out(std::vector<Improvement>& improvements) {
  const std::size_t all = improvements.size();
  if (all <= most_improvements) return 0;
  for (std::size_t i = 1; i <= most_improvements; ++i) {
    improvements[i - 1] = improvements[i * all / most_improvements - 1];
  }
  improvements.erase(improvements.begin() + most_improvements, improvements.end());
  return all - most_improvements;
}

/// The answer, or why there is none: what the page shows in its place.
void add_answer(Json& report, const std::string& name, const std::function<Json()>& ask) {
  report[name] = nullptr;
  report[name + "_problem"] = "";
  try {
    report[name] = ask();
  } catch (const Error& error) {
    report[name + "_problem"] = error.what();
  }
}

}  // namespace

Json report_of(const std::filesystem::path& directory) {
  const StatusView seen = look_at_status(directory);
  const ResultGrid& grid = seen.grid();
  grid.complete_summaries();
  const Objective* const objective = sole(grid.spec().objectives);
  const TrialSource source{&grid, grid.directory().filename().string(),
                           Notes::read(grid.directory())};
  const RunHistory history = read_run_history(grid.directory());
  Json report = {{"directory", grid.directory().string()}, {"problem", ""}};
  report["status"] = status_json(seen);
  report["domains"] = domains_json(grid);
  report["sentence"] = sentence_of(seen, report["status"]["best"], report["domains"]);
  Json objectives = Json::array();
  for (const Objective& each : grid.spec().objectives) {
    objectives.push_back({{"metric", each.metric}, {"mode", to_string(each.mode)}});
  }
  report["objectives"] = std::move(objectives);
  report["trials"] = trials_json(source);
  const auto need_one = [&] {
    if (objective == nullptr) throw user_error("there is no single metric that counts");
    return *objective;
  };
  std::vector<Improvement> improvements;
  report["over_time_left_out"] = 0;
  add_answer(report, "over_time", [&] {
    improvements = improvements_of(grid, need_one());
    report["over_time_left_out"] = thin_out(improvements);
    return over_time_json(improvements, *objective);
  });
  report["importance_notices"] = Json::array();
  report["slices"] = Json::array();
  add_answer(report, "importance", [&] {
    ImportanceAnswer answer = importance_of_all(seen.view, need_one());
    report["importance_notices"] = answer.notices;
    report["slices"] = std::move(answer.slices);
    return std::move(answer.importance);
  });
  add_answer(report, "curves", [&] { return curves_json(grid, need_one()); });
  std::optional<std::size_t> started_by_best;
  if (!improvements.empty()) started_by_best = improvements.back().trials;
  report["findings"] = findings_json(findings_of(grid, history, started_by_best));
  report["attempts"] = attempts_json(history.attempts);
  report["idle"] = idle_json(history.idle);
  report["judgements"] = judgements_json(history.judgements);
  report["rung_agreements"] = agreements_json(rung_agreements(history.judgements));
  report["missing_events"] = history.missing;
  report["checkpoints"] = checkpoints_of(grid, history);
  report["lineage"] = lineage_of(grid);
  report["logs"] = logs_json(grid);
  report["status"]["notices"] = seen.notices();  // what was met on the way stands in it, too
  return report;
}

Json report_data(const std::vector<std::string>& directories) {
  Json experiments = Json::array();
  std::optional<Error> first;
  bool is_one_good = false;
  for (const std::string& directory : directories) {
    try {
      experiments.push_back(report_of(directory));
      is_one_good = true;
    } catch (const Error& error) {
      if (!first) first = error;
      experiments.push_back({{"directory", directory}, {"problem", error.what()}});
    }
  }
  if (!is_one_good && first) throw *first;
  return {{"format", 1},
          {"version", version()},
          {"made", make_system_clock()->now()},
          {"experiments", std::move(experiments)}};
}

}  // namespace tune
