#include "tuner/remote/object_names.h"

#include "tests/support/catch.h"

namespace tune {

TEST_CASE("Files beside the state have names of their own, in places that are nobody else's") {
  for (const char* const name :
       {"notes.txt", "experiment.json", "trial_00003/result.json",
        "trial_00003/stdout.rank_00001.log", "trial_00003/checkpoint_notes", "trial_00003/a b",
        "\xc3\xa4.txt"}) {
    INFO(name);
    CHECK(is_small_file(name));
  }
  for (const char* const name :
       {"", "/etc/passwd", "..", "../x", "a/../b", "sub/file", "trial_00003/../x",
        "trial_00003/sub/file", "3/result.json", "trial_3/x", "trial_00003/", "trial_00003//x",
        // Of the state, of the driver, of the remote.
        "CURRENT", "LOCK", "LOCK.tmp", "control.sock", "history.jsonl", "journal-7.jsonl",
        "journal-7.jsonl.damaged-1", "snapshot-2.json", "trials-1.jsonl", "LEASE.json", "state",
        "remote",
        // Places of directories.
        "trial_00003", "trial_00003/work", "trial_00003/checkpoint_000001",
        // Of checkpoints.
        "trial_00003/checkpoint_000001.3f9c.COMMIT.json",
        "trial_00003/checkpoint_000001.remote.json", "trial_00003/checkpoint_000001.corrupt",
        // What a shell or a driver looks for, what is being written, and what makes two lines.
        ".bash_profile", "trial_00003/.checkpoint_000001.tmp-0", "a\n../../x", "trial_00003/a\r"}) {
    INFO(name);
    CHECK_FALSE(is_small_file(name));
  }
}

TEST_CASE("Names that a store does not list, or rclone changes, are not put there",
          "[remote][unit]") {
  for (const char* const name : {"a", "sub/größe", "a b", "%41", "a\\b", "*?[x]", "..a"}) {
    CHECK(is_fit_for_stores(name));
  }
  for (const char* const name : {"a\x1b"
                                 "b",
                                 "sub/a\nb", "\r", "a\x7f", "\x01",
                                 "a\u201b"
                                 "b"}) {
    CHECK_FALSE(is_fit_for_stores(name));
  }
}

}  // namespace tune
