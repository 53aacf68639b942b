// Writes and reads a snapshot as one checksummed line; the file is replaced by rename.
#include "tuner/journal/snapshot.h"

#include <stdexcept>
#include <string>

#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"
#include "tuner/journal/journal.h"

namespace tune {

namespace {
constexpr int snapshot_format = 1;
}

std::uint64_t write_snapshot(FileSystem& files, const std::filesystem::path& file,
                             const Snapshot& snapshot) {
  const Json json = {{"snapshot", snapshot_format},
                     {"generation", snapshot.generation},
                     {"event", snapshot.event},
                     {"trials_file", snapshot.trials_file},
                     {"trials_bytes", snapshot.trials_bytes},
                     {"state", snapshot.state}};
  std::string line;
  append_journal_line(line, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  files.replace(file, line);
  return line.size();
}

Snapshot read_snapshot(FileSystem& files, const std::filesystem::path& file) {
  std::string line = files.read(file);
  const auto damaged = [&](const std::string& how) {
    return machine_error("the snapshot " + file.native() + " is damaged: " + how);
  };
  if (!line.ends_with('\n'))
    throw damaged("it ends in the middle, at byte " + std::to_string(line.size()));
  line.pop_back();
  const auto text = journal_line_text(line);
  if (!text) throw damaged("its checksum is not that of its content");
  const Json json = parse_shallow(*text);
  try {
    const int format = load_whole<int>(json.at("snapshot"));
    if (format > snapshot_format) {
      throw user_error("the snapshot " + file.native() + " has format " + std::to_string(format) +
                       ", this program understands up to " + std::to_string(snapshot_format) +
                       ": use a newer one");
    }
    return {.generation = load_whole<int>(json.at("generation")),
            .event = load_whole<std::uint64_t>(json.at("event")),
            .trials_file = load_whole<int>(json.at("trials_file")),
            .trials_bytes = load_whole<std::uint64_t>(json.at("trials_bytes")),
            .state = json.at("state")};
  } catch (const Json::exception& error) {
    throw damaged(error.what());
  } catch (const std::invalid_argument& error) {
    throw damaged(error.what());
  }
}

}  // namespace tune
