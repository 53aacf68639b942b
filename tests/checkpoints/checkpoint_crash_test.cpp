// A checkpoint is whole or it is not there: at every operation the process dies, the power fails,
// the disk is full.
#include <cerrno>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"

namespace tune {
namespace {

using std::filesystem::path;

const path trial = "/e/trial_00003";
const path first = "/e/trial_00003/checkpoint_000001";
const CheckpointRef ref{TrialId{3}, 1};
const ManifestHeader header{ref, 1, 30, "{}", "{}"};

enum class Disaster { process_dies, power_fails, disk_full, io_error };

void prepare(MemoryFileSystem& files, Disaster disaster, std::uint64_t k) {
  if (disaster == Disaster::process_dies || disaster == Disaster::power_fails) {
    files.die_at_operation(k, 3);
  } else {
    files.fail_operation(k, disaster == Disaster::disk_full ? ENOSPC : EIO, 3);
  }
}

/// An experiment's and a trial's directory that are on disk, with nothing of a checkpoint in them.
void prepare_experiment(MemoryFileSystem& files) {
  files.put("/e/CURRENT", "1\n");
  files.put(trial / "stdout.log", "");
}
const std::vector<std::string> nothing = {"stdout.log"};

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
    CheckpointStore store(files, "/e");
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
      REQUIRE(!store.verify(ref));
      return tried;
    }
    disaster == Disaster::power_fails ? files.crash() : files.restart();
    if (files.exists(first)) {
      REQUIRE(!store.verify(ref));
      REQUIRE(files.read(first / "layers/2/bias") == "abc");
    } else {
      REQUIRE(!committed);
    }
    // No record names it: the directory is as clean as before.
    store.sweep(ref.trial, {});
    REQUIRE(files.names(trial) == nothing);
  }
}

TEST_CASE("A checkpoint being committed is whole or not there, whatever happens when",
          "[checkpoint_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const path aside = trial / ".checkpoint_000001.tmp-1";
  const int tried =
      with_every_disaster(disaster, aside, [&](CheckpointStore& store) { store.commit(header); });
  CHECK(tried == 13);
}

TEST_CASE("A checkpoint being taken over is whole or not there, whatever happens when",
          "[checkpoint_store][crash]") {
  const auto disaster = GENERATE(Disaster::process_dies, Disaster::power_fails, Disaster::disk_full,
                                 Disaster::io_error);
  const path written = "/e/trial_00003/.reported_checkpoint_1";
  const int tried = with_every_disaster(disaster, written, [&](CheckpointStore& store) {
    store.commit(header, store.adopt_checkpoint(ref, 1, written.filename().native()));
  });
  CHECK(tried == 14);
}

TEST_CASE("What could not be taken over is where it was, whole",
          "[checkpoint_store][handed_over][crash]") {
  const bool is_mounted = GENERATE(false, true);
  const path written = "/e/trial_00003/work/ckpt";
  int failures = 0;
  for (std::uint64_t k = 1;; ++k, ++failures) {
    CAPTURE(k, is_mounted);
    MemoryFileSystem files;
    if (is_mounted) files.mount("/e/trial_00003/work");
    prepare_experiment(files);
    CheckpointStore store(files, "/e");
    files.make_directories(trial / "work");
    save(files, written);
    files.make_link(written / "weights", written / "last");
    const auto before = files.operations();
    files.fail_operation(k, EIO);
    bool committed = false;
    try {
      store.commit(header, store.adopt_checkpoint(ref, 1, written.filename().native()));
      committed = true;
    } catch (const Error&) {
      REQUIRE(!files.exists(first));
      REQUIRE(files.read(written / "weights") == "0123456789");
      REQUIRE(files.read(written / "layers/2/bias") == "abc");
      REQUIRE(!files.exists(written / "manifest.json"));
    }
    if (files.operations() - before >= k) continue;
    REQUIRE(committed);
    REQUIRE(!store.verify(ref));
    REQUIRE(files.read_link(first / "last") == "weights");
    REQUIRE(files.exists(written) == (written == "/elsewhere/ckpt"));
    break;
  }
  CHECK(failures > 14);
}

TEST_CASE("A commit that fails leaves nothing behind", "[checkpoint_store][crash]") {
  int failures = 0;
  for (std::uint64_t k = 1;; ++k, ++failures) {
    CAPTURE(k);
    MemoryFileSystem files;
    prepare_experiment(files);
    CheckpointStore store(files, "/e");
    const path aside = store.begin(ref, 1);
    save(files, aside);
    const auto before = files.operations();
    files.fail_operation(k, EIO);
    try {
      store.commit(header);
    } catch (const Error&) {
      REQUIRE(files.names(trial) == nothing);
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
    CheckpointStore store(files, "/e");
    prepare(files, disaster, k);
    try {
      store.set_aside(ref);
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
    CheckpointStore store(files, "/e");
    files.die_at_operation(k);
    try {
      store.remove(ref);
    } catch (const Error&) {
    }
    if (files.operations() < k) break;
    files.restart();
    store.sweep(ref.trial, {});
    REQUIRE(files.names(trial).empty());
  }
  CHECK(tried == 4);
}

}  // namespace
}  // namespace tune
