// The checks of `tune check`, one member function each, and the sentences that they fail with.
#include "tuner/check/check.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/check/stage.h"
#include "tuner/spec/spec_warnings.h"

namespace tune {

namespace {

/// For which a trainable is listened to that has nothing to say.
constexpr Seconds quiet_s = 0.05;
/// So much longer than its step one may take that has to find out that the driver is gone.
constexpr double slowness = 3;
constexpr std::size_t most_named = 5;

std::string list_of(const std::set<std::string>& names) {
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (named++ == most_named) return text + " and more";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

bool is_timing(const std::string& name) { return name == "time_this_iter_s"; }

/// A check's answer that is no failure of the trainable's.
struct Unknown {
  std::string why;
};
using Answer = std::variant<std::monostate, std::string, Unknown>;

class Check {
 public:
  Check(const ExperimentSpec& spec, const CheckOptions& options, FileSystem& files,
        const std::function<void(const Verdict&)>& tell)
      : options_(options),
        tell_(tell),
        stage_(spec, files, options.directory, options.answer_s),
        leave_s_(spec.stop_grace_s) {}

  void run();

 private:
  /// Tells what `check` comes to: nothing: it holds; a sentence: it holds, and that is to be said.
  /// True if it holds.
  template <class Play>
  bool look(const std::string& claim, Play play);

  // The checks. Each throws Trouble if it fails.
  Answer talks();
  Answer repeats();
  Answer saving_changes_nothing();
  Answer saves_at_start();
  Answer restores();
  Answer survives_a_kill();
  Answer heeds_other_configs();
  Answer resets();
  Answer leaves();
  Answer notices_the_end();
  Answer gives_numbers_back();
  Answer names_what_is_covered();

  std::string metrics_to_look_at() const;
  void require_quiet(Actor& actor, const std::string& after);
  void require_equal(const Results& was, const Results& is, const std::string& what);
  void require_same_files(const Kept& kept, const std::string& what);
  void continue_from(const Kept& from, std::optional<TrialId> trial, const std::string& what);
  std::optional<Kept> middle_of(Actor& actor);
  void require_moved(const Actor& actor, pid_t pid) const;

  const CheckOptions& options_;
  const std::function<void(const Verdict&)>& tell_;
  Stage stage_;
  const Seconds leave_s_;

  bool saves_ = true;  ///< when it is told to; otherwise it hands over what it saves
  bool saves_at_start_ = false;
  bool can_reset_ = false;
  bool can_stay_ = false;
  bool echoes_ = true;
  Seconds step_s_ = 0;
  Results whole_;                       ///< of the run that nothing happens to
  Digest last_digest_;                  ///< of a checkpoint at its end; empty: it has none
  std::set<std::string> same_metrics_;  ///< that repeat, and so can be compared
  std::set<std::string> same_files_;
  LargestDifference covered_;   ///< of those that the tolerance makes equal
  std::optional<Kept> middle_;  ///< a checkpoint that is not of the last iteration
};

template <class Play>
bool Check::look(const std::string& claim, Play play) {
  Verdict verdict{.claim = claim};
  const Seconds began = steady_s();
  try {
    const Answer answer = (this->*play)();
    if (const auto* const said = std::get_if<std::string>(&answer)) verdict.why = *said;
    if (const auto* const unknown = std::get_if<Unknown>(&answer)) {
      verdict.kind = Verdict::Kind::unknown;
      verdict.why = unknown->why;
    }
  } catch (const Trouble& trouble) {
    verdict.kind = Verdict::Kind::fails;
    verdict.why = trouble.what();
  }
  verdict.took_s = steady_s() - began;
  tell_(verdict);
  return verdict.kind == Verdict::Kind::holds;
}

void Check::run() {
  if (!look("It says hello, and answers each step with one result", &Check::talks)) return;
  look("Two processes with one config come to the same", &Check::repeats);
  if (saves_) {
    look("It saves, and that changes nothing of the training", &Check::saving_changes_nothing);
  }
  if (saves_at_start_) {
    look("It saves before its first step, as its hello says", &Check::saves_at_start);
  }
  look("A trial that a new process restores comes to the same", &Check::restores);
  look("A trial that is killed in a step or a save, and restored, comes to the same",
       &Check::survives_a_kill);
  look("A restored trial goes by its config, also if that has changed",
       &Check::heeds_other_configs);
  look("A process that is reset is as good as new", &Check::resets);
  look("It leaves when it is told to stop", &Check::leaves);
  look("It leaves when the driver is gone", &Check::notices_the_end);
  look("It names the step or save that it answers", &Check::gives_numbers_back);
  if (options_.tolerance > 0) {
    look("What the tolerance covers is named", &Check::names_what_is_covered);
  }
}

Answer Check::talks() {
  Actor actor(stage_);
  can_reset_ = actor.hello().can_reset;
  can_stay_ = actor.hello().can_stay;
  saves_at_start_ = actor.hello().can_save_at_start;
  require_quiet(actor, "its hello");
  actor.start(options_.config);
  require_quiet(actor, "start");
  while (!actor.is_done() && actor.iteration() < options_.iterations) {
    if (auto metrics = actor.step()) {
      whole_.metrics.push_back(std::move(*metrics));
      saves_ = saves_ && actor.can_save();
    }
    require_quiet(actor, "its answer");
    const auto& handed_over = actor.handed_over();
    const bool is_early = handed_over && handed_over->iteration < options_.iterations;
    if (is_early && !middle_ && !actor.is_done()) middle_ = handed_over;
  }
  step_s_ = actor.step_s();
  echoes_ = actor.echoes();
  if (whole_.metrics.empty()) throw Trouble("it is done before its first result");
  if (middle_ && middle_->iteration >= whole_.last()) middle_.reset();
  if (actor.can_save()) {
    try {
      last_digest_ = digest_of(stage_.files(), actor.save().directory);
      require_quiet(actor, "its save");
      echoes_ = actor.echoes();
    } catch (const Trouble&) {
      // Whether it can save is another claim.
    }
  }
  return std::to_string(whole_.metrics.size()) + " iterations" +
         (actor.is_done() ? ", by its own end" : "") + "; hello after " +
         std::to_string(static_cast<int>(actor.hello_s() * 1000)) + " ms" + metrics_to_look_at();
}

/// Of those that the spec goes by, what is allowed and hardly meant.
std::string Check::metrics_to_look_at() const {
  std::string text;
  for (const Objective& objective : stage_.spec().objectives) {
    const std::string& metric = objective.metric;
    const auto is_nan = [&](const Metrics& each) {
      return std::isnan(each.find(metric).value_or(0));
    };
    const auto first = std::find_if(whole_.metrics.begin(), whole_.metrics.end(), is_nan);
    if (first == whole_.metrics.end()) continue;
    text += "; look at " + metric + ": it is NaN, first in iteration " +
            std::to_string(whole_.first + (first - whole_.metrics.begin()));
  }
  const auto reported = names_of(whole_);
  for (const auto& [metric, by] : metrics_awaited(stage_.spec())) {
    if (!reported.contains(metric)) text += "; no result has " + metric + ", which the spec names";
  }
  return text;
}

/// What differs between two runs of one config says nothing about checkpoints.
Answer Check::repeats() {
  Actor actor(stage_);
  actor.start(options_.config);
  const Results again = actor.train_until(options_.iterations);
  same_metrics_ = names_that_repeat(whole_, again, options_.tolerance);
  // Within a tolerance files differ in every byte.
  if (!last_digest_.empty() && options_.tolerance == 0) {
    const Digest digest = digest_of(stage_.files(), actor.save().directory);
    for (const auto& [file, sum] : last_digest_) {
      const auto found = digest.find(file);
      if (found != digest.end() && found->second == sum) same_files_.insert(file);
    }
  }
  std::set<std::string> others = names_of(whole_);
  std::erase_if(others, [this](const std::string& name) {
    return is_timing(name) || same_metrics_.contains(name);
  });
  std::erase_if(same_metrics_, is_timing);
  const auto& objectives = stage_.spec().objectives;
  const bool is_lost = std::any_of(objectives.begin(), objectives.end(),
                                   [&](const auto& each) { return others.contains(each.metric); });
  if (same_metrics_.empty() || is_lost) {
    const auto difference = first_difference(whole_, again, others, options_.tolerance);
    same_metrics_.clear();
    return Unknown{difference.value_or("it reports no number that could be compared") +
                   ". Without a fixed seed a checkpoint cannot be judged by what follows from it: "
                   "seed every generator from the config, or give --tolerance"};
  }
  if (!others.empty()) return "not compared, since they differ: " + list_of(others);
  return {};
}

Answer Check::saving_changes_nothing() {
  Actor actor(stage_);
  actor.start(options_.config);
  Results results;
  std::optional<Kept> last;
  const std::int64_t middle = std::max<std::int64_t>(whole_.last() / 2, 1);
  while (!actor.is_done() && actor.iteration() < options_.iterations) {
    if (auto metrics = actor.step()) results.metrics.push_back(std::move(*metrics));
    if (!actor.can_save()) continue;  // a function that has returned
    last = actor.save();
    if (!middle_ && actor.iteration() >= middle && actor.iteration() < whole_.last()) {
      middle_ = last;
    }
  }
  echoes_ = echoes_ && actor.echoes();
  require_equal(whole_, results, "saved after each iteration");
  if (last) require_same_files(*last, "saved after each iteration");
  if (same_metrics_.empty()) return Unknown{"it saves; whether that changes anything is not known"};
  return {};
}

/// Whether a process that starts from `from` comes to what the whole run came to.
void Check::continue_from(const Kept& from, std::optional<TrialId> trial, const std::string& what) {
  const Digest before = digest_of(stage_.files(), from.directory);
  Actor actor(stage_, trial);
  actor.start(options_.config, from);
  require_equal(whole_.from(from.iteration + 1), actor.train_until(options_.iterations), what);
  if (digest_of(stage_.files(), from.directory) != before) {
    throw Trouble(what + ", it changed the checkpoint that it was to load");
  }
  if (actor.can_save()) require_same_files(actor.save(), what);
}

Answer Check::saves_at_start() {
  Actor actor(stage_);
  actor.start(options_.config);
  const Kept start = actor.save();
  require_quiet(actor, "its save before the first step");
  require_equal(whole_, actor.train_until(options_.iterations), "saved before the first step");
  Actor restored(stage_);
  restored.start(options_.config, start);
  require_equal(whole_, restored.train_until(options_.iterations),
                "started from what it had saved before the first step");
  return {};
}

Answer Check::restores() {
  if (!middle_) {
    return Unknown{saves_ ? "there is no checkpoint to start from"
                          : "it reported no checkpoint before its last iteration: a trial that is "
                            "interrupted starts from scratch. See --iterations"};
  }
  continue_from(*middle_, std::nullopt,
                "restored at iteration " + std::to_string(middle_->iteration));
  if (same_metrics_.empty()) return Unknown{"it can be restored; to the same results is not known"};
  return {};
}

Answer Check::survives_a_kill() {
  if (!middle_) return Unknown{"there is no checkpoint to start from"};
  {
    Actor actor(stage_);
    actor.start(options_.config);
    const auto middle = middle_of(actor);
    actor.tell_step();
    std::this_thread::sleep_for(std::chrono::duration<double>(step_s_ / 2));
    actor.peer().kill();
    if (middle) continue_from(*middle, actor.trial(), "killed in a step and restored");
  }
  if (!saves_) {
    if (!same_metrics_.empty()) return {};
    return Unknown{"it can be restored; to the same results is not known"};
  }
  Actor actor(stage_);
  actor.start(options_.config);
  const auto middle = middle_of(actor);
  actor.tell_save();
  actor.peer().kill();
  if (middle) continue_from(*middle, actor.trial(), "killed in a save and restored");
  if (same_metrics_.empty()) return Unknown{"it can be restored; to the same results is not known"};
  return {};
}

/// Trains to the middle; the checkpoint of there.
std::optional<Kept> Check::middle_of(Actor& actor) {
  (void)actor.train_until(middle_->iteration);
  if (!saves_) return actor.handed_over();
  return actor.save();
}

/// With population based training weights come from a checkpoint and hyperparameters from the
/// config. One value is changed at a time: else one that is heeded hides one that is not.
Answer Check::heeds_other_configs() {
  constexpr int most_changed = 8;
  if (!options_.other) return Unknown{"there is no other config: the space draws nothing"};
  if (!middle_) return Unknown{"there is no checkpoint to start from"};
  std::set<std::string> heeded, refused, ignored, without_effect;
  std::string refusal;
  int changed = 0;
  for (const auto& [name, value] : options_.other->items()) {
    const bool is_of_interest = options_.mutated.empty() || options_.mutated.contains(name);
    if (!is_of_interest || options_.config.value(name, Json()) == value) continue;
    if (changed++ == most_changed) break;
    Json config = options_.config;
    config[name] = value;
    try {
      Actor actor(stage_);
      actor.start(config, *middle_);
      const Results restored = actor.train_until(options_.iterations);
      const bool differs = first_difference(whole_.from(middle_->iteration + 1), restored,
                                            same_metrics_, options_.tolerance)
                               .has_value();
      if (differs) {
        heeded.insert(name);
        continue;
      }
      Actor fresh(stage_);
      fresh.start(config);
      const Results from_scratch = fresh.train_until(options_.iterations);
      const bool matters =
          first_difference(whole_, from_scratch, same_metrics_, options_.tolerance).has_value();
      // Within a tolerance a small effect is none.
      (matters && options_.tolerance == 0 ? ignored : without_effect).insert(name);
    } catch (const Trouble& trouble) {
      refused.insert(name);
      if (refusal.empty()) refusal = trouble.what();
    }
  }
  if (same_metrics_.empty()) return Unknown{"by which config it goes on is not known"};
  std::string said;
  if (!ignored.empty()) {
    const std::string names = list_of(ignored);
    said = "restored with another " + names + " it trains on as before: it takes " + names +
           " out of the checkpoint, and not from its config";
    if (!options_.mutated.empty()) throw Trouble(said);
    return Unknown{said +
                   "; or that matters at the start alone. Population based training could "
                   "not change it"};
  }
  if (!refused.empty()) {
    said = "it refuses a checkpoint of another " + list_of(refused) + " (" + refusal +
           "); in population based training these must not change";
  }
  if (!without_effect.empty()) {
    said += (said.empty() ? "" : "; ") + list_of(without_effect) +
            " made no difference in so few iterations";
  }
  if (heeded.empty()) return Unknown{said};
  return said.empty() ? Answer() : Answer(said);
}

Answer Check::resets() {
  if (!can_reset_ && can_stay_) {
    return Unknown{"its hello said can_stay: at each stop it says for itself whether it is"};
  }
  if (!can_reset_) {
    return Unknown{"its hello did not say can_reset; then reuse_processes is of no use"};
  }
  Actor actor(stage_);
  actor.start(options_.other.value_or(options_.config));
  (void)actor.train_until(std::max<std::int64_t>(options_.iterations / 2, 1));
  actor.reset(options_.config);
  const Results again = actor.train_until(options_.iterations);
  if (actor.is_refused()) return Unknown{"it refused"};
  require_moved(actor, actor.peer().pid());
  require_equal(whole_, again, "reset");
  if (actor.can_save()) require_same_files(actor.save(), "reset");
  if (!middle_) return {};
  actor.reset(options_.config, *middle_);
  const Results restored = actor.train_until(options_.iterations);
  if (actor.is_refused()) return Unknown{"it refused, with a checkpoint"};
  require_equal(whole_.from(middle_->iteration + 1), restored, "reset to a checkpoint");
  return {};
}

/// A process by itself can be looked at; of one that a script has started nothing is known.
void Check::require_moved(const Actor& actor, pid_t pid) const {
  const std::string number = std::to_string(pid);
  const std::string process = "/proc/" + number;
  std::ifstream children(process + "/task/" + number + "/children");
  if (children.peek() != std::ifstream::traits_type::eof()) return;
  std::error_code error;
  const auto is_at = [&](const std::string& link) {
    return std::filesystem::read_symlink(process + link, error);
  };
  const std::filesystem::path now = stage_.directory_of(actor.trial());
  const auto place = is_at("/cwd");
  if (error || !place.native().starts_with(options_.directory.native())) return;
  if (place != now / "work") {
    throw Trouble(
        "reset, it stayed in the working directory of the trial before: it must change to "
        "trial_dir");
  }
  const auto log = is_at("/fd/1");
  if (!error && log.native().starts_with(options_.directory.native()) && log.parent_path() != now) {
    throw Trouble("reset, it still prints into stdout.log of the trial before");
  }
}

Answer Check::leaves() {
  const auto stop = [this](Actor& actor, const std::string& when) {
    actor.peer().send(protocol::Stop{}, leave_s_);
    const auto status = actor.peer().end_within(leave_s_);
    if (!status)
      throw Trouble(when + ", it still ran " + std::to_string(int(leave_s_)) + " s later");
    if (status->signal != 0 || status->exit_code != 0) {
      throw Trouble(when + ", " + text_of(*status) + "; it should be 0");
    }
  };
  Actor greeted(stage_);
  stop(greeted, "told to stop before start");
  Actor actor(stage_);
  actor.start(options_.config);
  (void)actor.step();
  stop(actor, "told to stop after a result");
  return {};
}

Answer Check::notices_the_end() {
  const auto hang_up = [this](Actor& actor, const std::string& when) {
    actor.peer().hang_up();
    const Seconds limit_s = leave_s_ + slowness * step_s_;
    if (!actor.peer().end_within(limit_s)) {
      throw Trouble(when + ", it still ran " + std::to_string(static_cast<int>(limit_s)) +
                    " s after its connection had been closed");
    }
  };
  Actor idle(stage_);
  idle.start(options_.config);
  (void)idle.step();
  hang_up(idle, "waiting for a command");
  Actor training(stage_);
  training.start(options_.config);
  (void)training.step();
  if (!training.is_done()) {
    training.tell_step();
    hang_up(training, "in the middle of a step");
  }
  return {};
}

Answer Check::gives_numbers_back() {
  if (echoes_) return {};
  return Unknown{"its answers have no iteration; then an answer too many passes for the next one"};
}

void Check::require_quiet(Actor& actor, const std::string& after) {
  if (const auto said = actor.peer().breaks_silence(quiet_s)) {
    throw Trouble("after " + after + " it said " + *said + ", though nothing was asked of it");
  }
}

Answer Check::names_what_is_covered() {
  if (covered_.where.empty()) {
    return "no metric differed by anything; files were not compared, as they are without a "
           "tolerance";
  }
  return "at most " + Json(covered_.part).dump() + " of a value: " + covered_.where +
         ". Files were not compared";
}

void Check::require_equal(const Results& was, const Results& is, const std::string& what) {
  if (same_metrics_.empty()) return;
  LargestDifference largest = largest_difference(was, is, same_metrics_);
  if (largest.part <= options_.tolerance && largest.part > covered_.part) {
    covered_ = std::move(largest);
  }
  const auto difference = first_difference(was, is, same_metrics_, options_.tolerance);
  if (difference) throw Trouble(what + ", " + *difference);
}

void Check::require_same_files(const Kept& kept, const std::string& what) {
  const Digest digest = digest_of(stage_.files(), kept.directory);
  const auto difference = first_difference(last_digest_, digest, same_files_);
  if (!difference) return;
  throw Trouble(what + ", it reported the same, but its checkpoint of iteration " +
                std::to_string(kept.iteration) + " is another: " + *difference +
                ". Something that is saved does not come back as it was");
}

}  // namespace

void check_trainable(const ExperimentSpec& spec, const CheckOptions& options,
                     const std::function<void(const Verdict&)>& tell) {
  const auto files = make_posix_file_system();
  Check(spec, options, *files, tell).run();
}

}  // namespace tune
