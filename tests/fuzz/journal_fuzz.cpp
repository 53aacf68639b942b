// A whole journal: any bytes are events, a torn end, or an Error. The first byte chooses whether
// the rest is the file as it is, or lines that still get their checksums, so that what is behind
// the checksum is reached too.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/journal/journal.h"
#include "tuner/model/experiment.h"

namespace {

const std::filesystem::path directory = "/exp";

std::string with_checksums(std::string_view text) {
  std::string journal;
  tune::append_journal_line(journal, R"({"journal":1,"generation":1,"first":1})");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    tune::append_journal_line(journal, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return journal;
}

std::string text_of(const tune::Event& event) {
  std::string text;
  tune::append_json(text, event);
  return text;
}

/// An event that was understood is written so that it is understood as the same.
void check_round_trip(const tune::Event& event) {
  const std::string text = text_of(event);
  tune::ensure(text_of(tune::parse_event(text)) == text, "an event is read as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  static tune::MemoryFileSystem files;
  files.put(directory / "CURRENT", "1\n");
  files.put(directory / "journal-1.jsonl",
            data[0] == 'r' ? std::string(text) : with_checksums(text));
  tune::Experiment experiment;
  struct Reader : tune::StateReader {
    explicit Reader(tune::Experiment& into) : experiment(into) {}
    void restart() override { experiment = {}; }
    void on_event(tune::Event&& event) override {
      check_round_trip(event);
      experiment.apply(event);
    }
    tune::Experiment& experiment;
  } reader(experiment);
  std::vector<std::string> notices;
  try {
    tune::ExperimentStore::read(files, directory, reader, notices);
  } catch (const tune::Error&) {
  }
  // Whatever the trials have become, a snapshot can hold them. That it is read as the same is
  // fuzz_snapshot's to show.
  std::string lines;
  for (const auto& trial : experiment.trials()) experiment.append_trial(lines, trial.id);
  return 0;
}
