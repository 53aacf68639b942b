// Reads a JSON file that a person wrote, and says where it is wrong.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/spec/spec.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_bytes = 64 << 20;
constexpr int most_levels = 64;

std::string read_text(const fs::path& file) {
  const auto refuse = [&file](const std::string& reason) {
    return user_error("cannot read " + file.string() + ": " + reason);
  };
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) throw refuse(std::strerror(EISDIR));
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw refuse(errno ? std::strerror(errno) : "it cannot be opened");
  std::string text;
  std::array<char, 1 << 16> block;
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > most_bytes) throw refuse("it is larger than 64 MiB");
  }
  if (in.bad()) throw refuse(errno ? std::strerror(errno) : "reading failed");
  return text;
}

/// "FILE:3:14: ", both numbers from 1; columns are counted in bytes.
std::string place(const fs::path& file, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return file.string() + ":" + std::to_string(lines + 1) + ":" + std::to_string(column + 1) + ": ";
}

/// What the bare word at `offset` should have been; empty if there is no such word.
std::string hint_about_word(std::string_view text, std::size_t offset) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  if (offset >= text.size() || !is_letter(text[offset])) return "";
  std::size_t begin = offset;
  std::size_t end = offset;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  while (end < text.size() && is_letter(text[end])) ++end;
  const std::string word(text.substr(begin, end - begin));
  std::string lower = word;
  std::transform(word.begin(), word.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "nan" || lower == "inf" || lower == "infinity") {
    return quote(word) +
           " is not a JSON number; write null where a value may be left out, or "
           "\"NaN\" or \"Infinity\" in quotes";
  }
  if (lower == "true" || lower == "false") return "write " + lower + " in lower case, got " + word;
  if (lower == "none") return "write null instead of " + word;
  return "expected a JSON value, got the bare word " + quote(word) +
         "; text belongs in double quotes";
}

/// The parser's own explanation without its name, number and place.
std::string explanation(std::string sentence) {
  const std::size_t colon = sentence.find(": ");
  sentence = sentence.substr(colon == std::string::npos ? 0 : colon + 2);
  const std::size_t shown_last = sentence.find("; last read: ");
  if (shown_last == std::string::npos) return sentence;
  const std::size_t expected = sentence.rfind("; expected ");
  const std::string tail = expected == std::string::npos ? "" : sentence.substr(expected);
  return sentence.substr(0, shown_last) + tail;
}

std::string explain(std::string_view text, const Json::parse_error& error) {
  const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
  const std::string hint = hint_about_word(text, offset);
  if (!hint.empty()) return hint;
  if (offset < text.size()) {
    if (text[offset] == '\'') return "strings take double quotes, got a single quote";
    const std::size_t last = text.find_last_not_of(" \t\r\n", offset == 0 ? 0 : offset - 1);
    const bool is_closing = text[offset] == '}' || text[offset] == ']';
    if (is_closing && last != std::string_view::npos && last < offset && text[last] == ',') {
      return std::string("no comma may stand before '") + text[offset] + "'";
    }
  }
  return explanation(error.what());
}

/// Whether the first line that says anything is "name:" or "name: value".
bool looks_like_yaml(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (line[0] == '#' || line.starts_with("---")) continue;
    const auto is_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    const auto end = std::find_if_not(line.begin(), line.end(), is_name);
    if (end == line.begin() || end == line.end() || *end != ':') return false;
    return end + 1 == line.end() || std::isspace(static_cast<unsigned char>(end[1])) != 0;
  }
  return false;
}

/// Whether somebody has given the training program where the spec belongs.
bool looks_like_program(const fs::path& file, std::string_view text) {
  const std::string extension = file.extension().string();
  for (const char* const known : {".py", ".sh", ".pl", ".R", ".jl", ".rb", ".lua", ".js"}) {
    if (extension == known) return true;
  }
  return text.starts_with("#!") || text.starts_with(
                                       "\x7f"
                                       "ELF");
}

/// Watches a parse for what the parser itself lets pass: keys given twice, and deep nesting.
class Watch {
 public:
  /// What is wrong with this event, if anything.
  std::string on_event(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    const bool is_start = event == Event::object_start || event == Event::array_start;
    if (is_start && depth >= most_levels) {
      return "objects and lists are nested more than " + std::to_string(most_levels) + " deep";
    }
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      return quote(parsed.get<std::string>()) + " is given twice in the same object";
    }
    return "";
  }

 private:
  std::vector<std::set<std::string>> keys_;  ///< of the objects that are open, outermost first
};

}  // namespace

Json read_json_file(const fs::path& file, std::string* read) {
  const std::string text = read_text(file);
  if (read != nullptr) *read = text;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw user_error(file.string() + ": the file is empty, expected JSON");
  }
  std::istringstream in(text);
  const auto offset_now = [&in] {
    const auto offset = in.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
    return static_cast<std::size_t>(offset);
  };
  Watch watch;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const std::string wrong = watch.on_event(depth, event, parsed);
    if (!wrong.empty()) throw user_error(place(file, text, offset_now() - 1) + wrong);
    return true;
  };
  try {
    return Json::parse(in, callback, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    if (looks_like_yaml(text)) {
      throw user_error(place(file, text, 0) +
                       "this looks like YAML; a spec is JSON, in which comments are allowed: tune "
                       "init writes one, and with --from FILE.yaml of a sweep of W&B or an "
                       "experiment of Katib");
    }
    if (looks_like_program(file, text)) {
      throw user_error(file.string() +
                       ": this is a program, and no spec: tune init writes a spec, whose "
                       "trainable/command names the program");
    }
    throw user_error(place(file, text, error.byte == 0 ? 0 : error.byte - 1) +
                     explain(text, error));
  } catch (const Json::out_of_range&) {
    throw user_error(place(file, text, offset_now() - 1) +
                     "the number is too large for a 64-bit floating point number");
  }
}

}  // namespace tune
