// What a function trainable may hand over, by its name and by its content; and that nothing else is
// touched. The disk is in memory.
#include "tuner/checkpoints/handed_over.h"

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;
using std::filesystem::path;

const path experiment = "/runs/e";
const path trial = experiment / "trial_00003";
const path work = trial / "work";
const CheckpointRef second{TrialId{3}, 2};

struct World {
  MemoryFileSystem files;
  CheckpointStore store{files, experiment};

  World() {
    files.put(work / "ckpt/state", "new");
    files.put(work / "note", "");
    files.put(trial / "stdout.log", "");
    files.put(trial / "checkpoint_000001/state", "committed");
    files.put(trial / "checkpoint_000001/manifest.json", "{}");
    files.put(experiment / "trial_00004/work/ckpt/state", "another's");
    files.put(experiment / "trial_00004/checkpoint_000007/deep/state", "another's");
    files.put("/home/ckpt/state", "the user's");
  }

  HandedOver judge(const std::string& reported) { return store.judge(TrialId{3}, reported); }

  std::string refusal(const std::string& reported) {
    const auto before = files.names();
    const auto operations = files.operations();
    std::string sentence;
    try {
      store.adopt_checkpoint(second, 1, reported);
    } catch (const Error& error) {
      CHECK(error.fault() == Fault::machine);
      sentence = error.what();
    }
    CHECK(files.names() == before);
    CHECK(files.operations() == operations);
    return sentence;
  }
};

TEST_CASE_METHOD(World, "What is handed over is a directory of the trial's own, by its name",
                 "[handed_over][unit]") {
  const HandedOver given = judge("ckpt");
  CHECK(given.directory() == work / "ckpt");
  CHECK(!given.is_made_for_this());
  CHECK(store.adopt_checkpoint(second, 1, "ckpt") == work / "ckpt");
  CHECK(!files.exists(work / "ckpt"));
  CHECK(files.read(trial / ".checkpoint_000002.tmp-1/state") == "new");
}

TEST_CASE_METHOD(World, "What is no name is refused, wherever it leads", "[handed_over][unit]") {
  const std::string with_nul("ck\0pt", 5);
  for (const std::string& reported :
       {std::string(), std::string("."), std::string(".."), std::string("./ckpt"),
        std::string("ckpt/"), (work / "ckpt").native(), std::string("../checkpoint_000001"),
        std::string("../../trial_00004/work/ckpt"), std::string("/home/ckpt"), with_nul,
        std::string(5'000'000, 'x')}) {
    CHECK(refusal(reported).size() < 400);
    CHECK_THAT(
        refusal(reported),
        Contains("cannot be handed over: a checkpoint is reported by the name of a directory"));
  }
}

TEST_CASE_METHOD(World, "A working directory that is a link is the trial's own all the same",
                 "[handed_over][unit]") {
  files.rename(work, "/scratch");
  files.make_link("/scratch", work);
  files.make_link("/scratch/ckpt/state", "/scratch/ckpt/last");
  store.commit({second, 1, 5, "", ""}, store.adopt_checkpoint(second, 1, "ckpt"));
  CHECK(!files.exists("/scratch/ckpt"));
  CHECK(files.read_link(trial / "checkpoint_000002/last") == "state");
}

TEST_CASE_METHOD(World, "What is no directory of its own is refused", "[handed_over][unit]") {
  CHECK_THAT(refusal("none"), Contains((work / "none").native() + " cannot be handed over, and " +
                                       "stays as it is: there is nothing"));
  CHECK_THAT(refusal("note"), Contains("it is not a directory"));
  files.make_link("ckpt", work / "latest");
  CHECK_THAT(refusal("latest"), Contains("it is a link; report the directory itself"));
}

TEST_CASE("In an old experiment the driver's own names in the trial's directory are refused",
          "[handed_over][unit]") {
  World world;
  world.files.remove_tree(work);
  world.files.put(trial / "ckpt/state", "new");
  world.files.put(trial / "checkpoint_000002.corrupt/state", "");
  world.files.put(trial / ".checkpoint_000009.tmp-1/state", "");
  CHECK(world.judge("ckpt").directory() == trial / "ckpt");
  for (const char* const name :
       {"checkpoint_000001", "checkpoint_000002.corrupt", ".checkpoint_000009.tmp-1"}) {
    CHECK_THAT(world.refusal(name), Contains("that name is the driver's"));
  }
}

TEST_CASE_METHOD(World, "Content that no checkpoint may have is refused before it is touched",
                 "[handed_over][unit]") {
  std::string expected;
  SECTION("a link that leads out of it") {
    files.make_link("../note", work / "ckpt/link");
    expected = "the link " + (work / "ckpt/link").native() + " leads to ../note, out of";
  }
  SECTION("a link from the root on that leads out of it") {
    files.make_link("/home/ckpt/state", work / "ckpt/link");
    expected = "leads to /home/ckpt/state, out of the directory";
  }
  SECTION("a link that leads out of it through another one") {
    files.put(work / "ckpt/a/b/x", "");
    files.make_link("a/b", work / "ckpt/deep");
    files.make_link("deep/../../../note", work / "ckpt/link");
    expected = "leads to deep/../../../note, out of the directory";
  }
  SECTION("a link that leads out of it through as many as a kernel follows") {
    files.put(work / "ckpt/0/x", "");
    constexpr int most_links = 40;  // of Linux, with the one that begins
    for (int i = 1; i < most_links; ++i) {
      files.make_link(std::to_string(i - 1), work / "ckpt" / std::to_string(i));
    }
    files.make_link("39/../../note", work / "ckpt/link");
    expected = "leads to 39/../../note, out of the directory";
  }
  SECTION("a socket") {
    files.put_socket(work / "ckpt/socket");
    expected = "is neither a file, a directory nor a link";
  }
  SECTION("a manifest") {
    files.put(work / "ckpt/manifest.json", "{}");
    expected = "that name is taken";
  }
  SECTION("a name that is not UTF-8") {
    files.put(work / "ckpt/caf\xe9", "");
    expected = "is not UTF-8";
  }
  SECTION("nothing at all") {
    files.remove_file(work / "ckpt/state");
    expected = "nothing was saved in " + (work / "ckpt").native();
  }
  CHECK_THAT(refusal("ckpt"), Contains(expected));
}

TEST_CASE_METHOD(World, "Links that stay inside are kept, those from the root on as relative ones",
                 "[handed_over][unit]") {
  const path ckpt = work / "ckpt";
  files.put(ckpt / "a/b/x", "");
  files.make_link("../state", ckpt / "a/up");
  files.make_link(ckpt / "a/b/x", ckpt / "a/absolute");
  files.make_link("a/b", ckpt / "deep");
  files.make_link("deep/../../state", ckpt / "through");
  files.make_link("gone.pt", ckpt / "dangling");
  files.make_link("circle", ckpt / "circle");
  files.make_link(".", ckpt / "itself");
  const path origin = store.adopt_checkpoint(second, 1, "ckpt");
  store.commit({second, 1, 5, "", ""}, origin);
  const path kept = trial / "checkpoint_000002";
  CHECK(files.read_link(kept / "a/up") == "../state");
  CHECK(files.read_link(kept / "a/absolute") == "b/x");
  CHECK(files.read_link(kept / "dangling") == "gone.pt");
  CHECK(store.read_manifest(second)["links"].size() == 7);
  CHECK(!store.verify(second));
  CHECK(!files.exists(ckpt));
}

TEST_CASE_METHOD(World, "What cannot be committed is given back, beside what has its name by then",
                 "[handed_over][unit]") {
  const path origin = store.adopt_checkpoint(second, 1, "ckpt");
  files.put(work / "ckpt/state", "written meanwhile");
  files.fail_reading(trial / ".checkpoint_000002.tmp-1/state");
  CHECK_THROWS_WITH(store.commit({second, 1, 5, "", ""}, origin), Contains("Input/output error"));
  CHECK(files.read(work / "ckpt/state") == "written meanwhile");
  CHECK(files.read(work / "ckpt.not_saved-1/state") == "new");
  CHECK(!files.exists(trial / ".checkpoint_000002.tmp-1"));
}

TEST_CASE_METHOD(World, "Only what was made to be handed over is ever discarded",
                 "[handed_over][unit]") {
  files.put(work / ".reported_checkpoint_1/state", "");
  const auto before = files.names();
  store.discard(TrialId{3}, "ckpt");
  CHECK_THROWS_AS(store.discard(TrialId{3}, "/home/.reported_checkpoint_1"), Error);
  CHECK_THROWS_AS(store.discard(TrialId{3}, "../checkpoint_000001"), Error);
  CHECK_THROWS_AS(store.discard(TrialId{3}, "."), Error);
  CHECK(files.names() == before);
  store.discard(TrialId{3}, ".reported_checkpoint_1");
  CHECK(!files.exists(work / ".reported_checkpoint_1"));
}

}  // namespace
}  // namespace tune
