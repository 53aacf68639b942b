// Collects command line, checksums and git state of a session as JSON, and words how two sessions
// differ.
#include "tuner/provenance.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "tuner/base/error.h"
#include "tuner/disk/checksum.h"
#include "tuner/process/git_state.h"
#include "tuner/process/program.h"

namespace tune {

namespace {

constexpr Seconds git_limit_s = 2;
constexpr std::uintmax_t most_bytes = 256 << 20;  ///< of a file that is looked into
constexpr std::size_t shown_digits = 8;

std::optional<std::string> checksum_of(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  // Files of the kernel say that they are empty, and reading one may wait for ever.
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error || bytes == 0 || bytes > most_bytes) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  Checksum checksum;
  std::array<char, 64 * 1024> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    checksum.add({block.data(), static_cast<std::size_t>(in.gcount())});
  }
  return in.bad() ? std::nullopt : std::optional(checksum.digits());
}

/// Whether `file` is run by another program: a script by its interpreter.
bool is_script(const std::filesystem::path& file) {
  constexpr std::string_view endings[] = {".py", ".sh", ".R", ".jl", ".pl", ".rb", ".lua", ".js"};
  if (std::find(std::begin(endings), std::end(endings), file.extension()) != std::end(endings)) {
    return true;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  char begin[2] = {};
  std::ifstream(file, std::ios::binary).read(begin, sizeof begin);
  return std::string_view(begin, sizeof begin) == "#!";
}

/// The program, and the script that it is given. Other arguments that are files are data, or what
/// it writes: that those change says nothing of the program. Of a script in PATH that chooses an
/// interpreter, only the place does: it has no checksum.
Json checksums_of(const ExperimentSpec& spec) {
  Json files = Json::object();
  const auto add = [&files](const std::string& path) {
    const auto digits = path.starts_with('/') ? checksum_of(path) : std::nullopt;
    if (digits) files[path] = *digits;
  };
  try {
    ProcessSpec launch;
    launch.argv = spec.command;
    for (const auto& [name, value] : spec.env) launch.environment.push_back(name + "=" + value);
    const std::string program = resolve_program(launch, inherited_environment()).path;
    const auto script = std::find_if(
        spec.command.begin() + 1, spec.command.end(),
        [](const std::string& word) { return word.starts_with('/') && is_script(word); });
    const bool is_given = script != spec.command.end();
    if (is_given) add(*script);
    const bool is_own = spec.command.front().find('/') != std::string::npos;
    if (!is_given || is_own || !is_script(program)) {
      add(program);
    } else {
      files[program] = "";
    }
  } catch (const Error&) {  // whoever starts it says so
  }
  return files;
}

Json parse(const std::string& ran) {
  Json json = Json::parse(ran, nullptr, false);
  return json.is_object() ? json : Json::object();
}

std::string short_digits(const Json& digits) {
  return digits.is_string() ? digits.get<std::string>().substr(0, shown_digits) : "unknown";
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// "4e5f6a7b with changes"
std::string commit_text(const Json& ran) {
  const auto git = ran.find("git");
  if (git == ran.end() || !git->is_object()) return "";
  return short_digits(git->value("commit", Json())) +
         (git->value("dirty", false) ? " with changes" : "");
}

/// Values of environment variables are keys and passwords more often than not: nobody needs them
/// to see what ran, and the spec, which only its owner can read, has them.
std::vector<std::string> without_values(const std::vector<std::string>& command_line) {
  constexpr std::string_view shown_instead = "***";
  std::vector<std::string> words;
  std::string_view before;
  for (std::size_t i = 0; i < command_line.size(); ++i) {
    const std::string& word = command_line[i];
    if (word == "--") {  // what follows is the training program's
      words.insert(words.end(), command_line.begin() + static_cast<std::ptrdiff_t>(i),
                   command_line.end());
      break;
    }
    std::string_view option = before, given = word;
    const std::size_t equals = word.find('=');
    if (word.starts_with("--") && equals != word.npos) {
      option = std::string_view(word).substr(0, equals);
      given = std::string_view(word).substr(equals + 1);
    }
    const bool sets_variable = option == "--set" && (given.starts_with("trainable/env") ||
                                                     given.starts_with("/trainable/env"));
    const std::size_t value = given.find('=');
    words.push_back(word);
    if ((option == "--env" || sets_variable) && value != given.npos) {
      words.back().resize(word.size() - given.size() + value + 1);
      words.back() += shown_instead;
    }
    before = word;
  }
  return words;
}

}  // namespace

std::string what_runs(const ExperimentSpec& spec, const std::vector<std::string>& command_line) {
  Json ran = {{"files", checksums_of(spec)}};
  if (!command_line.empty()) {
    ran["command_line"] = without_values(command_line);
  }
  std::error_code error;
  const auto directory = std::filesystem::current_path(error);
  if (!error) {
    ran["directory"] = directory.string();
    if (const auto git = git_state(directory, git_limit_s)) {
      ran["git"] = {{"commit", git->commit}, {"dirty", git->is_dirty}};
    }
  }
  return ran.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string another_program(const std::string& before, const std::string& now) {
  const Json old_run = parse(before), new_run = parse(now);
  if (!old_run.contains("files") || !new_run.contains("files")) return "";
  std::string changes;
  const auto add = [&changes](const std::string& change) {
    changes += (changes.empty() ? "" : ", ") + change;
  };
  const Json& old_files = old_run.at("files");
  for (const auto& [path, digits] : new_run.at("files").items()) {
    if (old_files.contains(path)) {
      const Json& was = old_files.at(path);
      if (was != digits && was != "" && digits != "") {
        add(file_name(path) + " was " + short_digits(was) + " and is " + short_digits(digits));
      }
      continue;
    }
    // The same name in another place: another interpreter comes first in PATH.
    for (const auto& [old_path, was] : old_files.items()) {
      const bool is_gone = !new_run.at("files").contains(old_path);
      if (is_gone && file_name(old_path) == file_name(path)) add(old_path + " is " + path + " now");
    }
  }
  const std::string old_commit = commit_text(old_run), new_commit = commit_text(new_run);
  if (!old_commit.empty() && !new_commit.empty() && old_commit != new_commit) {
    add("the commit was " + old_commit + " and is " + new_commit);
  }
  return changes.empty() ? "" : "the program has changed since the last session: " + changes;
}

std::string program_text(const std::string& ran) {
  const Json run = parse(ran);
  std::string text;
  const Json files = run.value("files", Json::object());
  for (const auto& [path, digits] : files.items()) {
    text += (text.empty() ? "" : ", ") + file_name(path);
    if (digits != "") text += " " + short_digits(digits);
  }
  const std::string commit = commit_text(run);
  if (!commit.empty()) text += (text.empty() ? "" : ", ") + ("commit " + commit);
  return text;
}

}  // namespace tune
