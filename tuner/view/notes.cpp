// An append-only file without a lock: a line is one write, and a torn line stays a line of its own.
#include "tuner/view/notes.h"

#include <algorithm>
#include <cctype>

#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/quoted.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/lines.h"
#include "tuner/model/paths.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

constexpr const char* header = "{\"notes\":1}\n";
constexpr std::size_t most_note_bytes = 10'000;
constexpr std::size_t most_tag_bytes = 64;

/// What a change may come to, and more: tags have no number.
constexpr std::size_t most_note_line_bytes = 1 << 20;
constexpr std::uint64_t most_notes_bytes = std::uint64_t{64} << 20;

/// Why it cannot be the file of notes, as a sentence; empty if it can. A link, a FIFO or the like
/// that has taken its name is neither followed nor waited for.
std::string obstacle_in(FileSystem& files, const std::filesystem::path& file) {
  const auto entry = files.entry(file);
  if (entry && !entry->is_regular) {
    return file.string() + " is no regular file: notes are kept in one";
  }
  if (entry && entry->bytes > most_notes_bytes) {
    return file.string() + " has " + std::to_string(entry->bytes) +
           " bytes: it cannot be a file of notes";
  }
  return "";
}

}  // namespace

Notes Notes::read(const std::filesystem::path& directory) {
  Notes notes;
  const auto file = paths::notes(directory);
  notes.obstacle_ = obstacle_in(*make_posix_file_system(), file);
  if (!notes.obstacle_.empty()) return notes;
  std::uint64_t broken = 0;
  try {
    const LinesRead read = read_lines(file, most_note_line_bytes, [&](const FileLine& line) {
      if (line.text.empty()) return;
      broken += notes.add(parse_shallow(line.text)) ? 0 : 1;
    });
    broken += read.too_long;
  } catch (const Error& error) {
    notes.obstacle_ = error.what();
    return notes;
  }
  if (broken > 0) {
    notes.left_out_ =
        file.string() + ": " + count_of(broken, "line") +
        (broken == 1 ? " that is no note is left out" : " that are no notes are left out");
  }
  return notes;
}

std::vector<std::string> Notes::notices() const {
  std::vector<std::string> all;
  if (!obstacle_.empty()) all.push_back(obstacle_ + "; notes and tags are not shown");
  if (!left_out_.empty()) all.push_back(left_out_);
  return all;
}

bool Notes::add(const Json& record) {
  if (!record.is_object()) return false;
  try {
    if (const int format = record.value("notes", 1); format > 1) {
      throw user_error("the notes are of format " + std::to_string(format) +
                       ", and this program knows format 1");
    }
    if (!record.contains("trial")) return record.contains("notes");
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
    return true;
  } catch (const Json::exception&) {
    return false;  // somebody has edited it: what can be read counts
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
                   " bytes, got " + as_quoted(tag));
}

void write_note(const std::filesystem::path& directory, const NoteChange& change, Seconds now) {
  for (const auto* const tags : {&change.tags, &change.removed_tags}) {
    for (const std::string& tag : *tags) check_tag(tag);
  }
  for (const std::string& tag : change.tags) {
    if (!change.removed_tags.contains(tag)) continue;
    throw user_error("the tag " + as_quoted(tag) + " is in --tag and in --untag: give it in one");
  }
  if (!is_utf8(change.text)) throw user_error("the note is not UTF-8");
  if (change.text.size() > most_note_bytes) {
    throw user_error("the note has " + std::to_string(change.text.size()) + " bytes, at most " +
                     std::to_string(most_note_bytes) + " are allowed");
  }
  Json record = {{"t", now}, {"trial", index_of(change.trial)}};
  if (change.clears_notes) record["clear"] = true;
  if (!change.text.empty()) record["note"] = change.text;
  if (!change.tags.empty()) record["tags"] = change.tags;
  if (!change.removed_tags.empty()) record["untags"] = change.removed_tags;
  std::string line = record.dump() + '\n';

  const auto files = make_posix_file_system();
  const auto file = paths::notes(directory);
  if (const auto obstacle = Notes::read(directory).obstacle(); !obstacle.empty()) {
    throw machine_error(obstacle);
  }
  bool is_empty = true;
  bool is_ended = false;  // not so after a line that is too long to be looked at
  const LinesRead before = read_lines(file, most_note_line_bytes, [&](const FileLine& each) {
    is_empty = false;
    is_ended = each.is_ended;
  });
  // What a writer left that was killed in its write stays a line of its own.
  if (is_empty && before.too_long == 0) {
    line.insert(0, header);
  } else if (!is_ended || before.too_long > 0) {
    line.insert(0, "\n");
  }
  const auto out = files->open_append(file);
  out->append(line);
  out->sync();
  if (!before.is_there) files->sync_directory(directory);
}

}  // namespace tune
