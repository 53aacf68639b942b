// The user's notes and tags on trials, in a file of their own beside the state. No driver reads
// them. Several processes may read and write them at any time, also while a driver runs.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/model/trial.h"

namespace tune {

struct Note {
  Seconds time = 0;  ///< Unix time
  std::string text;
};

/// One change to a trial's notes and tags.
struct NoteChange {
  TrialId trial{};
  std::string text;  ///< a note to add; empty: none
  std::set<std::string> tags, removed_tags;
  bool clears_notes = false;  ///< those that were there before
};

/// All notes and tags of one experiment.
class Notes {
 public:
  Notes() = default;

  /// None if the experiment in `directory` has no file of them, or something else stands in its
  /// place: see `notices`. Lines that cannot be read are left out, such as one that was cut short.
  static Notes read(const std::filesystem::path& directory);

  /// Why none of them could be read, and none can be written, as a sentence; empty if they can.
  const std::string& obstacle() const { return obstacle_; }
  /// What could not be read, a sentence each.
  std::vector<std::string> notices() const;

  const std::vector<Note>& notes(TrialId trial) const;  ///< oldest first
  const std::set<std::string>& tags(TrialId trial) const;
  std::string text(TrialId trial) const;  ///< all notes in one line
  Json notes_json(TrialId trial) const;   ///< [{"time": ..., "text": ...}]
  Json tags_json(TrialId trial) const;

  bool has_notes() const;
  bool has_tags() const;

 private:
  struct Written {
    std::vector<Note> notes;
    std::set<std::string> tags;
  };
  /// False if it cannot be understood.
  bool add(const Json& record);
  const Written& of(TrialId trial) const;

  std::map<TrialId, Written> by_trial_;
  std::string obstacle_;
  std::string left_out_;
};

/// Adds the lines "tags" and "notes", as far as the trial has any.
void add_notes(const Notes& notes, TrialId trial,
               std::vector<std::pair<std::string, std::string>>& pairs);

/// "good", "lr-too-high": error (user) for what `tune ls --filter` and tables could not tell from
/// others.
void check_tag(const std::string& tag);

/// Appends the change, in one write, and waits until it is on disk. Error (user) for texts that are
/// no UTF-8 or too long.
void write_note(const std::filesystem::path& directory, const NoteChange& change, Seconds now);

}  // namespace tune
