// A trial with a checkpoint that is being written, on a disk in memory.
#pragma once

#include <string>
#include <vector>

#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"

namespace tune {

using std::filesystem::path;
using Names = std::vector<std::string>;

inline const path trial = "/e/trial_00003";
inline const path first = "/e/trial_00003/checkpoint_000001";
inline const CheckpointRef ref{TrialId{3}, 1};
inline const ManifestHeader header{ref, 2, 30, R"({"loss":"NaN","acc":0.5})", R"({"lr":0.1})"};

struct Fixture {
  MemoryFileSystem files;
  CheckpointStore store{files, "/e"};
  path aside;

  Fixture() {
    files.put(trial / "stdout.log", "");
    aside = store.begin(ref, 2);
  }
  void save(const path& name, std::string_view content) {
    files.make_directories((aside / name).parent_path());
    files.open_append(aside / name)->append(content);
  }
  CommittedCheckpoint commit() { return store.commit(header); }
};

}  // namespace tune
