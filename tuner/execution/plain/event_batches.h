// Puts together what has happened to each launch, and how far its logs had come by then, so that
// lines and saves can be ordered.
// Pure: it asks an EventSource.
#pragma once

#include <map>
#include <vector>

#include "tuner/execution/reactor.h"
#include "tuner/plain/save_tracker.h"

namespace tune {

/// What has happened to a launch.
struct LaunchFileEvent {
  LaunchId launch{};
  FileEvent event;
};

class EventSource {
 public:
  virtual ~EventSource() = default;
  /// Appends all that has happened since the last read, in its order. Does not wait.
  virtual void read(std::vector<LaunchFileEvent>& told) = 0;
  virtual LogSizes log_sizes(LaunchId launch) = 0;
};

/// All that has happened so far. Whatever was printed before the sizes of the logs are taken is
/// told of, and perhaps more.
std::map<LaunchId, FileEvents> gather_events(EventSource& source);

}  // namespace tune
