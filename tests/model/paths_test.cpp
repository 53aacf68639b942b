// The names in an experiment's directory.
// Needs no disk.
#include "tuner/model/paths.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("The name of a checkpoint's directory on a remote is read as it is written, and no other",
          "[paths]") {
  CHECK(paths::parse_remote_checkpoint("trial_00003/checkpoint_000001.3f9c0a71b2c4d5e6") ==
        CheckpointRef{TrialId{3}, 1});
  for (const char* const name :
       {"", "trial_00003", "trial_00003/checkpoint_000001", "trial_00003/checkpoint_000001.",
        "trial_00003/checkpoint_000001.3F", "trial_00003/checkpoint_000001.3f/x",
        "trial_00003/checkpoint_000001.3f.COMMIT.json", "3/checkpoint_000001.3f",
        "trial_3/checkpoint_000001.3f", "trial_00003/checkpoint_1.3f",
        "trial_00003/checkpoint_000000.3f", "trial_00003/../checkpoint_000001.3f",
        "trial_00003//checkpoint_000001.3f", "../trial_00003/checkpoint_000001.3f", "..",
        "trial_00003/checkpoint_000001...", "trial_00003.3f/checkpoint_000001"}) {
    INFO(name);
    CHECK_FALSE(paths::parse_remote_checkpoint(name));
  }
}

TEST_CASE("Names of an experiment's files are those of the reference page", "[paths][unit]") {
  CHECK(paths::spec("/e") == "/e/experiment.json");
  CHECK(paths::lock("/e") == "/e/LOCK");
  CHECK(paths::current("/e") == "/e/CURRENT");
  CHECK(paths::journal("/e", 3) == "/e/journal-3.jsonl");
  CHECK(paths::trial("/e", TrialId{12}) == "/e/trial_00012");
  CHECK(paths::standard_output("/e/t") == "/e/t/stdout.log");
  CHECK(paths::standard_error("/e/t") == "/e/t/stderr.log");
  CHECK(paths::checkpoint("/t", 1) == "/t/checkpoint_000001");
  CHECK(paths::checkpoint("/t", 1234567) == "/t/checkpoint_1234567");
  CHECK(paths::checkpoint_aside("/t", 1, 2) == "/t/.checkpoint_000001.tmp-2");
  CHECK(paths::checkpoint_corrupt("/t", 1) == "/t/checkpoint_000001.corrupt");
  CHECK(paths::manifest("/t/c") == "/t/c/manifest.json");
}

TEST_CASE("Only the name of a committed checkpoint parses as one", "[paths][unit]") {
  for (const int index : {1, 42, 999999, 1000000, 2147483647}) {
    CHECK(paths::parse_checkpoint(paths::checkpoint("", index).native()) == index);
  }
  for (const char* name :
       {"", "checkpoint_", "checkpoint_1", "checkpoint_000000", "checkpoint_-00001",
        "checkpoint_0000001", "checkpoint_000001.corrupt", ".checkpoint_000001.tmp-1",
        "checkpoint_000001x", "checkpoint_99999999999", "Checkpoint_000001"}) {
    CAPTURE(name);
    CHECK(!paths::parse_checkpoint(name));
  }
}

TEST_CASE("What is written aside for any of our files is known by its name", "[paths][unit]") {
  for (const auto& file : {paths::spec(""), paths::current(""), paths::journal("", 3),
                           paths::snapshot("", 3), paths::trials("", 3), paths::history("")}) {
    CAPTURE(file);
    CHECK(paths::is_written_aside("." + file.native() + ".tmp-4711-2"));
    CHECK(!paths::is_written_aside(file.native() + ".tmp-4711-2"));
    CHECK(!paths::is_written_aside("." + file.native() + ".tmp-mine"));
  }
}

TEST_CASE("A checkpoint being written is known by its name", "[paths][unit]") {
  CHECK(paths::parse_checkpoint_aside(paths::checkpoint_aside("", 7, 1).native()) == 7);
  CHECK(!paths::parse_checkpoint_aside(".checkpoint_of_mine"));
  CHECK(!paths::parse_checkpoint_aside(".checkpoint_000007.tmp-"));
  CHECK(!paths::parse_checkpoint_aside(".checkpoint_7.tmp-1"));
  CHECK(!paths::parse_checkpoint_aside("checkpoint_000007"));
  CHECK(!paths::parse_checkpoint_aside("checkpoint_000007.corrupt"));
  CHECK(!paths::parse_checkpoint_aside("stdout.log"));
  CHECK(paths::is_reported_checkpoint(".reported_checkpoint_3"));
  CHECK(!paths::is_reported_checkpoint("reported_checkpoint_3"));
}

TEST_CASE("All names that the driver gives to checkpoints are known", "[paths][unit]") {
  CHECK(paths::is_of_checkpoint(paths::checkpoint("", 7).native()));
  CHECK(paths::is_of_checkpoint(paths::checkpoint_aside("", 7, 1).native()));
  CHECK(paths::is_of_checkpoint(paths::checkpoint_corrupt("", 7).native()));
  CHECK(!paths::is_of_checkpoint("checkpoint_7"));
  CHECK(!paths::is_of_checkpoint("work"));
  CHECK(!paths::is_of_checkpoint(".corrupt"));
}

}  // namespace
}  // namespace tune
