// Event files for TensorBoard. Knows which records a trial's life makes; ResultLog knows when they
// are written, EventFiles where.
#include <memory>
#include <string>
#include <utility>

#include "callbacks/callbacks.h"
#include "callbacks/event_files.h"
#include "callbacks/result_log.h"
#include "callbacks/tensorboard_event.h"
#include "tuner/base/count_of.h"

namespace tune {

namespace {

class TensorboardLogger final : public ResultLog {
 public:
  explicit TensorboardLogger(const FileLogOptions& options)
      : ResultLog("tensorboard", '/' + std::string(event_file_name), std::make_unique<EventFiles>(),
                  make_scalars(), options) {}

  void on_trial_start(const Trial& trial) override {
    ResultLog::on_trial_start(trial);
    std::string start;
    tensorboard::append_session_start(start, trial.started, trial.config.text());
    writer().append(path_of(trial.id), start, {});
    // Of several, readers take the first for the trial's config.
    if (trial.lineage.empty() || trial.attempt == 1) return;
    std::string first;
    tensorboard::append_file_version(first, trial.started);
    writer().replace(path_of(trial.id), first + start);
  }

  void on_trial_complete(const Trial& trial) override { write_end(trial); }
  void on_trial_error(const Trial& trial) override { write_end(trial); }

 private:
  static MakeRow make_scalars() {
    return [row = std::string()](TrialId, const Result& result) mutable {
      row.clear();
      tensorboard::append_scalars(row, result);
      return LogRow{{}, row};
    };
  }

  void write_end(const Trial& trial) {
    if (trial.attempt == 0) return;
    std::string end;
    tensorboard::append_session_end(end, trial.ended, trial.state == TrialState::terminated);
    writer().append(path_of(trial.id), {}, end);
  }

  void mend_end(const Trial& trial) override { write_end(trial); }

  /// Results of before a snapshot come to no replay.
  bool is_whole(const Trial& trial) override {
    if (trial.iteration == 0) return true;
    std::string end;
    tensorboard::append_session_end(end, trial.ended, trial.state == TrialState::terminated);
    for (const std::string& path : {path_of(trial.id), stand_in_of(path_of(trial.id))}) {
      if (ends_with(path, end) || last_step_in(path) >= trial.iteration) return true;
    }
    if (lacking_++ == 0) first_lacking_ = to_string(trial.id);
    return false;
  }

  void after_mending() override {
    if (lacking_ == 0 || !notice()) return;
    notice()("tensorboard: event files of " + count_of(lacking_, "trial") + " that " +
             (lacking_ == 1 ? "has" : "have") + " ended lack results (" + first_lacking_ +
             (lacking_ == 1 ? "" : " ...") +
             "), which are not written again: result.json has them");
  }

  std::uint64_t lacking_ = 0;
  std::string first_lacking_;
};

}  // namespace

std::unique_ptr<Callback> make_tensorboard_logger(FileLogOptions options) {
  return std::make_unique<TensorboardLogger>(options);
}

}  // namespace tune
