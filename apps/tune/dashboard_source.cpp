// Keeps what is expensive to make, and makes it anew no more often than a tenth of the time allows.
#include "apps/tune/dashboard_source.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "apps/tune/report_data.h"
#include "tuner/base/error.h"
#include "tuner/control/control_client.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/paths.h"
#include "tuner/process/system_clock.h"
#include "tuner/version.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/log_tail.h"
#include "tuner/view/status.h"

namespace tune {

namespace {

constexpr std::size_t most_experiments = 1'000;
constexpr std::size_t live_log_bytes = 64 * 1024;
constexpr Seconds shortest_report_age_s = 1;
/// Of a long record, looking is not to take more than this part of a processor.
constexpr double report_rest_factor = 10;
constexpr Seconds control_patience_s = 10;

std::shared_ptr<const std::string> shared_text(const Json& json) {
  return std::make_shared<const std::string>(
      encode_numbers(json).dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Changes whenever a driver has written something. Names, sizes and times of the files.
std::string signature_of(const std::filesystem::path& directory) {
  std::string signature;
  std::error_code error, ignored;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->is_regular_file(ignored)) continue;
    signature += at->path().filename().string() + ' ' + std::to_string(at->file_size(ignored)) +
                 ' ' + std::to_string(at->last_write_time(ignored).time_since_epoch().count()) +
                 '\n';
  }
  return signature;
}

/// The one sentence about an experiment that is not there any more, or cannot be read.
std::string gone_text(const std::filesystem::path& directory, const std::string& why) {
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored)) {
    return directory.string() + " is not there any more: it was moved or removed";
  }
  return why;
}

}  // namespace

ExperimentsSource::ExperimentsSource(std::vector<std::filesystem::path> places, bool allows_control)
    : places_(std::move(places)), allows_control_(allows_control), clock_(make_system_clock()) {
  find_experiments();
}

void ExperimentsSource::find_experiments() {
  const auto add = [&](const std::filesystem::path& directory) {
    auto absolute = std::filesystem::absolute(directory).lexically_normal();
    if (!absolute.has_filename()) absolute = absolute.parent_path();
    const bool is_known =
        std::any_of(experiments_.begin(), experiments_.end(),
                    [&](const Experiment& each) { return each.directory == absolute; });
    if (is_known || experiments_.size() == most_experiments) return;
    experiments_.emplace_back();
    experiments_.back().directory = absolute;
  };
  for (const auto& place : places_) {
    bool is_one = true;
    try {
      is_one = is_experiment(place);
    } catch (const Error&) {
    }
    const auto inside = is_one ? std::vector<std::filesystem::path>() : experiments_in(place);
    for (const auto& each : inside) add(each);
    // What is none is said of it where it is read, and it may become one.
    if (is_one || (inside.empty() && experiments_.empty())) add(place);
  }
}

ExperimentsSource::Experiment* ExperimentsSource::find(std::uint32_t number) {
  return number < experiments_.size() ? &experiments_[number] : nullptr;
}

FollowedExperiment& ExperimentsSource::follow(Experiment& experiment) {
  try {
    if (experiment.followed) {
      experiment.followed->read_more();
    } else {
      experiment.followed = std::make_unique<FollowedExperiment>(experiment.directory);
      experiment.told = experiment.followed->experiment().last_event();
    }
  } catch (const std::exception&) {
    experiment.followed.reset();
    experiment.is_read_anew = experiment.is_report_stale = true;
    throw;
  }
  return *experiment.followed;
}

Json ExperimentsSource::summary_of(std::size_t number) {
  std::unique_lock lock(mutex_);
  Experiment& experiment = experiments_[number];
  const Seconds begin = clock_->steady();
  if (!experiment.summary.is_null() && begin < experiment.summary_until) return experiment.summary;
  lock.unlock();
  std::string signature = signature_of(experiment.directory);
  // It is this thread's alone, as `summary` is.
  if (!experiment.summary.is_null() && signature == experiment.signature) return experiment.summary;
  Json summary = {{"directory", experiment.directory.string()}, {"problem", ""}};
  try {
    const Json status = status_json(look_at_status(experiment.directory));
    for (const char* const name : {"name", "trials", "total_trials", "states", "ends", "best",
                                   "started", "results", "session_end", "events"}) {
      summary[name] = status.at(name);
    }
    summary["is_driven"] = !status.at("driver").is_null();
  } catch (const Error& error) {
    summary["problem"] = gone_text(experiment.directory, error.what());
  }
  const Seconds end = clock_->steady();
  experiment.signature = std::move(signature);
  experiment.summary_until = end + report_rest_factor * (end - begin);
  return experiment.summary = std::move(summary);
}

Json ExperimentsSource::experiments_json() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    find_experiments();
    count = experiments_.size();
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(summary_of(i));
  return {{"version", version()},
          {"allows_control", allows_control_},
          {"experiments", std::move(list)}};
}

std::optional<std::uint64_t> ExperimentsSource::event_to_report(Experiment& experiment) {
  const std::lock_guard lock(mutex_);
  // Read before the report, so that the stream can go on from every report.
  const FollowedExperiment& followed = follow(experiment);
  const std::uint64_t event = followed.experiment().last_event();
  const bool is_same = experiment.report && event == experiment.report_event;
  // Without events a driver may still hang, or be gone.
  if (is_same && followed.status().at("is_driven").get<bool>()) return std::nullopt;
  return event;
}

std::shared_ptr<const std::string> ExperimentsSource::report_of(Experiment& experiment) {
  const Seconds begin = clock_->steady();
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(experiment.is_report_stale, false)) experiment.report.reset();
  }
  if (experiment.report && begin < experiment.report_until) return experiment.report;
  try {
    if (const auto event = event_to_report(experiment)) {
      experiment.report = shared_text(report_data({experiment.directory.string()}));
      experiment.report_event = *event;
    }
  } catch (const std::exception& error) {
    Json experiments = Json::array();
    experiments.push_back({{"directory", experiment.directory.string()},
                           {"problem", gone_text(experiment.directory, error.what())}});
    experiment.report = shared_text(Json{{"format", 1},
                                         {"version", version()},
                                         {"made", clock_->now()},
                                         {"experiments", std::move(experiments)}});
    experiment.report_event = 0;
  }
  const Seconds end = clock_->steady();
  experiment.report_until =
      end + std::max(shortest_report_age_s, report_rest_factor * (end - begin));
  return experiment.report;
}

Changes ExperimentsSource::changes_of(Experiment& experiment, std::uint64_t since) {
  Changes changes;
  try {
    const FollowedExperiment& followed = follow(experiment);
    const auto trials = followed.changed_since(since);
    changes.event = followed.experiment().last_event();
    changes.status = *shared_text(followed.status());
    changes.columns = *shared_text(followed.columns());
    changes.is_reset = !trials || trials->size() > PendingChanges::most_rows;
    if (changes.is_reset) return changes;
    for (const TrialId id : *trials) {
      changes.rows.push_back(
          {static_cast<std::uint32_t>(index_of(id)), shared_text(followed.row(id))});
    }
  } catch (const std::exception& error) {
    changes = Changes{};
    changes.gone = *shared_text(Json{{"problem", gone_text(experiment.directory, error.what())}});
  }
  return changes;
}

namespace {

Changes no_such_experiment() {
  Changes changes;
  changes.gone = *shared_text(Json{{"problem", "there is no such experiment"}});
  return changes;
}

}  // namespace

Changes ExperimentsSource::next_changes(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  Experiment* const experiment = find(number);
  if (experiment == nullptr) return no_such_experiment();
  const bool was_followed = experiment->followed != nullptr;
  // What a report or another stream has read meanwhile is told here, too.
  Changes changes = changes_of(*experiment, was_followed ? experiment->told : 0);
  if (!experiment->followed) return changes;
  experiment->told = changes.event;
  if (!was_followed || std::exchange(experiment->is_read_anew, false)) changes.is_reset = true;
  return changes;
}

Changes ExperimentsSource::changes_since(std::uint32_t number, std::uint64_t since) {
  const std::lock_guard lock(mutex_);
  Experiment* const experiment = find(number);
  return experiment == nullptr ? no_such_experiment() : changes_of(*experiment, since);
}

namespace {

WebAnswer log_answer(const std::filesystem::path& directory, TrialId id, const RouteMatch& match) {
  const auto given = match.query.find("stream");
  const std::string stream = given == match.query.end() ? "stdout" : given->second;
  if (stream != "stdout" && stream != "stderr") {
    return error_answer(400, "a stream is stdout or stderr");
  }
  const auto own = paths::trial(directory, id);
  std::error_code ignored;
  if (!std::filesystem::is_directory(own, ignored)) {
    return error_answer(404, to_string(id) + " is not there, or has not started");
  }
  const LogTail tail =
      read_log_tail(stream == "stderr" ? paths::standard_error(own) : paths::standard_output(own),
                    live_log_bytes);
  return {200, shared_text(Json{{"trial", index_of(id)},
                                {"stream", stream},
                                {"text", tail.text},
                                {"left_out", tail.left_out}})};
}

bool is_offered(ControlRequest::Kind kind) {
  using Kind = ControlRequest::Kind;
  return kind == Kind::stop || kind == Kind::pause || kind == Kind::unpause ||
         kind == Kind::checkpoint || kind == Kind::add;
}

WebAnswer control_answer(const std::filesystem::path& directory, const std::string& body) {
  ControlRequest request;
  try {
    request = parse_control_request(body);
  } catch (const std::invalid_argument& error) {
    return error_answer(400, error.what());
  }
  if (!is_offered(request.kind)) return error_answer(400, "the page does not ask for that");
  const auto files = make_posix_file_system();
  const auto driver = ExperimentStore::driver(*files, directory);
  if (!driver) return error_answer(409, "no driver runs the experiment");
  if (!driver->is_here) {
    return error_answer(409, "it is driven by " + name_of(*driver) + ": steer it from there");
  }
  auto client = ControlClient::connect(directory, control_patience_s);
  if (!client) return error_answer(409, "the driver does not listen yet: try again");
  const ControlAnswer answer = client->ask(request, control_patience_s);
  if (!answer.accepted) return error_answer(409, answer.sentence);
  return {200, shared_text(Json{{"message", answer.sentence}})};
}

}  // namespace

WebAnswer ExperimentsSource::answer(const RouteMatch& match, const std::string& body) {
  try {
    if (match.route->name == Route::Name::experiments)
      return {200, shared_text(experiments_json())};
    Experiment* experiment = nullptr;
    {
      const std::lock_guard lock(mutex_);
      experiment = find(match.numbers.at(0));
    }
    if (experiment == nullptr) return error_answer(404, "there is no such experiment");
    switch (match.route->name) {
      case Route::Name::report:
        return {200, report_of(*experiment)};
      case Route::Name::log:
        return log_answer(experiment->directory, TrialId{match.numbers.at(1)}, match);
      case Route::Name::control:
        return control_answer(experiment->directory, body);
      default:
        return error_answer(404, "there is no such page");
    }
  } catch (const std::exception& error) {
    return error_answer(500, error.what());
  }
}

}  // namespace tune
