// The first failure counts; see the header.
#include "tuner/run/workers/failure_attribution.h"

#include <utility>

namespace tune {

void FailureAttribution::begin(std::filesystem::path log) {
  *this = FailureAttribution();
  log_ = std::move(log);
}

void FailureAttribution::begin_trial(std::filesystem::path log) {
  log_ = std::move(log);
  log_begin_ = 0;
}

void FailureAttribution::first_runs(std::uint64_t log_begin) {
  if (!is_attributed_) log_begin_ = log_begin;
}

void FailureAttribution::suspect(LaunchId process) {
  if (!suspect_) suspect_ = process;
}

void FailureAttribution::acquit(LaunchId process) {
  if (suspect_ == process) suspect_.reset();
}

void FailureAttribution::attribute(const RankProcess& process) {
  is_attributed_ = true;
  log_ = process.stderr_log;
  log_begin_ = process.log_begin;
}

void FailureAttribution::note_consequence(const RankProcess& process, const std::string& sentence) {
  if (!consequence_) consequence_ = sentence;
  attribute(process);
}

void FailureAttribution::note_obstacle(const std::string& obstacle) {
  if (!obstacle.empty()) obstacle_ = obstacle;
}

void FailureAttribution::note_end(const RankProcess& process, ProcessesGone gone, bool is_failure,
                                  bool was_at_work) {
  if (is_failure && was_at_work) suspect(process.id);
  const bool is_the_failure = suspect_ == process.id && is_failure;
  if (!end_ || is_the_failure) {
    end_ = std::move(gone);
    if (is_the_failure || !is_attributed_) attribute(process);
  }
  is_explained_ = is_explained_ || is_the_failure;
}

ProcessesGone FailureAttribution::whole_end(bool was_told) const {
  ProcessesGone end = end_.value_or(ProcessesGone());
  if (consequence_ && !is_explained_) {
    end = {.how = ProcessesGone::How::failed, .reason = *consequence_, .was_told = was_told};
  }
  end.obstacle = obstacle_;
  return end;
}

}  // namespace tune
