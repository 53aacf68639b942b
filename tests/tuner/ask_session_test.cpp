// Ask and tell on a disk that is slow, fills up and dies: what was committed is there.
#include "tuner/ask_session.h"

#include <chrono>
#include <thread>

#include "tests/journal/disasters.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/journal/generations.h"
#include "tuner/model/paths.h"
#include "tuner/run.h"

using namespace tune;

namespace {

constexpr const char* directory = "/asked/mine";
constexpr AskSession::Options no_snapshots{.patience_s = 0, .long_replay_s = 1e9};
constexpr AskSession::Options always_snapshots{.patience_s = 0, .long_replay_s = 0};

ExperimentSpec told_spec() {
  const Json json = {
      {"trainable", {{"command", {told_command}}}},
      {"name", "mine"},
      {"storage_path", "/asked"},
      {"param_space", {{"x", {{"uniform", {0, 1}}}}, {"y", {{"choice", {1, 2, 3}}}}}},
      {"metric", "loss"},
      {"mode", "min"},
      {"num_samples", -1},
      {"searcher", {{"type", "tpe"}, {"n_startup_trials", 3}}}};
  std::vector<Problem> problems;
  ExperimentSpec spec = parse_recorded_spec(json, built_in_catalogue(), problems);
  REQUIRE(problems.empty());
  return spec;
}

struct Unread : StateReader {
  bool wants_trials() const override { return false; }
  void on_event(Event&&) override {}
};

/// Somebody's calls, one process after the other, and what they were answered.
struct Caller {
  MemoryFileSystem files;
  const ExperimentSpec spec = told_spec();
  const Catalogue catalogue = built_in_catalogue();
  std::vector<std::string> configs;  ///< by trial
  std::size_t told = 0;              ///< trials, from the first on

  std::unique_ptr<AskSession> session(const AskSession::Options& options) {
    return std::make_unique<AskSession>(files, directory, catalogue, &spec, options);
  }

  void suggest(AskSession& on) {
    const auto answered = std::get<AskSession::Suggested>(on.suggest());
    on.commit();
    REQUIRE(index_of(answered.trial) == configs.size());
    configs.push_back(answered.config);
  }

  void tell(AskSession& on) {
    const TrialId trial{static_cast<std::uint32_t>(told)};
    on.tell(trial, R"({"loss": )" + std::to_string(told * 37 % 11) + "}");
    on.commit();
    ++told;
  }

  /// Two worker groups, the second on what the first has left.
  void talk(const AskSession::Options& options) {
    for (int conversation = 0; conversation < 2; ++conversation) {
      const auto on = session(options);
      for (int i = 0; i < 4; ++i) {
        suggest(*on);
        if (i % 2 == 1) tell(*on);
      }
    }
  }

  /// What was answered is known to the next process, and goes on from there.
  void check_nothing_is_lost() {
    // A process that is still there would hold its lock.
    files.remove_file(paths::lock(directory));
    const auto on = session(no_snapshots);
    const auto& trials = on->experiment().trials();
    REQUIRE(trials.size() >= configs.size());
    REQUIRE(trials.size() <= configs.size() + 1);  // one may be on disk whose answer never came
    for (std::size_t i = 0; i < configs.size(); ++i) {
      REQUIRE(trials[i].config == configs[i]);
      if (i < told) REQUIRE(trials[i].state == TrialState::terminated);
    }
    REQUIRE(on->experiment().count(TrialState::terminated) <= told + 1);
    (void)on->suggest();
    on->commit();
  }
};

}  // namespace

TEST_CASE("What is committed is written, however slow the disk", "[ask]") {
  Caller caller;
  const auto options = GENERATE(no_snapshots, always_snapshots);
  caller.files.on_call([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  const auto on = caller.session(options);
  for (int i = 0; i < 3; ++i) {
    caller.suggest(*on);
    Unread unread;
    TrialsFile trials(caller.files, directory);
    const auto found = read_generations(caller.files, directory, trials, unread, false);
    CHECK(found.last_event == on->experiment().last_event());
  }
}

TEST_CASE("Ask and tell lose nothing that was answered, wherever the disk or the process dies",
          "[ask][crash]") {
  const auto options = GENERATE(no_snapshots, always_snapshots);
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails);
  int deaths = 0;
  for (std::uint64_t k = 1;; ++k) {
    CAPTURE(k, static_cast<int>(disaster), options.long_replay_s);
    Caller caller;
    prepare(caller.files, disaster, k, 17);
    try {
      caller.talk(options);
      break;
    } catch (const Error&) {
      ++deaths;
    }
    recover(caller.files, disaster);
    if (caller.configs.empty()) continue;  // nothing was promised
    caller.check_nothing_is_lost();
  }
  CHECK(deaths > (options.long_replay_s == 0 ? 150 : 40));
}

TEST_CASE("A disk that is full for a moment costs ask and tell nothing that was answered",
          "[ask][crash][minutes]") {
  const auto options = GENERATE(no_snapshots, always_snapshots);
  int answered_all = 0;
  for (std::uint64_t k = 1;; ++k) {
    CAPTURE(k, options.long_replay_s);
    Caller caller;
    const std::uint64_t before = caller.files.operations();
    prepare(caller.files, Disaster::disk_full, k, 5);
    bool is_refused = false;
    try {
      caller.talk(options);
    } catch (const Error&) {
      is_refused = true;
    }
    const bool was_full = caller.files.operations() - before >= k;
    recover(caller.files, Disaster::disk_full);
    if (!was_full) break;
    if (!is_refused) ++answered_all;
    if (!caller.configs.empty()) caller.check_nothing_is_lost();
  }
  // A snapshot that does not fit is no reason to keep an answer back.
  CHECK(answered_all > (options.long_replay_s == 0 ? 50 : 0));
}

TEST_CASE("A snapshot that cannot be taken is said, and the conversation goes on", "[ask]") {
  Caller caller;
  const auto on = caller.session(always_snapshots);
  caller.suggest(*on);
  CHECK(on->take_notices().empty());
  const auto suggestion = std::get<AskSession::Suggested>(on->suggest());
  caller.configs.push_back(suggestion.config);
  caller.files.fail_operation(3, ENOSPC);  // the journal is written and synced by then
  on->commit();
  const auto notices = on->take_notices();
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices.front(), Catch::Matchers::StartsWith("there is no new snapshot"));
  caller.suggest(*on);
  caller.tell(*on);
  CHECK(on->take_notices().empty());
  caller.check_nothing_is_lost();
}
