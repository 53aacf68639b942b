// Inserts the measured time into a result's JSON.
#include "tuner/plain/plain_program.h"

#include "trainable/values.h"

namespace tune {

namespace {
constexpr const char* time_name = "time_this_iter_s";
}  // namespace

std::string text_with_time(const PrintedResult& result) {
  if (result.took_s <= 0 || result.metrics.find(time_name)) return result.metrics.text;
  Json metrics = Json::parse(result.metrics.text);
  metrics[time_name] = result.took_s;
  return metrics.dump();
}

std::optional<double> take_time(Metrics& metrics) {
  const auto took_s = metrics.find(time_name);
  if (!took_s) return std::nullopt;
  Json others = Json::parse(metrics.text);
  others.erase(time_name);
  metrics = parse_metrics(others.dump());
  return took_s;
}

}  // namespace tune
