// Reads result events out of the journals into rows by trial and iteration; a rewind erases what
// came after it.
#include "tuner/recorded_results.h"

#include <limits>
#include <string_view>
#include <variant>

#include "callbacks/result_text.h"
#include "tuner/journal/event_stream.h"
#include "tuner/journal/generations.h"
#include "tuner/journal/journal.h"
#include "tuner/model/event.h"
#include "tuner/model/kept_results.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

std::uint64_t first_event(FileSystem& files, const std::filesystem::path& directory,
                          RecordedResults::Since since) {
  if (since == RecordedResults::Since::beginning) return 1;
  const int generation = current_generation(files, directory);
  const auto header = read_journal_header(files, paths::journal(directory, generation));
  if (header) return header->first;
  // A later journal gets its header with its first event.
  return generation == 1 ? 1 : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

RecordedResults::RecordedResults(const std::filesystem::path& directory, Since since) {
  const auto files = make_posix_file_system();
  DriverFields fields;
  KeptResults kept;
  EventStream(*files, directory, first_event(*files, directory, since))
      .read([&](std::string_view text) {
        // Most of what is read is of no use here.
        if (text.find(R"("e":"result")") == std::string_view::npos) return;
        const Event event = parse_event(text);
        const auto* const reported = std::get_if<ResultReported>(&event.body);
        if (reported == nullptr) return;
        auto& rows = rows_[reported->trial];
        const std::int64_t iteration = reported->result.training_iteration;
        rows.erase(rows.upper_bound(kept.last_before(*reported)), rows.end());
        fields.fill(reported->trial, reported->result);
        append_json_row(rows[iteration], fields, reported->result);
      });
}

void RecordedResults::each_row(TrialId trial, double begin, double end,
                               const std::function<void(const Metrics&)>& use) const {
  const auto found = rows_.find(trial);
  if (found == rows_.end()) return;
  const auto& rows = found->second;
  const auto last = rows.lower_bound(end);
  for (auto at = rows.lower_bound(begin); at != last; ++at) use(read_metrics(at->second));
}

std::optional<std::int64_t> RecordedResults::first_iteration(TrialId trial) const {
  const auto found = rows_.find(trial);
  return found == rows_.end() ? std::nullopt : std::optional(found->second.begin()->first);
}

}  // namespace tune
