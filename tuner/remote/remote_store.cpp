// Maps put, get, list and remove to rclone's operations, with a time limit for each kind.
#include "tuner/remote/remote_store.h"

#include <algorithm>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/checkpoints/described_tree.h"
#include "tuner/model/remote_config.h"

namespace tune {

namespace {

using std::filesystem::path;
using Kind = RemoteError::Kind;

/// For an object of a few bytes, with what rclone tries again by itself.
constexpr Seconds small_limit_s = 60;
/// For a listing, and for a batch of small files.
constexpr Seconds batch_limit_s = 600;
/// For all of a checkpoint that somebody waits for.
constexpr Seconds tree_limit_s = 24 * 3600.0;

/// For rclone: to give up what has far more bytes than it should. What it tries again counts again,
/// and a log may have grown since it was listed.
Json limits_of(std::uint64_t bytes) {
  constexpr std::uint64_t tries = 3;
  constexpr std::uint64_t always = 16 << 20;
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  return {{"MaxTransfer", std::min(bytes, (most - always) / tries) * tries + always},
          {"CutoffMode", "HARD"}};
}

}  // namespace

RemoteStore::RemoteStore(Rcd& rcd, FileSystem& files, std::string root, path staging)
    : rcd_(rcd), files_(files), root_(std::move(root)), staging_(std::move(staging)) {}

std::string RemoteStore::at(const std::string& name) const {
  return name.empty() ? root_ : remote_below(root_, name);
}

void RemoteStore::check_name() {
  if (root_.starts_with('/')) return;
  const std::string remote = root_.substr(0, root_.find(':', 1) + 1);
  try {
    const Json info = rcd_.run("looking for the remote " + remote, "operations/fsinfo",
                               {{"fs", remote}}, small_limit_s);
    const bool is_local = info.value("Features", Json::object()).value("IsLocal", false);
    if (is_local && !root_.substr(remote.size()).starts_with('/')) {
      throw RemoteError(Kind::misnamed, "the remote " + remote +
                                            " is this machine's disk, where a path must be "
                                            "absolute: write " +
                                            remote + "/... instead of " + root_);
    }
  } catch (const RemoteError& error) {
    if (error.kind() == Kind::misnamed || error.kind() == Kind::abandoned) throw;
    throw RemoteError(Kind::misnamed, error.what());
  }
}

path RemoteStore::stage(std::string_view text) {
  files_.make_directories(staging_);
  const path file = staging_ / ("staged-" + std::to_string(++staged_));
  files_.remove_file(file);
  files_.open_append(file)->append(text);
  return file;
}

void RemoteStore::put(const path& file, const std::string& name) {
  rcd_.run("uploading " + name, "operations/copyfile",
           {{"srcFs", file.parent_path().native()},
            {"srcRemote", file.filename().native()},
            {"dstFs", root_},
            {"dstRemote", name}},
           small_limit_s);
}

void RemoteStore::put_text(std::string_view text, const std::string& name) {
  const path file = stage(text);
  try {
    put(file, name);
  } catch (const Error&) {
    files_.remove_file(file);
    throw;
  }
  files_.remove_file(file);
}

Json RemoteStore::copying(const std::string& name, const path& file, std::uint64_t bytes) const {
  return {{"srcFs", root_},
          {"srcRemote", name},
          {"dstFs", file.parent_path().native()},
          {"dstRemote", file.filename().native()},
          {"_config", limits_of(bytes)}};
}

Json RemoteStore::copying_tree(const std::string& directory, const path& to,
                               std::uint64_t bytes) const {
  return {{"srcFs", at(directory)}, {"dstFs", to.native()}, {"_config", limits_of(bytes)}};
}

Rcd::Job RemoteStore::begin_get(const std::string& name, const path& file, std::uint64_t bytes) {
  return rcd_.begin("operations/copyfile", copying(name, file, bytes));
}

void RemoteStore::get(const std::string& name, const path& file, std::uint64_t bytes) {
  files_.make_directories(file.parent_path());
  rcd_.run("downloading " + name, "operations/copyfile", copying(name, file, bytes), batch_limit_s);
  if (!files_.exists(file)) {
    throw RemoteError(Kind::missing, "downloading " + name + ": it is not there");
  }
}

std::optional<std::string> RemoteStore::get_text(const std::string& name,
                                                 std::uint64_t limit_bytes) {
  files_.make_directories(staging_);
  const path file = staging_ / ("got-" + std::to_string(++staged_));
  files_.remove_file(file);
  try {
    get(name, file, limit_bytes);
  } catch (const RemoteError& error) {
    if (error.kind() == Kind::missing) return std::nullopt;
    if (error.kind() == Kind::too_large) return std::string();
    throw;
  }
  const auto there = files_.entry(file);
  const bool is_short = there && there->is_regular && there->bytes <= limit_bytes;
  std::string text = is_short ? files_.read(file) : std::string();
  files_.remove_file(file);
  return text;
}

/// An array, as rclone answers.
Json RemoteStore::entries(const std::string& directory, bool recursive) {
  try {
    Json output =
        rcd_.run("listing " + at(directory), "operations/list",
                 {{"fs", root_},
                  {"remote", directory},
                  {"opt", {{"recurse", recursive}, {"noModTime", true}, {"noMimeType", true}}},
                  {"_config", {{"UseListR", recursive}}}},
                 recursive ? batch_limit_s : small_limit_s);
    Json list = output.value("list", Json::array());
    return list.is_array() ? list : Json::array();
  } catch (const RemoteError& error) {
    if (error.kind() == Kind::missing) return Json::array();
    throw;
  }
}

std::vector<std::string> RemoteStore::directories() {
  std::vector<std::string> names;
  for (const Json& entry : entries("", false)) {
    if (entry.value("IsDir", false)) names.push_back(entry.value("Path", std::string()));
  }
  return names;
}

std::map<std::string, std::uint64_t> RemoteStore::list(const std::string& directory,
                                                       bool recursive) {
  std::map<std::string, std::uint64_t> sizes;
  for (const Json& entry : entries(directory, recursive)) {
    if (entry.value("IsDir", false)) continue;
    std::string name = entry.value("Path", std::string());
    if (!directory.empty() && name.starts_with(directory + "/")) {
      name.erase(0, directory.size() + 1);
    }
    sizes[name] =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, entry.value("Size", std::int64_t{0})));
  }
  return sizes;
}

void RemoteStore::remove(const std::string& name) {
  try {
    rcd_.run("removing " + name, "operations/deletefile", {{"fs", root_}, {"remote", name}},
             small_limit_s);
  } catch (const RemoteError& error) {
    if (error.kind() != Kind::missing) throw;
  }
}

void RemoteStore::remove_tree(const std::string& directory) {
  try {
    rcd_.run("removing " + directory, "operations/purge", {{"fs", root_}, {"remote", directory}},
             batch_limit_s);
  } catch (const RemoteError& error) {
    if (error.kind() != Kind::missing) throw;
  }
}

/// rclone reads such a list by lines, and takes them as they are.
void RemoteStore::copy_named(const std::string& from, const std::string& to,
                             const std::vector<std::string>& names, const std::string& doing,
                             const Json& limits) {
  for (const std::string& name : names) {
    ensure(!wrong_name(name) && name.find_first_of("\n\r") == name.npos,
           "what is asked for by name was judged");
  }
  constexpr std::size_t batch = 1000;
  for (std::size_t begin = 0; begin < names.size(); begin += batch) {
    std::string list;
    for (std::size_t i = begin; i < std::min(names.size(), begin + batch); ++i) {
      list += names[i] + "\n";
    }
    const path file = stage(list);
    try {
      rcd_.run(doing, "sync/copy",
               {{"srcFs", from},
                {"dstFs", to},
                {"_filter", {{"FilesFromRaw", Json::array({file.native()})}}},
                {"_config", limits}},
               batch_limit_s);
    } catch (const Error&) {
      files_.remove_file(file);
      throw;
    }
    files_.remove_file(file);
  }
}

void RemoteStore::put_files(const path& from, const std::vector<std::string>& names) {
  copy_named(from.native(), root_, names, "uploading files of trials", Json::object());
}

void RemoteStore::get_files(const std::vector<std::string>& names, const path& to,
                            std::uint64_t bytes) {
  files_.make_directories(to);
  copy_named(root_, to.native(), names, "downloading files", limits_of(bytes));
}

void RemoteStore::get_tree(const std::string& directory, const path& to, std::uint64_t bytes) {
  files_.make_directories(to);
  rcd_.run("downloading " + directory, "sync/copy", copying_tree(directory, to, bytes),
           tree_limit_s);
}

Rcd::Job RemoteStore::begin_get_tree(const std::string& directory, const path& to,
                                     std::uint64_t bytes) {
  return rcd_.begin("sync/copy", copying_tree(directory, to, bytes));
}

Rcd::Job RemoteStore::begin_put_tree(const path& from, const std::string& directory) {
  return rcd_.begin("sync/copy", {{"srcFs", from.native()}, {"dstFs", at(directory)}});
}

}  // namespace tune
