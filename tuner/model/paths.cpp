// The names of an experiment's files and directories.
// Touches no disk.
#include "tuner/model/paths.h"

#include <charconv>
#include <cstdio>

namespace tune::paths {

namespace {

constexpr std::string_view checkpoint_prefix = "checkpoint_";
constexpr std::string_view aside_mark = ".tmp-";
constexpr std::string_view damaged_mark = ".damaged-";  // what `tune resume --salvage` keeps
constexpr std::string_view corrupt_mark = ".corrupt";
constexpr std::string_view evicted_mark = ".remote.json";

/// `directory / name`. Made as one text, as each piece that is added to a path copies its parts.
path in(const path& directory, std::string_view name) {
  const std::string& parent = directory.native();
  std::string text;
  text.reserve(parent.size() + 1 + name.size());
  text += parent;
  if (!text.empty() && text.back() != '/') text += '/';
  text += name;
  return text;
}

std::string checkpoint_name(int index) {
  char name[32];
  std::snprintf(name, sizeof name, "checkpoint_%06d", index);
  return name;
}

std::optional<int> parse_number(std::string_view digits) {
  int number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

/// The number in `name`, if it is `prefix`, the number as we write it, `suffix`.
std::optional<int> number_in(std::string_view name, std::string_view prefix,
                             std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() < prefix.size() + suffix.size()) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  const auto number = parse_number(name);
  if (!number || *number < 1 || name != std::to_string(*number)) return std::nullopt;
  return number;
}

std::string log_name(const char* stream, int rank) {
  if (rank == 0) return std::string(stream) + ".log";
  const std::string number = std::to_string(rank);
  constexpr std::size_t digits = 5;
  return std::string(stream) + ".rank_" +
         std::string(digits - std::min(digits, number.size()), '0') + number + ".log";
}

}  // namespace

path spec(const path& experiment) { return in(experiment, "experiment.json"); }
path lock(const path& experiment) { return in(experiment, "LOCK"); }
path current(const path& experiment) { return in(experiment, "CURRENT"); }

path journal(const path& experiment, int generation) {
  return in(experiment, "journal-" + std::to_string(generation) + ".jsonl");
}

path snapshot(const path& experiment, int generation) {
  return in(experiment, "snapshot-" + std::to_string(generation) + ".json");
}

path trials(const path& experiment, int number) {
  return in(experiment, "trials-" + std::to_string(number) + ".jsonl");
}

path history(const path& experiment) { return in(experiment, "history.jsonl"); }
path notes(const path& experiment) { return in(experiment, "notes.jsonl"); }

path trial(const path& experiment, TrialId trial) { return in(experiment, to_string(trial)); }
path work(const path& trial) { return in(trial, "work"); }
path preload_log(const path& experiment) { return in(experiment, "preload.log"); }
path policy_log(const path& experiment, const std::string& kind) {
  return in(experiment, kind + ".log");
}
path standard_output(const path& trial, int rank) { return in(trial, log_name("stdout", rank)); }
path standard_error(const path& trial, int rank) { return in(trial, log_name("stderr", rank)); }
path arguments(const path& trial) { return trial / "args.json"; }
path checkpoint(const path& trial, int index) { return in(trial, checkpoint_name(index)); }

path checkpoint(const path& experiment, const CheckpointRef& ref) {
  return checkpoint(trial(experiment, ref.trial), ref.index);
}

path checkpoint_aside(const path& trial, int index, int attempt) {
  return in(trial,
            "." + checkpoint_name(index) + std::string(aside_mark) + std::to_string(attempt));
}

path checkpoint_corrupt(const path& trial, int index) {
  return in(trial, checkpoint_name(index) + std::string(corrupt_mark));
}

path manifest(const path& checkpoint) { return in(checkpoint, "manifest.json"); }

path evicted(const path& checkpoint) {
  return in(checkpoint.parent_path(), checkpoint.filename().native() + std::string(evicted_mark));
}

std::optional<int> parse_journal(std::string_view name) {
  return number_in(name, "journal-", ".jsonl");
}
std::optional<int> parse_snapshot(std::string_view name) {
  return number_in(name, "snapshot-", ".json");
}
std::optional<int> parse_trials(std::string_view name) {
  return number_in(name, "trials-", ".jsonl");
}

bool is_written_aside(std::string_view name) {
  const auto at = name.rfind(aside_mark);
  if (!name.starts_with('.') || at == name.npos) return false;
  std::string_view own = name.substr(1, at - 1);
  own = own.substr(0, own.find(damaged_mark));
  const std::string_view who = name.substr(at + aside_mark.size());
  const auto dash = who.find('-');
  const bool is_ours = own == "CURRENT" || own == "experiment.json" || own == "history.jsonl" ||
                       parse_journal(own) || parse_snapshot(own) || parse_trials(own);
  return is_ours && dash != who.npos && parse_number(who.substr(0, dash)) &&
         parse_number(who.substr(dash + 1));
}

std::optional<int> parse_checkpoint(std::string_view name) {
  if (!name.starts_with(checkpoint_prefix)) return std::nullopt;
  const auto index = parse_number(name.substr(checkpoint_prefix.size()));
  // Only what `checkpoint` writes: neither "checkpoint_7" nor "checkpoint_000007.corrupt".
  if (!index || *index < 1 || name != checkpoint_name(*index)) return std::nullopt;
  return index;
}

std::optional<int> parse_evicted(std::string_view name) {
  if (!name.ends_with(evicted_mark)) return std::nullopt;
  return parse_checkpoint(name.substr(0, name.size() - evicted_mark.size()));
}

std::optional<CheckpointRef> parse_remote_checkpoint(std::string_view directory) {
  const std::size_t slash = directory.find('/');
  const std::size_t dot = directory.find('.');
  if (slash == directory.npos || dot == directory.npos || dot < slash) return std::nullopt;
  const std::string_view first = directory.substr(0, slash);
  const std::string_view drawn = directory.substr(dot + 1);
  const auto trial = parse_trial_id(first);
  const auto index = parse_checkpoint(directory.substr(slash + 1, dot - slash - 1));
  constexpr std::size_t most_digits = 64;
  const bool is_drawn = !drawn.empty() && drawn.size() <= most_digits &&
                        drawn.find_first_not_of("0123456789abcdef") == drawn.npos;
  if (!trial || first != to_string(*trial) || !index || !is_drawn) return std::nullopt;
  return CheckpointRef{*trial, *index};
}

std::optional<int> parse_checkpoint_aside(std::string_view name) {
  const auto at = name.find(aside_mark);
  const bool is_aside = name.starts_with('.') && at != std::string_view::npos &&
                        parse_number(name.substr(at + aside_mark.size()));
  return is_aside ? parse_checkpoint(name.substr(1, at - 1)) : std::nullopt;
}

bool is_reported_checkpoint(std::string_view name) {
  return name.starts_with(".reported_checkpoint_");
}

bool is_of_checkpoint(std::string_view name) {
  if (name.ends_with(corrupt_mark)) name.remove_suffix(corrupt_mark.size());
  return parse_checkpoint(name) || parse_checkpoint_aside(name);
}

}  // namespace tune::paths
