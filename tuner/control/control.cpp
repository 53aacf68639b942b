// Formats and parses control requests and answers, one line of JSON each.
#include "tuner/control/control.h"

#include <stdexcept>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/json_limits.h"

namespace tune {
namespace {

using Kind = ControlRequest::Kind;

constexpr std::pair<Kind, std::string_view> kind_names[] = {
    {Kind::stop, "stop"},       {Kind::pause, "pause"},
    {Kind::unpause, "unpause"}, {Kind::checkpoint, "checkpoint"},
    {Kind::set, "set"},         {Kind::add, "add"},
    {Kind::waits, "waits"}};

/// What holds the object that comes with such a wish; null: it has none.
const char* object_of(Kind kind) {
  return kind == Kind::set ? "fields" : kind == Kind::add ? "config" : nullptr;
}

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse_object(std::string_view line) {
  constexpr std::size_t most_levels = 100;
  if (levels_of(line) > most_levels) throw std::invalid_argument("it is nested too deeply");
  Json json = parse_shallow(line, most_levels);
  if (!json.is_object()) throw std::invalid_argument("expected one JSON object on one line");
  return json;
}

TrialId to_trial(const Json& json) {
  const auto trial =
      json.is_string() ? parse_trial_id(json.get_ref<const std::string&>()) : std::nullopt;
  if (!trial) throw std::invalid_argument("expected a trial's name such as \"trial_00003\"");
  return *trial;
}

std::vector<std::string> sentences_of(const Json& json, const char* name) {
  std::vector<std::string> sentences;
  const auto list = json.find(name);
  if (list == json.end() || !list->is_array()) return sentences;
  for (const auto& sentence : *list) {
    if (sentence.is_string()) sentences.push_back(sentence.get<std::string>());
  }
  return sentences;
}

}  // namespace

std::string format(const ControlRequest& request) {
  Json json;
  for (const auto& [kind, name] : kind_names) {
    if (kind == request.kind) json["ask"] = name;
  }
  if (request.trial) json["trial"] = to_string(*request.trial);
  if (const char* const name = object_of(request.kind)) json[name] = request.fields;
  return one_line(json);
}

std::string format(const ControlAnswer& answer) {
  Json json = {{"ok", answer.accepted}, {"message", answer.sentence}};
  if (!answer.trials.empty()) {
    Json& trials = json["trials"] = Json::array();
    for (const TrialId trial : answer.trials) trials.push_back(to_string(trial));
  }
  if (!answer.notices.empty()) json["notices"] = answer.notices;
  if (!answer.said.empty()) json["said"] = answer.said;
  if (!answer.left_out.empty()) json["left_out"] = answer.left_out;
  return one_line(json);
}

ControlRequest parse_control_request(std::string_view line) {
  const Json json = parse_object(line);
  ControlRequest request;
  const auto ask = json.find("ask");
  bool is_known = false;
  for (const auto& [kind, name] : kind_names) {
    if (ask == json.end() || *ask != name) continue;
    request.kind = kind;
    is_known = true;
  }
  if (!is_known) {
    std::string names;
    for (const auto& [kind, name] : kind_names) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    throw std::invalid_argument("expected \"ask\" to be one of " + names);
  }
  if (const auto trial = json.find("trial"); trial != json.end()) request.trial = to_trial(*trial);
  if (request.kind == Kind::unpause && !request.trial) {
    throw std::invalid_argument(R"(expected "trial": it is one trial that goes on)");
  }
  if (const char* const name = object_of(request.kind)) {
    request.fields = json.value(name, Json());
    if (!request.fields.is_object() || request.trial) {
      throw std::invalid_argument(std::string("expected \"") + name +
                                  "\" to be an object, and no \"trial\"");
    }
  }
  return request;
}

ControlAnswer parse_control_answer(std::string_view line) {
  const Json json = parse_object(line);
  ControlAnswer answer;
  const auto ok = json.find("ok");
  if (ok == json.end() || !ok->is_boolean()) throw std::invalid_argument("expected \"ok\"");
  answer.accepted = ok->get<bool>();
  if (const auto text = json.find("message"); text != json.end() && text->is_string()) {
    answer.sentence = text->get<std::string>();
  }
  if (const auto trials = json.find("trials"); trials != json.end() && trials->is_array()) {
    for (const auto& trial : *trials) answer.trials.push_back(to_trial(trial));
  }
  answer.notices = sentences_of(json, "notices");
  answer.said = sentences_of(json, "said");
  answer.left_out = sentences_of(json, "left_out");
  return answer;
}

}  // namespace tune
