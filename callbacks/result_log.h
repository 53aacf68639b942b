// The callback behind result.json and progress.csv: one row for each accepted iteration, once, over
// restores, crashes and retries.
// The `MakeRow` that it is given makes the text of a row.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "callbacks/callbacks.h"
#include "callbacks/file_writer.h"
#include "callbacks/trial_files.h"
#include "tuner/policy/callback.h"

namespace tune {

struct LogRow {
  std::string_view header;  ///< csv only
  std::string_view row;     ///< valid until the next one is made; empty: there is none
};

class ResultLog : public Callback {
 public:
  using MakeRow = std::function<LogRow(TrialId, const Result&)>;

  ResultLog(std::string name, std::string file_name, RowFormat format, MakeRow make_row,
            const FileLogOptions& options);
  /// In files of another kind.
  ResultLog(std::string name, std::string file_name, std::unique_ptr<TrialFiles> files,
            MakeRow make_row, const FileLogOptions& options);

  std::string name() const override { return name_; }
  void setup(const RunInfo& info, const Experiment& experiment) override;
  void on_step_begin(const Experiment& experiment) override { mend_rest(experiment); }
  void on_trial_start(const Trial& trial) override;
  void on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) override;
  void on_trial_result(const Trial& trial, Result& result) override;
  void on_trial_replay(const Trial& trial, const Result& result) override;
  void on_experiment_end(const Experiment& experiment) override;
  DurableFlush flush_durable() override {
    return [this](const std::stop_token& stop) { writer_.flush_durable(stop); };
  }

 protected:
  /// Of the trial's file; valid until the next call.
  const std::string& path_of(TrialId trial);
  FileWriter& writer() { return writer_; }
  /// At a resume, of each trial that has ended, if an earlier driver may not have written all of
  /// it.
  virtual void mend_end(const Trial& trial) { (void)trial; }
  /// At a resume, of each trial that has ended and of which nothing is replayed, its results being
  /// older than the snapshot: whether its file has them. If not, its end is not mended.
  virtual bool is_whole(const Trial& trial) {
    (void)trial;
    return true;
  }
  /// At a resume, once all trials were looked at.
  virtual void after_mending() {}
  /// What to tell the user.
  const Notice& notice() const { return notice_; }

 private:
  void mend_rest(const Experiment& experiment);

  const std::string name_;
  const std::string file_name_;
  const MakeRow make_row_;
  const Notice notice_;
  std::string directory_;
  std::string path_;
  bool resumed_ = false;
  bool settled_ = true;
  struct Replayed {
    std::int64_t iteration = 0;  ///< of the last result
    std::int64_t began = 0;      ///< that its attempt went on from
  };
  std::vector<Replayed> replayed_;  ///< by trial
  FileWriter writer_;
};

}  // namespace tune
