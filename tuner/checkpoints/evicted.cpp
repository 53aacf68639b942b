// Writes, reads and removes the stub file that stands in for an evicted checkpoint.
#include "tuner/checkpoints/evicted.h"

#include <utility>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"
#include "tuner/model/remote_config.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr int evicted_format = 1;
/// A manifest as a text of JSON takes twice its bytes at the most.
constexpr std::uint64_t most_evicted_bytes = 2 * most_manifest_bytes + (1 << 20);

/// A remote gets the name of its experiment and nothing else added, so that what may be recorded
/// may be said here; see wrong_remote_path for what must not run.
bool is_place_of(const path& checkpoint, const RemotePlace& place) {
  const auto there = paths::parse_remote_checkpoint(place.directory);
  const auto trial = parse_trial_id(checkpoint.parent_path().filename().native());
  const auto index = paths::parse_checkpoint(checkpoint.filename().native());
  return there && trial && index && there->trial == *trial && there->index == *index &&
         !wrong_remote_path(place.remote);
}

}  // namespace

std::optional<Evicted> find_evicted(FileSystem& files, const path& checkpoint) {
  const path file = paths::evicted(checkpoint);
  if (files.exists(checkpoint)) return std::nullopt;
  const auto there = files.entry(file);
  // A directory, a device, a link: it says nothing.
  if (!there || !there->is_regular || there->bytes > most_evicted_bytes) return std::nullopt;
  std::string line;
  try {
    line = files.read(file);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (line.ends_with('\n')) line.pop_back();
  const auto text = journal_line_text(line);
  const Json json = text ? parse_shallow(*text) : Json();
  const auto format = json.is_object() && json.contains("evicted")
                          ? whole_number<int>(json["evicted"])
                          : std::nullopt;
  if (!format) return std::nullopt;
  if (*format > evicted_format) {
    throw user_error(file.native() + " is of a newer program than this one: use that");
  }
  try {
    Evicted evicted{{json.at("remote").get<std::string>(), json.at("directory").get<std::string>()},
                    json.at("manifest").get<std::string>()};
    const bool is_of_it = is_place_of(checkpoint, evicted.place) &&
                          is_manifest_of(parse_manifest(evicted.manifest), checkpoint);
    return is_of_it ? std::optional(std::move(evicted)) : std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string evicted_text(const Evicted& evicted) {
  std::string line;
  append_journal_line(line, Json{{"evicted", evicted_format},
                                 {"remote", evicted.place.remote},
                                 {"directory", evicted.place.directory},
                                 {"manifest", evicted.manifest}}
                                .dump(-1, ' ', false, Json::error_handler_t::replace));
  return line;
}

void write_evicted(FileSystem& files, const path& checkpoint, const Evicted& evicted) {
  files.replace(paths::evicted(checkpoint), evicted_text(evicted));
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
