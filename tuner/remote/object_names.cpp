// The lists of file names that count as state or as small files.
#include "tuner/remote/object_names.h"

#include <algorithm>

#include "tuner/checkpoints/described_tree.h"
#include "tuner/model/paths.h"
#include "tuner/model/trial.h"
#include "tuner/remote/markers.h"

namespace tune {

namespace {

/// rclone reads a list of names, a line each, and fails as a whole at what it may not read.
bool is_line(const std::string& name) { return name.find_first_of("\n\r") == name.npos; }

bool is_small_at_top(const std::string& name) {
  const auto trial = parse_trial_id(name);
  const bool is_states = name == "CURRENT" || name == "history.jsonl" ||
                         name.starts_with("journal-") || name.starts_with("snapshot-") ||
                         name.starts_with("trials-");
  const bool is_taken = name == "LOCK" || name.starts_with("LOCK.") || name == "control.sock" ||
                        name == lease_name || name == "remote" || name == "state" ||
                        (trial && name == to_string(*trial));
  return !is_states && !is_taken;
}

bool is_small_in_trial(const std::string& name) {
  return name != "work" && !paths::parse_checkpoint(name.substr(0, name.find('.')));
}

}  // namespace

bool is_fit_for_stores(const std::string& name) {
  constexpr const char* quote = "\u201b";
  return name.find(quote) == name.npos && std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool is_of_state(const std::string& name) {
  return name == "experiment.json" || name == "CURRENT" || name == "history.jsonl" ||
         paths::parse_journal(name) || paths::parse_snapshot(name) || paths::parse_trials(name);
}

bool is_small_file(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string last = name.substr(slash == name.npos ? 0 : slash + 1);
  if (wrong_name(name) || last.starts_with('.') || !is_line(name)) return false;
  if (slash == name.npos) return is_small_at_top(name);
  const std::string first = name.substr(0, slash);
  const auto trial = parse_trial_id(first);
  return trial && first == to_string(*trial) && last.find('/') == last.npos &&
         is_small_in_trial(last);
}

}  // namespace tune
