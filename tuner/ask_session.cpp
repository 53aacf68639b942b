// AskSession::State makes or opens the experiment as soon as its lock is free, with pauses that
// double (exponential backoff, jitter).
#include "tuner/ask_session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/host/policy_programs.h"
#include "tuner/model/paths.h"
#include "tuner/process/system_clock.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/run/commit/snapshots.h"
#include "tuner/run/run_parts.h"
#include "tuner/run/trials/make_result.h"
#include "tuner/spec/resume_changes.h"
#include "tuner/version.h"

namespace tune {

namespace {

/// Between two looks at an experiment that another process has: longer from one to the next, and
/// never the same for two who wait.
constexpr Seconds shortest_pause_s = 0.002;
constexpr Seconds longest_pause_s = 0.25;
/// So often in a row an experiment that nobody has may be refused before that is believed.
constexpr int most_unexplained = 3;

ExperimentSpec read_spec(FileSystem& files, const std::filesystem::path& directory,
                         const Catalogue& catalogue) {
  std::vector<Problem> problems;
  ExperimentSpec spec =
      parse_recorded_spec(ExperimentStore::read_spec(files, directory), catalogue, problems);
  throw_if_any(problems);
  if (is_told(spec)) return spec;
  throw user_error("the trials of " + directory.string() +
                   " are run by tune run: suggest and tell are for experiments that tune suggest "
                   "has started");
}

void refuse_other_spec(const ExperimentSpec& recorded, ExperimentSpec given,
                       const std::filesystem::path& directory) {
  // It was found by these, so they are right whatever was recorded before a move.
  given.name = recorded.name;
  given.storage_path = recorded.storage_path;
  given.num_samples = recorded.num_samples;
  keep_chosen_searcher(recorded, given);
  const std::string changed = changed_fields(recorded, given);
  if (changed.empty()) return;
  throw user_error(directory.string() + " was started with another " + changed +
                   ": leave the spec out to go on with what it was started with, or use another "
                   "directory");
}

}  // namespace

bool is_told(const ExperimentSpec& spec) {
  return spec.command.size() == 1 && spec.command.front() == told_command;
}

struct AskSession::State {
  State(FileSystem& the_files, std::filesystem::path the_directory, const Options& the_options)
      : files(the_files), directory(std::move(the_directory)), options(the_options) {}

  Policies make(const Catalogue& catalogue) {
    std::vector<Problem> problems;
    Policies made = make_policies(spec, space, catalogue, problems, &programs);
    throw_if_any(problems);
    return made;
  }

  void make_it(const Catalogue& catalogue, const ExperimentSpec& given) {
    use(given);
    policies = make(catalogue);
    store.emplace(ExperimentStore::create(files, directory, to_json(spec), owner(), &watch));
  }

  void open_it(const Catalogue& catalogue) {
    notices.clear();
    Recovery recovery(experiment, policies, [&] { return make(catalogue); });
    store.emplace(ExperimentStore::open(files, directory, owner(), recovery, notices, {}, &watch));
    changes = recovery.take_changes();
    if (const auto& difference = recovery.difference()) {
      notices.push_back(
          "the searcher answers the journal differently than it did, the record wins: " +
          *difference);
    }
  }

  bool is_more(std::int64_t num_samples) const {
    return spec.num_samples != -1 && (num_samples == -1 || num_samples > spec.num_samples);
  }

  void extend(std::int64_t num_samples, const Catalogue& catalogue) {
    const bool has_snapshot = ExperimentStore::read_snapshot_state(files, directory).has_value();
    const Json recorded = to_json(spec);
    spec.num_samples = num_samples;
    Policies extended = make(catalogue);
    change_spec(experiment, {policies, recorded}, {extended, to_json(spec)}, *store, callbacks,
                changes, has_snapshot);
    policies = std::move(extended);
  }

  LockOwner owner() const {
    LockOwner self = this_process(clock->now());
    self.lease_s = options.lease_s;
    return self;
  }

  void use(ExperimentSpec the_spec) {
    spec = std::move(the_spec);
    constraints = constraints_of(spec);
    std::vector<Problem> problems;
    space = SearchSpace::parse(spec.param_space, "/param_space", problems);
    throw_if_any(problems);
  }

  /// Makes or opens it, as soon as nobody else has it.
  void wait_for_it(const Catalogue& catalogue, const ExperimentSpec* given) {
    const Seconds until = clock->steady() + options.patience_s;
    int unexplained = 0;
    std::string last_reason;
    std::minstd_rand jitter(static_cast<unsigned>(::getpid()));
    for (Seconds pause_s = shortest_pause_s;; pause_s = std::min(2 * pause_s, longest_pause_s)) {
      const bool is_there = ExperimentStore::exists(files, directory);
      if (is_there) {
        use(read_spec(files, directory, catalogue));
        if (given != nullptr) refuse_other_spec(spec, *given, directory);
      } else if (given == nullptr) {
        throw no_experiment(files, directory);
      }
      const Seconds started = clock->steady();
      try {
        is_there ? open_it(catalogue) : make_it(catalogue, *given);
        if (given != nullptr && is_more(given->num_samples)) extend(given->num_samples, catalogue);
        busy_s = clock->steady() - started;
        return;
      } catch (const Error& error) {
        if (error.fault() != Fault::user) throw;
        const bool is_held = ExperimentStore::driver(files, directory).has_value();
        if (is_held && clock->steady() >= until) {
          throw user_error(std::string(error.what()) + "; waited " +
                           Json(options.patience_s).dump() + " s for it");
        }
        // Whoever had it, or has just made it, may have left since: then the reason is another.
        const bool is_same = last_reason == error.what();
        unexplained = !is_held && is_same ? unexplained + 1 : 0;
        if (unexplained > most_unexplained) throw;
        last_reason = error.what();
      }
      const Seconds this_pause_s = std::uniform_real_distribution(0.5, 1.0)(jitter) * pause_s;
      std::this_thread::sleep_for(std::chrono::duration<double>(this_pause_s));
    }
  }

  const Trial& running(TrialId id) const {
    if (index_of(id) >= experiment.trials().size()) {
      throw user_error("there is no " + to_string(id) + " in " + directory.string() + ", where " +
                       std::to_string(experiment.trials().size()) +
                       " have been suggested, from trial_00000");
    }
    const Trial& trial = experiment.trial(id);
    if (is_final(trial.state)) {
      throw user_error(to_string(id) + " has been told already: it is " + to_string(trial.state));
    }
    if (trial.state != TrialState::running) {
      throw user_error(to_string(id) + " is " + to_string(trial.state) + ", not RUNNING");
    }
    return trial;
  }

  FileSystem& files;
  const std::filesystem::path directory;
  const Options options;
  std::unique_ptr<Clock> clock = make_system_clock();
  ExperimentSpec spec;
  SearchSpace space;
  std::vector<Constraint> constraints;
  const PolicyPrograms programs{
      .log = [this](const std::string& kind) { return paths::policy_log(directory, kind); }};
  Policies policies;
  Experiment experiment;
  TrialChanges changes;
  CallbackList callbacks;  ///< none
  std::vector<std::string> notices;
  LeaseWatch watch;
  std::optional<ExperimentStore> store;
  Workers workers{Workers::Threads::none, nullptr};
  std::optional<EventCommitter> committer;
  Seconds busy_s = 0;  ///< reading and thinking, which the next process would have to do again
};

AskSession::AskSession(FileSystem& files, const std::filesystem::path& directory,
                       const Catalogue& catalogue, const ExperimentSpec* spec,
                       const Options& options)
    : state_(std::make_unique<State>(files, directory, options)) {
  State& state = *state_;
  state.wait_for_it(catalogue, spec);
  state.committer.emplace(state.experiment, state.policies, *state.store, state.workers,
                          *state.clock, std::move(state.changes));
  if (state.experiment.sessions() == 0) {
    begin_session(*state.committer, this_process(state.clock->now()), version());
  }
}

AskSession::~AskSession() = default;

AskSession::Answered AskSession::suggest() {
  State& state = *state_;
  const TrialId next{static_cast<std::uint32_t>(state.experiment.trials().size())};
  const Seconds started = state.clock->steady();
  std::optional<Answer> answer;
  while (!(answer = state.policies.searcher.answer(next))) {
    const auto asked = state.policies.searcher.to_ask(next, true);
    ensure(asked.has_value(), "a searcher without an answer can be asked for one");
    state.committer->commit(SuggestionAsked{*asked});
  }
  state.busy_s += state.clock->steady() - started;
  if (std::holds_alternative<Resume>(*answer)) {
    // Nobody is there who could go on with a trial that waits.
    state.policies.searcher.pass_over();
    return NothingNow{};
  }
  if (std::holds_alternative<NothingNow>(*answer)) return NothingNow{};
  if (std::holds_alternative<Exhausted>(*answer)) return Exhausted{};
  auto& suggestion = std::get<Suggestion>(*answer);
  const std::string config = config_of(next, suggestion.config);
  state.committer->commit(TrialAdded{next, config, std::move(suggestion.tag), ""});
  state.committer->commit(AttemptStarted{next, 1, 0, {}});
  return Suggested{next, config};
}

void AskSession::tell(TrialId id, const std::string& metrics) {
  State& state = *state_;
  const Trial& trial = state.running(id);
  Result result;
  try {
    const ResultRules rules{state.spec.objectives, state.constraints};
    result = make_result(rules, trial, parse_metrics(metrics), state.committer->now(),
                         std::max(0.0, state.committer->now() - trial.started));
  } catch (const std::invalid_argument& error) {
    throw user_error("the metrics of " + to_string(id) + " cannot be taken: " + error.what());
  }
  result.done = true;
  Decision decision = state.policies.decide(state.experiment, trial, result);
  const int attempt = trial.attempt;
  state.committer->commit(ResultReported{id, attempt, std::move(result), std::move(decision)});
  state.committer->commit(AttemptEnded{id, attempt, Outcome::completed, ""});
}

void AskSession::tell_failure(TrialId id, const std::string& reason) {
  State& state = *state_;
  const int attempt = state.running(id).attempt;
  state.committer->commit(AttemptEnded{id, attempt, Outcome::failed, reason});
}

void AskSession::commit() {
  State& state = *state_;
  // Not the committer's write, which a slow disk would make a thread's.
  state.store->write();
  state.store->sync();
  if (state.busy_s < state.options.long_replay_s) return;
  try {
    take_snapshot(state.experiment, state.policies, *state.store, state.callbacks,
                  to_json(state.spec), state.committer->changes());
    state.busy_s = 0;
  } catch (const Error& error) {
    // The trials that it was to hold are in no other one of this session.
    state.busy_s = -std::numeric_limits<Seconds>::infinity();
    state.notices.push_back("there is no new snapshot, so that the next call takes longer: " +
                            std::string(error.what()));
  }
}

const Experiment& AskSession::experiment() const { return state_->experiment; }
const ExperimentSpec& AskSession::spec() const { return state_->spec; }
std::vector<std::string> AskSession::take_notices() { return std::exchange(state_->notices, {}); }

}  // namespace tune
