// How the parts are made.
#include "tuner/engine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/preflight.h"
#include "tuner/process/spawn.h"
#include "tuner/push.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/spec/spec_policy.h"

namespace tune {

namespace {

/// Those given, those of the spec, and the files that every trial has.
void add_callbacks_to(CallbackList& callbacks, const ExperimentSpec& spec, const SearchSpace& space,
                      const Catalogue& catalogue, std::vector<std::unique_ptr<Callback>> given,
                      std::vector<Problem>& problems) {
  PolicyContext context = context_of(spec, space);
  context.notice = [&callbacks](std::string sentence) {
    callbacks.notice_later(std::move(sentence));
  };
  std::vector<Json> described = spec.callbacks;
  const auto is_given = [&](const char* type) {
    return std::any_of(described.begin(), described.end(),
                       [&](const Json& json) { return json.at("type") == type; });
  };
  const bool has_files = !is_given("none");
  for (const char* const file : {"params", "json", "csv", "tensorboard", "exploits"}) {
    if (has_files && !is_given(file)) described.push_back({{"type", file}});
  }
  for (auto& callback : given) callbacks.add(std::move(callback));
  for (std::size_t i = 0; i < described.size(); ++i) {
    auto callback = make_policy(described[i], "/callbacks/" + std::to_string(i), "callback",
                                catalogue.callbacks, context, problems);
    if (callback != nullptr) callbacks.add(std::move(callback));
  }
}

/// Given in the spec, or for all runs of a machine.
std::optional<Seconds> snapshot_period(const ExperimentSpec& spec) {
  if (spec.snapshot_period_s) return spec.snapshot_period_s;
  const char* const given = std::getenv("TUNE_GLOBAL_CHECKPOINT_S");
  if (given == nullptr || *given == '\0' || std::string_view(given) == "auto") return std::nullopt;
  Seconds period_s = 0;
  const char* const end = given + std::strlen(given);
  const auto [stopped, error] = std::from_chars(given, end, period_s);
  if (error != std::errc() || stopped != end || !(period_s > 0)) {
    throw user_error(
        std::string(
            "TUNE_GLOBAL_CHECKPOINT_S must be 'auto' or a number of seconds above 0, got '") +
        given + "'");
  }
  return period_s;
}

}  // namespace

Engine::Engine(const ExperimentSpec& the_spec, const Catalogue& the_catalogue,
               RunOptions& the_options, std::filesystem::path the_directory)
    : spec(the_spec),
      catalogue(the_catalogue),
      options(the_options),
      directory(std::move(the_directory)),
      period_s(snapshot_period(spec)),
      detected(detect_resources()),
      space(SearchSpace::parse(spec.param_space, "/param_space", problems)),
      policies(make_policies(spec, space, catalogue, problems, &programs)) {
  add_callbacks_to(callbacks, spec, space, catalogue, std::move(options.callbacks), problems);
  throw_if_any(problems);
  throw_if_any(preflight(spec, detected));
  require_launches();
}

void Engine::listen_to_signals() {
  if (!options.handle_signals) return;
  watchdog = std::make_unique<Watchdog>("what was recorded is kept, go on with: tune resume " +
                                        directory.native());
  programs.groups = &watchdog->groups();
}

bool Engine::is_interrupted() const {
  return (watchdog && watchdog->interrupts() > 0) ||
         (options.is_interrupted && options.is_interrupted());
}

std::unique_ptr<AsioReactor> Engine::make_reactor() const {
  return std::make_unique<AsioReactor>(
      options.handle_signals ? Interrupts::report : Interrupts::leave_alone, watchdog.get());
}

void Engine::tell(const std::string& sentence) {
  if (!is_running && options.on_wait) {
    options.on_wait(sentence);
  } else {
    callbacks.notice_later(sentence);
  }
}

Resources Engine::totals() const {
  if (!cluster) return total_resources(spec, detected);
  Resources sum;
  for (const NodeResources& node : cluster->nodes) {
    for (const auto& [name, amount] : node.totals) sum[name] += amount;
  }
  return sum;
}

LockOwner Engine::owner() const {
  LockOwner self = this_process(clock->now());
  self.lease_s = options.lease_s;
  return self;
}

SessionMark Engine::session_mark(const LockOwner& self) const {
  return {std::llround(experiment.started() * 1e6), self};
}

std::set<TrialId> Engine::adopted() const {
  std::set<TrialId> trials;
  for (const Adoption& each : adoption.adopted) trials.insert(each.trial);
  return trials;
}

std::vector<Replicator::Known> Engine::known_on_remote() {
  return known_checkpoints(*files, directory, spec.remote, spec.name, experiment,
                           spec.checkpoint_config);
}

}  // namespace tune
