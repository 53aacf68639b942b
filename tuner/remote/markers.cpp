// Formats and parses markers and leases: one line of JSON with its checksum, strictly checked,
// since anybody may have written it.
#include "tuner/remote/markers.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"
#include "tuner/disk/checksum.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"
#include "tuner/remote/object_names.h"

namespace tune {

namespace {

constexpr int format = 1;
constexpr std::string_view marker_end = ".COMMIT.json";

std::string line_of(const Json& json) {
  std::string line;
  append_journal_line(line, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return line;
}

/// The object in the line if that is whole and of `kind`.
std::optional<Json> object_in(std::string_view text, const char* kind, std::uint64_t limit_bytes) {
  if (text.size() > limit_bytes || !text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const auto line = journal_line_text(text);
  if (!line) return std::nullopt;
  constexpr std::size_t most_levels = 8;  // the deepest has six
  Json json = parse_shallow(*line, most_levels);
  if (!json.is_object() || !json.contains(kind)) return std::nullopt;
  const auto found = whole_number<int>(json[kind]);
  if (!found) return std::nullopt;
  if (*found > format) {
    throw user_error(std::string("what is on the remote has format ") + std::to_string(*found) +
                     " of " + kind + ", this program understands up to " + std::to_string(format) +
                     ": use a newer one");
  }
  return json;
}

/// What does not say what it must is damaged.
template <class Read>
auto read_object(const std::string& text, const char* kind, std::uint64_t limit_bytes,
                 const Read& read) -> std::optional<decltype(read(Json()))> {
  const auto json = object_in(text, kind, limit_bytes);
  if (!json) return std::nullopt;
  try {
    return read(*json);
  } catch (const Json::exception&) {
  } catch (const std::invalid_argument&) {
  }
  return std::nullopt;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

std::int64_t count_in(const Json& json, std::int64_t most = most_session) {
  const auto count = load_whole<std::int64_t>(json);
  require(count >= 0 && count <= most, "a count of nothing");
  return count;
}

/// Unix time, as a calendar can show it.
Seconds time_in(const Json& json) {
  constexpr Seconds end_of_9999 = 253402300799;
  const auto time = json.get<double>();
  require(time >= 0 && time <= end_of_9999, "no time");
  return time;
}

/// Of a part: NAME.BEGIN-RANDOM, in hexadecimal digits.
bool is_part_of(const std::string& part, const std::string& file, std::uint64_t begin) {
  const std::string mine = file + "." + std::to_string(begin) + "-";
  constexpr std::size_t most_digits = 64;
  return part.starts_with(mine) && part.size() > mine.size() &&
         part.size() <= mine.size() + most_digits &&
         part.find_first_not_of("0123456789abcdef", mine.size()) == part.npos;
}

StateFile state_file_in(const Json& json) {
  StateFile file{json.at("path").get<std::string>(), {}};
  require(is_of_state(file.name), "a file that is not of the state");
  for (const Json& one : json.at("parts")) {
    StatePart part{one.at("name").get<std::string>(), load_whole<std::uint64_t>(one.at("begin")),
                   load_whole<std::uint64_t>(one.at("end")), one.at("xxh3").get<std::string>()};
    require(is_part_of(part.name, file.name, part.begin), "a part of something else");
    require(part.begin == file.bytes() && part.end >= part.begin, "a hole in a file");
    require(part.end - part.begin <= most_part_bytes, "a part that is too large");
    file.parts.push_back(std::move(part));
  }
  return file;
}

TrialId trial_in(const Json& json) {
  const auto trial = parse_trial_id(json.get<std::string>());
  if (!trial) throw std::invalid_argument("no trial");
  return *trial;
}

}  // namespace

std::string random_name() {
  unsigned char bytes[8];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    throw file_error("cannot get", "random bytes", errno);
  }
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Seconds unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string to_text(const StateMarker& marker) {
  Json files = Json::array();
  for (const StateFile& file : marker.files) {
    Json parts = Json::array();
    for (const StatePart& part : file.parts) {
      parts.push_back(
          {{"name", part.name}, {"begin", part.begin}, {"end", part.end}, {"xxh3", part.xxh3}});
    }
    files.push_back({{"path", file.name}, {"bytes", file.bytes()}, {"parts", parts}});
  }
  return line_of({{"state", format},
                  {"experiment", marker.experiment},
                  {"session", marker.session},
                  {"number", marker.number},
                  {"host", marker.host},
                  {"time", marker.time},
                  {"files", files}});
}

std::optional<StateMarker> parse_state_marker(const std::string& text) {
  return read_object(text, "state", most_state_marker_bytes, [](const Json& json) {
    StateMarker marker;
    marker.experiment = json.at("experiment").get<std::string>();
    marker.session = count_in(json.at("session"));
    marker.number = count_in(json.at("number"));
    marker.host = json.at("host").get<std::string>();
    marker.time = time_in(json.at("time"));
    std::set<std::string> names;
    for (const Json& entry : json.at("files")) {
      marker.files.push_back(state_file_in(entry));
      require(names.insert(marker.files.back().name).second, "a file that is in it twice");
    }
    return marker;
  });
}

std::string state_marker_name(std::int64_t session, std::int64_t number) {
  char name[64];
  std::snprintf(name, sizeof name, "state/COMMIT-%06lld-%012lld.json",
                static_cast<long long>(session), static_cast<long long>(number));
  return name;
}

std::optional<StateMarkerName> parse_state_marker_name(const std::string& name) {
  StateMarkerName parsed;
  constexpr std::string_view begin = "COMMIT-";
  if (!name.starts_with(begin)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data() + begin.size(), end, parsed.session);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, parsed.number);
  if (second.ec != std::errc()) return std::nullopt;
  const bool is_counted = parsed.session >= 0 && parsed.session <= most_session &&
                          parsed.number >= 0 && parsed.number <= most_session;
  // As it is written, so that it can be asked for.
  if (!is_counted || "state/" + name != state_marker_name(parsed.session, parsed.number)) {
    return std::nullopt;
  }
  return parsed;
}

std::optional<StateMarker> parse_state_marker(const std::string& text,
                                              const StateMarkerName& name) {
  auto marker = parse_state_marker(text);
  if (marker && StateMarkerName{marker->session, marker->number} != name) return std::nullopt;
  return marker;
}

CheckpointMarker marker_of(CheckpointRef checkpoint, std::string directory,
                           const std::string& manifest) {
  CheckpointMarker marker;
  marker.checkpoint = checkpoint;
  marker.directory = std::move(directory);
  marker.manifest_bytes = manifest.size();
  const ChecksumDigits digits = checksum(manifest);
  marker.manifest_xxh3 = {digits.begin(), digits.end()};
  try {
    const Json json = parse_manifest(manifest);
    marker.attempt = load_whole<int>(json.at("attempt"));
    marker.tree = tree_in(json);
    for (const auto& file : marker.tree.files) require(!wrong_name(file.path), "no name");
    for (const auto& link : marker.tree.links) require(!wrong_name(link.path), "no name");
  } catch (const std::exception&) {
    throw machine_error("the manifest of checkpoint " + std::to_string(checkpoint.index) + " of " +
                        to_string(checkpoint.trial) + " does not say what it must");
  }
  return marker;
}

std::string to_text(const CheckpointMarker& marker) {
  Json files = Json::array();
  for (const auto& file : marker.tree.files) {
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"xxh3", file.xxh3}});
  }
  Json links = Json::array();
  for (const auto& link : marker.tree.links) {
    links.push_back({{"path", link.path}, {"target", link.target}});
  }
  return line_of({{"checkpoint", format},
                  {"trial_id", to_string(marker.checkpoint.trial)},
                  {"index", marker.checkpoint.index},
                  {"attempt", marker.attempt},
                  {"directory", marker.directory},
                  {"bytes", marker.bytes()},
                  {"manifest", {{"bytes", marker.manifest_bytes}, {"xxh3", marker.manifest_xxh3}}},
                  {"files", files},
                  {"links", links}});
}

std::optional<CheckpointMarker> parse_checkpoint_marker(const std::string& text) {
  return read_object(text, "checkpoint", most_checkpoint_marker_bytes, [](const Json& json) {
    CheckpointMarker marker;
    marker.checkpoint = {trial_in(json.at("trial_id")), load_whole<int>(json.at("index"))};
    marker.attempt = load_whole<int>(json.at("attempt"));
    marker.directory = json.at("directory").get<std::string>();
    require(paths::parse_remote_checkpoint(marker.directory) == marker.checkpoint,
            "the directory of another one");
    marker.manifest_bytes = load_whole<std::uint64_t>(json.at("manifest").at("bytes"));
    require(marker.manifest_bytes <= most_manifest_bytes, "a manifest that is too long");
    marker.manifest_xxh3 = json.at("manifest").at("xxh3").get<std::string>();
    marker.tree = tree_in(json);
    require(!wrong_tree(marker.tree), "no tree");
    return marker;
  });
}

namespace {

bool is_same(const DescribedTree& a, const DescribedTree& b) {
  const auto is_same_file = [](const auto& one, const auto& other) {
    return one.path == other.path && one.bytes == other.bytes;
  };
  const auto is_same_link = [](const auto& one, const auto& other) {
    return one.path == other.path && one.target == other.target;
  };
  return std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(), is_same_file) &&
         std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(), is_same_link);
}

}  // namespace

std::optional<std::string> wrong_manifest(const CheckpointMarker& marker,
                                          const std::string& manifest) {
  const std::string name = marker.directory + "/manifest.json";
  const ChecksumDigits digits = checksum(manifest);
  if (manifest.size() != marker.manifest_bytes ||
      std::string_view(digits.data(), digits.size()) != marker.manifest_xxh3) {
    return name + " is missing, or has changed";
  }
  const Json json = parse_manifest(manifest);
  if (!is_manifest_of(json, paths::checkpoint("", marker.checkpoint))) {
    return name + " is that of another one, or none";
  }
  try {
    const DescribedTree tree = tree_in(json);
    if (const auto wrong = wrong_tree(tree)) return name + ": " + *wrong;
    if (tree.files.empty()) return name + " lists no file";
    if (!is_same(tree, marker.tree)) return name + " lists other files than its marker";
  } catch (const std::exception&) {
    return name + " does not say what it must";
  }
  return std::nullopt;
}

std::string checkpoint_marker_name(const std::string& directory) {
  return directory + std::string(marker_end);
}

std::optional<CheckpointRef> parse_checkpoint_marker_name(const std::string& name) {
  if (!name.ends_with(marker_end)) return std::nullopt;
  return paths::parse_remote_checkpoint(
      std::string_view(name).substr(0, name.size() - marker_end.size()));
}

std::string to_text(const RemoteLease& lease) {
  return line_of({{"lease", format},
                  {"experiment", lease.experiment},
                  {"owner", lease.owner},
                  {"session", lease.session},
                  {"host", lease.host},
                  {"pid", lease.pid},
                  {"time", lease.time},
                  {"lease_s", lease.lease_s},
                  {"renewals", lease.renewals},
                  {"released", lease.is_released}});
}

std::optional<RemoteLease> parse_remote_lease(const std::string& text) {
  return read_object(text, "lease", most_lease_bytes, [](const Json& json) {
    RemoteLease lease{.experiment = json.at("experiment").get<std::string>(),
                      .owner = json.at("owner").get<std::string>(),
                      .session = count_in(json.at("session")),
                      .host = json.at("host").get<std::string>(),
                      .pid = load_whole<std::int64_t>(json.at("pid")),
                      .time = time_in(json.at("time")),
                      .lease_s = json.at("lease_s").get<double>(),
                      .renewals = count_in(json.at("renewals")),
                      .is_released = json.at("released").get<bool>()};
    require(lease.lease_s >= 0 && lease.lease_s <= most_lease_s, "no length of a lease");
    return lease;
  });
}

}  // namespace tune
