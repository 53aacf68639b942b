#include "apps/tune/notes.h"

#include <algorithm>
#include <cctype>

#include "apps/tune/output.h"
#include "tuner/core/clean_text.h"
#include "tuner/core/error.h"
#include "tuner/store/file_system.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

constexpr const char* header = "{\"notes\":1}\n";
constexpr std::size_t most_note_bytes = 10'000;
constexpr std::size_t most_tag_bytes = 64;

/// Whether there is one. A link, a FIFO or the like that has taken its name is neither followed nor
/// waited for.
bool is_there(FileSystem& files, const std::filesystem::path& file) {
  const auto entry = files.entry(file);
  if (entry && !entry->is_regular) {
    throw machine_error(file.string() + " is no regular file: notes are kept in one");
  }
  return entry.has_value();
}

}  // namespace

Notes Notes::read(const std::filesystem::path& directory) {
  const auto files = make_posix_file_system();
  const auto file = paths::notes(directory);
  Notes notes;
  if (!is_there(*files, file)) return notes;
  const std::string text = files->read(file);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Json record =
        Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                    text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (record.is_object()) notes.take_in(record);
    begin = end + 1;
  }
  return notes;
}

void Notes::take_in(const Json& record) {
  try {
    if (const int format = record.value("notes", 1); format > 1) {
      throw user_error("the notes are of format " + std::to_string(format) +
                       ", and this program knows format 1");
    }
    if (!record.contains("trial")) return;
    Written& written = by_trial_[TrialId(record.at("trial").get<std::uint32_t>())];
    if (record.value("clear", false)) written.notes.clear();
    if (record.contains("note")) {
      written.notes.push_back(
          {record.at("t").get<Seconds>(), record.at("note").get<std::string>()});
    }
    for (const Json& tag : record.value("tags", Json::array())) {
      written.tags.insert(tag.get<std::string>());
    }
    for (const Json& tag : record.value("untags", Json::array())) {
      written.tags.erase(tag.get<std::string>());
    }
  } catch (const Json::exception&) {
    // Somebody has edited it: what can be read counts.
  }
}

const Notes::Written& Notes::of(TrialId trial) const {
  static const Written none;
  const auto found = by_trial_.find(trial);
  return found != by_trial_.end() ? found->second : none;
}

const std::vector<Note>& Notes::notes(TrialId trial) const { return of(trial).notes; }
const std::set<std::string>& Notes::tags(TrialId trial) const { return of(trial).tags; }

std::string Notes::text(TrialId trial) const {
  std::string text;
  for (const Note& note : notes(trial)) text += (text.empty() ? "" : "; ") + note.text;
  return text;
}

Json Notes::notes_json(TrialId trial) const {
  Json list = Json::array();
  for (const Note& note : notes(trial)) list.push_back({{"time", note.time}, {"text", note.text}});
  return list;
}

Json Notes::tags_json(TrialId trial) const {
  Json list = Json::array();
  for (const std::string& tag : tags(trial)) list.push_back(tag);
  return list;
}

bool Notes::has_notes() const {
  return std::any_of(by_trial_.begin(), by_trial_.end(),
                     [](const auto& each) { return !each.second.notes.empty(); });
}

bool Notes::has_tags() const {
  return std::any_of(by_trial_.begin(), by_trial_.end(),
                     [](const auto& each) { return !each.second.tags.empty(); });
}

void add_notes(const Notes& notes, TrialId trial,
               std::vector<std::pair<std::string, std::string>>& pairs) {
  if (const Json tags = notes.tags_json(trial); !tags.empty()) {
    pairs.emplace_back("tags", cell_text(tags));
  }
  std::string key = "notes";
  for (const Note& note : notes.notes(trial)) {
    pairs.emplace_back(std::exchange(key, ""), iso_time(note.time) + "  " + note.text);
  }
}

void check_tag(const std::string& tag) {
  const bool is_word = std::all_of(tag.begin(), tag.end(), [](unsigned char c) {
    return c >= 128 || std::isalnum(c) ||
           std::string_view("-_.:/+=@#").find(c) != std::string::npos;
  });
  if (!tag.empty() && tag.size() <= most_tag_bytes && is_word && is_utf8(tag)) return;
  throw user_error("a tag is one word of at most " + std::to_string(most_tag_bytes) +
                   " bytes, got '" + tag + "'");
}

void write_note(const std::filesystem::path& directory, const NoteChange& change, Seconds now) {
  for (const auto* const tags : {&change.tags, &change.removed_tags}) {
    for (const std::string& tag : *tags) check_tag(tag);
  }
  if (change.text.size() > most_note_bytes || !is_utf8(change.text)) {
    throw user_error("a note is UTF-8 of at most " + std::to_string(most_note_bytes) + " bytes");
  }
  Json record = {{"t", now}, {"trial", index_of(change.trial)}};
  if (change.clears_notes) record["clear"] = true;
  if (!change.text.empty()) record["note"] = change.text;
  if (!change.tags.empty()) record["tags"] = change.tags;
  if (!change.removed_tags.empty()) record["untags"] = change.removed_tags;
  std::string line = record.dump() + '\n';

  const auto files = make_posix_file_system();
  const auto file = paths::notes(directory);
  const bool is_new = !is_there(*files, file);
  const std::string before = is_new ? "" : files->read(file);
  // What a writer left that was killed in its write stays a line of its own.
  if (before.empty()) {
    line.insert(0, header);
  } else if (before.back() != '\n') {
    line.insert(0, "\n");
  }
  const auto out = files->open_append(file);
  out->append(line);
  out->sync();
  if (is_new) files->sync_directory(directory);
}

}  // namespace tune
