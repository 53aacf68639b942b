// A snapshot with its trials' file: any bytes are a state, or an Error; and a state that was read
// is written so that it is read as the same. The first byte chooses what the rest is:
//   r    a line that is the file snapshot-2.json, then the file trials-1.jsonl;
//   0-5  a line that is the state in a snapshot under that scheduler, then lines of trials. They
//        still get what is around them, so that what is behind the checksums is reached too.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "schedulers/schedulers.h"
#include "searchers/searchers.h"
#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/journal/journal.h"
#include "tuner/model/experiment.h"
#include "tuner/run/commit/recovery.h"

namespace {

const std::filesystem::path directory = "/exp";
const std::filesystem::path snapshot_file = directory / "snapshot-2.json";
const std::filesystem::path trials_file = directory / "trials-1.jsonl";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void put_files(tune::MemoryFileSystem& files, std::string_view text) {
  const std::string_view snapshot = take_line(text);
  files.put(snapshot_file, std::string(snapshot) + "\n");
  files.put(trials_file, text);
}

void put_state(tune::MemoryFileSystem& files, std::string_view text) {
  const std::string_view state = take_line(text);
  std::string trials;
  tune::append_journal_line(trials, R"({"trials":1,"file":1})");
  while (!text.empty()) tune::append_journal_line(trials, take_line(text));
  std::string snapshot;
  tune::append_journal_line(
      snapshot, R"({"snapshot":1,"generation":2,"event":0,"trials_file":1,"trials_bytes":)" +
                    std::to_string(trials.size()) + ",\"state\":" + std::string(state) + "}");
  files.put(trials_file, trials);
  files.put(snapshot_file, snapshot);
}

std::unique_ptr<tune::Scheduler> make_scheduler(char which) {
  const tune::Objective objective{"loss", tune::Mode::min};
  switch (which) {
    case '1':
      return tune::make_asha({.objective = objective, .max_t = 9, .brackets = 2});
    case '2':
      return tune::make_asha_promotion(
          {.objective = objective, .max_t = 9, .reduction_factor = 3, .brackets = 2});
    case '3':
      return tune::make_hyperband({.objective = objective, .max_t = 9});
    case '4':
      return tune::make_median_stopping({.objective = objective});
    case '5': {
      tune::PbtOptions options;
      options.objective = objective;
      return tune::make_pbt(std::move(options));
    }
    default:
      return tune::make_fifo();
  }
}

tune::Policies make_policies(char which) {
  return {{tune::make_variants({}, {}), {}}, make_scheduler(which), nullptr};
}

void check_round_trip(const tune::Experiment& experiment, const tune::Policies& policies,
                      char which) {
  tune::Experiment again;
  for (const auto& trial : experiment.trials()) {
    std::string line;
    experiment.append_trial(line, trial.id);
    again.load_trial(line);
  }
  again.load_totals(experiment.save_totals({}));
  tune::ensure(again.save() == experiment.save(), "a state is read as it was written");
  const tune::Json state = policies.save();
  tune::Policies policies_again = make_policies(which);
  policies_again.load(state);
  tune::ensure(policies_again.save() == state, "policies are read as they were written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const char which = static_cast<char>(data[0]);
  static tune::MemoryFileSystem files;
  files.put(directory / "CURRENT", "2\n");
  files.put(directory / "journal-2.jsonl", "");
  (which == 'r' ? put_files : put_state)(files, text);
  tune::Experiment experiment;
  tune::Policies policies;
  tune::Recovery recovery(experiment, policies, [&] { return make_policies(which); });
  std::vector<std::string> notices;
  try {
    tune::ExperimentStore::read(files, directory, recovery, notices);
  } catch (const tune::Error&) {
    return 0;
  }
  check_round_trip(experiment, policies, which);
  return 0;
}
