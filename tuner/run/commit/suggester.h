// The searcher of an experiment as the driver sees it. Turns trials into what searchers learn from,
// and has a searcher that may take long do all its work beside the loop: it is asked, by a record,
// and its answer is taken when it has come. So a replay asks at the same point of the record, and
// hears the same.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/model/constraint.h"
#include "tuner/model/objective.h"
#include "tuner/policy/searcher.h"
#include "tuner/run/commit/workers.h"

namespace tune {

class Suggester {
 public:
  Suggester() = default;  ///< of no use but to be assigned to
  Suggester(std::unique_ptr<Searcher> searcher, std::vector<Objective> objectives,
            std::vector<Constraint> constraints = {});

  /// How many trials it will make, if that is known.
  std::optional<std::uint64_t> total() const { return total_; }

  /// From now on a searcher that may take long works on a thread of its own; until then, and any
  /// other always, within the calls. The workers have finished before this object goes.
  void work_beside(Workers& workers) { workers_ = &workers; }

  // ---------------------------------------------------------- what happens, in the order of the
  // record
  void on_ask(TrialId trial);
  void on_trial_add(TrialId trial, const std::string& config);
  /// The next new trial has a config given by hand; a waiting suggestion goes to the trial after
  /// it.
  void on_trial_add_by_hand(TrialId trial, const std::string& config);
  void on_exploit(TrialId trial, const std::string& new_config);
  void on_result(const Trial& trial, const Result& result);
  void on_trial_resume(TrialId trial);  ///< since this has answered so
  void on_trial_hold(TrialId trial, bool released);
  void on_stop(TrialId trial);  ///< the trial is ended before its training is complete
  void on_trial_pause(const Trial& trial);
  /// `is_of_machine`: it has failed, and that was the machine's fault.
  void on_trial_end(const Trial& trial, bool is_of_machine = false);
  /// Replaces the searcher by one made from a changed spec, which loads this one's state.
  void on_change(Suggester fresh);

  // ---------------------------------------------------------------------------------- for new
  // trials
  /// The trial for which a suggestion is to be asked for, by a record; `next` is the number of the
  /// next new one, and is `needed` now or may be later. Nothing while an answer is on its way, or
  /// if there is no use.
  std::optional<TrialId> to_ask(TrialId next, bool needed) const;
  /// The searcher's answer for the next new trial; nothing: it has not come yet. A suggestion stays
  /// until the trial is added, a Resume until it is carried out, passed over, or something else is
  /// asked. Rethrows what the searcher has thrown.
  std::optional<Answer> answer(TrialId next);
  /// The last answer was a Resume that is not possible.
  void pass_over();
  /// The same during a replay: the answer that was asked for before, else asks now and waits.
  Answer answer_at_once(TrialId next);

  /// The state after everything told so far. The first returns it at once, and must not be called
  /// after `work_beside`; the second hands it to `then`, in this call or as a completion of the
  /// workers.
  Json save() const;
  void save(std::function<void(Json)> then);
  /// Error if `state` is not of this searcher.
  void load(const Json& state);

 private:
  struct Told {
    enum class What {
      ask,
      add,
      add_by_hand,
      resume,
      hold,
      release,
      result,
      pause,
      end,
      change,
      save
    } what;
    TrialId trial{};
    std::string config = {};
    Observation observation = {};
    Ended how = Ended::complete;
    std::unique_ptr<Searcher> fresh = {};  ///< of a change
    Json suggestions = {};  ///< of a save: the state of this object; added by hand: see there
    std::function<void(Json)> then = {};
  };
  /// What `perform` gives to the loop.
  struct Reply {
    std::optional<Answer> answer;  ///< of an ask
    std::exception_ptr error;      ///< what an ask threw
    Json saved;
    std::function<void(Json)> then;
  };

  Answer suggest(TrialId trial);
  Observation last_of(const Trial& trial) const;
  void tell(Told told);
  Reply perform(Told& told);
  void apply(Reply reply);
  void post();
  bool is_held() const;
  Json own_state() const;

  std::unique_ptr<Searcher> searcher_;  ///< of the thread that works, while there is one
  std::optional<std::uint64_t> total_;
  std::vector<Objective> objectives_;
  std::vector<Constraint> constraints_;
  SuggestionLimits limits_;
  bool is_slow_ = false;
  Workers* workers_ = nullptr;

  std::optional<TrialId> asking_;  ///< its answer is on its way
  bool is_asking_old_ = false;     ///< there is news, or another searcher, since it was asked
  std::deque<std::pair<TrialId, Suggestion>> stock_;
  std::optional<TrialId> resume_;  ///< to go on once the stock is used up: it was the last answer
  bool is_exhausted_ = false;
  bool in_vain_ = false;      ///< NothingNow was the last answer, and nothing has happened since
  std::exception_ptr error_;  ///< what the searcher threw when it was asked
  std::map<TrialId, bool>
      live_;                    ///< not ended; true: to be stopped before its training is complete
  bool is_batch_full_ = false;  ///< and has not ended

  std::vector<Told> queue_;  ///< not given to a thread yet
  bool is_wanted_ = false;   ///< there is something in it that cannot wait
  bool is_working_ = false;
  /// What the last ask gave, if it was one of these; only the thread that runs `perform` uses them.
  std::optional<std::pair<TrialId, Suggestion>> last_answer_;
  std::optional<TrialId> last_resume_;
};

}  // namespace tune
