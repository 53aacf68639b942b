// Splits a policy program's output into lines, and checks each kind of answer field by field.
#include "tuner/host/policy_answer.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/whole_number.h"
#include "tuner/model/metrics.h"
#include "tuner/space/complete_config.h"

namespace tune {

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string beginning(std::string_view text) {
  constexpr std::size_t shown_bytes = 200;
  const bool is_cut = text.size() > shown_bytes;
  return clean_text(text.substr(0, shown_bytes)) + (is_cut ? "..." : "");
}

bool is_blank(std::string_view text) { return text.find_first_not_of(blanks) == text.npos; }

/// Null if it is not there, or null.
const Json* field(const Json& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() || found->is_null() ? nullptr : &*found;
}

[[noreturn]] void refuse(const std::string& expected, const Said& said) {
  throw BadAnswer("was to " + expected + ", and answered " + beginning(said.line));
}

bool flag_in(const Said& said, const char* name) {
  const Json* const value = field(said.fields, name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    refuse("say \"" + std::string(name) + "\" as true or false", said);
  }
  return value->get<bool>();
}

Json parse_line(std::string_view line) {
  if (levels_of(line) > most_answer_levels) {
    throw BadAnswer("answered what is nested deeper than " + std::to_string(most_answer_levels) +
                    " levels: " + beginning(line));
  }
  std::string reason;
  try {
    // What reads text up to a NUL would take the rest for nothing.
    if (line.find('\0') != line.npos) throw std::invalid_argument("it is no JSON");
    Json json = parse_unambiguous(line);
    if (json.is_object()) return json;
    reason = "it is no object";
  } catch (const std::invalid_argument& error) {
    reason = error.what();
    // Python's library writes NaN and Infinity for what has no other way to be written.
    const std::string quoted = quote_non_finite(line);
    if (quoted != line) return parse_line(quoted);
  }
  throw BadAnswer("answered what is no JSON object: " + beginning(line) + " (" + reason + ")");
}

void refuse_error(const Json& fields) {
  const Json* const error = field(fields, "error");
  if (error == nullptr) return;
  const std::string text = error->is_string() ? error->get<std::string>() : error->dump();
  if (is_blank(text)) throw BadAnswer("failed, and gave no reason");
  constexpr std::size_t most_trace_bytes = 4000;
  throw BadAnswer("failed: " + clean_text(text.substr(0, most_trace_bytes), Lines::keep));
}

/// The value of the member, as it stands in `object`, which is the text of a JSON object.
std::string_view text_of_member(std::string_view object, std::string_view name) {
  std::size_t at = object.find('{') + 1;
  const auto skip_blanks = [&] {
    at = std::min(object.find_first_not_of(blanks, at), object.size());
  };
  const auto skip_string = [&] {
    for (++at; at < object.size() && object[at] != '"'; ++at) at += object[at] == '\\' ? 1 : 0;
    ++at;
  };
  const auto skip_value = [&] {
    std::size_t levels = 0;
    while (at < object.size()) {
      const char c = object[at];
      if (c == '"') {
        skip_string();
        continue;
      }
      if (levels == 0 && (c == ',' || c == '}')) return;
      if (c == '{' || c == '[') ++levels;
      if (c == '}' || c == ']') --levels;
      ++at;
    }
  };
  for (skip_blanks(); at < object.size() && object[at] == '"'; ++at, skip_blanks()) {
    const std::size_t key = at;
    skip_string();
    const bool is_it =
        Json::parse(object.substr(key, at - key)).get_ref<const std::string&>() == name;
    at = object.find(':', at) + 1;
    skip_blanks();
    const std::size_t begin = at;
    skip_value();
    if (!is_it) continue;
    const auto text = object.substr(begin, at - begin);
    return text.substr(0, text.find_last_not_of(blanks) + 1);
  }
  return {};
}

std::optional<TrialId> trial_in(const Json* json) {
  const auto number = json != nullptr ? whole_number<std::uint32_t>(*json) : std::nullopt;
  return number ? std::optional(TrialId{*number}) : std::nullopt;
}

}  // namespace

// ------------------------------------------------------------------------------------------ lines

void AnswerReader::take(std::string_view bytes) {
  unread_ += bytes;
  const std::size_t end = std::min(unread_.find('\n', searched_), unread_.size());
  searched_ = end;
  if (end <= most_answer_bytes) return;
  static_assert(most_answer_bytes == 16 << 20);
  throw BadAnswer("said a line longer than 16 MiB: " + beginning(unread_));
}

std::optional<std::string> AnswerReader::next_line() {
  for (;;) {
    const std::size_t end = unread_.find('\n', searched_);
    if (end == unread_.npos) return std::nullopt;
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    searched_ = 0;
    if (!is_blank(line)) return line;
  }
}

void AnswerReader::refuse_rest(bool whole_lines_only) const {
  std::string_view rest = unread_;
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  if (rest.empty()) return;
  const std::size_t end = rest.find('\n');
  if (end == rest.npos && whole_lines_only) return;
  const std::string_view line = rest.substr(0, end);
  // A policy that fails in what it was told, and not asked, says so without a question.
  if (line.size() <= most_answer_bytes) {
    const Json json = parse_shallow(line, most_answer_levels);
    if (json.is_object()) refuse_error(json);
  }
  throw BadAnswer("said what nobody had asked for: " + beginning(line));
}

std::uint64_t AnswerReader::open() {
  refuse_rest(false);
  unread_.clear();
  searched_ = 0;
  is_open_ = true;
  return ++questions_;
}

std::optional<Said> AnswerReader::answer() {
  if (!is_open_) return std::nullopt;
  auto line = next_line();
  if (!line) return std::nullopt;
  Json fields = parse_line(*line);
  refuse_error(fields);
  if (const Json* const question = field(fields, "question")) {
    const auto number = whole_number<std::uint64_t>(*question);
    if (number != questions_) {
      throw BadAnswer("gave an answer to question " + beginning(question->dump()) +
                      ", and question " + std::to_string(questions_) +
                      " was open: " + beginning(*line));
    }
  }
  is_open_ = false;
  refuse_rest(false);
  return Said{*std::move(line), std::move(fields)};
}

void AnswerReader::hear_last() const { refuse_rest(true); }

void AnswerReader::restart() {
  unread_.clear();
  searched_ = 0;
  is_open_ = false;
}

// ---------------------------------------------------------------------------------------- answers

void greeting_in(const Said& said) {
  const Json* const version = field(said.fields, "version");
  if (version == nullptr || whole_number<int>(*version) == policy_protocol_version) return;
  throw BadAnswer("speaks version " + beginning(version->dump()) +
                  " of the protocol, and this driver " + std::to_string(policy_protocol_version));
}

SaidSuggestion suggestion_in(const Said& said) {
  const bool nothing_now = flag_in(said, "nothing_now");
  const bool exhausted = flag_in(said, "exhausted");
  const Json* const config = field(said.fields, "config");
  if (nothing_now + exhausted + (config != nullptr) != 1 ||
      (config != nullptr && !config->is_object())) {
    refuse(R"(suggest: a "config", which is an object, or "nothing_now" or "exhausted")", said);
  }
  if (nothing_now) return NothingNow{};
  if (exhausted) return Exhausted{};
  return *config;
}

std::vector<Order> stops_in(const Json& fields) {
  std::vector<Order> stops;
  const Json* const list = field(fields, "stop");
  if (list == nullptr) return stops;
  for (const Json& each : list->is_array() ? *list : Json::array({*list})) {
    const auto trial = trial_in(each.is_object() ? field(each, "trial") : &each);
    if (!trial) {
      throw BadAnswer("was to name the trials to stop by their numbers, and answered " +
                      beginning(list->dump()));
    }
    const Json* const reason = each.is_object() ? field(each, "reason") : nullptr;
    if (reason != nullptr && !reason->is_string()) {
      throw BadAnswer("was to say the reason of a stop as a text, and answered " +
                      beginning(list->dump()));
    }
    stops.push_back({.trial = *trial,
                     .exploit = std::nullopt,
                     .reason = reason != nullptr ? headline(reason->get<std::string>())
                                                 : "the scheduler's program says so"});
  }
  return stops;
}

/// What the driver does not know is ignored, but not what is meant to be known.
void refuse_misspelt(const Said& said, std::span<const std::string> known) {
  for (const auto& [name, value] : said.fields.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest_name(name, known);
    if (near)
      throw BadAnswer("answered with '" + clean_text(name) + "', did you mean '" + *near + "'?");
  }
}

SaidDecision decision_in(const Said& said) {
  static const std::vector<std::string> known = {"action", "donor",  "config", "checkpoint",
                                                 "stop",   "at_max", "error",  "question"};
  refuse_misspelt(said, known);
  SaidDecision decision;
  if (const Json* const action = field(said.fields, "action")) {
    const auto parsed =
        action->is_string() ? parse_action(action->get<std::string>()) : std::nullopt;
    if (!parsed) {
      refuse("answer a result with the action continue, pause, exploit or stop", said);
    }
    decision.action = *parsed;
  }
  decision.checkpoint = flag_in(said, "checkpoint");
  decision.at_max = flag_in(said, "at_max");
  if (decision.at_max && decision.action != Action::stop) {
    refuse("say \"at_max\" with the action stop only", said);
  }
  if (decision.action == Action::exploit) {
    const auto donor = trial_in(field(said.fields, "donor"));
    const Json* const config = field(said.fields, "config");
    if (!donor || config == nullptr || !config->is_object()) {
      refuse(R"(name a "donor", by its number, and a "config", which is an object)", said);
    }
    decision.donor = *donor;
    decision.config = *config;
  }
  decision.stops = stops_in(said.fields);
  return decision;
}

SaidVerdict verdict_in(const Said& said) {
  SaidVerdict verdict;
  verdict.stop = flag_in(said, "stop");
  const Json* const all = field(said.fields, "stop_all");
  if (all == nullptr) return verdict;
  if (!all->is_string()) refuse("say in \"stop_all\" why the search ends", said);
  verdict.stop_all = headline(all->get<std::string>());
  return verdict;
}

std::string state_in(const Said& said) {
  if (!said.fields.contains("state")) refuse("say its \"state\"", said);
  return std::string(text_of_member(said.line, "state"));
}

JudgedConfig judge_config(const Json& given, TrialId trial, const ConfigRules& rules,
                          const char* doing) {
  const auto problems = rules.space.check_preset(given);
  if (!problems.empty()) {
    throw BadAnswer(std::string(doing) +
                    " what is not in the param space: " + beginning(problems.front().pointer) +
                    " " + beginning(problems.front().sentence));
  }
  CompleteConfig complete =
      complete_config(rules.space, rules.constraints, given, rules.seed, trial);
  JudgedConfig judged;
  if (complete.unfit) {
    // Of a constraint its own text, to be compared with what the program was told.
    const Constraint* const broken = rules.space.without_value(complete.config)
                                         ? nullptr
                                         : find_broken(rules.constraints, complete.config);
    judged.unfit = broken != nullptr ? broken->text() : *std::move(complete.unfit);
  }
  try {
    judged.text = config_text(complete.config);
  } catch (const std::invalid_argument& error) {
    throw BadAnswer(std::string(doing) + " what makes no config, " + error.what() + ": " +
                    beginning(given.dump()));
  }
  std::string tag = rules.space.tag(complete.config);
  judged.config = {std::move(complete.config), std::move(tag)};
  return judged;
}

}  // namespace tune
