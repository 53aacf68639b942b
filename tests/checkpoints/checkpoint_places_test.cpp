// Checkpoints where a trial's directory, or the checkpoint, is not where it is expected: links,
// other file systems, other experiments, drivers of before. The disk is in memory.
#include <cerrno>

#include "tests/checkpoints/checkpoint_fixture.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;

TEST_CASE_METHOD(Fixture, "CheckpointStore changes nothing behind a link in a trial's place",
                 "[checkpoint_store][unit]") {
  files.put("/mine/checkpoint_000001/precious", "1");
  files.put("/mine/.reported_checkpoint_x/precious", "1");
  files.put("/mine/work/.reported_checkpoint_x/precious", "1");
  const Names before = files.names("/mine");
  files.remove_tree(trial);
  files.make_link("/mine", trial);
  const std::string sentence = "is a link where the directory of trial_00003 belongs";
  CHECK_THROWS_WITH(store.make_working_directory(TrialId{3}), Contains(sentence));
  CHECK_THROWS_WITH(store.begin(ref, 3), Contains(sentence));
  CHECK_THROWS_WITH(commit(), Contains(sentence));
  CHECK_THROWS_WITH(store.remove(ref), Contains(sentence));
  CHECK_THROWS_WITH(store.discard(ref, 2), Contains(sentence));
  CHECK_THROWS_WITH(store.set_aside(ref), Contains(sentence));
  const auto swept = store.sweep(TrialId{3}, {});
  CHECK(swept.removed.empty());
  REQUIRE(swept.problems.size() == 1);
  CHECK_THAT(swept.problems[0], Contains(sentence));
  CHECK(files.names("/mine") == before);
}

TEST_CASE_METHOD(Fixture, "A working directory without room is told from one whose place is taken",
                 "[checkpoint_store][unit]") {
  const auto is_not_made = [&] {
    try {
      store.make_working_directory(TrialId{3});
    } catch (const NotMade&) {
      return true;
    } catch (const Error&) {
      return false;
    }
    FAIL("it was made");
    return false;
  };
  files.remove_tree(trial);
  files.fail_operation(1, ENOSPC);
  CHECK(is_not_made());
  files.put(trial / "work", "a file");
  CHECK_FALSE(is_not_made());
  files.remove_tree(trial);
  files.put(trial, "a file");
  CHECK_FALSE(is_not_made());
}

TEST_CASE_METHOD(Fixture, "A config that finds no room is told from one whose place is taken",
                 "[checkpoint_store][unit]") {
  store.make_working_directory(ref.trial);
  files.fail_operation(1, ENOSPC);
  CHECK_THROWS_AS(store.write_config(ref.trial, "{}"), NotMade);
  const path place = store.write_config(ref.trial, "{}");
  files.remove_file(place);
  files.make_directories(place);
  files.fail_operation(1, EISDIR);
  try {
    store.write_config(ref.trial, "{}");
    FAIL("it was made");
  } catch (const Error& error) {
    CHECK(dynamic_cast<const NotMade*>(&error) == nullptr);
  }
}

TEST_CASE_METHOD(Fixture, "CheckpointStore sweeps nothing behind a link in place of work",
                 "[checkpoint_store][unit]") {
  files.put("/mine/.reported_checkpoint_x/precious", "1");
  files.make_link("/mine", trial / "work");
  CHECK(store.sweep(TrialId{3}, {}).problems.empty());
  CHECK(files.exists("/mine/.reported_checkpoint_x/precious"));
}

/// The working directories of trials lie on a file system of their own.
struct TwoDevices : MemoryFileSystem {
  void rename(const path& from, const path& to) override {
    const auto is_in_work = [](const path& file) {
      return file.native().find("/work/") != std::string::npos;
    };
    if (is_in_work(from) != is_in_work(to)) {
      throw CrossDeviceError(file_error("cannot rename", from.native(), EXDEV));
    }
    MemoryFileSystem::rename(from, to);
  }
};

TEST_CASE("CheckpointStore copies from another file system, and gives back by a copy",
          "[checkpoint_store][unit]") {
  TwoDevices files;
  CheckpointStore store(files, "/e");
  const path given = trial / "work/ck";
  files.put(given / "layers/w", "123");
  const path origin = store.adopt_checkpoint(ref, 2, "ck");
  const path aside = trial / ".checkpoint_000001.tmp-2";
  CHECK(origin == given);
  CHECK_FALSE(files.exists(given));
  CHECK(files.read(aside / "layers/w") == "123");
  SECTION("whole") {
    CHECK(store.commit(header, origin).bytes == 3);
    CHECK_FALSE(store.verify(ref));
    CHECK_FALSE(files.exists(given));
  }
  SECTION("not to be committed") {
    files.put(aside / "manifest.json", "taken");
    CHECK_THROWS_AS(store.commit(header, origin), Error);
    CHECK(files.read(given / "layers/w") == "123");
  }
  CHECK_FALSE(files.exists(aside));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore verifies a checkpoint of another experiment",
                 "[checkpoint_store][unit]") {
  save("weights.bin", "0123456789");
  commit();
  files.rename(first, "/elsewhere");
  CHECK_FALSE(store.verify_foreign("/elsewhere"));
  files.put("/elsewhere/weights.bin", "0123456780");
  CHECK_THAT(*store.verify_foreign("/elsewhere"), Contains("weights.bin has changed"));
  // Its links are judged as those of a remote's are, also where they are as its manifest says.
  for (const std::string target : {"/etc/passwd", "../secret"}) {
    files.put("/elsewhere/weights.bin", "0123456789");
    Json json = Json::parse(files.read("/elsewhere/manifest.json"));
    json["links"] = {{{"path", "last"}, {"target", target}}};
    files.put("/elsewhere/manifest.json", json.dump());
    files.remove_tree("/elsewhere/last");
    files.make_link(target, "/elsewhere/last");
    CHECK(store.verify_foreign("/elsewhere"));
  }
  files.remove_file("/elsewhere/manifest.json");
  CHECK_FALSE(store.verify_foreign("/elsewhere"));
}

TEST_CASE("CheckpointStore gives a trial a working directory, an old one its own",
          "[checkpoint_store][unit]") {
  MemoryFileSystem files;
  CheckpointStore store(files, "/e");
  const path work = "/e/trial_00003/work";
  SECTION("a new trial") {
    CHECK(store.make_working_directory(ref.trial) == work);
    files.put(trial / "stdout.log", "");
    CHECK(store.make_working_directory(ref.trial) == work);
    CHECK(files.exists(work));
  }
  SECTION("one that has a directory, but was never launched") {
    files.put(trial / "params.json", "");
    CHECK(store.make_working_directory(ref.trial) == work);
  }
  SECTION("one that a driver without working directories has launched") {
    files.put(trial / "stdout.log", "");
    CHECK(store.make_working_directory(ref.trial) == trial);
    CHECK(!files.exists(work));
  }
}

}  // namespace
}  // namespace tune
