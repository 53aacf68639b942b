// `tune note`: what somebody has to say about a trial.
// Changes nothing that a driver reads.
#include <set>
#include <string>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/quoted.h"
#include "tuner/process/system_clock.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/notes.h"

namespace tune {

int note_command(const NoteRequest& request) {
  const ExperimentView view = view_experiment(request.directory);
  const auto& directory = view.grid.directory();
  const TrialId id = find_trial(view.grid, request.trial).id;
  const NoteChange change{
      .trial = id,
      .text = trimmed(request.text),
      .tags = {request.tags.begin(), request.tags.end()},
      .removed_tags = {request.removed_tags.begin(), request.removed_tags.end()},
      .clears_notes = request.clear};
  const bool is_change = !change.text.empty() || !change.tags.empty() ||
                         !change.removed_tags.empty() || change.clears_notes;
  const std::set<std::string> tags = Notes::read(directory).tags(id);
  if (is_change) write_note(directory, change, make_system_clock()->now());
  for (const std::string& tag : change.removed_tags) {
    if (!tags.contains(tag)) print_each_notice({to_string(id) + " has no tag " + as_quoted(tag)});
  }
  const Notes notes = Notes::read(directory);
  print_each_notice(notes.notices());
  if (request.json) {
    print_json({{"trial_id", to_string(id)},
                {"tags", notes.tags_json(id)},
                {"notes", notes.notes_json(id)}});
    return exit_ok;
  }
  std::vector<std::pair<std::string, std::string>> lines = {{"trial", to_string(id)}};
  add_notes(notes, id, lines);
  print_pairs(lines);
  return exit_ok;
}

}  // namespace tune
