#include "tests/spec/spec_support.h"

#include <algorithm>

#include "tuner/policy/options.h"
#include "tuner/policy/stopper_catalogue.h"

namespace tune::test {

namespace fs = std::filesystem;

namespace {

class IdleSearcher : public Searcher {
 public:
  Answer suggest(TrialId) override { return Exhausted{}; }
  Json save() const override { return nullptr; }
  void load(const Json&) override {}
};

class IdleScheduler : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {}; }
};

class IdleCallback : public Callback {
 public:
  std::string name() const override { return "idle"; }
};

std::unique_ptr<Searcher> make_random(const Json& json, const PolicyContext& context) {
  OptionReader options(json);
  const Json points = options.get<Json>("points_to_evaluate", Json::array());
  options.finish();
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const Problem& problem : context.space.check_preset(points[i])) {
      throw OptionError("/points_to_evaluate/" + std::to_string(i) + problem.pointer,
                        problem.sentence);
    }
  }
  return std::make_unique<IdleSearcher>();
}

std::unique_ptr<Searcher> make_tpe(const Json& json, const PolicyContext& context) {
  OptionReader(json).finish();
  if (context.objectives.empty()) throw OptionError("", "'tpe' needs 'metric' and 'mode'");
  return std::make_unique<IdleSearcher>();
}

std::unique_ptr<Scheduler> make_fifo(const Json& json, const PolicyContext&) {
  OptionReader(json).finish();
  return std::make_unique<IdleScheduler>();
}

std::unique_ptr<Scheduler> make_asha(const Json& json, const PolicyContext& context) {
  OptionReader options(json);
  const auto max_t = options.get<std::int64_t>("max_t", 100);
  options.require(max_t >= 1, "max_t", "at least 1");
  options.get<std::int64_t>("grace_period", 1);
  options.get<double>("reduction_factor", 4);
  options.finish();
  if (context.objectives.empty()) throw OptionError("", "'asha' needs 'metric' and 'mode'");
  return std::make_unique<IdleScheduler>();
}

std::unique_ptr<Callback> make_log(const Json& json, const PolicyContext&) {
  OptionReader options(json);
  options.get<double>("flush_s", 1);
  options.finish();
  return std::make_unique<IdleCallback>();
}

}  // namespace

Catalogue small_catalogue() {
  Catalogue catalogue;
  catalogue.searchers = {{"random", make_random}, {"tpe", make_tpe}};
  catalogue.schedulers = {{"fifo", make_fifo}, {"asha", make_asha}};
  add_stoppers(catalogue);
  catalogue.callbacks = {{"csv", make_log}, {"tensorboard", make_log}};
  return catalogue;
}

std::vector<BadSpec> bad_specs() {
  std::vector<BadSpec> table;
  for (const Json& row : read_json_file(source_directory() / "tests/spec/bad_specs.json")) {
    table.push_back({with(row.at("fields")), row.at("at").get<std::string>(),
                     row.at("says").get<std::string>(), row.at("schema").get<bool>()});
  }
  return table;
}

Json with(const Json& fields) {
  Json spec = {{"trainable", {{"command", Json::array({"./train"})}}}};
  spec.update(fields);
  return spec;
}

fs::path source_directory() { return TUNE_SOURCE_DIRECTORY; }

std::vector<fs::path> good_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(source_directory() / "tests/spec/specs")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tune::test
