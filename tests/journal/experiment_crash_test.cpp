// An experiment's directory when the process dies, the power fails or the disk is full, at every
// single operation.
#include "tests/journal/disasters.h"
#include "tests/journal/some_events.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/journal/experiment_store.h"

namespace tune {
namespace {

const std::filesystem::path directory = "/runs/exp";
const Json spec = {{"name", "exp"}, {"param_space", Json::object()}, {"seed", 7}};

bool fails_softly(Disaster disaster) {
  return disaster == Disaster::disk_full || disaster == Disaster::io_error;
}

TEST_CASE("An experiment that is being made is whole or not there, whatever happens when",
          "[experiment_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    CAPTURE(k, static_cast<int>(disaster));
    MemoryFileSystem files;
    prepare(files, disaster, k, 7);
    bool made = true;
    try {
      ExperimentStore::create(files, directory, spec, mortal(1));
    } catch (const Error&) {
      made = false;
    }
    if (files.operations() < k) break;
    // An error reported leaves no lock and nothing half-done.
    if (fails_softly(disaster) && !made) {
      for (const std::string& name : files.names()) REQUIRE(name.back() == '/');
    }
    recover(files, disaster);
    std::vector<std::string> notices;
    Replayed replayed;
    if (ExperimentStore::exists(files, directory)) {
      REQUIRE(ExperimentStore::read_spec(files, directory) == spec);
      ExperimentStore::open(files, directory, mortal(2), replayed, notices);
      REQUIRE(replayed.numbers.empty());
    } else {
      REQUIRE(!made);
      ExperimentStore::create(files, directory, spec, mortal(2));
      files.crash();
      REQUIRE(ExperimentStore::read_spec(files, directory) == spec);
      ExperimentStore::open(files, directory, mortal(3), replayed, notices);
    }
    std::vector<std::string> names = files.names(directory);
    // An empty one is not swept while there is a process of its number: it could be at work.
    std::erase_if(names, [](const auto& name) { return name.starts_with(".LOCK.tmp-"); });
    REQUIRE(names == std::vector<std::string>{"CURRENT", "experiment.json", "journal-1.jsonl"});
  }
  CHECK(tried == 25);
}

TEST_CASE("What was written outlives the process, what was synced the power, at every instant",
          "[experiment_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const std::size_t kept_bytes = GENERATE(0, 1, 40, 100);
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    CAPTURE(k, static_cast<int>(disaster), kept_bytes);
    MemoryFileSystem files;
    ExperimentStore::create(files, directory, spec, mortal(1));
    const auto before = files.operations();
    prepare(files, disaster, k, kept_bytes);
    std::uint64_t written = 0;
    std::uint64_t synced = 0;
    std::vector<std::string> notices;
    try {
      Replayed none;
      ExperimentStore store = ExperimentStore::open(files, directory, mortal(2), none, notices);
      for (std::uint64_t first = 1; first <= 7; first += 2) {
        append_events(store, first, first + 1);
        store.write();
        written = store.written();
        if (first == 5) continue;
        store.sync();
        synced = written;
      }
    } catch (const Error&) {
    }
    if (files.operations() - before < k) break;
    recover(files, disaster);
    Replayed replayed;
    {
      ExperimentStore store = ExperimentStore::open(files, directory, mortal(3), replayed, notices);
      const std::uint64_t last = replayed.numbers.size();
      REQUIRE(replayed.numbers == numbers(1, last));
      REQUIRE(last >= (disaster == Disaster::power_fails ? synced : written));
      REQUIRE(last <= 8);
      append_events(store, last + 1, last + 1);
      store.write();
      store.sync();
    }
    files.crash();
    Replayed again;
    ExperimentStore::read(files, directory, again, notices);
    REQUIRE(again.numbers == numbers(1, replayed.numbers.size() + 1));
  }
  CHECK(tried == 14);
}

TEST_CASE("A torn end is cut off whole, or still there to be cut off, at every instant",
          "[experiment_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails);
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    MemoryFileSystem files;
    {
      ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
      append_events(store, 1, 2);
      store.write();
      store.sync();
    }
    const std::string whole = files.read("/runs/exp/journal-1.jsonl");
    files.put("/runs/exp/journal-1.jsonl", whole + "0123456789abcdef {\"n\":");
    const auto before = files.operations();
    prepare(files, disaster, k, 0);
    std::vector<std::string> notices;
    Replayed replayed;
    try {
      ExperimentStore::open(files, directory, mortal(2), replayed, notices);
    } catch (const Error&) {
    }
    if (files.operations() - before < k) break;
    recover(files, disaster);
    {
      Replayed again;
      ExperimentStore store = ExperimentStore::open(files, directory, mortal(3), again, notices);
      REQUIRE(again.numbers == numbers(1, 2));
      append_events(store, 3, 3);
      store.write();
      store.sync();
    }
    files.crash();
    Replayed all;
    ExperimentStore::read(files, directory, all, notices);
    REQUIRE(all.numbers == numbers(1, 3));
  }
  CHECK(tried == 9);
}

TEST_CASE("A spec is the old one or the new one, whatever happens when",
          "[experiment_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const Json changed = {{"name", "changed"}};
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    MemoryFileSystem files;
    bool replaced = false;
    {
      ExperimentStore store = ExperimentStore::create(files, directory, spec, mortal(1));
      const auto before = files.operations();
      prepare(files, disaster, k, 7);
      try {
        store.write_spec(changed);
        replaced = true;
      } catch (const Error&) {
      }
      if (files.operations() - before < k) break;
    }
    recover(files, disaster);
    REQUIRE(!replaced);
    const Json found = ExperimentStore::read_spec(files, directory);
    REQUIRE((found == spec || found == changed));
  }
  CHECK(tried == 5);
}

}  // namespace
}  // namespace tune
