// Asks the searcher for its first suggestions without running them.
#include "apps/tune/first_configs.h"

#include <utility>

#include "tuner/run/commit/make_policies.h"

namespace tune {

FirstConfigs first_configs(const ExperimentSpec& spec, const Catalogue& catalogue,
                           std::uint32_t count) {
  std::vector<Problem> none;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", none);
  Json options = spec.searcher;
  const std::string type = options.at("type");
  options.erase("type");
  const auto searcher = catalogue.searchers.at(type)(options, context_of(spec, space));
  FirstConfigs first{.trials = searcher->total(), .configs = {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    Answer answer = searcher->suggest(TrialId{i});
    auto* const suggestion = std::get_if<Suggestion>(&answer);
    if (suggestion == nullptr) break;
    first.configs.push_back(std::move(suggestion->config));
  }
  return first;
}

}  // namespace tune
