// A checkpoint is whole or it is not there: at every operation the process dies, the power fails,
// the disk is full.
#include <cerrno>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/core/error.h"
#include "tuner/store/checkpoint_store.h"

namespace tune {
namespace {

using std::filesystem::path;

const path trial = "/e/trial_00003";
const path first = "/e/trial_00003/checkpoint_000001";
const ManifestHeader header{"trial_00003", 1, 1, 30, "{}", "{}"};

enum class Disaster { process_dies, power_fails, disk_full, io_error };

void prepare(MemoryFileSystem& files, Disaster disaster, std::uint64_t k) {
  if (disaster == Disaster::process_dies || disaster == Disaster::power_fails) {
    files.die_at_operation(k, 3);
  } else {
    files.fail_operation(k, disaster == Disaster::disk_full ? ENOSPC : EIO, 3);
  }
}

/// An experiment's directory that is on disk, with nothing in it.
void prepare_experiment(MemoryFileSystem& files) { files.put("/e/CURRENT", "1\n"); }

void save(MemoryFileSystem& files, const path& directory) {
  files.make_directories(directory / "layers/2");
  files.open_append(directory / "weights")->append("0123456789");
  files.open_append(directory / "layers/2/bias")->append("abc");
  files.open_append(directory / "empty");
}

/// Runs `make` with a disaster at each of its operations; answers how many there are.
int with_every_disaster(Disaster disaster, const path& source,
                        const std::function<void(CheckpointStore&)>& make) {
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    CAPTURE(k, static_cast<int>(disaster));
    MemoryFileSystem files;
    files.mount("/scratch");
    prepare_experiment(files);
    CheckpointStore store(files);
    save(files, source);
    const auto before = files.operations();
    prepare(files, disaster, k);
    bool committed = false;
    try {
      make(store);
      committed = true;
    } catch (const Error&) {
    }
    if (files.operations() - before < k) {
      REQUIRE(committed);
      files.crash();
      REQUIRE(!store.verify(first));
      return tried;
    }
    disaster == Disaster::power_fails ? files.crash() : files.restart();
    if (files.exists(first)) {
      REQUIRE(!store.verify(first));
      REQUIRE(files.read(first / "layers/2/bias") == "abc");
    } else {
      REQUIRE(!committed);
    }
    // No record names it: the directory is as clean as before.
    store.sweep(trial, {});
    REQUIRE(files.names(trial).empty());
  }
}

TEST_CASE("A checkpoint being committed is whole or not there, whatever happens when",
          "[checkpoint_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const path aside = trial / ".checkpoint_000001.tmp-1";
  const int tried = with_every_disaster(
      disaster, aside, [&](CheckpointStore& store) { store.commit(aside, trial, header); });
  CHECK(tried == 13);
}

TEST_CASE("A checkpoint being adopted is whole or not there, whatever happens when",
          "[checkpoint_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const path written = GENERATE(path("/e/trial_00003/.reported_checkpoint_1"), path("/scratch/x"));
  const int tried = with_every_disaster(
      disaster, written, [&](CheckpointStore& store) { store.adopt(written, trial, header); });
  CHECK(tried == (written == "/scratch/x" ? 27 : 14));
}

TEST_CASE("A commit that fails leaves nothing behind", "[checkpoint_store][crash]") {
  int failures = 0;
  for (std::uint64_t k = 1;; ++k, ++failures) {
    CAPTURE(k);
    MemoryFileSystem files;
    prepare_experiment(files);
    CheckpointStore store(files);
    const path aside = store.begin(trial, 1, 1);
    save(files, aside);
    const auto before = files.operations();
    files.fail_operation(k, EIO);
    try {
      store.commit(aside, trial, header);
    } catch (const Error&) {
      REQUIRE(files.names(trial).empty());
    }
    if (files.operations() - before < k) break;
  }
  CHECK(failures == 13);
}

TEST_CASE("A checkpoint set aside is under one name or the other, whatever happens when",
          "[checkpoint_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails);
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    MemoryFileSystem files;
    files.put(first / "a", "x");
    CheckpointStore store(files);
    prepare(files, disaster, k);
    try {
      store.set_aside(trial, 1);
    } catch (const Error&) {
    }
    if (files.operations() < k) break;
    disaster == Disaster::power_fails ? files.crash() : files.restart();
    const bool old_name = files.exists(first / "a");
    const bool new_name = files.exists("/e/trial_00003/checkpoint_000001.corrupt/a");
    REQUIRE(old_name != new_name);
  }
  CHECK(tried == 2);
}

TEST_CASE("A removal that was interrupted is finished by the sweep", "[checkpoint_store][crash]") {
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    MemoryFileSystem files;
    files.put(first / "a/b", "x");
    files.put(first / "manifest.json", "{}");
    CheckpointStore store(files);
    files.die_at_operation(k);
    try {
      store.remove(trial, 1);
    } catch (const Error&) {
    }
    if (files.operations() < k) break;
    files.restart();
    store.sweep(trial, {});
    REQUIRE(files.names(trial).empty());
  }
  CHECK(tried == 4);
}

}  // namespace
}  // namespace tune
