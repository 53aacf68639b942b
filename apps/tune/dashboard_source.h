// What the dashboard's server tells: the data of `tune report`, what has changed since, ends of
// logs, and what a driver answers. All of it is read from the experiments' files.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
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
    std::uint64_t told = 0;                        ///< the event up to which all streams were told
    bool is_read_anew = false;                     ///< and no stream was told of that yet
    bool is_report_stale = false;                  ///< it may be of what was there before
    // Answers are kept: several pages ask for the same, and a long one takes a while to make. These
    // are of the thread alone that asks for them.
    std::string signature;  ///< of the files that `summary` was made of
    Json summary;
    Seconds summary_until = 0;  ///< steady time up to which it is new enough
    std::shared_ptr<const std::string> report;
    std::uint64_t report_event = 0;
    Seconds report_until = 0;  ///< steady time up to which it is new enough
  };

  void find_experiments();
  Experiment* find(std::uint32_t number);
  /// As it is now. Error, and it is to be read anew, if it cannot be followed.
  FollowedExperiment& follow(Experiment& experiment);
  Json experiments_json();
  Json summary_of(std::size_t number);
  std::shared_ptr<const std::string> report_of(Experiment& experiment);
  /// Nothing if the report that is kept will do, else the event up to which it is to be.
  std::optional<std::uint64_t> event_to_report(Experiment& experiment);
  /// Up to now, after event `since`; a reset if these are not known.
  Changes changes_of(Experiment& experiment, std::uint64_t since);

  std::vector<std::filesystem::path> places_;
  bool allows_control_;
  std::unique_ptr<Clock> clock_;
  /// Of all below. Nobody holds it while a status or a report is made, which may take seconds:
  /// these are asked for by one thread alone.
  std::mutex mutex_;
  /// An experiment has the same number, and the same place in memory, as long as this lives.
  std::deque<Experiment> experiments_;
};

}  // namespace tune
