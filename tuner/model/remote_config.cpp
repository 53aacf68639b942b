// Names of the choices, and checks of a remote's path.
#include "tuner/model/remote_config.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tune {

namespace {

using Checkpoints = RemoteConfig::Checkpoints;

constexpr std::array<std::pair<Checkpoints, const char*>, 4> names = {{
    {Checkpoints::all, "all"},
    {Checkpoints::kept, "kept"},
    {Checkpoints::best, "best"},
    {Checkpoints::none, "none"},
}};

bool is_name_char(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '+' || c == '@' || c == ' ' || c >= 0x80;
}

}  // namespace

std::string to_string(Checkpoints which) {
  return std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == which; })
      ->second;
}

std::optional<Checkpoints> parse_remote_checkpoints(const std::string& word) {
  for (const auto& [which, name] : names) {
    if (word == name) return which;
  }
  return std::nullopt;
}

std::optional<std::string> wrong_remote_path(const std::string& path) {
  const std::string expected = "must be a remote of rclone like s3:bucket/prefix, or an absolute ";
  if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < 0x20; })) {
    return expected + "path, without control characters";
  }
  if (path.starts_with('/')) return std::nullopt;
  const bool is_on_the_fly = path.starts_with(':');
  const std::size_t colon = path.find(':', is_on_the_fly ? 1 : 0);
  const std::string remote = path.substr(0, colon);
  if (remote.find_first_of(",=") != std::string::npos) {
    // What may be a key is not repeated.
    return "must name a remote without options, since it is recorded and options may be keys: put "
           "them into rclone's configuration, or into variables like RCLONE_CONFIG_S3_ENDPOINT";
  }
  if (const std::size_t url = path.find("://"); url != std::string::npos) {
    return expected + "path, got '" + path + "': rclone writes " + path.substr(0, url + 1) +
           path.substr(url + 3);
  }
  if (colon == std::string::npos) {
    const bool is_home = path == "~" || path.starts_with("~/");
    const std::string absolute = is_home ? "$HOME" + path.substr(1) : "$PWD/" + path;
    return expected + "path, got '" + path + "': a directory is \"" + absolute + "\"";
  }
  const std::string_view name = std::string_view(remote).substr(is_on_the_fly ? 1 : 0);
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_char)) {
    return expected + "path, got '" + path + "'";
  }
  return std::nullopt;
}

std::string remote_below(const std::string& path, const std::string& name) {
  if (path.ends_with('/') || path.ends_with(':')) return path + name;
  return path + "/" + name;
}

}  // namespace tune
