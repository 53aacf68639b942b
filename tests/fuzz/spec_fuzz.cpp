// A spec: any JSON is a spec or a list of problems; what is accepted is written as a spec that is
// understood as the same, and its searcher makes a first config.
#include <cstdint>
#include <string>

#include "schedulers/schedulers.h"
#include "searchers/searchers.h"
#include "tuner/base/error.h"
#include "tuner/policy/stopper_catalogue.h"
#include "tuner/space/search_space.h"
#include "tuner/spec/spec.h"

namespace {

tune::Catalogue make_catalogue() {
  tune::Catalogue catalogue;
  tune::add_schedulers(catalogue);
  tune::add_searchers(catalogue);
  tune::add_stoppers(catalogue);
  return catalogue;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tune::Catalogue catalogue = make_catalogue();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const tune::Json json = tune::Json::parse(text, nullptr, false, true);
  if (json.is_discarded()) return -1;
  std::vector<tune::Problem> problems;
  const tune::ExperimentSpec spec = tune::parse_spec(json, "/base", catalogue, problems);
  const tune::SearchSpace space =
      tune::SearchSpace::parse(spec.param_space, "/param_space", problems);
  if (!problems.empty()) return 0;

  const tune::Json written = tune::to_json(spec);
  const std::string written_text = written.dump();
  const tune::ExperimentSpec again =
      tune::parse_spec(tune::Json::parse(written_text), "/base", catalogue, problems);
  tune::ensure(problems.empty(), "what to_json writes is a spec");
  tune::ensure(tune::to_json(again).dump() == written_text, "a spec is read as it was written");

  const tune::PolicyContext context{space, spec.objectives, spec.num_samples, spec.seed};
  tune::Json options = spec.searcher;
  options.erase("type");
  try {
    const auto searcher =
        catalogue.searchers.at(spec.searcher.at("type").get<std::string>())(options, context);
    (void)searcher->suggest(tune::TrialId{0});
  } catch (const tune::OptionError&) {
  } catch (const tune::Error&) {
  }
  return 0;
}
