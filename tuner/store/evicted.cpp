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

std::optional<Evicted> find_evicted(FileSystem& files, const path& checkpoint) {
  const path file = paths::evicted(checkpoint);
  if (files.exists(checkpoint) || !files.exists(file)) return std::nullopt;
  std::string line = files.read(file);
  if (line.ends_with('\n')) line.pop_back();
  const auto text = journal_line_text(line);
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object()) return std::nullopt;
  try {
    if (json.at("evicted").get<int>() > evicted_format) {
      throw user_error(file.native() + " is of a newer program than this one: use that");
    }
    return Evicted{{json.at("remote").get<std::string>(), json.at("directory").get<std::string>()},
                   json.at("manifest").get<std::string>()};
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

std::string evicted_sentence(const path& checkpoint, const Evicted& evicted) {
  return checkpoint.native() + " is only on " + evicted.place.remote + ": tune fetch " +
         checkpoint.native() + " brings it back";
}

}  // namespace tune
