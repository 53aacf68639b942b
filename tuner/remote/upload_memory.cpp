// An append-only log of uploads (intent, then commit), compacted at the start of a session.
#include "tuner/remote/upload_memory.h"

#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

path log_of(const path& directory) { return directory / "uploaded.jsonl"; }
path state_of(const path& directory) { return directory / "state.json"; }

}  // namespace

path remote_directory(const path& experiment) { return experiment / "remote"; }

UploadMemory::UploadMemory(FileSystem& files, const path& experiment, std::string root)
    : files_(files), directory_(remote_directory(experiment)), root_(std::move(root)) {
  load();
}

void UploadMemory::load() {
  if (!files_.exists(log_of(directory_))) return;
  std::string of_root;
  for_each_line(files_, log_of(directory_), [&](std::string_view line) {
    const auto text = journal_line_text(line);
    const Json json = text ? parse_shallow(*text) : Json();
    if (!json.is_object()) return true;
    try {
      if (json.contains("remote")) of_root = json.at("remote").get<std::string>();
      take(json);
    } catch (const Json::exception&) {
    } catch (const std::invalid_argument&) {
    }
    return true;
  });
  if (of_root != root_) {
    // What is on another remote is not on this one; the experiment is the same.
    identity_ = {identity_.experiment, "", 0};
    checkpoints_.clear();
    begun_.clear();
    small_.clear();
    return;
  }
  const auto state = files_.entry(state_of(directory_));
  if (state && state->bytes <= most_state_marker_bytes) {
    state_ = parse_state_marker(files_.read(state_of(directory_)));
  }
}

/// What is no directory of a checkpoint is none that this program has put there: it is not asked
/// for, and above all not removed.
void UploadMemory::take(const Json& json) {
  const auto directory_in = [&json](const char* field) {
    auto directory = json.at(field).get<std::string>();
    if (!paths::parse_remote_checkpoint(directory)) throw std::invalid_argument("no checkpoint");
    return directory;
  };
  if (json.contains("remote")) {
    const auto session = load_whole<std::int64_t>(json.at("session"));
    if (session < 0 || session > most_session) throw std::invalid_argument("no session");
    identity_ = {json.at("experiment").get<std::string>(), json.at("owner").get<std::string>(),
                 session};
  } else if (json.contains("begun")) {
    // Each upload has a directory of its own. What is up and named once more would be removed as
    // the rest of an upload.
    const auto directory = directory_in("begun");
    const auto up = checkpoints_.find(*paths::parse_remote_checkpoint(directory));
    if (up == checkpoints_.end() || up->second != directory) begun_.insert(directory);
  } else if (json.contains("up")) {
    const auto directory = directory_in("up");
    begun_.erase(directory);
    checkpoints_[*paths::parse_remote_checkpoint(directory)] = directory;
  } else if (json.contains("gone")) {
    const auto directory = directory_in("gone");
    begun_.erase(directory);
    std::erase_if(checkpoints_, [&](const auto& each) { return each.second == directory; });
  } else if (json.contains("file")) {
    small_[json.at("file").get<std::string>()] = {load_whole<std::uint64_t>(json.at("bytes")),
                                                  load_whole<std::int64_t>(json.at("modified_ns"))};
  }
}

/// So that the file does not grow from session to session.
void UploadMemory::compact() {
  std::string text;
  const auto add = [&text](const Json& json) { append_journal_line(text, json.dump()); };
  add({{"remote", root_},
       {"experiment", identity_.experiment},
       {"owner", identity_.owner},
       {"session", identity_.session}});
  for (const auto& directory : begun_) add({{"begun", directory}});
  for (const auto& [checkpoint, directory] : checkpoints_) {
    add({{"up", directory}, {"trial", to_string(checkpoint.trial)}, {"index", checkpoint.index}});
  }
  for (const auto& [name, seen] : small_) {
    add({{"file", name}, {"bytes", seen.bytes}, {"modified_ns", seen.modified_ns}});
  }
  files_.make_directories(directory_);
  out_.reset();
  files_.replace(log_of(directory_), text);
  out_ = files_.open_append(log_of(directory_));
}

void UploadMemory::append(const Json& json) {
  if (out_ == nullptr) compact();
  std::string line;
  append_journal_line(line, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  out_->append(line);
}

void UploadMemory::set_identity(Identity identity) {
  identity_ = std::move(identity);
  compact();
}

void UploadMemory::begin(const std::string& directory) {
  append({{"begun", directory}});
  begun_.insert(directory);
}

void UploadMemory::commit(CheckpointRef checkpoint, const std::string& directory) {
  append({{"up", directory}, {"trial", to_string(checkpoint.trial)}, {"index", checkpoint.index}});
  begun_.erase(directory);
  checkpoints_[checkpoint] = directory;
}

void UploadMemory::forget(const std::string& directory) {
  append({{"gone", directory}});
  begun_.erase(directory);
  std::erase_if(checkpoints_, [&](const auto& each) { return each.second == directory; });
}

bool UploadMemory::has(const std::string& name, const FileSeen& seen) const {
  const auto found = small_.find(name);
  return found != small_.end() && found->second == seen;
}

void UploadMemory::add_file(const std::string& name, const FileSeen& seen) {
  append({{"file", name}, {"bytes", seen.bytes}, {"modified_ns", seen.modified_ns}});
  small_[name] = seen;
}

void UploadMemory::set_state(const StateMarker& marker) {
  files_.make_directories(directory_);
  files_.replace(state_of(directory_), to_text(marker));
  state_ = marker;
}

}  // namespace tune
