// Turns the callback hooks into appends, cuts and mends of a trial's file, so that a replay writes
// no row twice.
#include "callbacks/result_log.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace tune {

namespace {

/// Longer than anything that can still wait for the writer when a driver is killed.
constexpr Seconds recent_end_s = 60;

}  // namespace

ResultLog::ResultLog(std::string name, std::string file_name, RowFormat format, MakeRow make_row,
                     const FileLogOptions& options)
    : ResultLog(std::move(name), std::move(file_name), std::make_unique<RowFiles>(format),
                std::move(make_row), options) {}

ResultLog::ResultLog(std::string name, std::string file_name, std::unique_ptr<TrialFiles> files,
                     MakeRow make_row, const FileLogOptions& options)
    : name_(std::move(name)),
      file_name_(std::move(file_name)),
      make_row_(std::move(make_row)),
      notice_(options.notice),
      writer_({.notice = options.notice,
               .memory_limit_bytes = options.memory_limit_bytes,
               .has_stand_ins = true,
               .flush_period_s = options.flush_period_s},
              std::move(files)) {}

void ResultLog::setup(const RunInfo& info, const Experiment&) {
  directory_ = info.directory.string() + '/';
  resumed_ = info.resumed;
  settled_ = !resumed_;
  if (!resumed_) return;
  // What an earlier driver has given up stays so: later rows do not stand before earlier ones.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(info.directory, error)) {
    const std::string name = entry.path().filename().string();
    const auto dot = name.find('.');
    if (dot == std::string::npos || !parse_trial_id(name.substr(0, dot))) continue;
    const std::string path = directory_ + name.substr(0, dot) + file_name_;
    if (stand_in_of(path) == directory_ + name) writer_.give_up(path);
  }
}

const std::string& ResultLog::path_of(TrialId trial) {
  path_.assign(directory_).append(to_string(trial)).append(file_name_);
  return path_;
}

void ResultLog::on_trial_start(const Trial& trial) {
  // The first attempt may have died between a row and its record.
  if (resumed_ || trial.attempt > 1) writer_.cut(path_of(trial.id), trial.iteration);
}

void ResultLog::on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) {
  writer_.cut(path_of(trial.id), checkpoint != nullptr ? checkpoint->iteration : 0);
}

void ResultLog::on_trial_result(const Trial& trial, Result& result) {
  const auto [header, row] = make_row_(trial.id, result);
  if (!row.empty()) writer_.append(path_of(trial.id), header, row);
}

void ResultLog::on_trial_replay(const Trial& trial, const Result& result) {
  if (replayed_.size() <= index_of(trial.id)) replayed_.resize(index_of(trial.id) + 1);
  Replayed& last = replayed_[index_of(trial.id)];
  const std::int64_t began = result.training_iteration - result.iterations_since_restore;
  // A program that counts by itself may leave out what an earlier attempt had come to.
  if (began < last.iteration && began != last.began) writer_.cut(path_of(trial.id), began);
  last = {result.training_iteration, began};
  const auto [header, row] = make_row_(trial.id, result);
  if (!row.empty()) writer_.mend(path_of(trial.id), header, row);
}

/// After the replay, before anything new: what was rewound, or written without ever being
/// recorded, goes also from the files of trials that will not start again.
void ResultLog::mend_rest(const Experiment& experiment) {
  if (std::exchange(settled_, true)) return;
  replayed_.resize(experiment.trials().size());
  for (const auto& trial : experiment.trials()) {
    const std::int64_t replayed = replayed_[index_of(trial.id)].iteration;
    const bool was_rewound = replayed > trial.iteration;
    const bool was_under_way = trial.attempt > 0 && !is_final(trial.state);
    if (was_rewound || was_under_way) writer_.cut(path_of(trial.id), trial.iteration);
    const bool is_recent = trial.ended >= experiment.last_time() - recent_end_s;
    if (!is_final(trial.state) || trial.attempt == 0) continue;
    if (replayed == 0 && !is_whole(trial)) continue;
    if (is_recent || replayed > 0) mend_end(trial);
  }
  replayed_ = {};
  after_mending();
}

void ResultLog::on_experiment_end(const Experiment& experiment) {
  mend_rest(experiment);
  writer_.flush();
}

}  // namespace tune
