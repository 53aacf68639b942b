// What the dashboard's server tells: the data of `tune report`, what has changed since, ends of
// logs, and what a driver answers. All of it is read from the experiments' files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/dashboard/server/http_server.h"
#include "trainable/values.h"
#include "tuner/base/clock.h"
#include "tuner/view/followed_experiment.h"

namespace tune {

class ExperimentsSource : public DashboardSource {
 public:
  /// `places`: experiments, and folders of them, which are looked through again and again. What is
  /// not there yet may come.
  ExperimentsSource(std::vector<std::filesystem::path> places, bool allows_control);

  WebAnswer answer(const RouteMatch& match, const std::string& body) override;
  Changes changes_since(std::uint32_t experiment, std::uint64_t since) override;
  Changes next_changes(std::uint32_t experiment) override;

 private:
  struct Experiment {
    std::filesystem::path directory;
    std::unique_ptr<FollowedExperiment> followed;  ///< null: nobody has asked, or it is to be read
    std::string gone;                              ///< why it cannot be followed
    // Answers are kept: several pages ask for the same, and a long one takes a while to make.
    std::string signature;  ///< of the files that `summary` was made of
    Json summary;
    Seconds summary_until = 0;  ///< steady time up to which it is new enough
    std::shared_ptr<const std::string> report;
    std::uint64_t report_event = 0;
    Seconds report_until = 0;  ///< steady time up to which it is new enough
  };

  void find_experiments();
  Experiment* find(std::uint32_t number);
  FollowedExperiment& follow(Experiment& experiment);
  Json experiments_json();
  Json summary_of(Experiment& experiment);
  std::shared_ptr<const std::string> report_of(Experiment& experiment);
  Changes rows_of(Experiment& experiment, const std::vector<TrialId>& trials);

  std::vector<std::filesystem::path> places_;
  bool allows_control_;
  std::unique_ptr<Clock> clock_;
  /// An experiment has the same number as long as this lives.
  std::vector<Experiment> experiments_;
};

}  // namespace tune
