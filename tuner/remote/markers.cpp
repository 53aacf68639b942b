#include "tuner/remote/markers.h"

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <utility>

#include "trainable/values.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_number.h"
#include "tuner/store/checksum.h"
#include "tuner/store/journal.h"
#include "tuner/store/paths.h"

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
std::optional<Json> object_in(std::string text, const char* kind) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.pop_back();
  const auto line = journal_line_text(text);
  if (!line) return std::nullopt;
  Json json = Json::parse(*line, nullptr, false);
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
auto read_object(const std::string& text, const char* kind, const Read& read)
    -> std::optional<decltype(read(Json()))> {
  const auto json = object_in(text, kind);
  if (!json) return std::nullopt;
  try {
    return read(*json);
  } catch (const Json::exception&) {
  } catch (const std::invalid_argument&) {
  }
  return std::nullopt;
}

/// Names on a remote are taken for places here.
std::string safe_name(const Json& json) {
  const std::filesystem::path name = json.get<std::string>();
  bool is_safe = !name.empty() && name.is_relative();
  for (const auto& part : name) is_safe = is_safe && part != ".." && part != ".";
  if (!is_safe) throw std::invalid_argument("a name that leads elsewhere");
  return name.native();
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
  return read_object(text, "state", [](const Json& json) {
    StateMarker marker;
    marker.experiment = json.at("experiment").get<std::string>();
    marker.session = load_whole<std::int64_t>(json.at("session"));
    marker.number = load_whole<std::int64_t>(json.at("number"));
    marker.host = json.at("host").get<std::string>();
    marker.time = json.at("time").get<double>();
    for (const Json& entry : json.at("files")) {
      StateFile file{safe_name(entry.at("path")), {}};
      for (const Json& one : entry.at("parts")) {
        StatePart part{safe_name(one.at("name")), load_whole<std::uint64_t>(one.at("begin")),
                       load_whole<std::uint64_t>(one.at("end")), one.at("xxh3").get<std::string>()};
        if (part.begin != file.bytes() || part.end < part.begin) {
          throw std::invalid_argument("a hole in a file");
        }
        file.parts.push_back(std::move(part));
      }
      marker.files.push_back(std::move(file));
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
  if (!name.starts_with(begin) || !name.ends_with(".json")) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data() + begin.size(), end, parsed.session);
  if (first.ec != std::errc() || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, parsed.number);
  if (second.ec != std::errc() || std::string_view(second.ptr, end) != ".json") return std::nullopt;
  return parsed;
}

std::uint64_t CheckpointMarker::bytes() const {
  std::uint64_t sum = manifest_bytes;
  for (const File& file : files) sum += file.bytes;
  return sum;
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
    const Json json = Json::parse(manifest);
    marker.attempt = load_whole<int>(json.at("attempt"));
    for (const Json& file : json.at("files")) {
      marker.files.push_back({safe_name(file.at("path")),
                              load_whole<std::uint64_t>(file.at("bytes")),
                              file.at("xxh3").get<std::string>()});
    }
    for (const Json& link : json.value("links", Json::array())) {
      marker.links.push_back({safe_name(link.at("path")), link.at("target").get<std::string>()});
    }
  } catch (const std::exception&) {
    throw machine_error("the manifest of checkpoint " + std::to_string(checkpoint.index) + " of " +
                        to_string(checkpoint.trial) + " does not say what it must");
  }
  return marker;
}

std::string to_text(const CheckpointMarker& marker) {
  Json files = Json::array();
  for (const auto& file : marker.files) {
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"xxh3", file.xxh3}});
  }
  Json links = Json::array();
  for (const auto& link : marker.links) {
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
  return read_object(text, "checkpoint", [](const Json& json) {
    CheckpointMarker marker;
    marker.checkpoint = {trial_in(json.at("trial_id")), load_whole<int>(json.at("index"))};
    marker.attempt = load_whole<int>(json.at("attempt"));
    marker.directory = safe_name(json.at("directory"));
    marker.manifest_bytes = load_whole<std::uint64_t>(json.at("manifest").at("bytes"));
    marker.manifest_xxh3 = json.at("manifest").at("xxh3").get<std::string>();
    for (const Json& file : json.at("files")) {
      marker.files.push_back({safe_name(file.at("path")),
                              load_whole<std::uint64_t>(file.at("bytes")),
                              file.at("xxh3").get<std::string>()});
    }
    for (const Json& link : json.at("links")) {
      marker.links.push_back({safe_name(link.at("path")), link.at("target").get<std::string>()});
    }
    return marker;
  });
}

std::string checkpoint_marker_name(const std::string& directory) {
  return directory + std::string(marker_end);
}

std::optional<CheckpointRef> parse_checkpoint_marker_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos || !name.ends_with(marker_end)) return std::nullopt;
  const auto trial = parse_trial_id(name.substr(0, slash));
  const auto index = paths::parse_checkpoint(
      std::string_view(name).substr(slash + 1, name.find('.', slash) - slash - 1));
  if (!trial || !index) return std::nullopt;
  return CheckpointRef{*trial, *index};
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
  return read_object(text, "lease", [](const Json& json) {
    return RemoteLease{.experiment = json.at("experiment").get<std::string>(),
                       .owner = json.at("owner").get<std::string>(),
                       .session = load_whole<std::int64_t>(json.at("session")),
                       .host = json.at("host").get<std::string>(),
                       .pid = load_whole<std::int64_t>(json.at("pid")),
                       .time = json.at("time").get<double>(),
                       .lease_s = json.at("lease_s").get<double>(),
                       .renewals = load_whole<std::int64_t>(json.at("renewals")),
                       .is_released = json.at("released").get<bool>()};
  });
}

}  // namespace tune
