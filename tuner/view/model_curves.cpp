// Replays results by stretch, and puts together those on the way to each present model.
#include "tuner/view/model_curves.h"

#include <utility>

#include "tuner/model/ancestry.h"
#include "tuner/model/kept_results.h"
#include "tuner/view/event_replay.h"

namespace tune {

std::map<TrialId, std::vector<CurvePoint>> model_curves(const std::filesystem::path& directory,
                                                        const std::string& metric,
                                                        const std::vector<TrialId>& trials) {
  Experiment experiment;
  KeptResults results;
  std::map<std::pair<TrialId, std::size_t>, std::vector<CurvePoint>> by_stretch;
  const auto missing = replay_events(directory, experiment, [&](const Event& event) {
    const auto* const reported = std::get_if<ResultReported>(&event.body);
    if (reported == nullptr) return;
    const Stretch stretch = present_stretch(experiment.trial(reported->trial));
    auto& points = by_stretch[{stretch.trial, stretch.number}];
    const std::int64_t iteration = reported->result.training_iteration;
    const std::int64_t kept = results.last_before(*reported);
    while (!points.empty() && points.back().iteration > kept) points.pop_back();
    if (const auto value = reported->result.find(metric)) {
      points.push_back({iteration, reported->result.metrics.find_exact(metric).value_or(*value)});
    }
  });
  std::map<TrialId, std::vector<CurvePoint>> curves;
  if (missing > 0) return curves;
  for (const TrialId id : trials) {
    for (const ScheduleStep& step : schedule_of(experiment, id)) {
      for (const CurvePoint& point : by_stretch[{step.stretch.trial, step.stretch.number}]) {
        if (point.iteration > step.from && point.iteration <= step.to) curves[id].push_back(point);
      }
    }
  }
  return curves;
}

}  // namespace tune
