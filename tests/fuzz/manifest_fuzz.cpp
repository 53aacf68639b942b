// A checkpoint's manifest: any bytes say that the checkpoint is whole, what is wrong with it, or
// that the manifest is of a newer program. Nothing outside of the checkpoint is read for it.
#include <cstdint>
#include <string>

#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tune::MemoryFileSystem files;
  const std::filesystem::path checkpoint = "/exp/trial_00000/checkpoint_000001";
  files.put(checkpoint / "weights", "0123456789");
  files.put(checkpoint / "layers" / "bias", "abc");
  files.put(checkpoint / "manifest.json", {reinterpret_cast<const char*>(data), size});
  files.put("/exp/outside", "0123456789");
  tune::CheckpointStore store(files, "/exp");
  const tune::CheckpointRef ref{tune::TrialId{0}, 1};
  try {
    const auto damage = store.verify(ref);
    tune::ensure(!damage || !damage->empty(), "damage is said in words");
    // What is whole is named, and is in it.
    if (damage) return 0;
    const tune::Json manifest = store.read_manifest(ref);
    for (const auto& entry : manifest.at("files")) {
      const std::filesystem::path name = entry.at("path").get<std::string>();
      const auto place = (checkpoint / name).lexically_normal();
      const auto from = place.lexically_relative(checkpoint);
      tune::ensure(*from.begin() != "..", "a checkpoint's files are in it");
    }
  } catch (const tune::Error&) {
  }
  return 0;
}
