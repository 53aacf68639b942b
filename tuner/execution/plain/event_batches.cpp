// A read, a look at the logs, and a read of what was told meanwhile.
#include "tuner/execution/plain/event_batches.h"

#include <utility>

namespace tune {

namespace {

void add(std::vector<LaunchFileEvent> told, std::map<LaunchId, FileEvents>& batches) {
  for (auto& [launch, event] : told) batches[launch].events.push_back(std::move(event));
}

}  // namespace

std::map<LaunchId, FileEvents> gather_events(EventSource& source) {
  std::map<LaunchId, FileEvents> batches;
  std::vector<LaunchFileEvent> told;
  source.read(told);
  if (told.empty()) return batches;
  add(std::exchange(told, {}), batches);
  for (auto& [launch, batch] : batches) {
    batch.first_read = batch.events.size();
    batch.sizes = source.log_sizes(launch);
  }
  source.read(told);
  add(std::exchange(told, {}), batches);
  for (auto& [launch, batch] : batches) batch.later_sizes = source.log_sizes(launch);
  return batches;
}

}  // namespace tune
