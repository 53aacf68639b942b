// Looks at what is on a remote, and takes nothing.
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "tuner/remote/pull.h"
#include "tuner/remote/rcd.h"
#include "tuner/remote/remote_contents.h"

namespace tune {

using std::filesystem::path;

bool is_experiment_there(FileSystem& files, const std::string& root, const path& scratch) {
  const std::atomic<bool> stop = false;
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, root, scratch);
  store.check_name();
  std::vector<StateMarkerName> markers;
  for (const auto& [name, bytes] : store.list("state", false)) {
    // Also an empty one: where each is, something was there, which nobody may replace unasked.
    if (const auto parsed = parse_state_marker_name(name)) markers.push_back(*parsed);
  }
  // One that died as it put up its first state has not begun.
  const bool is_first_alone = markers.size() == 1 && markers.front() == StateMarkerName{1, 1};
  if (!is_first_alone) return !markers.empty();
  const auto text = store.get_text(state_marker_name(1, 1), most_state_marker_bytes);
  return text && parse_state_marker(*text, markers.front()).has_value();
}

RemoteCheck check_remote(FileSystem& files, const std::string& root, const path& scratch,
                         bool reads) {
  const std::atomic<bool> stop = false;
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, root, scratch);
  store.check_name();
  RemoteCheck check;
  const Listing state = store.list("state", false);
  for (const StateMarkerName& each : state_markers(state)) {
    const std::string name = state_marker_name(each.session, each.number);
    const auto text = store.get_text(name, most_state_marker_bytes);
    const auto marker = text ? parse_state_marker(*text, each) : std::nullopt;
    auto wrong = marker ? wrong_parts(*marker, state) : std::optional(name + " is damaged");
    if (!wrong && reads) wrong = get_parts(files, store, *marker, scratch / "state");
    files.remove_tree(scratch / "state");
    if (wrong) {
      check.damage.push_back(*wrong);
    } else if (!check.state) {
      check.state = marker;
    }
  }
  if (check.state) {
    if (const auto name = newer_empty_marker(state, *check.state)) check.unmarked.push_back(*name);
  }
  if (!check.state) check.damage.push_back("there is no whole state of an experiment on " + root);
  const Listing all = store.list("", true);
  check.is_empty = state.empty() && !all.contains(lease_name) && !all.contains("experiment.json");
  auto directories = checkpoint_directories(all);
  const auto markers = get_markers(files, store, all, scratch / "markers", check.damage);
  for (const auto& [checkpoint, marker] : markers) {
    directories.erase(marker.directory);
    std::optional<std::string> wrong;
    if (reads) {
      wrong = get_checkpoint(files, store, marker, scratch / "checkpoint");
      files.remove_tree(scratch / "checkpoint");
    }
    if (wrong) {
      check.damage.push_back(*wrong);
      continue;
    }
    ++check.checkpoints;
    check.bytes += marker.bytes();
  }
  for (const auto& name : directories) {
    const auto marker = all.find(checkpoint_marker_name(name));
    if (marker == all.end() || marker->second == 0) check.unmarked.push_back(name);
  }
  return check;
}

}  // namespace tune
