// `tune check` for a program that does not speak the protocol: runs it whole, then again from a
// checkpoint, and compares the results.
#include "apps/tune/check_plain.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/model/paths.h"
#include "tuner/plain/checkpoint_files.h"
#include "tuner/policy/callback.h"
#include "tuner/run.h"

namespace tune {

namespace {

Seconds steady_s() {
  return std::chrono::duration<Seconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// What one run came to.
struct Played {
  std::vector<std::vector<double>> results;  ///< the objectives' values of each
  std::vector<Checkpoint> checkpoints;
  std::filesystem::path trial;  ///< its directory
  std::string error;            ///< why it has failed; empty if it has not
  Seconds took_s = 0;
};

class Recorder : public Callback {
 public:
  Recorder(const std::vector<Objective>& objectives, Played& played)
      : objectives_(objectives), played_(played) {}
  std::string name() const override { return "check"; }
  void on_trial_result(const Trial&, Result& result) override {
    auto& values = played_.results.emplace_back();
    for (const Objective& objective : objectives_) {
      values.push_back(result.find(objective.metric).value_or(std::nan("")));
    }
  }
  void on_checkpoint(const Trial&, const Checkpoint& checkpoint) override {
    played_.checkpoints.push_back(checkpoint);
  }

 private:
  const std::vector<Objective>& objectives_;
  Played& played_;
};

class PlainCheck {
 public:
  PlainCheck(const ExperimentSpec& spec, const Catalogue& catalogue, const CheckOptions& options,
             const std::function<void(const Verdict&)>& tell)
      : spec_(spec), catalogue_(catalogue), options_(options), tell_(tell) {}

  void run() {
    const Played whole = play({}, options_.iterations);
    if (!prints(whole)) return;
    const bool repeats = is_repeated(whole);
    if (!spec_.plain->checkpoints) {
      say(Verdict::Kind::unknown, "What it saves is found, and whole",
          "nobody has said where it saves: without a checkpoint a trial that is paused, retried or "
          "cloned begins anew (docs/plain.md)");
      return;
    }
    // So few epochs of milliseconds are over before it is known which result a save has.
    constexpr Seconds quick_s = 3;
    constexpr int many = 25;
    const bool is_quick =
        whole.took_s < quick_s && whole.checkpoints.empty() && !left_behind(whole).empty();
    const Played longer = is_quick ? play({}, many * options_.iterations) : Played();
    const Played& telling = is_quick && longer.error.empty() ? longer : whole;
    if (is_found(telling)) goes_on(telling, repeats);
  }

 private:
  static constexpr const char* goes_on_claim =
      "A trial that is ended in its middle, and goes on from what it saved, comes to the same";
  static constexpr const char* order_claim =
      "It saves each time after it has printed a result, or each time before";

  /// `saved`: see PlainCheckpoints, in the place of what the spec says; nothing: what that says.
  Played play(const std::filesystem::path& from, int iterations,
              std::optional<SavedWhen> saved = {}) {
    began_ = steady_s();
    ExperimentSpec spec = spec_;
    spec.name = "trial_" + std::to_string(runs_++);
    spec.storage_path = options_.directory;
    spec.param_space = Json::object();
    for (const auto& [name, value] : options_.config.items()) {
      spec.param_space[name] = value.is_structured() ? Json{{"value", value}} : value;
    }
    spec.num_samples = 1;
    spec.stop = {{"training_iteration", iterations}};
    spec.searcher = {{"type", "random"}};
    spec.scheduler = {{"type", "fifo"}};
    spec.constraints.clear();
    spec.callbacks.clear();
    spec.checkpoint_config = {};
    spec.failure_config = {};
    spec.time_budget_s.reset();
    spec.trial_timeout_s = options_.answer_s;
    spec.resume_from_checkpoint = from;
    if (saved && spec.plain->checkpoints) spec.plain->checkpoints->saved = saved;
    Played played;
    RunOptions run{.handle_signals = false};
    run.callbacks.push_back(std::make_unique<Recorder>(spec_.objectives, played));
    const RunOutcome outcome = run_experiment(spec, catalogue_, std::move(run));
    played.took_s = steady_s() - began_;
    const TrialResult trial = outcome.results[0];
    played.trial = trial.path;
    if (trial.state == TrialState::error) played.error = trial.error;
    return played;
  }

  void say(Verdict::Kind kind, const char* claim, const std::string& why) {
    tell_({.kind = kind, .claim = claim, .why = why, .took_s = steady_s() - began_});
    began_ = steady_s();
  }

  bool prints(const Played& whole) {
    constexpr const char* claim = "Its metric is found in what it prints, and it ends well";
    const bool holds = whole.error.empty();
    say(holds ? Verdict::Kind::holds : Verdict::Kind::fails, claim,
        holds ? count_of(whole.results.size(), "result") : whole.error);
    return holds;
  }

  bool are_equal(const std::vector<double>& a, const std::vector<double>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [this](double x, double y) {
      const double most = options_.tolerance * std::max(std::abs(x), std::abs(y));
      return (std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= most;
    });
  }

  /// What differs between two runs of one config says nothing about checkpoints.
  bool is_repeated(const Played& whole) {
    constexpr const char* claim = "Two runs with one config come to the same";
    const Played again = play({}, options_.iterations);
    const std::size_t both = std::min(whole.results.size(), again.results.size());
    bool is_same = again.error.empty();
    for (std::size_t i = 0; i < both; ++i) {
      is_same = is_same && are_equal(whole.results[i], again.results[i]);
    }
    say(is_same ? Verdict::Kind::holds : Verdict::Kind::unknown, claim,
        is_same
            ? ""
            : "they do not: with a seed in its config or command, or with --tolerance, more can "
              "be told");
    return is_same;
  }

  /// A file or directory that it has left where it saves; empty: there is none.
  std::string left_behind(const Played& whole) const {
    const PlainCheckpoints& saving = *spec_.plain->checkpoints;
    std::filesystem::path root = paths::work(whole.trial);
    if (!saving.in_working_directory) root /= plain_checkpoint_dir;
    const auto there = look_at_checkpoint(root, {});
    if (!there) return "";
    for (const FileVersion& file : there->files) {
      const bool counts = saving.pattern.empty() || checkpoint_of(saving.pattern, file.name);
      if (counts) return file.name.substr(0, file.name.find('/'));
    }
    return "";
  }

  std::string why_not_found(const Played& whole) const {
    const std::string left = left_behind(whole);
    if (left.empty()) {
      return ": does it save so soon (--iterations says how long it runs), and to where the spec "
             "says (docs/plain.md)?";
    }
    const std::string unknown =
        ", though " + as_quoted(left) +
        " is there: of what is written anew more often than each second nothing tells when it is "
        "whole. ";
    if (spec_.plain->checkpoints->pattern.empty()) {
      return unknown + "Name what is a checkpoint, such as \"checkpoints\": \"" + left +
             "\", or, of a directory, the file that is written last, \"complete\" (docs/plain.md)";
    }
    return unknown +
           "A file should be written under another name and then renamed; of a directory, name "
           "the file that is written last, \"complete\" (docs/plain.md)";
  }

  bool is_found(const Played& whole) {
    constexpr const char* claim = "What it saves is found, and whole";
    if (whole.checkpoints.empty()) {
      say(Verdict::Kind::fails, claim,
          "nothing was in " + count_of(whole.results.size(), "iteration") + why_not_found(whole));
      return false;
    }
    std::string iterations;
    for (const Checkpoint& checkpoint : whole.checkpoints) {
      iterations += (iterations.empty() ? "" : ", ") + std::to_string(checkpoint.iteration);
    }
    say(Verdict::Kind::holds, claim,
        count_of(whole.checkpoints.size(), "checkpoint") + ", of iteration " + iterations);
    return true;
  }

  void goes_on(const Played& whole, bool repeats) {
    if (!repeats) return say(Verdict::Kind::unknown, goes_on_claim, "its runs differ anyway");
    // Its checkpoints are then named by the last result before them, whatever it does.
    const Played half = play({}, std::max(1, options_.iterations / 2), SavedWhen::after_result);
    const auto last = static_cast<std::int64_t>(whole.results.size());
    if (half.checkpoints.empty() || half.checkpoints.back().iteration >= last) {
      return say(Verdict::Kind::unknown, goes_on_claim,
                 "when it was ended it had nothing whole that is not of its last iteration: "
                 "--iterations says how long it runs");
    }
    const Checkpoint& from = half.checkpoints.back();
    const Played rest = play(paths::checkpoint(half.trial, from.index), options_.iterations);
    if (!rest.error.empty()) {
      return say(Verdict::Kind::fails, goes_on_claim,
                 "given the checkpoint of iteration " + std::to_string(from.iteration) +
                     ", it fails: " + rest.error);
    }
    if (rest.results.empty()) {
      return say(Verdict::Kind::unknown, goes_on_claim, "it had no more results");
    }
    const bool is_as_first = are_equal(rest.results.front(), whole.results.front());
    if (is_as_first && from.iteration == 1) {
      return say(Verdict::Kind::unknown, goes_on_claim,
                 "given the checkpoint of iteration 1 it prints the result of that: it has begun "
                 "anew, or evaluates what it goes on from. More --iterations tell");
    }
    if (is_as_first) {
      return say(
          Verdict::Kind::fails, goes_on_claim,
          "it has begun anew: its first result is that of iteration 1. Does it read what was "
          "put back, or does it need arguments (\"resume\") for that?");
    }
    // It holds at least its iteration, and may hold more.
    const auto begins = where_it_goes_on(whole, rest, static_cast<std::size_t>(from.iteration));
    if (!begins.empty()) {
      const std::size_t both = std::min(rest.results.size(), whole.results.size() - begins.front());
      say(Verdict::Kind::holds, goes_on_claim,
          "from iteration " + std::to_string(begins.front()) + ", " + count_of(both, "result"));
      return say_order(begins, static_cast<std::size_t>(from.iteration));
    }
    // It cannot hold less than that: what comes once more is no training.
    const auto printed = static_cast<std::size_t>(from.iteration);
    const auto evaluated = where_it_goes_on(whole, rest, printed - 1);
    if (!evaluated.empty()) {
      say(Verdict::Kind::holds, goes_on_claim,
          "from iteration " + std::to_string(from.iteration) +
              ", whose result it prints once more. Where that differs in its last digits, or has "
              "few, it is counted as trained again: name an expression for "
              "\"training_iteration\" (docs/plain.md)");
      return say_order({printed}, printed);
    }
    say(Verdict::Kind::fails, goes_on_claim,
        "after the checkpoint of iteration " + std::to_string(from.iteration) +
            " its results differ from those of the whole run: is all of its state saved, the "
            "optimizer's, the data's order, the generators'?");
  }

  /// Behind which iterations of the whole run, from `first` on, the results may stand with which
  /// it went on: one, where they differ from each other.
  std::vector<std::size_t> where_it_goes_on(const Played& whole, const Played& rest,
                                            std::size_t first) const {
    std::vector<std::size_t> begins;
    for (std::size_t begin = first; begin < whole.results.size(); ++begin) {
      const std::size_t both = std::min(rest.results.size(), whole.results.size() - begin);
      const auto from = whole.results.begin() + static_cast<std::ptrdiff_t>(begin);
      const bool is_same =
          std::equal(from, from + static_cast<std::ptrdiff_t>(both), rest.results.begin(),
                     [this](const auto& was, const auto& is) { return are_equal(was, is); });
      if (is_same) begins.push_back(begin);
    }
    return begins;
  }

  /// What the checkpoint has, beside the last result before it: that, or one more.
  void say_order(const std::vector<std::size_t>& begins, std::size_t printed) {
    const std::size_t more = begins.front() - printed;
    if (begins.size() > 1 || more > 1) {
      return say(Verdict::Kind::unknown, order_claim,
                 begins.size() > 1
                     ? "several of its results are the same, which tells nothing"
                     : "it has trained on for several results after the save was due");
    }
    const SavedWhen proven = more == 0 ? SavedWhen::after_result : SavedWhen::before_result;
    const std::string sentence =
        more == 0 ? "\"saved\": \"after_result\", it prints a result and then saves it"
                  : "\"saved\": \"before_result\", it saves what a result is of and then prints it";
    const auto told = spec_.plain->checkpoints->saved;
    if (told && *told != proven) {
      return say(Verdict::Kind::fails, order_claim,
                 "the spec says the other order: it is " + sentence);
    }
    say(Verdict::Kind::holds, order_claim, sentence);
  }

  const ExperimentSpec& spec_;
  const Catalogue& catalogue_;
  const CheckOptions& options_;
  const std::function<void(const Verdict&)>& tell_;
  int runs_ = 0;
  Seconds began_ = 0;  ///< steady; what is to be told next
};

}  // namespace

void check_plain_program(const ExperimentSpec& spec, const Catalogue& catalogue,
                         const CheckOptions& options,
                         const std::function<void(const Verdict&)>& tell) {
  PlainCheck(spec, catalogue, options, tell).run();
}

}  // namespace tune
