// Inserts the measured time into a result's JSON.
#include "tuner/plain/plain_program.h"

#include "trainable/values.h"

namespace tune {

std::string text_with_time(const PrintedResult& result) {
  constexpr const char* name = "time_this_iter_s";
  if (result.took_s <= 0 || result.metrics.find(name)) return result.metrics.text;
  Json metrics = Json::parse(result.metrics.text);
  metrics[name] = result.took_s;
  return metrics.dump();
}

}  // namespace tune
