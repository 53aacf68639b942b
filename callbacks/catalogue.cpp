// The names of the built-in callbacks, and their options as JSON.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "callbacks/callbacks.h"
#include "tuner/policy/options.h"

namespace tune {

namespace {

using MakeFileLog = std::unique_ptr<Callback> (*)(FileLogOptions);

/// Of a name that is switched off.
class NoCallback final : public Callback {
 public:
  explicit NoCallback(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

Factory<Callback> file_log(MakeFileLog make, std::string switchable = "") {
  return [make, name = std::move(switchable)](
             const Json& json, const PolicyContext& context) -> std::unique_ptr<Callback> {
    OptionReader reader(json);
    FileLogOptions options;
    const bool enabled = name.empty() || reader.get("enabled", true);
    options.notice = context.notice;
    options.flush_period_s = reader.get("flush_period_s", options.flush_period_s);
    reader.require(options.flush_period_s >= 0, "flush_period_s", "0 or more");
    constexpr double mib = 1 << 20;
    const double limit =
        reader.get("memory_limit_mb", static_cast<double>(options.memory_limit_bytes) / mib);
    reader.require(limit >= 1 && limit <= 1 << 20, "memory_limit_mb", "between 1 and 1048576");
    options.memory_limit_bytes = static_cast<std::size_t>(limit * mib);
    reader.finish();
    if (!enabled) return std::make_unique<NoCallback>(name);
    return make(std::move(options));
  };
}

std::unique_ptr<Callback> console(const Json& json, const PolicyContext&) {
  OptionReader reader(json);
  ConsoleOptions options;
  const auto style = reader.get<std::string>("style", "auto");
  reader.require(style == "auto" || style == "table" || style == "lines", "style",
                 "\"auto\", \"table\" or \"lines\"");
  if (style == "table") options.style = ConsoleStyle::table;
  if (style == "lines") options.style = ConsoleStyle::lines;
  options.redraw_period_s = reader.get("redraw_period_s", options.redraw_period_s);
  reader.require(options.redraw_period_s >= 0.05, "redraw_period_s", "at least 0.05");
  options.status_period_s = reader.get("status_period_s", options.status_period_s);
  reader.require(options.status_period_s > 0, "status_period_s", "above 0");
  options.best_trials = reader.get("best_trials", options.best_trials);
  reader.require(options.best_trials >= 0, "best_trials", "0 or more");
  reader.finish();
  return make_console(std::move(options));
}

std::unique_ptr<Callback> checkpoint_best(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  CheckpointBestOptions options;
  options.grace_period = reader.get("grace_period", options.grace_period);
  reader.require(options.grace_period >= 0, "grace_period", "0 or more");
  reader.finish();
  const Objective* const objective = sole(context.objectives);
  if (!objective) {
    throw OptionError("", context.objectives.empty()
                              ? "checkpoint_best needs the experiment's metric and mode"
                              : "checkpoint_best knows one metric, and the experiment has several: "
                                "use 'checkpoint_frequency' or 'checkpoint_at_end'");
  }
  options.objective = *objective;
  options.constraints = context.constraints;
  return make_checkpoint_best(std::move(options));
}

/// That this one is named says that there are to be no files but those of who is named beside it.
std::unique_ptr<Callback> none(const Json& json, const PolicyContext&) {
  OptionReader(json).finish();
  return std::make_unique<NoCallback>("none");
}

}  // namespace

void add_callbacks(Catalogue& catalogue) {
  auto& callbacks = catalogue.callbacks;
  add_factory(callbacks, "json", file_log(make_json_logger));
  add_factory(callbacks, "csv", file_log(make_csv_logger));
  add_factory(callbacks, "tensorboard", file_log(make_tensorboard_logger, "tensorboard"));
  add_factory(callbacks, "params", file_log(make_params_logger));
  add_factory(callbacks, "exploits", file_log(make_exploit_log));
  add_factory(callbacks, "console", Factory<Callback>(console));
  add_factory(callbacks, "none", Factory<Callback>(none));
  add_factory(callbacks, "checkpoint_best", Factory<Callback>(checkpoint_best));
}

}  // namespace tune
