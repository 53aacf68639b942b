// `tune suggest` and `tune tell`: ask and tell, for people who run their trials themselves.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/warm_start.h"
#include "tuner/ask_session.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/quoted.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/plugins.h"

namespace tune {

namespace {

bool says_something(const SpecSource& source) {
  return !source.file.empty() || !source.param_space.empty() || !source.domains.empty() ||
         !source.options.empty() || !source.settings.empty();
}

/// Absolute, without a slash at its end.
std::filesystem::path experiment_path(const std::string& directory) {
  auto absolute = std::filesystem::absolute(directory).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

/// What a search is without a driver: as long as somebody asks, unless there is a grid to go
/// through.
void fill_in(SpecDocument& document, const std::filesystem::path& directory,
             const std::optional<Json>& recorded) {
  Json& json = document.json;
  if (!json.is_object()) return;
  json["trainable"] = {{"command", {told_command}}};
  json["name"] = directory.filename().string();
  json["storage_path"] = directory.parent_path().string();
  document.origins.emplace_back("/name", "DIR");
  if (json.contains("num_samples") || !json.contains("param_space")) return;
  if (recorded) {
    json["num_samples"] = recorded->value("num_samples", Json(1));
    return;
  }
  std::vector<Problem> said_later;
  const auto space = SearchSpace::parse(json["param_space"], "/param_space", said_later);
  if (!space.has_grid()) json["num_samples"] = -1;
}

void refuse_place(const SpecSource& source) {
  for (const auto& given : source.options) {
    const std::string name = given.option->name;
    if (name == "--name" || name == "--storage-path") {
      throw user_error(name + ": where the experiment is and what it is called is said by DIR");
    }
  }
}

/// The spec of the experiment, if there is one.
std::optional<Json> recorded_in(const std::filesystem::path& directory) {
  const auto files = make_posix_file_system(Access::owner);
  if (!ExperimentStore::exists(*files, directory)) return std::nullopt;
  return ExperimentStore::read_spec(*files, directory);
}

/// With the plugins that are given, else those of the spec, else those of the experiment.
Catalogue catalogue_to_ask(const std::filesystem::path& directory,
                           const std::vector<std::string>& given, const SpecDocument& document) {
  std::vector<std::filesystem::path> plugins(given.begin(), given.end());
  if (plugins.empty()) plugins = plugins_of(document);
  if (plugins.empty()) {
    if (const auto recorded = recorded_in(directory)) plugins = plugins_in(*recorded, directory);
  }
  return catalogue_with(plugins);
}

/// Nothing, after the problems have been printed, if it is not right.
std::optional<ExperimentSpec> spec_to_ask(const SpecSource& source, const Catalogue& catalogue,
                                          const std::filesystem::path& directory) {
  refuse_place(source);
  const auto recorded = recorded_in(directory);
  // Options alone are about the search that is there.
  const bool is_change = recorded && source.file.empty() && source.param_space.empty();
  SpecDocument document =
      is_change ? assemble_changes(*recorded, directory.string(), source) : assemble_spec(source);
  fill_in(document, directory, recorded);
  std::vector<Problem> problems;
  const Json searcher = document.json.value("searcher", Json());
  if (searcher == "freeze_thaw" ||
      (searcher.is_object() && searcher.value("type", Json()) == "freeze_thaw")) {
    // To leave the scheduler out, as is said of others, would be answered by that it needs it.
    problems.push_back({"/searcher",
                        "the searcher 'freeze_thaw' has paused trials go on, and only tune run "
                        "pauses some: leave 'searcher' and 'scheduler' out, or say --searcher gp "
                        "--scheduler fifo"});
    print_problems(document, problems);
    return std::nullopt;
  }
  // The file of a search that is there is read once more with each question.
  const auto parse = recorded ? parse_changed_spec : parse_spec;
  ExperimentSpec spec = parse(document.json, document.base, catalogue, problems);
  if (problems.empty() && spec.scheduler.at("type") != "fifo") {
    problems.push_back({"/scheduler",
                        "a scheduler has no say in trials that tune does not run: "
                        "leave it out, or say --scheduler fifo"});
  }
  print_problems(document, problems);
  if (!problems.empty()) return std::nullopt;
  return spec;
}

/// What was taken from others was taken when the experiment was started.
void warm_up(ExperimentSpec& spec, const std::vector<std::string>& others,
             const std::filesystem::path& directory, const Catalogue& catalogue) {
  if (others.empty()) return;
  const auto files = make_posix_file_system();
  if (!ExperimentStore::exists(*files, directory)) {
    warm_start(spec, others);
    return;
  }
  std::vector<Problem> said_later;
  const auto recorded =
      parse_recorded_spec(ExperimentStore::read_spec(*files, directory), catalogue, said_later);
  if (is_same_but_warmer(recorded, spec)) spec.searcher = recorded.searcher;
}

void print_notices(AskSession& session) {
  for (const auto& notice : session.take_notices()) {
    print_notice(notice);
  }
}

std::string line_of(const AskSession::Suggested& suggested) {
  return "{\"trial_id\":\"" + to_string(suggested.trial) + "\",\"config\":" + suggested.config +
         "}\n";
}

/// Of a trial that has just been told.
std::string line_of(const AskSession& session, TrialId id) {
  return Json{{"trial_id", to_string(id)},
              {"state", to_string(session.experiment().trial(id).state)}}
             .dump() +
         "\n";
}

TrialId read_trial(const std::string& text) {
  if (const auto id = parse_trial_id(text)) return *id;
  throw user_error("a trial must be like 3 or trial_00003, got " + as_quoted(text));
}

/// `value`, a number as JSON has it, of the experiment's metric, as the metrics of a result.
std::string metrics_with(const AskSession& session, const Json& value) {
  const auto& objectives = session.spec().objectives;
  const Objective* const objective = sole(objectives);
  if (!objective) {
    throw user_error(objectives.empty()
                         ? "the experiment has no metric of its own: say what it is with --metrics"
                         : "the experiment has several metrics, and a value is for one: give all "
                           "with --metrics");
  }
  return Json{{objective->metric, value}}.dump();
}

/// A whole number with all its digits, which a double need not have.
Json read_value(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (errno == ERANGE && std::isinf(value)) {
    throw user_error("--value must be a number that 64 bits hold, or 'inf', got " +
                     as_quoted(text));
  }
  if (text.empty() || end != text.c_str() + text.size()) {
    throw user_error("--value must be a number, got " + as_quoted(text));
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool is_whole = json.is_number_integer() && value != 0;  // -0 is a double's
  return is_whole ? json : encode_number(value);
}

/// The conversation on standard input and output: a JSON object a line, each way.
class AskServer {
 public:
  explicit AskServer(AskSession& session) : session_(session) {}

  /// Takes in all lines of `text`; answers with as many or more, once all is on disk.
  void answer_lines(std::string_view text) {
    std::string answers;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      try {
        answers += answer(line);
      } catch (const Error& error) {
        if (error.fault() != Fault::user) throw;
        answers +=
            Json{{"error", error.what()}}.dump(-1, ' ', false, Json::error_handler_t::replace) +
            "\n";
        has_errors_ = true;
      }
    }
    session_.commit();
    print_data(answers);
    print_notices(session_);
  }

  bool has_errors() const { return has_errors_; }

 private:
  static Json read(std::string_view line) {
    try {
      return parse_unambiguous(quote_non_finite(line));
    } catch (const std::invalid_argument& error) {
      throw user_error(std::string("a line must be a JSON object like ") +
                       "{\"trial_id\": 3, \"value\": 0.5}, got " + std::string(line.substr(0, 80)) +
                       ": " + error.what());
    }
  }

  std::string answer(std::string_view line) {
    const Json json = read(line);
    if (!json.is_object()) {
      throw user_error("a line must be a JSON object like {\"trial_id\": 3, \"value\": 0.5}, got " +
                       std::string(line.substr(0, 80)));
    }
    if (json.contains("suggest")) return suggest(json);
    if (!json.contains("trial_id")) {
      throw user_error("a line must have a \"trial_id\", or \"suggest\", got " + shorten(json));
    }
    const Json& name = json["trial_id"];
    const TrialId id = read_trial(name.is_string() ? name.get<std::string>() : name.dump());
    tell(id, json);
    return line_of(session_, id);
  }

  std::string suggest(const Json& json) {
    const Json& count = json["suggest"];
    if (json.size() > 1 || !count.is_number_unsigned() || count == 0 || count > 1'000'000) {
      throw user_error("a line that asks must be like {\"suggest\": 2}, got " + shorten(json));
    }
    std::string lines;
    for (auto left = count.get<std::uint64_t>(); left > 0; --left) {
      const auto answered = session_.suggest();
      if (const auto* const suggested = std::get_if<AskSession::Suggested>(&answered)) {
        lines += line_of(*suggested);
        continue;
      }
      const bool is_over = std::holds_alternative<Exhausted>(answered);
      return lines + (is_over ? "{\"exhausted\":true}\n" : "{\"nothing_now\":true}\n");
    }
    return lines;
  }

  void tell(TrialId id, const Json& json) {
    const auto ways = json.count("value") + json.count("metrics") + json.count("failed");
    if (ways != 1 || json.size() > 2 + json.count("reason")) {
      throw user_error(
          "a line about a trial must have one of \"value\", \"metrics\" and "
          "\"failed\" (with a \"reason\"), got " +
          shorten(json));
    }
    if (json.contains("failed")) {
      const Json reason = json.value("reason", Json(""));
      if (json["failed"] != true || !reason.is_string()) {
        throw user_error(
            "a failed trial is told as {\"trial_id\": 3, \"failed\": true, "
            "\"reason\": \"a text\"}, got " +
            shorten(json));
      }
      session_.tell_failure(id, reason.get<std::string>());
    } else if (json.contains("metrics")) {
      session_.tell(id, json["metrics"].dump());
    } else {
      const auto value = decode_number(json["value"]);
      if (!value) throw user_error("a value must be a number, got " + shorten(json["value"]));
      const bool is_whole = json["value"].is_number_integer();
      session_.tell(id, metrics_with(session_, is_whole ? json["value"] : encode_number(*value)));
    }
  }

  AskSession& session_;
  bool has_errors_ = false;
};

/// Until standard input ends. Whatever has come is answered before more is waited for.
int converse(AskSession& session) {
  constexpr std::size_t longest_line = 16 << 20;
  AskServer server(session);
  std::string text;
  char block[1 << 16];
  while (true) {
    const auto got = ::read(STDIN_FILENO, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("cannot read", "standard input", errno);
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
    const std::size_t whole = text.rfind('\n') + 1;  // 0 if there is none
    if (whole > 0) server.answer_lines(std::string_view(text).substr(0, whole));
    text.erase(0, whole);
    if (text.size() > longest_line) throw user_error("a line on standard input is over 16 MiB");
  }
  if (!text.empty()) server.answer_lines(text);
  return server.has_errors() ? exit_bad_input : exit_ok;
}

}  // namespace

int suggest_command(const SpecSource& source, const AskRequest& request) {
  const auto directory = experiment_path(request.directory);
  const SpecDocument document = says_something(source) ? assemble_spec(source) : SpecDocument();
  const Catalogue catalogue =
      warmed(catalogue_to_ask(directory, source.plugins, document), source.warm_start);
  std::optional<ExperimentSpec> spec;
  if (says_something(source)) {
    spec = spec_to_ask(source, catalogue, directory);
    if (!spec) return exit_bad_input;
    warm_up(*spec, source.warm_start, directory, catalogue);
  }
  const auto files = make_posix_file_system(Access::owner);
  AskSession session(*files, directory, catalogue, spec ? &*spec : nullptr,
                     {.patience_s = request.wait_s});
  print_notices(session);
  std::string lines;
  int code = exit_ok;
  for (std::int64_t left = request.count; left > 0 && code == exit_ok; --left) {
    const auto answered = session.suggest();
    if (const auto* const suggested = std::get_if<AskSession::Suggested>(&answered)) {
      lines += line_of(*suggested);
    } else {
      code = std::holds_alternative<Exhausted>(answered) ? exit_exhausted : exit_nothing_now;
    }
  }
  session.commit();
  print_data(lines);
  print_notices(session);
  if (code == exit_exhausted) {
    complain("the search is over: all of its " +
             count_of(session.experiment().trials().size(), "trial is", "trials are") +
             " suggested");
  } else if (code == exit_nothing_now) {
    const std::size_t running = session.experiment().count(TrialState::running);
    complain("there is nothing to suggest before " +
             (running == 1 ? "the running trial"
                           : "one of the " + std::to_string(running) + " running trials") +
             " is told");
  }
  return lines.empty() ? code : exit_ok;
}

int tell_command(const TellRequest& request) {
  const bool is_conversation = request.trial == "-";
  const bool is_said = !request.value.empty() || !request.metrics.empty() || request.failed;
  if (is_conversation && is_said) {
    throw user_error("what is told comes from standard input: leave the other options out");
  }
  if (!is_conversation && !is_said) {
    throw user_error("say how the trial has ended: --value X, --metrics JSON or --failed");
  }
  std::optional<Json> value;
  if (!request.value.empty()) value = read_value(request.value);
  std::optional<TrialId> id;
  if (!is_conversation) id = read_trial(request.trial);
  const Catalogue catalogue =
      catalogue_to_ask(experiment_path(request.directory), request.plugins, SpecDocument());
  const auto files = make_posix_file_system(Access::owner);
  AskSession session(*files, experiment_path(request.directory), catalogue, nullptr,
                     {.patience_s = request.wait_s});
  print_notices(session);
  if (is_conversation) return converse(session);
  if (request.failed) {
    session.tell_failure(*id, request.reason);
  } else {
    session.tell(*id, value ? metrics_with(session, *value) : request.metrics);
  }
  session.commit();
  print_data(line_of(session, *id));
  print_notices(session);
  return exit_ok;
}

}  // namespace tune
