// Makes searcher, scheduler and stopper by their names in the catalogue; the last two get another
// seed than the searcher.
#include "tuner/run/commit/make_policies.h"

#include <string>

#include "tuner/base/error.h"
#include "tuner/spec/resume_changes.h"
#include "tuner/spec/spec_policy.h"

namespace tune {

namespace {

class NoSearcher final : public Searcher {
 public:
  Answer suggest(TrialId) override { return Exhausted{}; }
  Json save() const override { return Json::object(); }
  void load(const Json&) override {}
};

}  // namespace

PolicyContext context_of(const ExperimentSpec& spec, const SearchSpace& space) {
  return {.space = space,
          .objectives = spec.objectives,
          .num_samples = spec.num_samples,
          .seed = spec.seed,
          .resources = spec.resources,
          .resources_per_trial = spec.resources_per_trial,
          .max_concurrent_trials = spec.max_concurrent_trials,
          .scheduler = spec.scheduler,
          .searcher = spec.searcher,
          .constraints = constraints_of(spec)};
}

namespace {

/// Scheduler and stopper.
Policies make_deciding(const ExperimentSpec& spec, const SearchSpace& space, PolicyContext context,
                       const Catalogue& catalogue, std::vector<Problem>& problems) {
  Policies policies;
  policies.space = &space;
  // Two policies with one seed would draw the same numbers.
  context.seed = spec.seed + 0x9e3779b97f4a7c15u;
  policies.scheduler = make_policy(spec.scheduler, "/scheduler", "scheduler", catalogue.schedulers,
                                   context, problems);
  policies.stopper = make_stopper(spec, catalogue, context, problems);
  return policies;
}

}  // namespace

Policies make_policies(const ExperimentSpec& spec, const SearchSpace& space,
                       const Catalogue& catalogue, std::vector<Problem>& problems,
                       const PolicyPrograms* programs) {
  PolicyContext context = context_of(spec, space);
  context.programs = programs;
  Suggester searcher(
      make_policy(spec.searcher, "/searcher", "searcher", catalogue.searchers, context, problems),
      spec.objectives, context.constraints);
  Policies policies = make_deciding(spec, space, context, catalogue, problems);
  policies.searcher = std::move(searcher);
  policies.remade = [spec, &space, &catalogue, programs](const Json& fields) {
    std::vector<Problem> wrong;
    const ExperimentSpec changed = change_while_running(spec, fields, catalogue, wrong);
    throw_if_any(wrong);
    Policies made = make_policies(changed, space, catalogue, wrong, programs);
    throw_if_any(wrong);
    return made;
  };
  return policies;
}

Policies make_judges(const ExperimentSpec& spec, const SearchSpace& space,
                     const Catalogue& catalogue, std::vector<Problem>& problems) {
  Policies policies = make_deciding(spec, space, context_of(spec, space), catalogue, problems);
  policies.searcher = Suggester(std::make_unique<NoSearcher>(), spec.objectives);
  policies.remade = [spec, &space, &catalogue](const Json& fields) {
    std::vector<Problem> wrong;
    const ExperimentSpec changed = change_while_running(spec, fields, catalogue, wrong);
    throw_if_any(wrong);
    Policies made = make_judges(changed, space, catalogue, wrong);
    throw_if_any(wrong);
    return made;
  };
  return policies;
}

void throw_if_any(const std::vector<Problem>& problems) {
  if (problems.empty()) return;
  std::string text;
  for (const auto& [pointer, sentence] : problems) {
    if (!text.empty()) text += "\n";
    text += (pointer.empty() ? std::string("spec") : pointer) + ": " + sentence;
  }
  throw user_error(text);
}

}  // namespace tune
