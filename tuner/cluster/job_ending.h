// Takes jobs of a search back, and says by which command people do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/cluster/job_list.h"

namespace tune {

/// What one try has come to.
struct JobsEnding {
  std::vector<ListedJob> left;  ///< that Slurm may have yet
  std::string trouble;          ///< why, as a phrase
};

/// Asks Slurm once to end these jobs: by their numbers, and by name where no number is known. Where
/// it refuses, jobs that it shows no longer are none that are left.
/// `is_given_up`: asked again and again, whether nobody waits for that any more.
JobsEnding end_jobs(const std::vector<ListedJob>& jobs,
                    const std::function<bool()>& is_given_up = {});

/// "scancel 12 14; scancel --name=digits-0f3a9c21"
std::string scancel_command(const std::vector<ListedJob>& jobs);

/// "12, 14, digits-0f3a9c21"
std::string names_of(const std::vector<ListedJob>& jobs);

}  // namespace tune
