// Streams all events from the first generation on into an Experiment.
#include "tuner/view/event_replay.h"

#include "tuner/journal/event_stream.h"

namespace tune {

std::uint64_t replay_events(const std::filesystem::path& directory, Experiment& experiment,
                            const std::function<void(const Event&)>& visit) {
  const auto files = make_posix_file_system();
  EventStream events(*files, directory, 1);
  events.read([&](std::string_view text) {
    if (events.missing() > 0) return;
    const Event event = parse_event(text);
    experiment.apply(event);
    visit(event);
  });
  return events.missing();
}

}  // namespace tune
