// Feeds a scheduler from the snapshot and the journal, then asks for its rungs.
#include "tuner/view/rung_replay.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/plugins.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

/// The scheduler while it is fed; what it refers to lives as long.
class RungReplay {
 public:
  /// Who reads for `view_experiment`: policies are fed only if there are rungs to be told of.
  std::unique_ptr<ExperimentReader> reader(Experiment& experiment, const ExperimentSpec& spec) {
    std::vector<Problem> problems;
    space_ = SearchSpace::parse(spec.param_space, "", problems);
    const auto make = [this, spec] {
      std::vector<Problem> wrong;
      Policies made = make_judges(spec, space_, catalogue_, wrong);
      if (!wrong.empty()) made.scheduler = nullptr;
      return made;
    };
    if (problems.empty()) policies_ = make();
    if (policies_.scheduler == nullptr || !policies_.scheduler->rungs()) {
      policies_ = {};
      return std::make_unique<ExperimentReader>(experiment);
    }
    return std::make_unique<Recovery>(experiment, policies_, make);
  }

  std::optional<RungsReport> report() const {
    return policies_.scheduler != nullptr ? policies_.scheduler->rungs() : std::nullopt;
  }

 private:
  const Catalogue catalogue_ = catalogue_with({});
  SearchSpace space_;
  Policies policies_;
};

template <class Number>
Json or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

std::string tally_text(const std::optional<std::uint64_t>& count) {
  return count ? std::to_string(*count) : "?";
}

}  // namespace

RungLook look_at_rungs(const std::filesystem::path& directory) {
  RungReplay replay;
  try {
    ExperimentView view =
        view_experiment(directory, [&](Experiment& experiment, const ExperimentSpec& spec) {
          return replay.reader(experiment, spec);
        });
    return {std::move(view), replay.report()};
  } catch (const Error&) {
    // A state that this scheduler does not understand is no reason to show nothing at all.
    return {view_experiment(directory), std::nullopt};
  }
}

Json to_json(const std::optional<RungsReport>& report) {
  if (!report) return nullptr;
  Json rungs = Json::array();
  for (const RungReport& rung : report->rungs) {
    rungs.push_back({{"bracket", rung.bracket},
                     {"milestone", rung.milestone},
                     {"reached", or_null(rung.reached)},
                     {"went_on", or_null(rung.went_on)},
                     {"waiting", rung.waiting},
                     {"cutoff", or_null(rung.cutoff)}});
  }
  return {{"time_attr", report->time_attr}, {"metric", report->metric}, {"rungs", rungs}};
}

std::string text_of(const RungsReport& report) {
  const auto any = [&](const auto& has) {
    return std::any_of(report.rungs.begin(), report.rungs.end(), has);
  };
  const bool has_brackets = any([](const RungReport& rung) { return rung.bracket > 0; });
  const bool has_waiting = any([](const RungReport& rung) { return rung.waiting > 0; });
  std::vector<TableColumn> columns;
  if (has_brackets) columns.push_back({"bracket", true});
  columns.insert(columns.end(), {{report.time_attr, true}, {"reached", true}, {"went on", true}});
  if (has_waiting) columns.push_back({"waiting", true});
  columns.push_back({"cutoff " + report.metric, true});
  std::vector<std::vector<std::string>> rows;
  for (const RungReport& rung : report.rungs) {
    auto& row = rows.emplace_back();
    if (has_brackets) row.push_back(std::to_string(rung.bracket));
    row.push_back(format_metric(rung.milestone));
    row.push_back(tally_text(rung.reached));
    row.push_back(tally_text(rung.went_on));
    if (has_waiting) row.push_back(std::to_string(rung.waiting));
    row.push_back(rung.cutoff ? format_metric(*rung.cutoff) : "-");
  }
  return table_text(columns, rows);
}

}  // namespace tune
