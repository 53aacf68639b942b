// Queues what the searcher is to be told, and asks a slow searcher on a thread, one question at a
// time; the queue is part of the saved state.
#include "tuner/run/commit/suggester.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"
#include "tuner/space/domain.h"

namespace tune {

namespace {

/// What has been told does not wait for a question in memory beyond so many.
constexpr std::size_t most_untold = 1000;

Json to_json(const std::pair<TrialId, Suggestion>& entry) {
  return {index_of(entry.first), entry.second.config, entry.second.tag};
}

/// An Error of the searcher's says what is wrong. Anything else that it throws is its fault, and
/// gets a sentence that says so.
template <class Call>
decltype(auto) blaming(const Call& call) {
  const auto fault = [](const char* what) {
    return machine_error(std::string("the searcher failed: ") + what);
  };
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw fault(error.what());
  } catch (...) {
    throw fault("an exception of an unknown type");
  }
}

TrialId after(TrialId id) { return TrialId{static_cast<std::uint32_t>(index_of(id) + 1)}; }

}  // namespace

Suggester::Suggester(std::unique_ptr<Searcher> searcher, std::vector<Objective> objectives,
                     std::vector<Constraint> constraints)
    : searcher_(std::move(searcher)),
      objectives_(std::move(objectives)),
      constraints_(std::move(constraints)) {
  if (searcher_ == nullptr) return;
  total_ = searcher_->total();
  limits_ = searcher_->limits();
  is_slow_ = searcher_->may_take_long();
}

void Suggester::on_change(Suggester fresh) {
  total_ = fresh.total_;
  limits_ = fresh.limits_;
  // A changed spec may want more samples; what the old searcher answers from now on tells nothing
  // about that, so `apply` passes over its Exhausted and NothingNow.
  is_exhausted_ = in_vain_ = false;
  is_asking_old_ = is_asking_old_ || asking_.has_value();
  tell({.what = Told::What::change, .fresh = std::move(fresh.searcher_)});
}

void Suggester::on_ask(TrialId trial) {
  asking_ = trial;
  resume_.reset();  // nothing is asked behind one: it was passed over
  tell({.what = Told::What::ask, .trial = trial});
}

void Suggester::on_trial_add(TrialId trial, const std::string& config) {
  live_.emplace(trial, false);
  if (limits_.batch && std::ssize(live_) >= limits_.max_concurrent) is_batch_full_ = true;
  if (!stock_.empty() && stock_.front().first == trial) {
    // The searcher has been told, unless the record knows better what it answered.
    const bool is_answer =
        is_same(encode_numbers(stock_.front().second.config), Json::parse(config));
    stock_.pop_front();
    if (is_answer) return;
  }
  tell({.what = Told::What::add, .trial = trial, .config = config});
}

void Suggester::on_trial_add_by_hand(TrialId trial, const std::string& config) {
  live_.emplace(trial, false);
  if (limits_.batch && std::ssize(live_) >= limits_.max_concurrent) is_batch_full_ = true;
  // The trial by hand takes the next number, so waiting suggestions move on by one.
  for (auto& [id, suggestion] : stock_) id = after(id);
  if (asking_) asking_ = after(*asking_);
  tell({.what = Told::What::add_by_hand,
        .trial = trial,
        .config = config,
        .suggestions = own_state()});
}

void Suggester::on_exploit(TrialId trial, const std::string& new_config) {
  tell({.what = Told::What::add, .trial = trial, .config = new_config});
}

void Suggester::on_result(const Trial& trial, const Result& result) {
  Observation observation{result.training_iteration, {}, values_of(constraints_, trial, result)};
  for (const Objective& objective : objectives_) {
    observation.scores.push_back(score_of(objective.mode, result.find(objective.metric)));
  }
  tell({.what = Told::What::result, .trial = trial.id, .observation = std::move(observation)});
}

void Suggester::on_trial_resume(TrialId trial) {
  resume_.reset();
  tell({.what = Told::What::resume, .trial = trial});
}

void Suggester::on_trial_hold(TrialId trial, bool released) {
  tell({.what = released ? Told::What::release : Told::What::hold, .trial = trial});
}

void Suggester::on_stop(TrialId trial) {
  const auto found = live_.find(trial);
  if (found != live_.end()) found->second = true;
}

Observation Suggester::last_of(const Trial& trial) const {
  // A clone that has reported nothing yet has no result, wherever it goes on from.
  const std::int64_t iteration = trial.last_metrics.empty() ? 0 : trial.iteration;
  Observation last{iteration, {}, values_of(constraints_, trial)};
  for (const Objective& objective : objectives_) {
    last.scores.push_back(score_of(objective.mode, trial.last_value(objective.metric)));
  }
  return last;
}

void Suggester::on_trial_pause(const Trial& trial) {
  tell({.what = Told::What::pause, .trial = trial.id, .observation = last_of(trial)});
}

void Suggester::on_trial_end(const Trial& trial, bool is_of_machine) {
  const auto found = live_.find(trial.id);
  const bool was_stopped = found != live_.end() && found->second;
  if (found != live_.end()) live_.erase(found);
  // A full batch takes nothing new until all of its trials have ended.
  if (live_.empty()) is_batch_full_ = false;
  tell({.what = Told::What::end,
        .trial = trial.id,
        .observation = last_of(trial),
        .how = trial.state != TrialState::error ? (was_stopped ? Ended::stopped : Ended::complete)
               : is_of_machine                  ? Ended::lost
                                                : Ended::failed});
}

/// By the searcher's pace.
bool Suggester::is_held() const {
  return is_batch_full_ || (limits_.max_concurrent && std::ssize(live_) >= *limits_.max_concurrent);
}

std::optional<TrialId> Suggester::to_ask(TrialId next, bool needed) const {
  // One question at a time, and none after NothingNow until a result or an end has come: each
  // question is a record, and asking in vain each turn would fill the journal.
  const bool is_answered = asking_ || resume_ || in_vain_ || is_exhausted_ || error_;
  if (!is_slow_ || is_answered) return std::nullopt;
  const std::int64_t wanted = std::max(limits_.ahead, needed && !is_held() ? 1 : 0);
  if (std::ssize(stock_) >= wanted) return std::nullopt;
  return TrialId{static_cast<std::uint32_t>(index_of(next) + stock_.size())};
}

std::optional<Answer> Suggester::answer(TrialId next) {
  if (is_held()) return NothingNow{};
  if (!is_slow_) return suggest(next);
  if (!stock_.empty()) {
    ensure(stock_.front().first == next, "suggestions are for the trials to come, in order");
    return stock_.front().second;
  }
  if (resume_) return Resume{*resume_};
  if (error_) std::rethrow_exception(error_);
  if (is_exhausted_) return Exhausted{};
  if (in_vain_) return NothingNow{};
  return std::nullopt;
}

void Suggester::pass_over() {
  resume_.reset();
  in_vain_ = true;
}

Answer Suggester::answer_at_once(TrialId next) {
  const bool was_asked = !stock_.empty() && stock_.front().first == next;
  if (was_asked) return stock_.front().second;
  return resume_ ? Answer(Resume{*resume_}) : suggest(next);
}

Answer Suggester::suggest(TrialId trial) {
  return blaming([&] { return searcher_->suggest(trial); });
}

void Suggester::tell(Told told) {
  using What = Told::What;
  // After one of these the searcher may have an answer where it had none.
  const bool is_news = told.what == What::result || told.what == What::pause ||
                       told.what == What::end || told.what == What::hold ||
                       told.what == What::release;
  if (is_news) {
    in_vain_ = false;
    // What is being answered just now is answered without it.
    is_asking_old_ = is_asking_old_ || asking_.has_value();
  }
  if (workers_ == nullptr || !is_slow_) {
    apply(blaming([&] { return perform(told); }));
    return;
  }
  is_wanted_ |= told.what == What::ask || told.what == What::save;
  queue_.push_back(std::move(told));
  post();
}

/// In the thread that has the searcher.
Suggester::Reply Suggester::perform(Told& told) {
  Reply reply;
  switch (told.what) {
    case Told::What::ask:
      last_answer_.reset();
      last_resume_.reset();
      try {
        reply.answer = suggest(told.trial);
      } catch (...) {
        reply.error = std::current_exception();
        break;
      }
      // It is a running trial to the next suggestion, even before it is in the record.
      if (const auto* const suggestion = std::get_if<Suggestion>(&*reply.answer)) {
        searcher_->on_trial_add(told.trial, encode_numbers(suggestion->config).dump());
        last_answer_.emplace(told.trial, *suggestion);
      } else if (const auto* const resume = std::get_if<Resume>(&*reply.answer)) {
        last_resume_ = resume->trial;
      }
      break;
    case Told::What::add:
      searcher_->on_trial_add(told.trial, told.config);
      break;
    case Told::What::add_by_hand: {
      searcher_->on_trial_add(told.trial, told.config);
      for (const Json& entry : told.suggestions.at("stock")) {
        searcher_->on_trial_add(TrialId(entry.at(0).get<std::uint32_t>()),
                                encode_numbers(entry.at(1)).dump());
      }
      // What was on its way by then, has come by now.
      if (told.suggestions.contains("asking") && last_answer_) {
        last_answer_->first = after(last_answer_->first);
        searcher_->on_trial_add(last_answer_->first,
                                encode_numbers(last_answer_->second.config).dump());
      }
      break;
    }
    case Told::What::resume:
      searcher_->on_trial_resume(told.trial);
      break;
    case Told::What::hold:
    case Told::What::release:
      searcher_->on_trial_hold(told.trial, told.what == Told::What::release);
      break;
    case Told::What::result:
      searcher_->on_result(told.trial, told.observation);
      break;
    case Told::What::pause:
      searcher_->on_trial_pause(told.trial, told.observation);
      break;
    case Told::What::end:
      searcher_->on_trial_end(told.trial, told.observation, told.how);
      break;
    case Told::What::change:
      told.fresh->load(encode_numbers(searcher_->save()));
      searcher_ = std::move(told.fresh);
      break;
    case Told::What::save: {
      Json& suggestions = told.suggestions;
      // What was on its way when the save was asked for, has come by now.
      const bool was_asking = suggestions.erase("asking") > 0;
      if (was_asking && last_answer_) suggestions["stock"].push_back(to_json(*last_answer_));
      if (was_asking && last_resume_) suggestions["resume"] = index_of(*last_resume_);
      reply.saved = {{"searcher", searcher_->save()}, {"suggestions", std::move(suggestions)}};
      reply.then = std::move(told.then);
      break;
    }
  }
  return reply;
}

void Suggester::apply(Reply reply) {
  if (reply.error) error_ = reply.error;
  if (reply.answer || reply.error) {
    const TrialId trial = *std::exchange(asking_, std::nullopt);
    const bool is_old = std::exchange(is_asking_old_, false);
    if (reply.answer) {
      auto* const suggestion = std::get_if<Suggestion>(&*reply.answer);
      if (suggestion != nullptr) stock_.emplace_back(trial, std::move(*suggestion));
      if (const auto* const resume = std::get_if<Resume>(&*reply.answer)) resume_ = resume->trial;
      in_vain_ = !is_old && std::holds_alternative<NothingNow>(*reply.answer);
      is_exhausted_ = !is_old && std::holds_alternative<Exhausted>(*reply.answer);
    }
  }
  if (reply.then) reply.then(std::move(reply.saved));
}

/// Gives the queue to a thread, one at a time.
void Suggester::post() {
  // One job at a time, in order. Without a question the messages wait, so that not each result
  // costs a switch to the thread.
  if (is_working_ || !(is_wanted_ || queue_.size() >= most_untold)) return;
  is_working_ = true;
  is_wanted_ = false;
  workers_->post(
      Lane::searcher,
      [this, queue = std::exchange(queue_, {})]() mutable {
        std::vector<Reply> all;
        for (Told& told : queue) {
          Reply reply = blaming([&] { return perform(told); });
          if (reply.answer || reply.then || reply.error) all.push_back(std::move(reply));
        }
        return all;
      },
      [this](std::vector<Reply> all) {
        is_working_ = false;
        for (Reply& reply : all) apply(std::move(reply));
        post();
      });
}

Json Suggester::own_state() const {
  Json stock = Json::array();
  for (const auto& entry : stock_) stock.push_back(to_json(entry));
  Json live = Json::array();
  for (const auto& [trial, is_stopped] : live_) live.push_back({index_of(trial), is_stopped});
  Json state = {
      {"stock", std::move(stock)}, {"live", std::move(live)}, {"batch_full", is_batch_full_}};
  if (resume_) state["resume"] = index_of(*resume_);
  if (asking_) state["asking"] = true;
  return state;
}

void Suggester::save(std::function<void(Json)> then) {
  tell({.what = Told::What::save, .suggestions = own_state(), .then = std::move(then)});
}

Json Suggester::save() const {
  return {{"searcher", searcher_->save()}, {"suggestions", own_state()}};
}

void Suggester::load(const Json& state) {
  std::deque<std::pair<TrialId, Suggestion>> stock;
  std::optional<TrialId> resume;
  std::map<TrialId, bool> live;
  bool is_batch_full = false;
  load_state("the searcher", [&] {
    const auto found = state.find("suggestions");
    if (found == state.end()) return;  // snapshots of before version 0.3 lack it
    for (const Json& entry : found->at("stock")) {
      stock.emplace_back(TrialId(entry.at(0).get<std::uint32_t>()),
                         Suggestion{entry.at(1), entry.at(2).get<std::string>()});
    }
    for (const Json& entry : found->at("live")) {
      live.emplace(TrialId(entry.at(0).get<std::uint32_t>()), entry.at(1).get<bool>());
    }
    if (found->contains("resume")) resume = TrialId(found->at("resume").get<std::uint32_t>());
    is_batch_full = found->at("batch_full").get<bool>();
  });
  searcher_->load(state.at("searcher"));
  stock_ = std::move(stock);
  resume_ = resume;
  live_ = std::move(live);
  is_batch_full_ = is_batch_full;
}

}  // namespace tune
