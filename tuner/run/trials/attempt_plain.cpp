// Attempts: programs that know nothing of the driver. What they save by themselves, and what it
// means that they end by themselves.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tuner/disk/lines.h"
#include "tuner/model/paths.h"
#include "tuner/run/trials/attempts.h"

namespace tune {

namespace {

/// Round numbers are the same by chance.
bool is_long(double value) {
  char text[32];
  const auto written =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const std::string_view digits(text, static_cast<std::size_t>(written.ptr - text));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::isfinite(value) &&
         std::count_if(digits.begin(), digits.begin() + digits.find('e'), is_digit) >= 4;
}

/// The driver's own number and time differ whatever the program does.
ResultMark mark_of(const std::vector<Metric>& numbers) {
  ResultMark mark;
  const auto mix = [](std::size_t& sum, std::size_t part) { sum = sum * 31 + part; };
  for (const auto& [name, value] : numbers) {
    if (name == "training_iteration" || name == "time_this_iter_s") continue;
    for (std::size_t* const sum : {&mark.numbers, &mark.long_numbers}) {
      if (sum == &mark.long_numbers && !is_long(value)) continue;
      mix(*sum, std::hash<std::string>{}(name));
      mix(*sum, std::hash<double>{}(value));
    }
  }
  return mark;
}

/// Of the first two rows of a result.json, as far as they have the names of `like`: they have more
/// of the driver's. Empty if there are none.
std::vector<ResultMark> marks_of_rows(const std::filesystem::path& file,
                                      const std::vector<Metric>& like) {
  constexpr std::size_t most_bytes = 1 << 20;
  std::vector<ResultMark> marks;
  for (const std::string& row : first_lines(file.string(), 2, most_bytes)) {
    std::vector<Metric> numbers;
    try {
      const Metrics all = read_metrics(row);
      for (const Metric& metric : like) {
        if (const auto value = all.find(metric.name)) numbers.push_back({metric.name, *value});
      }
    } catch (const std::invalid_argument&) {
      return {};
    }
    marks.push_back(mark_of(numbers));
  }
  return marks;
}

}  // namespace

/// It has trained to its end: to start it again would train nothing, whatever was decided with the
/// result that it was to wait with. From now on a pause does not hold it.
void Attempts::on(Attempt& attempt, const WorkerGroup::AtEnd&) {
  const bool was_to_wait = attempt.ending && (attempt.ending->outcome == Outcome::paused ||
                                              (trial(attempt.trial).held && !shutdown_));
  if (!was_to_wait || trial(attempt.trial).stopping) {
    attempt.worker_group->leave(WorkerGroup::StopLevel::request);
    return;
  }
  attempt.ending.reset();
  attempt.is_at_end = true;
  step(attempt);
}

/// A program that ends with the very result that it was to wait with is not too fast.
void Attempts::look_for_haste(const Attempt& attempt) {
  if (!attempt.is_at_end || std::exchange(has_named_haste_, true)) return;
  callbacks_.notice(
      to_string(attempt.trial) + " had run to its end before it could be paused at iteration " +
      std::to_string(trial(attempt.trial).iteration) +
      ", and is completed with all that it printed: programs as short as that cannot be paused, "
      "nor copied on their way. A scheduler that pauses needs more work between its decisions; "
      "\"fifo\" and \"asha\" do not pause (docs/plain.md)");
}

/// It is a copy that begins where its donor's training had ended: what it refuses then is to train
/// nothing. Of any other refusal that is not known.
bool Attempts::has_nothing_to_train(const Attempt& attempt) const {
  const auto [owner, index] = attempt.source.checkpoint;
  if (!spec_.plain || attempt.has_result || index == 0 || owner == attempt.trial) return false;
  const Trial& donor = trial(owner);
  const Checkpoint* const from = donor.checkpoint(index);
  return from != nullptr && donor.end() == TrialEnd::completed &&
         from->iteration >= donor.iteration;
}

/// Of one that was restored, and has no new result.
std::string Attempts::nothing_left(const Attempt& attempt) const {
  const TrialId owner = attempt.source.checkpoint.trial;
  return "nothing was left to train after iteration " +
         std::to_string(trial(attempt.trial).iteration) +
         (owner == attempt.trial ? "" : " of " + to_string(owner) + ", whose copy it is");
}

/// It has said by its exit code that it has saved, and is to be run again. Of one that comes to
/// nothing between that is no end.
bool Attempts::has_left_to_go_on(const Attempt& attempt, const WorkerGroup::Gone& gone) const {
  if (!spec_.plain || !spec_.plain->checkpoints) return false;
  const auto& code = spec_.plain->checkpoints->exit_code;
  return gone.how == WorkerGroup::Gone::How::exited && gone.signal == 0 && code &&
         gone.exit_code == *code && (attempt.has_result || attempt.has_checkpoint_of_own);
}

/// What a checkpoint would say of this result, if the program turns out to have made one.
void Attempts::note_for_checkpoints(Attempt& attempt) {
  constexpr std::size_t most_results = 256;
  if (attempt.results.size() >= most_results) attempt.results.pop_front();
  Save& save = attempt.results.emplace_back(attempt.save);
  save.metrics = trial(attempt.trial).last_metrics.text();
}

Save Attempts::save_of(const Attempt& attempt, std::int64_t iteration) const {
  const auto is_it = [iteration](const Save& save) {
    return save.checkpoint.iteration == iteration;
  };
  const auto found = std::find_if(attempt.results.rbegin(), attempt.results.rend(), is_it);
  Save save = attempt.save;
  if (found != attempt.results.rend()) {
    save = *found;
  } else {
    save.metrics = "{}";
    save.checkpoint = {};
    save.checkpoint.iteration = iteration;
    save.checkpoint.time_total_s = trial(attempt.trial).restored_time_s;
  }
  save.directory.clear();
  save.checkpoint.triggers = {};
  save.checkpoint.triggers.add(Trigger::result);
  return save;
}

/// What it prints and saves behind its last result is of use to who comes back for it. A trial that
/// was stopped has no iterations behind that, and neither has one that becomes another's clone.
bool Attempts::goes_on_later(const Attempt& attempt) const {
  if (!attempt.ending || trial(attempt.trial).stopping) return false;
  const Outcome outcome = attempt.ending->outcome;
  return outcome == Outcome::paused || outcome == Outcome::interrupted;
}

void Attempts::on(CheckpointFound& wakeup) {
  const WorkerGroup* const saving = worker_groups_.of(wakeup.launch);
  Attempt* const attempt = saving != nullptr && saving->trial ? find(*saving->trial) : nullptr;
  if (attempt == nullptr || !attempt->has_begun) return;
  if (!wakeup.ahead.empty() && !goes_on_later(*attempt)) return;
  note_found(*attempt, std::move(wakeup));
  copy_found(*attempt);
}

/// Said of the first trial: of a hundred that run the same program it would be the same.
void Attempts::on(LaunchAdvisory& wakeup) {
  const WorkerGroup* const of = worker_groups_.of(wakeup.launch);
  const Attempt* const attempt = of != nullptr && of->trial ? find(*of->trial) : nullptr;
  if (attempt == nullptr) return;
  if (wakeup.what == LaunchAdvisory::What::too_late && !goes_on_later(*attempt)) return;
  // Why launches are slower than asked for is said by who knows whether that is news.
  if (wakeup.what != LaunchAdvisory::What::cold && !remarked_.insert(wakeup.what).second) return;
  callbacks_.notice(to_string(attempt->trial) + " " + wakeup.sentence);
}

/// What is saved anew under its name replaces what was there. Where the disk is slower than the
/// saving, the oldest ones are left out: its end waits for all that are not.
void Attempts::note_found(Attempt& attempt, CheckpointFound found) {
  constexpr std::size_t most_waiting = 16;
  std::erase_if(attempt.found, [&](const CheckpointFound& waiting) {
    return waiting.files.name == found.files.name;
  });
  if (attempt.found.size() >= most_waiting) attempt.found.pop_front();
  attempt.found.push_back(std::move(found));
}

void Attempts::copy_found(Attempt& attempt) {
  const auto is_clone = [](const Attempt& of) {
    return of.next == Action::exploit || (of.ending && of.ending->outcome == Outcome::exploiting);
  };
  if (is_clone(attempt)) attempt.found.clear();
  if (attempt.found.empty() || attempt.pending_work > 0) return;
  CheckpointFound found = std::move(attempt.found.front());
  attempt.found.pop_front();
  attempt.has_checkpoint_of_own = true;
  Save save = found.ahead.empty() ? save_of(attempt, found.iteration)
                                  : save_ahead(attempt, std::move(found.ahead));
  save.checkpoint.index = checkpoint_manager_.take_index(attempt.trial);
  save.is_guess = found.is_guess;
  ++attempt.pending_work;
  checkpoint_manager_.copy(
      std::move(save), std::move(found.files),
      [this, is_clone, id = attempt.trial](std::optional<Save> copied) {
        Attempt& saved = *find(id);  // it cannot end before this
        --saved.pending_work;
        if (copied && is_clone(saved)) {
          checkpoint_manager_.discard({id, copied->checkpoint.index}, copied->attempt);
        } else if (copied) {
          return commit_save(saved, *std::move(copied));
        }
        copy_found(saved);
        saved.waits ? carry_out(saved) : try_to_close(saved);
      });
}

/// Of results that the trial has not come to.
Save Attempts::save_ahead(const Attempt& attempt, std::vector<PrintedResult> ahead) const {
  Save save = save_of(attempt, trial(attempt.trial).iteration);
  const PrintedResult& last = ahead.back();
  save.checkpoint.iteration = last.iteration;
  save.metrics = last.metrics.text;
  if (const auto& attribute = spec_.checkpoint_config.checkpoint_score_attribute) {
    save.checkpoint.score =
        last.metrics.find(*attribute).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  for (const PrintedResult& result : ahead) {
    save.checkpoint.time_total_s += Result::iteration_time(result.metrics, result.took_s);
    save.results.push_back({result.iteration, text_with_time(result)});
  }
  return save;
}

/// A program that was given a checkpoint and does not load it trains from scratch, and what it
/// reports is counted as further iterations.
void Attempts::look_for_same_beginning(Attempt& attempt, const Metrics& metrics) {
  if (!spec_.plain || !spec_.plain->checkpoints || attempt.goes_on) return;
  std::vector<ResultMark>& marks = attempt.first_marks;
  if (marks.size() == 2) return;
  if (marks.empty() && attempt.source.checkpoint.index != 0) {
    attempt.restored_from = attempt.source.checkpoint.trial;
  }
  marks.push_back(mark_of(metrics.numbers));
  if (marks.size() < 2) return;
  if (!attempt.restored_from) {
    beginnings_[attempt.trial] = marks;
    return;
  }
  const bool tells = marks[0].long_numbers != marks[1].long_numbers;
  if (!tells || has_named_beginning_) return;
  for (const TrialId trial : std::set{attempt.trial, *attempt.restored_from}) {
    compare_beginning(attempt, trial, metrics.numbers);
  }
}

/// With that of `other`, which may have begun in an earlier session: then its rows tell.
void Attempts::compare_beginning(const Attempt& attempt, TrialId other,
                                 const std::vector<Metric>& names) {
  const auto known = beginnings_.find(other);
  if (known != beginnings_.end()) {
    if (known->second == attempt.first_marks) name_same_beginning(attempt.trial);
    return;
  }
  if (!trial(other).start_checkpoint.empty()) return;
  workers_.post(
      Lane::prompt,
      [file = paths::trial(launch_.experiment_dir, other) / "result.json", names] {
        return marks_of_rows(file, names);
      },
      [this, id = attempt.trial, marks = attempt.first_marks](const std::vector<ResultMark>& rows) {
        if (rows == marks) name_same_beginning(id);
      });
}

void Attempts::name_same_beginning(TrialId id) {
  if (std::exchange(has_named_beginning_, true)) return;
  callbacks_.notice(to_string(id) +
                    " was given its checkpoint and began with the results of its first iterations "
                    "again: its program does not go on from ${checkpoint}; say how with "
                    "\"resume\" (docs/plain.md)");
}

/// Trials of a program that run side by side, or one after the other, may all write to one name.
void Attempts::look_for_shared_outputs(const Attempt& attempt) {
  constexpr Seconds between_looks_s = 1;
  constexpr double ns_per_s = 1e9;
  if (!spec_.plain || spec_.plain->directory.empty() || has_named_outputs_) return;
  if (is_looking_at_outputs_ || committer_.steady() < outputs_looked_at_ + between_looks_s) return;
  is_looking_at_outputs_ = true;
  const Seconds began = committer_.now() - (committer_.steady() - attempt.began_at);
  workers_.post(
      Lane::prompt,
      [directory = spec_.plain->directory, storage = launch_.experiment_dir] {
        return look_at_outputs(directory, storage);
      },
      [this, id = attempt.trial, began](const std::vector<FileVersion>& files) {
        is_looking_at_outputs_ = false;
        outputs_looked_at_ = committer_.steady();
        const auto began_ns = static_cast<std::int64_t>(began * ns_per_s);
        const auto found = shared_outputs_.add(id, began_ns, files);
        if (!found || std::exchange(has_named_outputs_, true)) return;
        callbacks_.notice("./" + found->name + " in " + spec_.plain->directory.string() +
                          " was written while " + to_string(found->before) +
                          " ran, and anew by the end of " + to_string(found->after) +
                          ": all trials run there, so what one saves under a fixed name another "
                          "one overwrites. Give each its own: "
                          "\"working_directory\": \"trial\", or a path with ${trial_dir} or "
                          "${checkpoint_dir} (docs/plain.md)");
      });
}

}  // namespace tune
