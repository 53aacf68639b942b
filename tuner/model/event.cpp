// The journal's wire format: one `write` for each type of event, and one reader that also takes
// older forms.
#include "tuner/model/event.h"

#include <stdexcept>
#include <utility>

#include "tuner/base/json_text.h"
#include "tuner/model/json_fields.h"
#include "tuner/model/metrics_dom.h"

namespace tune {

namespace {

// ------------------------------------------------------------------------------------- writing

void put_numbers(std::string& out, std::string_view name, const std::vector<int>& values) {
  append_key(out, name);
  out += '[';
  for (const int value : values) {
    if (out.back() != '[') out += ',';
    append_integer(out, value);
  }
  out += ']';
}
/// JSON text that is embedded as it is. Always the last member, or a Why before that.
void put_raw(std::string& out, std::string_view name, std::string_view json) {
  append_key(out, name);
  out += json;
}
void put_trial_if(std::string& out, std::string_view name, const std::optional<TrialId>& trial) {
  if (trial) append_member(out, name, index_of(*trial));
}
void put_trial(std::string& out, TrialId trial) { append_member(out, "trial", index_of(trial)); }
/// The config as a string: only one member of a record can be embedded as it is.
void write(std::string& out, const Exploit& exploit) {
  append_member(out, "donor", index_of(exploit.donor));
  append_member(out, "config", exploit.config);
  append_member_if(out, "tag", exploit.tag);
}

void write(std::string& out, const SessionStarted& event) {
  append_member(out, "host", event.host);
  append_member(out, "pid", event.pid);
  append_member(out, "version", event.version);
  if (!event.ran.empty()) put_raw(out, "ran", event.ran);
}
void write(std::string& out, const TrialAdded& event) {
  put_trial(out, event.trial);
  append_member_if(out, "tag", event.tag);
  append_member_if(out, "start_checkpoint", event.start_checkpoint);
  append_member_if(out, "by_hand", event.by_hand);
  put_raw(out, "config", event.config);
}
void write(std::string& out, const AttemptStarted& event) {
  put_trial(out, event.trial);
  append_member(out, "attempt", event.attempt);
  append_member_if(out, "checkpoint", event.checkpoint);
  put_trial_if(out, "donor", event.donor);
  if (!event.gpus.empty()) put_numbers(out, "gpus", event.gpus);
  append_member_if(out, "saves_itself", event.saves_itself);
  append_member_if(out, "devices", event.devices);
  append_member_if(out, "by_searcher", event.by_searcher);
  append_member_if(out, "node", event.node);
}
void write(std::string& out, const ProcessStarted& event) {
  put_trial(out, event.trial);
  append_member(out, "attempt", event.attempt);
  append_member(out, "pid", event.pid);
  append_member(out, "start_ticks", event.start_ticks);
}
/// Or, in a run that ends its trials, nobody's.
bool is_schedulers_stop(const ResultReported& event) {
  return event.decision.action == Action::stop && !event.decision.by_rule && !event.result.done;
}
void write(std::string& out, const ResultReported& event) {
  const Result& result = event.result;
  put_trial(out, event.trial);
  append_member(out, "attempt", event.attempt);
  append_member(out, "iteration", result.training_iteration);
  append_member(out, "this_s", result.time_this_iter_s);
  append_key(out, "total_s");
  const std::size_t total = out.size();
  append_number(out, result.time_total_s);
  const std::size_t total_chars = out.size() - total;
  append_key(out, "since_restore_s");
  // Until a trial is restored they are the same, and numbers take long to write.
  if (result.time_since_restore == result.time_total_s) {
    out.append(out, total, total_chars);
  } else {
    append_number(out, result.time_since_restore);
  }
  append_member(out, "since_restore", result.iterations_since_restore);
  append_member_if(out, "timesteps", result.timesteps_total);
  append_member_if(out, "episodes", result.episodes_total);
  append_member_if(out, "done", result.done);
  append_member_if(out, "should_checkpoint", result.should_checkpoint);
  append_member_if(out, "iteration_is_guess", result.iteration_is_guess);
  if (event.decision.action != Action::proceed) {
    append_member(out, "action", std::string_view(to_string(event.decision.action)));
  }
  if (event.decision.exploit) write(out, *event.decision.exploit);
  if (event.decision.resources)
    append_member(out, "resources", text_of_resources(*event.decision.resources));
  append_member_if(out, "by_rule", event.decision.by_rule);
  if (is_schedulers_stop(event)) {
    append_key(out, "at_max");
    out += event.decision.at_max ? "true" : "false";
  }
  append_member_if(out, "save", event.decision.checkpoint);
  if (!event.decision.why.empty()) put_raw(out, "why", event.decision.why.text());
  put_raw(out, "metrics", result.metrics.text);
}
void write(std::string& out, const CheckpointCommitted& event) {
  put_trial(out, event.trial);
  append_members(out, event.checkpoint);
}
void write(std::string& out, const CheckpointFailed& event) {
  put_trial(out, event.trial);
  append_member(out, "index", event.index);
  append_member(out, "reason", event.reason);
}
void write(std::string& out, const CheckpointsDropped& event) {
  put_trial(out, event.trial);
  put_numbers(out, "indices", event.indices);
}
void write(std::string& out, const CheckpointDamaged& event) {
  put_trial(out, event.trial);
  append_member(out, "index", event.index);
  append_member(out, "reason", event.reason);
  put_trial_if(out, "clone", event.clone);
}
constexpr std::pair<Outcome, std::string_view> outcome_names[] = {
    {Outcome::completed, "completed"},     {Outcome::paused, "paused"},
    {Outcome::exploiting, "exploiting"},   {Outcome::failed, "failed"},
    {Outcome::interrupted, "interrupted"},
};
void write(std::string& out, const AttemptEnded& event) {
  put_trial(out, event.trial);
  append_member(out, "attempt", event.attempt);
  for (const auto& [outcome, name] : outcome_names) {
    if (outcome == event.outcome) append_member(out, "outcome", name);
  }
  append_member_if(out, "reason", event.reason);
  append_member_if(out, "retry", event.retry);
  append_member_if(out, "not_before", event.not_before);
  if (event.outcome == Outcome::completed) append_member(out, "by", to_string(event.by));
  append_member_if(out, "of_machine", event.of_machine);
}
void write(std::string& out, const StopRequested& event) {
  append_member(out, "reason", event.reason);
  append_member_if(out, "keeps", event.keeps);
}
void write(std::string& out, const CallbackSaved& event) {
  append_member(out, "callback", event.callback);
  put_raw(out, "state", event.state);
}
void write(std::string& out, const SessionEnded& event) {
  append_member(out, "reason", event.reason);
  append_member(out, "how", std::string_view(to_string(event.how)));
  put_raw(out, "cost", to_json(event.cost).dump());
}
void write(std::string& out, const TrialRequeued& event) {
  put_trial(out, event.trial);
  append_member_if(out, "from_scratch", event.from_scratch);
}

void write(std::string& out, const TrialStopRequested& event) {
  put_trial(out, event.trial);
  append_member(out, "reason", event.reason);
  append_member(out, "by", to_string(event.by));
}

void write(std::string& out, const TrialExploited& event) {
  put_trial(out, event.trial);
  write(out, event.exploit);
}

void write(std::string& out, const SuggestionAsked& event) { put_trial(out, event.next); }

void write(std::string& out, const ClockStepped& event) { append_member(out, "by_s", event.by_s); }

void write(std::string& out, const SpecChanged& event) { put_raw(out, "fields", event.fields); }

void write(std::string& out, const TrialHeld& event) {
  put_trial(out, event.trial);
  append_member_if(out, "released", event.released);
}

constexpr std::string_view type_names[] = {
    "session",    "trial",   "attempt", "process", "result",   "checkpoint",  "checkpoint_failed",
    "dropped",    "damaged", "end",     "stop",    "callback", "session_end", "requeued",
    "trial_stop", "exploit", "ask",     "clock",   "set",      "hold",
};
static_assert(std::size(type_names) == std::variant_size_v<EventBody>);

// ------------------------------------------------------------------------------------- reading

Result read_result(const JsonFields& fields) {
  Result result;
  result.training_iteration = fields.integer("iteration");
  result.timestamp = fields.number("t");
  result.time_this_iter_s = fields.number("this_s");
  result.time_total_s = fields.number("total_s");
  result.time_since_restore = fields.number("since_restore_s");
  result.iterations_since_restore = fields.integer("since_restore");
  result.timesteps_total = fields.number_if("timesteps");
  result.episodes_total = fields.number_if("episodes");
  result.done = fields.flag("done");
  result.should_checkpoint = fields.flag("should_checkpoint");
  result.iteration_is_guess = fields.flag("iteration_is_guess");
  result.metrics.text = fields.raw_last("metrics");
  flatten(fields.object("metrics"), result.metrics);
  return result;
}

Exploit read_exploit(const JsonFields& fields) {
  return {TrialId{static_cast<std::uint32_t>(fields.integer("donor"))}, fields.json_text("config"),
          fields.text_if("tag")};
}

Decision read_decision(const JsonFields& fields) {
  Decision decision{Action::proceed, fields.flag("save"), fields.flag("by_rule"), {}};
  if (fields.has("action")) {
    const auto action = parse_action(fields.text("action"));
    if (!action) throw std::invalid_argument("unknown action '" + fields.text("action") + "'");
    decision.action = *action;
  }
  if (decision.action == Action::exploit) decision.exploit = read_exploit(fields);
  if (fields.has("why"))
    decision.why = Rationale::recorded(fields.raw_before_last("why", "metrics"));
  // Records of before `at_max` tell it by what the schedulers then gave as their reason.
  decision.at_max = fields.has("at_max")
                        ? fields.flag("at_max")
                        : decision.action == Action::stop && decision.why.is_only("max_t");
  if (fields.has("resources")) decision.resources = resources_from_text(fields.text("resources"));
  return decision;
}

Outcome read_outcome(const JsonFields& fields) {
  const std::string text = fields.text("outcome");
  for (const auto& [outcome, name] : outcome_names) {
    if (name == text) return outcome;
  }
  throw std::invalid_argument("unknown outcome '" + text + "'");
}

/// Records of before `by` tell it by their reason: `first` if it is `sentence`, as it was then, or
/// else `second`.
EndedBy read_ended_by(const JsonFields& fields, std::string_view sentence, EndedBy first,
                      EndedBy second) {
  const std::string name = fields.text_if("by");
  if (name.empty()) return fields.text_if("reason") == sentence ? first : second;
  const auto by = parse_ended_by(name);
  if (by != first && by != second) throw std::invalid_argument("unknown 'by': '" + name + "'");
  return *by;
}

SessionEnded read_session_end(const JsonFields& fields) {
  SessionEnded end{fields.text("reason"), {}};
  const std::string how = fields.text_if("how");
  const auto known = how.empty() ? session_end_in(end.reason) : parse_session_end(how);
  if (!known) throw std::invalid_argument("unknown 'how': '" + how + "'");
  end.how = *known;
  // Journals of before version 0.2 lack it.
  if (fields.has("cost")) end.cost = parse_state_cost(Json::parse(fields.raw_last("cost")));
  return end;
}

EventBody read_body(std::string_view type, const JsonFields& f) {
  if (type == "result") {
    return ResultReported{f.trial(), f.attempt(), read_result(f), read_decision(f)};
  }
  if (type == "session") {
    return SessionStarted{f.text("host"), f.integer("pid"), f.text("version"),
                          f.has("ran") ? f.raw_last("ran") : ""};
  }
  if (type == "trial") {
    return TrialAdded{f.trial(), f.raw_last("config"), f.text_if("tag"),
                      f.text_if("start_checkpoint"), f.flag("by_hand")};
  }
  if (type == "attempt") {
    return AttemptStarted{f.trial(),
                          f.attempt(),
                          f.small("checkpoint", 0),
                          f.integers("gpus"),
                          f.trial_if("donor"),
                          f.flag("saves_itself"),
                          f.text_if("devices"),
                          f.flag("by_searcher"),
                          f.text_if("node")};
  }
  if (type == "process") {
    return ProcessStarted{f.trial(), f.attempt(), f.integer("pid"),
                          static_cast<std::uint64_t>(f.integer("start_ticks"))};
  }
  if (type == "checkpoint") return CheckpointCommitted{f.trial(), read_checkpoint(f)};
  if (type == "checkpoint_failed") {
    return CheckpointFailed{f.trial(), f.small("index", 0), f.text("reason")};
  }
  if (type == "dropped") return CheckpointsDropped{f.trial(), f.integers("indices")};
  if (type == "damaged") {
    return CheckpointDamaged{f.trial(), f.small("index", 0), f.text("reason"), f.trial_if("clone")};
  }
  if (type == "end") {
    return AttemptEnded{f.trial(),
                        f.attempt(),
                        read_outcome(f),
                        f.text_if("reason"),
                        f.flag("retry"),
                        f.number_if("not_before").value_or(0),
                        read_ended_by(f, "it said that it was done", EndedBy::done, EndedBy::exit),
                        f.flag("of_machine")};
  }
  if (type == "stop") return StopRequested{f.text("reason"), f.flag("keeps")};
  if (type == "callback") return CallbackSaved{f.text("callback"), f.raw_last("state")};
  if (type == "session_end") return read_session_end(f);
  if (type == "requeued") return TrialRequeued{f.trial(), f.flag("from_scratch")};
  if (type == "trial_stop") {
    return TrialStopRequested{
        f.trial(), f.text("reason"),
        read_ended_by(f, "stopped by the user (tune stop)", EndedBy::user, EndedBy::scheduler)};
  }
  if (type == "ask") return SuggestionAsked{f.trial()};
  if (type == "clock") return ClockStepped{f.number("by_s")};
  if (type == "exploit") return TrialExploited{f.trial(), read_exploit(f)};
  if (type == "hold") return TrialHeld{f.trial(), f.flag("released")};
  if (type == "set") return SpecChanged{f.raw_last("fields")};
  throw std::invalid_argument("unknown event '" + std::string(type) + "'");
}

constexpr std::pair<SessionEnd, const char*> session_ends[] = {
    {SessionEnd::finished, "finished"},
    {SessionEnd::named_finished, "named_finished"},
    {SessionEnd::stopped, "stopped"},
    {SessionEnd::raised, "raised"},
    {SessionEnd::interrupted, "interrupted"},
    {SessionEnd::given_up, "given_up"},
    {SessionEnd::fault, "fault"},
};

}  // namespace

const char* to_string(SessionEnd end) {
  for (const auto& [known, name] : session_ends) {
    if (known == end) return name;
  }
  return "?";
}

std::optional<SessionEnd> parse_session_end(std::string_view text) {
  for (const auto& [end, name] : session_ends) {
    if (text == name) return end;
  }
  return std::nullopt;
}

SessionEnd session_end_in(std::string_view reason) {
  if (reason == "finished") return SessionEnd::finished;
  if (reason == "the named trials are finished") return SessionEnd::named_finished;
  if (reason.starts_with(given_up_word)) return SessionEnd::given_up;
  const bool is_interrupt =
      reason.starts_with("received SIG") || reason.starts_with("paused by the user");
  return is_interrupt ? SessionEnd::interrupted : SessionEnd::stopped;
}

std::optional<TrialId> trial_of(const EventBody& body) {
  return std::visit(
      [](const auto& about) -> std::optional<TrialId> {
        if constexpr (requires { about.trial; }) return about.trial;
        return std::nullopt;
      },
      body);
}

void append_json(std::string& out, const Event& event) {
  out += '{';
  append_member(out, "n", event.number);
  append_member(out, "t", event.time);
  append_member(out, "e", type_names[event.body.index()]);
  std::visit([&out](const auto& body) { write(out, body); }, event.body);
  out += '}';
}

Event parse_event(std::string_view text) {
  simdjson::dom::object object;
  const auto error = parse_record(text).get(object);
  if (error != simdjson::SUCCESS) {
    throw std::invalid_argument(std::string("not a JSON object: ") +
                                simdjson::error_message(error));
  }
  const JsonFields fields(text, object);
  Event event;
  event.number = static_cast<std::uint64_t>(fields.integer("n"));
  event.time = fields.number("t");
  event.body = read_body(fields.text("e"), fields);
  return event;
}

}  // namespace tune
