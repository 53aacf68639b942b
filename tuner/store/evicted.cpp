#include "tuner/store/evicted.h"

#include "trainable/values.h"
#include "tuner/core/error.h"
#include "tuner/store/journal.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr int evicted_format = 1;

}  // namespace

bool is_manifest_of(const Json& manifest, const path& checkpoint) {
  const auto trial = parse_trial_id(checkpoint.parent_path().filename().native());
  const auto index = paths::parse_checkpoint(checkpoint.filename().native());
  if (!manifest.is_object() || !trial || !index) return false;
  const auto is = [&](const char* field, const Json& value) {
    const auto found = manifest.find(field);
    return found == manifest.end() || *found == value;
  };
  return is("trial_id", to_string(*trial)) && is("index", *index);
}

std::optional<Evicted> find_evicted(FileSystem& files, const path& checkpoint) {
  const path file = paths::evicted(checkpoint);
  if (files.exists(checkpoint) || !files.exists(file)) return std::nullopt;
  std::string line;
  try {
    line = files.read(file);
  } catch (const Error&) {
    return std::nullopt;  // a directory, a device: it says nothing
  }
  if (line.ends_with('\n')) line.pop_back();
  const auto text = journal_line_text(line);
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object()) return std::nullopt;
  try {
    if (json.at("evicted").get<int>() > evicted_format) {
      throw user_error(file.native() + " is of a newer program than this one: use that");
    }
    Evicted evicted{{json.at("remote").get<std::string>(), json.at("directory").get<std::string>()},
                    json.at("manifest").get<std::string>()};
    if (!is_manifest_of(Json::parse(evicted.manifest), checkpoint)) return std::nullopt;
    return evicted;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void write_evicted(FileSystem& files, const path& checkpoint, const Evicted& evicted) {
  std::string line;
  append_journal_line(line, Json{{"evicted", evicted_format},
                                 {"remote", evicted.place.remote},
                                 {"directory", evicted.place.directory},
                                 {"manifest", evicted.manifest}}
                                .dump(-1, ' ', false, Json::error_handler_t::replace));
  files.replace(paths::evicted(checkpoint), line);
}

void remove_evicted(FileSystem& files, const path& checkpoint) {
  const path file = paths::evicted(checkpoint);
  const auto there = files.entry(file);
  if (there && there->is_directory) {
    files.rename(file, file.native() + ".corrupt");
  } else {
    files.remove_file(file);
  }
}

std::string evicted_sentence(const path& checkpoint, const Evicted& evicted) {
  return checkpoint.native() + " is only on " + evicted.place.remote + ": tune fetch " +
         checkpoint.native() + " brings it back";
}

}  // namespace tune
