// Adapters from the Searcher, Scheduler and Stopper interfaces to a PolicyHost: each call becomes a
// message.
#include "tuner/host/program_policies.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/whole_number.h"
#include "tuner/host/policy_answer.h"
#include "tuner/host/policy_host.h"
#include "tuner/policy/options.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// For one that is asked within a turn of the loop, for which all trials wait.
constexpr Seconds patience_in_turn_s = 30;
constexpr Seconds patience_beside_s = 3600;
/// A program may never suggest a config that can be tried: without a limit it would be asked for
/// ever.
constexpr int most_refusals = 100;

PolicyHost::Options host_options(const char* kind, OptionReader& reader,
                                 const PolicyContext& context, Seconds patience_s) {
  PolicyHost::Options options;
  options.command = reader.get_required<std::vector<std::string>>("command");
  reader.require(!options.command.empty() && !options.command.front().empty(), "command",
                 "a list of strings with the program first");
  const Json own = reader.get("options", Json(Json::object()));
  reader.require(own.is_object(), "options", "an object");
  options.programs = context.programs;
  options.patience_s = reader.get("timeout_s", patience_s);
  reader.require(options.patience_s > 0, "timeout_s", "above 0");
  Json metrics = Json::array();
  Json modes = Json::array();
  for (const Objective& objective : context.objectives) {
    metrics.push_back(objective.metric);
    modes.push_back(to_string(objective.mode));
  }
  options.hello = {{"type", "hello"},
                   {"version", policy_protocol_version},
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

ConfigRules rules_of(const PolicyContext& context) {
  return {context.space, context.constraints, context.seed};
}

/// The program's own part of a saved state, as text.
std::string own_state_in(const Json& state, const char* kind) {
  if (state.is_object() && state.contains("state")) return state.at("state").get<std::string>();
  if (state.is_object() && state.contains("program")) {  // so it was kept once, as a value
    const Json& program = state.at("program");
    return program.is_null() ? std::string() : program.dump();
  }
  throw user_error("this is no state of a " + std::string(kind) + " 'program'");
}

Json message(const char* type, TrialId trial) {
  return {{"type", type}, {"trial", index_of(trial)}};
}

class ProgramSearcher : public Searcher {
 public:
  ProgramSearcher(PolicyHost::Options options, const PolicyContext& context)
      : host_(std::move(options)),
        rules_(rules_of(context)),
        objectives_(context.objectives),
        num_samples_(context.num_samples) {}

  Answer suggest(TrialId id) override {
    // Enforced here, since a program may ignore the num_samples of its hello.
    if (num_samples_ >= 0 && suggested_ >= num_samples_) return Exhausted{};
    Json question = message("suggest", id);
    for (int refusals = 0; refusals < most_refusals; ++refusals) {
      SaidSuggestion said = host_.ask(question, suggestion_in);
      if (std::holds_alternative<NothingNow>(said)) return NothingNow{};
      if (std::holds_alternative<Exhausted>(said)) return Exhausted{};
      JudgedConfig judged =
          host_.accept([&] { return judge_config(std::get<Json>(said), id, rules_, "suggested"); });
      if (judged.unfit.empty()) {
        ++suggested_;
        return std::move(judged.config);
      }
      // Only the program can make another config, so it is told why and asked again.
      question["refused"] = std::move(judged.unfit);
    }
    host_.fail(
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
         : how == Ended::lost    ? "lost"
                                 : "failed");
  }

  std::optional<std::uint64_t> total() const override {
    if (num_samples_ < 0) return std::nullopt;
    return static_cast<std::uint64_t>(num_samples_);
  }
  // So it is asked beside the loop: a program may think for minutes, for which no trial should
  // wait.
  bool may_take_long() const override { return true; }

  Json save() const override { return {{"suggested", suggested_}, {"state", host_.save()}}; }
  void load(const Json& state) override {
    const std::string own = own_state_in(state, "searcher");
    suggested_ = load_whole<std::int64_t>(state.at("suggested"));
    host_.load(own);
  }

 private:
  void tell(const char* type, TrialId id, const Observation& seen, const char* how = nullptr) {
    Json told = message(type, id);
    if (how != nullptr) told["how"] = how;
    told["iteration"] = seen.iteration;
    Json values = Json::object();
    for (std::size_t i = 0; i < objectives_.size() && i < seen.scores.size(); ++i) {
      // Scores are larger-is-better; the program gets the metric with its own sign.
      const double score = seen.scores[i];
      values[objectives_[i].metric] = objectives_[i].mode == Mode::min ? -score : score;
    }
    told["metrics"] = std::move(values);
    if (!seen.constraints.empty()) told["constraints"] = seen.constraints;
    host_.tell(told);
  }

  mutable PolicyHost host_;  ///< to save is to ask
  ConfigRules rules_;
  std::vector<Objective> objectives_;
  std::int64_t num_samples_;
  std::int64_t suggested_ = 0;
};

class ProgramScheduler : public Scheduler {
 public:
  ProgramScheduler(PolicyHost::Options options, const PolicyContext& context)
      : host_(std::move(options)), rules_(rules_of(context)) {}

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
    SaidDecision said = host_.ask(question, decision_in);
    Decision decision{.action = said.action, .checkpoint = said.checkpoint, .at_max = said.at_max};
    if (said.action == Action::exploit) {
      decision.exploit = host_.accept([&] { return judge_exploit(trial.id, said); });
    }
    // Stops of other trials come with an answer about this one; `order` hands them out later.
    for (Order& stop : said.stops) orders_.push_back(std::move(stop));
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
    return {{"state", host_.save()}, {"stop", std::move(orders)}};
  }
  void load(const Json& state) override {
    const std::string own = own_state_in(state, "scheduler");
    orders_.clear();
    load_state("the scheduler's program", [&] {
      for (Order& stop : stops_in(state)) orders_.push_back(std::move(stop));
    });
    host_.load(own);
  }

 private:
  Exploit judge_exploit(TrialId trial, const SaidDecision& said) const {
    JudgedConfig judged = judge_config(said.config, trial, rules_, "asked for an exploit with");
    if (!judged.unfit.empty()) {
      throw BadAnswer("asked for an exploit with a config that cannot be tried, " + judged.unfit +
                      ": " + judged.text);
    }
    return {
        .donor = said.donor, .config = std::move(judged.text), .tag = std::move(judged.config.tag)};
  }

  mutable PolicyHost host_;
  ConfigRules rules_;
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
    SaidVerdict said = host_.ask(question, verdict_in);
    if (said.stop_all) stop_all_ = std::move(said.stop_all);
    return said.stop;
  }
  // should_stop_again stays the default: a program asked about a repetition would count it twice.
  void on_trial_end(const Trial& trial) override {
    Json told = message("end", trial.id);
    told["state"] = to_string(trial.state);
    host_.tell(told);
  }
  std::optional<std::string> should_stop_all(Seconds) const override { return stop_all_; }

  Json save() const override {
    return {{"state", host_.save()}, {"stop_all", stop_all_ ? Json(*stop_all_) : Json()}};
  }
  void load(const Json& state) override {
    host_.load(own_state_in(state, "stopper"));
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
