// A trial as a line of text, and back: one of those of a snapshot.
#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "tuner/base/json_text.h"
#include "tuner/model/experiment.h"
#include "tuner/model/json_fields.h"

namespace tune {

namespace {

void put_item(std::string& out, const Checkpoint& checkpoint) {
  out += '{';
  append_members(out, checkpoint);
  out += '}';
}

/// ,sum, or, if that is kept divided, ,[sum], or, if rounding has taken something away,
/// ,[sum,rest,1 if they are divided].
void put_sum(std::string& out, const MetricSummary& summary) {
  const WideSum total = summary.total();
  const bool is_list = total.is_divided || total.rest != 0;
  out += is_list ? ",[" : ",";
  append_number(out, total.value);
  if (total.rest != 0) {
    out += ',';
    append_number(out, total.rest);
    out += total.is_divided ? ",1" : ",0";
  }
  if (is_list) out += ']';
}

/// ["loss",last,min,max,sum,average of 5,average of 10,count], and of a trial with recent values
/// ,seen,[value ...] before the end.
void put_item(std::string& out, const MetricSummary& summary, const RecentValues* recent) {
  out += '[';
  append_string(out, std::string_view(summary.name));
  const auto put = [&out](double value) {
    out += ',';
    append_number(out, value);
  };
  for (const double value : {summary.last, summary.min, summary.max}) put(value);
  put_sum(out, summary);
  for (const double value : {summary.ended_average_5, summary.ended_average_10}) put(value);
  out += ',';
  append_integer(out, summary.count);
  if (recent != nullptr) {
    out += ',';
    append_integer(out, recent->seen);
    out += ",[";
    const std::size_t known = std::min<std::size_t>(recent->seen, recent->ring.size());
    for (std::size_t i = 0; i < known; ++i) {
      if (i > 0) out += ',';
      append_number(out, recent->ring[i]);
    }
    out += ']';
  }
  out += ']';
}

void put_summaries(std::string& out, const std::vector<MetricSummary>& summaries,
                   const std::vector<RecentValues>& recent) {
  if (summaries.empty()) return;
  append_key(out, "summaries");
  out += '[';
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (i > 0) out += ',';
    put_item(out, summaries[i], i < recent.size() ? &recent[i] : nullptr);
  }
  out += ']';
}

/// The metrics are a string: a trial's own are found in its line by their key.
void put_item(std::string& out, const SummaryMark& mark) {
  out += '{';
  append_member(out, "iteration", mark.iteration);
  put_summaries(out, mark.summaries, mark.recent);
  append_member(out, "last", mark.last_metrics.text());
  out += '}';
}

void put_item(std::string& out, const Cloning& cloning) {
  out += '{';
  append_member(out, "event", cloning.event);
  append_member(out, "t", cloning.time);
  append_member(out, "iteration", cloning.iteration);
  append_member(out, "donor", index_of(cloning.donor));
  append_member_if(out, "donor_iteration", cloning.donor_iteration);
  append_member_if(out, "old_config", cloning.old_config.text());
  append_member_if(out, "started", cloning.started);
  append_member_if(out, "attempt", cloning.attempt);
  append_member_if(out, "checkpoint", cloning.checkpoint);
  append_member_if(out, "saves", cloning.saves);
  append_member_if(out, "iteration_is_guess", cloning.iteration_is_guess);
  append_member_if(out, "donor_iteration_is_guess", cloning.donor_iteration_is_guess);
  append_member_if(out, "old_tag", *cloning.old_tag);
  out += '}';
}

void put_attempt(std::string& out, const RunningAttempt& attempt) {
  append_member_if(out, "since", attempt.since);
  append_member_if(out, "last_result", attempt.last_result);
}

template <class Items>
void put_list(std::string& out, std::string_view name, const Items& items) {
  if (items.empty()) return;
  append_key(out, name);
  out += '[';
  for (const auto& item : items) {
    if (out.back() != '[') out += ',';
    put_item(out, item);
  }
  out += ']';
}

[[noreturn]] void broken(const std::string& what) {
  throw std::invalid_argument("the trial's line lacks a valid '" + what + "'");
}

double number_at(simdjson::dom::element element) {
  const auto number = number_in(element);
  if (!number) broken("summaries");
  return *number;
}

std::uint32_t count_in(double number) {
  if (!(number >= 0 && number <= std::numeric_limits<std::int32_t>::max())) broken("summaries");
  return static_cast<std::uint32_t>(number);
}

WideSum parse_sum(simdjson::dom::element element) {
  simdjson::dom::array list;
  if (element.get(list) != simdjson::SUCCESS) return {.value = number_at(element)};
  const double value = list.size() > 0 ? number_at(list.at(0)) : 0;
  if (list.size() == 1) return {.value = value, .is_divided = true};
  if (list.size() != 3) broken("summaries");
  return {value, number_at(list.at(1)), number_at(list.at(2)) != 0};
}

/// Takes one of the list "summaries", but for its name, which comes back and is the parser's.
std::string_view parse_summary(simdjson::dom::element element,
                               std::vector<MetricSummary>& summaries,
                               std::vector<RecentValues>& all_recent) {
  simdjson::dom::array list;
  if (element.get(list) != simdjson::SUCCESS) broken("summaries");
  std::array<simdjson::dom::element, 10> parts;
  std::size_t count = 0;
  for (const auto part : list) {
    if (count == parts.size()) broken("summaries");
    parts[count++] = part;
  }
  MetricSummary summary;
  std::string_view name;
  if ((count != 8 && count != 10) || parts[0].get(name) != simdjson::SUCCESS) {
    broken("summaries");
  }
  summary.last = number_at(parts[1]);
  summary.min = number_at(parts[2]);
  summary.max = number_at(parts[3]);
  summary.set_total(parse_sum(parts[4]));
  summary.ended_average_5 = number_at(parts[5]);
  summary.ended_average_10 = number_at(parts[6]);
  summary.count = count_in(number_at(parts[7]));
  summaries.push_back(summary);
  if (count == 8) return name;
  RecentValues recent;
  simdjson::dom::array values;
  if (parts[9].get(values) != simdjson::SUCCESS) broken("summaries");
  recent.seen = count_in(number_at(parts[8]));
  std::size_t i = 0;
  for (const auto value : values) {
    if (i == recent.ring.size()) broken("summaries");
    recent.ring[i++] = number_at(value);
  }
  all_recent.push_back(recent);
  return name;
}

Checkpoint parse_checkpoint(simdjson::dom::element element) {
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) broken("checkpoints");
  return read_checkpoint(JsonFields({}, object));
}

Cloning parse_cloning(simdjson::dom::element element) {
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) broken("lineage");
  const JsonFields fields({}, object);
  return {static_cast<std::uint64_t>(fields.integer("event")),
          fields.number("t"),
          fields.integer("iteration"),
          TrialId{static_cast<std::uint32_t>(fields.integer("donor"))},
          fields.integer("donor_iteration", 0),
          InternedJson(fields.json_text("old_config")),
          static_cast<std::uint64_t>(fields.integer("started", 0)),
          fields.small("attempt", 0),
          fields.small("checkpoint", 0),
          fields.small("saves", 0),
          fields.flag("iteration_is_guess"),
          fields.flag("donor_iteration_is_guess"),
          fields.text_if("old_tag")};
}

std::optional<simdjson::dom::array> list_if(simdjson::dom::object object, const char* name) {
  simdjson::dom::array list;
  const auto error = object[name].get(list);
  if (error == simdjson::NO_SUCH_FIELD) return std::nullopt;
  if (error != simdjson::SUCCESS) broken(name);
  return list;
}

template <class Item, class Parse>
std::vector<Item> parse_list(simdjson::dom::object object, const char* name, const Parse& parse) {
  std::vector<Item> items;
  const auto list = list_if(object, name);
  if (!list) return items;
  items.reserve(list->size());
  for (const auto element : *list) items.push_back(parse(element));
  return items;
}

RunningAttempt parse_attempt(const JsonFields& fields) {
  return {fields.number_if("since").value_or(0), fields.number_if("last_result").value_or(0)};
}

constexpr std::string_view config_key = ",\"config\":";

}  // namespace

void append_members(std::string& out, const Checkpoint& checkpoint) {
  append_member(out, "index", checkpoint.index);
  append_member(out, "iteration", checkpoint.iteration);
  append_member(out, "total_s", checkpoint.time_total_s);
  append_member_if(out, "timesteps", checkpoint.timesteps_total);
  append_member_if(out, "episodes", checkpoint.episodes_total);
  append_member(out, "score", checkpoint.score);
  append_key(out, "why");
  append_string(out, checkpoint.triggers.to_string());
  if (checkpoint.order) append_member(out, "order", to_string(*checkpoint.order));
  if (checkpoint.order && !checkpoint.kind.empty()) append_member(out, "kind", checkpoint.kind);
  append_member_if(out, "is_guess", checkpoint.is_guess);
  append_member(out, "bytes", checkpoint.bytes);
  append_member(out, "save_s", checkpoint.save_s);
  append_member(out, "commit_s", checkpoint.commit_s);
  if (checkpoint.slowest_rank) append_member(out, "slowest_rank", *checkpoint.slowest_rank);
}

Checkpoint read_checkpoint(const JsonFields& fields) {
  Checkpoint checkpoint;
  checkpoint.index = static_cast<int>(fields.integer("index"));
  checkpoint.iteration = fields.integer("iteration");
  checkpoint.time_total_s = fields.number("total_s");
  checkpoint.timesteps_total = fields.number_if("timesteps");
  checkpoint.episodes_total = fields.number_if("episodes");
  checkpoint.score = fields.number("score");
  checkpoint.triggers = Triggers::parse(fields.text("why"));
  checkpoint.order = parse_saved_when(fields.text_if("order"));
  checkpoint.kind = fields.text_if("kind");
  checkpoint.is_guess = fields.flag("is_guess");
  checkpoint.bytes = static_cast<std::uint64_t>(fields.integer("bytes"));
  checkpoint.save_s = fields.number("save_s");
  checkpoint.commit_s = fields.number("commit_s");
  if (const auto rank = fields.number_if("slowest_rank")) {
    checkpoint.slowest_rank = static_cast<int>(*rank);
  }
  return checkpoint;
}

void Experiment::append_trial(std::string& out, TrialId id) const {
  const Trial& trial = this->trial(id);
  out += '{';
  append_member(out, "trial", index_of(id));
  append_key(out, "state");
  append_string(out, to_string(trial.state));
  const auto queued = queued_.find(id);
  if (queued != queued_.end()) append_member(out, "place", queued->second);
  append_member_if(out, "tag", trial.tag);
  append_member(out, "attempt", trial.attempt);
  append_member_if(out, "failures", trial.failures);
  append_member_if(out, "error", *trial.error);
  append_member_if(out, "not_before", trial.not_before);
  append_member_if(out, "ended_by", std::string(to_string(trial.ended_by)));
  // Written also when false: without it a reader guesses it from `why`, as for old snapshots.
  if (trial.ended_by == EndedBy::scheduler) append_member(out, "at_max", trial.at_max ? 1 : 0);
  append_member_if(out, "why", trial.why);
  if (trial.stopping) append_member(out, "stopping", 1);
  if (trial.stopped_by_rule) append_member(out, "stopped_by_rule", 1);
  if (trial.last_save_due) append_member(out, "last_save_due", 1);
  if (trial.pausing) append_member(out, "pausing", 1);
  if (trial.held) append_member_if(out, "held", std::string(to_string(*trial.held)));
  if (trial.by_hand) append_member(out, "by_hand", 1);
  append_member(out, "iteration", trial.iteration);
  append_member_if(out, "restored_iteration", trial.restored_iteration);
  append_member_if(out, "first_guess", trial.first_guess);
  append_member_if(out, "last_guess", trial.last_guess);
  if (trial.restored_guess) append_member(out, "restored_guess", 1);
  append_member(out, "total_s", trial.time_total_s);
  append_member_if(out, "restored_s", trial.restored_time_s);
  append_member_if(out, "timesteps", trial.timesteps_total);
  append_member_if(out, "episodes", trial.episodes_total);
  append_member_if(out, "occupied_s", trial.occupied_s);
  append_member_if(out, "started", trial.started);
  append_member_if(out, "ended", trial.ended);
  append_member_if(out, "host", std::string(std::string_view(trial.host)));
  append_member_if(out, "gpus", *trial.gpus);
  // Absent: as its iteration.
  if (trial.counted_iteration != trial.iteration) {
    append_member(out, "counted", trial.counted_iteration);
  }
  append_member_if(out, "end_iteration", trial.end_iteration);
  if (trial.saves_itself) append_member(out, "saves_itself", 1);
  put_summaries(out, trial.summaries, trial.recent);
  // Written also when false: a line without it is of a program that did not take back what a
  // restore undoes, so that its summaries are in doubt.
  if (trial.attempt > 1 || trial.summaries_in_doubt) {
    append_member(out, "in_doubt", trial.summaries_in_doubt ? 1 : 0);
  }
  put_list(out, "marks", trial.marks);
  put_list(out, "checkpoints", trial.checkpoints);
  append_member_if(out, "saves", trial.saves);
  append_member_if(out, "failed_saves", trial.failed_saves);
  append_member_if(out, "save_error", *trial.save_error);
  append_member_if(out, "failed_saves_in_a_row", trial.failed_saves_in_a_row);
  append_member_if(out, "start_checkpoint", *trial.start_checkpoint);
  if (trial.donor) {
    append_member(out, "donor", index_of(trial.donor->trial));
    append_member_if(out, "donor_checkpoint", trial.donor->index);
    append_member_if(out, "donor_attempt", trial.donor->attempt);
  }
  if (!trial.resources.empty())
    append_member_if(out, "resources", text_of_resources(trial.resources));
  put_list(out, "lineage", trial.lineage);
  const auto process = processes_.find(id);
  if (process != processes_.end()) {
    append_member(out, "pid", process->second.pid);
    append_member(out, "start_ticks", process->second.start_ticks);
  }
  const auto attempt = attempts_.find(id);
  if (attempt != attempts_.end()) put_attempt(out, attempt->second);
  // Metrics and config are embedded as they are, at the end. A reader cuts them out by
  // `config_bytes` without parsing them; a search for the config's key could find it in the
  // metrics.
  const std::string config = trial.config.text();
  append_member(out, "config_bytes", config.size());
  append_key(out, "metrics");
  out += trial.last_metrics.empty() ? "null" : trial.last_metrics.text();
  out += config_key;
  out += config;
  out += '}';
}

void Experiment::load_trial(std::string_view text) {
  simdjson::dom::object object;
  if (parse_record(text).get(object) != simdjson::SUCCESS) {
    throw std::invalid_argument("the trial's line is no JSON object");
  }
  const JsonFields fields(text, object);
  Trial trial;
  trial.id = fields.trial();
  const auto state = parse_trial_state(fields.text("state"));
  if (!state) broken("state");
  trial.state = *state;
  trial.tag = fields.text_if("tag");
  trial.attempt = fields.attempt();
  trial.failures = fields.small("failures", 0);
  trial.error = fields.text_if("error");
  trial.not_before = fields.number_if("not_before").value_or(0);
  const auto ended_by = parse_ended_by(fields.text_if("ended_by"));
  if (!ended_by) broken("ended_by");
  trial.ended_by = *ended_by;
  trial.why = fields.text_if("why");
  // Snapshots of before `at_max` have the words of what the schedulers then gave as their reason.
  const bool was_at_max = trial.ended_by == EndedBy::scheduler && trial.why.starts_with("max t ") &&
                          trial.why.find(',') == trial.why.npos;
  trial.at_max = fields.small("at_max", was_at_max ? 1 : 0) != 0;
  trial.stopping = fields.small("stopping", 0) != 0;
  trial.stopped_by_rule = fields.small("stopped_by_rule", 0) != 0;
  trial.last_save_due = fields.small("last_save_due", 0) != 0;
  trial.pausing = fields.small("pausing", 0) != 0;
  if (fields.has("held")) {
    trial.held = parse_trial_state(fields.text("held"));
    if (!trial.held || is_final(*trial.held)) broken("held");
  }
  trial.by_hand = fields.small("by_hand", 0) != 0;
  trial.iteration = fields.integer("iteration");
  trial.restored_iteration = fields.integer("restored_iteration", 0);
  trial.first_guess = fields.integer("first_guess", 0);
  trial.last_guess = fields.integer("last_guess", 0);
  trial.restored_guess = fields.small("restored_guess", 0) != 0;
  trial.time_total_s = fields.number("total_s");
  trial.restored_time_s = fields.number_if("restored_s").value_or(0);
  trial.timesteps_total = fields.number_if("timesteps");
  trial.episodes_total = fields.number_if("episodes");
  trial.occupied_s = fields.number_if("occupied_s").value_or(0);
  trial.started = fields.number_if("started").value_or(0);
  trial.ended = fields.number_if("ended").value_or(0);
  if (fields.has("host")) trial.host = kept_name(fields.text("host"));
  trial.gpus = fields.text_if("gpus");
  trial.counted_iteration = fields.integer("counted", trial.iteration);
  trial.end_iteration = fields.integer("end_iteration", 0);
  trial.saves_itself = fields.small("saves_itself", 0) != 0;
  const auto read_summaries = [this](simdjson::dom::object from, auto& summaries, auto& recent) {
    const auto list = list_if(from, "summaries");
    if (!list) return;
    summaries.reserve(list->size());
    for (const auto element : *list) {
      const std::string_view name = parse_summary(element, summaries, recent);
      summaries.back().name = kept_name(name);
    }
    // Of all or of none.
    if (!recent.empty() && recent.size() != summaries.size()) broken("summaries");
  };
  read_summaries(object, trial.summaries, trial.recent);
  // A program that did not take back what a restore undoes wrote no such field.
  trial.summaries_in_doubt = fields.has("in_doubt") ? fields.small("in_doubt", 0) != 0
                                                    : trial.attempt > 1 && !trial.summaries.empty();
  trial.marks = parse_list<SummaryMark>(object, "marks", [&](simdjson::dom::element element) {
    simdjson::dom::object saved;
    if (element.get(saved) != simdjson::SUCCESS) broken("marks");
    const JsonFields in_mark({}, saved);
    SummaryMark mark;
    mark.iteration = in_mark.integer("iteration");
    read_summaries(saved, mark.summaries, mark.recent);
    mark.last_metrics = in_mark.json_text("last");
    shapes_.make_compact(mark.last_metrics);
    return mark;
  });
  trial.checkpoints = parse_list<Checkpoint>(object, "checkpoints", parse_checkpoint);
  trial.saves = fields.small("saves", 0);
  trial.failed_saves = fields.small("failed_saves", 0);
  trial.save_error = fields.text_if("save_error");
  trial.failed_saves_in_a_row = fields.small("failed_saves_in_a_row", 0);
  trial.start_checkpoint = fields.text_if("start_checkpoint");
  if (const auto donor = fields.trial_if("donor")) {
    trial.donor = {*donor, fields.small("donor_checkpoint", 0), fields.small("donor_attempt", 0)};
  }
  if (fields.has("resources")) trial.resources = resources_from_text(fields.text("resources"));
  trial.lineage = parse_list<Cloning>(object, "lineage", parse_cloning);

  // Behind each other at the end: the metrics, the config's key, the config, a brace.
  constexpr std::string_view metrics_key = "\"metrics\":";
  const std::size_t metrics_at = text.find(metrics_key);
  if (metrics_at == std::string_view::npos || !fields.has("config") || text.back() != '}') {
    broken("metrics");
  }
  std::string_view end = text.substr(metrics_at + metrics_key.size());
  end.remove_suffix(1);
  const std::int64_t config_bytes = fields.integer("config_bytes");
  if (config_bytes < 0 || config_bytes > std::ssize(end)) broken("config_bytes");
  trial.config = end.substr(end.size() - static_cast<std::size_t>(config_bytes));
  end.remove_suffix(static_cast<std::size_t>(config_bytes));
  if (!end.ends_with(config_key)) broken("config_bytes");
  end.remove_suffix(config_key.size());
  if (end != "null") trial.last_metrics = end;
  shapes_.make_compact(trial.config);
  for (auto& cloning : trial.lineage) shapes_.make_compact(cloning.old_config);
  // A running trial's metrics are replaced by its next result, so interning them would be in vain.
  if (trial.state != TrialState::running) shapes_.make_compact(trial.last_metrics);

  const TrialId id = trial.id;
  // A trial may have several lines, of which the last counts: entries of an earlier one go first.
  queued_.erase(id);
  processes_.erase(id);
  attempts_.erase(id);
  if (trial.state == TrialState::running) attempts_[id] = parse_attempt(fields);
  if (trial.state == TrialState::pending || trial.state == TrialState::paused) {
    queued_[id] = static_cast<std::uint64_t>(fields.integer("place"));
  }
  if (const std::int64_t pid = fields.integer("pid", 0); pid != 0) {
    processes_[id] = {id, trial.attempt, pid,
                      static_cast<std::uint64_t>(fields.integer("start_ticks"))};
  }
  if (index_of(id) >= trials_.size()) trials_.resize(index_of(id) + 1);
  trials_[index_of(id)] = std::move(trial);
}

}  // namespace tune
