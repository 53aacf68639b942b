// The names of an experiment's files and directories.
// Touches no disk.
#include "tuner/store/paths.h"

#include <charconv>
#include <cstdio>

namespace tune::paths {

namespace {

constexpr std::string_view checkpoint_prefix = "checkpoint_";

std::string checkpoint_name(int index) {
  char name[32];
  std::snprintf(name, sizeof name, "checkpoint_%06d", index);
  return name;
}

}  // namespace

path spec(const path& experiment) { return experiment / "experiment.json"; }
path lock(const path& experiment) { return experiment / "LOCK"; }
path current(const path& experiment) { return experiment / "CURRENT"; }

path journal(const path& experiment, int generation) {
  return experiment / ("journal-" + std::to_string(generation) + ".jsonl");
}

path snapshot(const path& experiment, int generation) {
  return experiment / ("snapshot-" + std::to_string(generation) + ".json");
}

path trials(const path& experiment, int number) {
  return experiment / ("trials-" + std::to_string(number) + ".jsonl");
}

path trial(const path& experiment, TrialId trial) { return experiment / to_string(trial); }
path standard_output(const path& trial) { return trial / "stdout.log"; }
path standard_error(const path& trial) { return trial / "stderr.log"; }
path checkpoint(const path& trial, int index) { return trial / checkpoint_name(index); }

path checkpoint_aside(const path& trial, int index, int attempt) {
  return trial / ("." + checkpoint_name(index) + ".tmp-" + std::to_string(attempt));
}

path checkpoint_corrupt(const path& trial, int index) {
  return trial / (checkpoint_name(index) + ".corrupt");
}

path manifest(const path& checkpoint) { return checkpoint / "manifest.json"; }

std::optional<int> parse_checkpoint(std::string_view name) {
  if (!name.starts_with(checkpoint_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(checkpoint_prefix.size());
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  // Only what `checkpoint` writes: neither "checkpoint_7" nor "checkpoint_000007.corrupt".
  if (error != std::errc() || index < 1 || name != checkpoint_name(index)) return std::nullopt;
  return index;
}

bool is_checkpoint_aside(std::string_view name) {
  return name.starts_with(".checkpoint_") || name.starts_with(".reported_checkpoint_");
}

}  // namespace tune::paths
