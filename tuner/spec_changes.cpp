// Reads the changes of a running spec from snapshot and journal, and applies them.
#include "tuner/spec_changes.h"

#include "tuner/base/error.h"
#include "tuner/journal/experiment_store.h"

namespace tune {

Json read_spec_changes(FileSystem& files, const std::filesystem::path& directory) {
  struct : StateReader {
    bool wants_trials() const override { return false; }
    void restart() override { fields = Json::object(); }
    void on_snapshot(const Json& state) override {
      fields = state.at("experiment").value("spec_changes", Json::object());
    }
    void on_event(Event&& event) override {
      if (std::holds_alternative<SessionStarted>(event.body)) restart();
      const auto* const changed = std::get_if<SpecChanged>(&event.body);
      if (changed != nullptr) fields.update(Json::parse(changed->fields));
    }
    Json fields = Json::object();
  } reader;
  std::vector<std::string> notices;
  try {
    ExperimentStore::read(files, directory, reader, notices);
  } catch (const Error&) {  // whoever opens it says so
  }
  return std::move(reader.fields);
}

ExperimentSpec with_changes(const ExperimentSpec& spec, const Json& fields,
                            const Catalogue& catalogue, std::vector<Problem>& problems) {
  if (fields.empty()) return spec;
  Json json = to_json(spec);
  json.update(fields);
  return parse_recorded_spec(json, catalogue, problems);
}

Json spec_in_force(const std::filesystem::path& directory) {
  const auto files = make_posix_file_system();
  Json spec = ExperimentStore::read_spec(*files, directory);
  spec.update(read_spec_changes(*files, directory));
  return spec;
}

}  // namespace tune
