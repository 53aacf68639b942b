#include "tuner/remote/upload_memory.h"

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/journal/journal.h"

namespace tune {

namespace {

const std::filesystem::path experiment = "/results/digits";
const CheckpointRef first{TrialId{3}, 1};

}  // namespace

TEST_CASE("What is up is remembered by the next driver, in whatever line its file was cut off") {
  MemoryFileSystem files;
  {
    UploadMemory memory(files, experiment, "s3:bucket/digits");
    memory.set_identity({"e", "o", 4});
    memory.begin("trial_00003/checkpoint_000001.aa");
    memory.commit(first, "trial_00003/checkpoint_000001.aa");
    memory.begin("trial_00003/checkpoint_000002.bb");
    memory.add_file("trial_00003/result.json", {10, 20});
  }
  const auto log = remote_directory(experiment) / "uploaded.jsonl";
  const std::string whole = files.read(log);
  {
    const UploadMemory memory(files, experiment, "s3:bucket/digits");
    CHECK(memory.identity().session == 4);
    CHECK(memory.checkpoints().at(first) == "trial_00003/checkpoint_000001.aa");
    CHECK(memory.begun().contains("trial_00003/checkpoint_000002.bb"));
    CHECK(memory.has("trial_00003/result.json", {10, 20}));
    CHECK_FALSE(memory.has("trial_00003/result.json", {11, 20}));
  }
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    INFO("cut to " << size);
    files.replace(log, whole.substr(0, size));
    const UploadMemory memory(files, experiment, "s3:bucket/digits");
    // Less than there is costs an upload; more would cost a checkpoint.
    CHECK(memory.checkpoints().size() <= 1);
    CHECK(memory.identity().session == (memory.identity().experiment.empty() ? 0 : 4));
  }
}

TEST_CASE("What is on one remote is not taken for what is on another") {
  MemoryFileSystem files;
  {
    UploadMemory memory(files, experiment, "s3:bucket/digits");
    memory.set_identity({"e", "o", 4});
    memory.commit(first, "trial_00003/checkpoint_000001.aa");
  }
  const UploadMemory memory(files, experiment, "s3:other/digits");
  CHECK(memory.checkpoints().empty());
  CHECK(memory.identity().experiment == "e");
  CHECK(memory.identity().owner.empty());
}

TEST_CASE("What is remembered of a directory that no checkpoint has is not asked for or removed") {
  MemoryFileSystem files;
  std::string text;
  const auto add = [&text](const std::string& line) { append_journal_line(text, line); };
  add(R"({"remote":"s3:bucket/digits","experiment":"e","owner":"o","session":4})");
  for (const char* const directory : {"", "..", ".", "trial_00003", "trial_00003/checkpoint_000001",
                                      "../other/trial_00003/checkpoint_000001.aa"}) {
    add(R"({"begun":")" + std::string(directory) + R"("})");
    add(R"({"up":")" + std::string(directory) + R"(","trial":"trial_00003","index":1})");
  }
  // Its name says which one it is.
  add(R"({"up":"trial_00003/checkpoint_000002.bb","trial":"trial_00007","index":9})");
  add(R"({"begun":7})");
  add(R"({"file":"a","bytes":-1,"modified_ns":1e300})");
  add(R"({"begun":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  files.put(remote_directory(experiment) / "uploaded.jsonl", text);
  const UploadMemory memory(files, experiment, "s3:bucket/digits");
  CHECK(memory.identity().session == 4);
  CHECK(memory.begun().empty());
  REQUIRE(memory.checkpoints().size() == 1);
  CHECK(memory.checkpoints().contains(CheckpointRef{TrialId{3}, 2}));
}

TEST_CASE("What is up is never taken for the rest of an upload, which would be removed") {
  MemoryFileSystem files;
  const std::string up = "trial_00003/checkpoint_000001.aa";
  std::string text;
  const std::vector<std::string> lines = {
      R"({"remote":"s3:bucket/digits","experiment":"e","owner":"o","session":4})",
      R"({"begun":")" + up + R"("})", R"({"up":")" + up + R"(","trial":"trial_00003","index":1})",
      R"({"begun":")" + up + R"("})"};
  for (const std::string& line : lines) append_journal_line(text, line);
  files.put(remote_directory(experiment) / "uploaded.jsonl", text);
  UploadMemory memory(files, experiment, "s3:bucket/digits");
  CHECK(memory.begun().empty());
  CHECK(memory.checkpoints().at(first) == up);
}

}  // namespace tune
