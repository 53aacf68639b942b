#include "tuner/host/program_policies.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tuner/core/constraint.h"
#include "tuner/core/error.h"
#include "tuner/core/options.h"
#include "tuner/core/whole_number.h"
#include "tuner/host/policy_host.h"
#include "tuner/space/search_space.h"

namespace tune {

namespace {

/// For one that is asked within a turn of the loop, for which all trials wait.
constexpr Seconds patience_in_turn_s = 30;
constexpr Seconds patience_beside_s = 3600;
constexpr int most_refusals = 100;

PolicyHost::Options host_options(const char* kind, OptionReader& reader,
                                 const PolicyContext& context, Seconds patience_s) {
  PolicyHost::Options options;
  options.command = reader.get_required<std::vector<std::string>>("command");
  reader.require(!options.command.empty() && !options.command.front().empty(), "command",
                 "a list of strings with the program first");
  const Json own = reader.get("options", Json(Json::object()));
  reader.require(own.is_object(), "options", "an object");
  options.patience_s = reader.get("timeout_s", patience_s);
  reader.require(options.patience_s > 0, "timeout_s", "above 0");
  Json metrics = Json::array();
  Json modes = Json::array();
  for (const Objective& objective : context.objectives) {
    metrics.push_back(objective.metric);
    modes.push_back(to_string(objective.mode));
  }
  options.hello = {{"type", "hello"},
                   {"version", 1},
                   {"kind", kind},
                   {"metric", std::move(metrics)},
                   {"mode", std::move(modes)},
                   {"seed", context.seed},
                   {"num_samples", context.num_samples},
                   {"param_space", context.space.json()},
                   {"options", own}};
  return options;
}

Json metrics_of(const Result& result) {
  Json metrics = Json::parse(result.metrics.text, nullptr, false);
  return metrics.is_object() ? std::move(metrics) : Json::object();
}

std::optional<TrialId> trial_in(const Json& json) {
  const auto number = whole_number<std::uint32_t>(json);
  return number ? std::optional(TrialId{*number}) : std::nullopt;
}

Json message(const char* type, TrialId trial) {
  return {{"type", type}, {"trial", index_of(trial)}};
}

class ProgramSearcher : public Searcher {
 public:
  ProgramSearcher(PolicyHost::Options options, const PolicyContext& context)
      : host_(std::move(options)),
        space_(context.space),
        objectives_(context.objectives),
        constraints_(context.constraints),
        num_samples_(context.num_samples),
        seed_(context.seed) {}

  Answer suggest(TrialId id) override {
    if (num_samples_ >= 0 && suggested_ >= num_samples_) return Exhausted{};
    Json question = message("suggest", id);
    for (int refusals = 0; refusals < most_refusals; ++refusals) {
      const Json answer = host_.ask(question);
      if (answer.value("nothing_now", Json()) == true) return NothingNow{};
      if (answer.value("exhausted", Json()) == true) return Exhausted{};
      const auto given = answer.find("config");
      if (given == answer.end() || !given->is_object()) {
        host_.complain("was to suggest a config, and answered " + answer.dump().substr(0, 200));
      }
      const auto problems = space_.check_preset(*given);
      if (!problems.empty()) {
        host_.complain("suggested what is not in the param space: " + problems.front().pointer +
                       " " + problems.front().sentence);
      }
      // What it leaves out is drawn.
      Random random(seed_ ^ (0x9e3779b97f4a7c15u * (index_of(id) + 1)));
      Json config = space_.sample(0, random, *given);
      const auto unfit = why_unfit(space_, constraints_, config);
      if (!unfit) {
        ++suggested_;
        std::string tag = space_.tag(config);
        return Suggestion{std::move(config), std::move(tag)};
      }
      // Of a constraint its own text, to be compared with what the program was told.
      const Constraint* const broken =
          space_.without_value(config) ? nullptr : find_broken(constraints_, config);
      question["refused"] = broken != nullptr ? broken->text() : *unfit;
    }
    host_.complain(
        "has suggested " + std::to_string(most_refusals) +
        " configs in a row that cannot be tried: " + question.at("refused").get<std::string>());
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    Json told = message("add", id);
    told["config"] = Json::parse(config);
    host_.tell(told);
  }
  void on_result(TrialId id, const Observation& result) override { tell("result", id, result); }
  void on_trial_pause(TrialId id, const Observation& last) override { tell("pause", id, last); }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    tell("end", id, last,
         how == Ended::complete  ? "complete"
         : how == Ended::stopped ? "stopped"
                                 : "failed");
  }

  std::optional<std::uint64_t> total() const override {
    if (num_samples_ < 0) return std::nullopt;
    return static_cast<std::uint64_t>(num_samples_);
  }
  bool may_take_long() const override { return true; }

  Json save() const override { return {{"suggested", suggested_}, {"program", host_.save()}}; }
  void load(const Json& state) override {
    if (!state.is_object() || !state.contains("program")) {
      throw user_error("this is no state of a searcher 'program'");
    }
    suggested_ = state.at("suggested");
    host_.load(state.at("program"));
  }

 private:
  void tell(const char* type, TrialId id, const Observation& seen, const char* how = nullptr) {
    Json told = message(type, id);
    if (how != nullptr) told["how"] = how;
    told["iteration"] = seen.iteration;
    Json values = Json::object();
    for (std::size_t i = 0; i < objectives_.size() && i < seen.scores.size(); ++i) {
      const double score = seen.scores[i];
      values[objectives_[i].metric] = objectives_[i].mode == Mode::min ? -score : score;
    }
    told["metrics"] = std::move(values);
    if (!seen.constraints.empty()) told["constraints"] = seen.constraints;
    host_.tell(told);
  }

  mutable PolicyHost host_;  ///< to save is to ask
  SearchSpace space_;
  std::vector<Objective> objectives_;
  std::vector<Constraint> constraints_;
  std::int64_t num_samples_;
  std::uint64_t seed_;
  std::int64_t suggested_ = 0;
};

/// "stop": [{"trial": 3, "reason": "..."}] of an answer.
class ProgramScheduler : public Scheduler {
 public:
  ProgramScheduler(PolicyHost::Options options, const PolicyContext& context)
      : host_(std::move(options)), space_(context.space) {}

  void on_trial_add(const Trial& trial) override {
    Json told = message("add", trial.id);
    told["config"] = Json::parse(trial.config.text());
    host_.tell(told);
  }
  void on_trial_start(const Trial& trial) override {
    Json told = message("start", trial.id);
    told["iteration"] = trial.iteration;
    host_.tell(told);
  }
  void on_trial_wait(const Trial& trial) override {
    Json told = message("wait", trial.id);
    told["state"] = to_string(trial.state);
    host_.tell(told);
  }
  void on_trial_end(const Trial& trial) override {
    std::erase_if(orders_, [&](const Order& order) { return order.trial == trial.id; });
    Json told = message("end", trial.id);
    told["state"] = to_string(trial.state);
    host_.tell(told);
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    Json question = message("result", trial.id);
    question["iteration"] = result.training_iteration;
    question["time_total_s"] = result.time_total_s;
    question["metrics"] = metrics_of(result);
    if (trial.repeats(result)) question["again"] = true;
    const Json answer = host_.ask(question);
    Decision decision;
    const Json action = answer.value("action", Json("continue"));
    const auto parsed = action.is_string() ? parse_action(action.get<std::string>()) : std::nullopt;
    if (!parsed) {
      host_.complain(
          "was to answer a result with the action continue, pause, exploit or stop, and answered " +
          answer.dump().substr(0, 200));
    }
    decision.action = *parsed;
    decision.checkpoint = answer.value("checkpoint", Json(false)) == true;
    if (decision.action == Action::exploit) decision.exploit = exploit_in(answer);
    read_orders(answer);
    return decision;
  }

  std::optional<Order> order() const override {
    return orders_.empty() ? std::nullopt : std::optional(orders_.front());
  }
  void on_order(const Trial& trial) override {
    std::erase_if(orders_, [&](const Order& order) { return order.trial == trial.id; });
  }

  Json save() const override {
    Json orders = Json::array();
    for (const Order& order : orders_) {
      orders.push_back({{"trial", index_of(order.trial)}, {"reason", order.reason}});
    }
    return {{"program", host_.save()}, {"stop", std::move(orders)}};
  }
  void load(const Json& state) override {
    if (!state.is_object() || !state.contains("program")) {
      throw user_error("this is no state of a scheduler 'program'");
    }
    orders_.clear();
    read_orders(state);
    host_.load(state.at("program"));
  }

 private:
  Exploit exploit_in(const Json& answer) const {
    const auto donor = trial_in(answer.value("donor", Json()));
    const Json config = answer.value("config", Json());
    if (!donor || !config.is_object()) {
      host_.complain("was to name a \"donor\", by its number, and a \"config\", and answered " +
                     answer.dump().substr(0, 200));
    }
    return {.donor = *donor, .config = config.dump(), .tag = space_.tag(config)};
  }

  void read_orders(const Json& answer) {
    const auto list = answer.find("stop");
    if (list == answer.end()) return;
    for (const Json& each : list->is_array() ? *list : Json::array({*list})) {
      const auto trial = trial_in(each.is_object() ? each.value("trial", Json()) : each);
      if (!trial) {
        host_.complain("was to name trials to stop by their numbers, and answered " +
                       answer.dump().substr(0, 200));
      }
      const Json reason = each.is_object() ? each.value("reason", Json()) : Json();
      orders_.push_back({.trial = *trial,
                         .exploit = std::nullopt,
                         .reason = reason.is_string() ? reason.get<std::string>()
                                                      : "the scheduler's program says so"});
    }
  }

  mutable PolicyHost host_;
  SearchSpace space_;
  std::deque<Order> orders_;
};

class ProgramStopper : public Stopper {
 public:
  explicit ProgramStopper(PolicyHost::Options options) : host_(std::move(options)) {}

  bool should_stop(const Trial& trial, const Result& result) override {
    Json question = message("result", trial.id);
    question["iteration"] = result.training_iteration;
    question["time_total_s"] = result.time_total_s;
    question["metrics"] = metrics_of(result);
    const Json answer = host_.ask(question);
    const Json stop = answer.value("stop", Json(false));
    if (!stop.is_boolean()) {
      host_.complain("was to answer a result with \"stop\": true or false, and answered " +
                     answer.dump().substr(0, 200));
    }
    const Json all = answer.value("stop_all", Json());
    if (all.is_string()) stop_all_ = all.get<std::string>();
    return stop.get<bool>();
  }
  void on_trial_end(const Trial& trial) override {
    Json told = message("end", trial.id);
    told["state"] = to_string(trial.state);
    host_.tell(told);
  }
  std::optional<std::string> should_stop_all(Seconds) const override { return stop_all_; }

  Json save() const override {
    return {{"program", host_.save()}, {"stop_all", stop_all_ ? Json(*stop_all_) : Json()}};
  }
  void load(const Json& state) override {
    if (!state.is_object() || !state.contains("program")) {
      throw user_error("this is no state of a stopper 'program'");
    }
    host_.load(state.at("program"));
    const Json all = state.value("stop_all", Json());
    stop_all_ = all.is_string() ? std::optional(all.get<std::string>()) : std::nullopt;
  }

 private:
  mutable PolicyHost host_;
  std::optional<std::string> stop_all_;
};

}  // namespace

void add_program_policies(Catalogue& catalogue) {
  add_factory(catalogue.searchers, "program",
              [](const Json& json, const PolicyContext& context) -> std::unique_ptr<Searcher> {
                OptionReader reader(json);
                auto options = host_options("searcher", reader, context, patience_beside_s);
                reader.finish();
                if (context.is_partial) return nullptr;
                return std::make_unique<ProgramSearcher>(std::move(options), context);
              });
  add_factory(catalogue.schedulers, "program",
              [](const Json& json, const PolicyContext& context) -> std::unique_ptr<Scheduler> {
                OptionReader reader(json);
                auto options = host_options("scheduler", reader, context, patience_in_turn_s);
                reader.finish();
                if (context.is_partial) return nullptr;
                return std::make_unique<ProgramScheduler>(std::move(options), context);
              });
  add_factory(catalogue.stoppers, "program",
              [](const Json& json, const PolicyContext& context) -> std::unique_ptr<Stopper> {
                OptionReader reader(json);
                auto options = host_options("stopper", reader, context, patience_in_turn_s);
                reader.finish();
                if (context.is_partial) return nullptr;
                return std::make_unique<ProgramStopper>(std::move(options));
              });
}

}  // namespace tune
