// Checkpoints: committed, verified, adopted, set aside, swept; and what is refused.
// The disk is in memory; the crashes are in checkpoint_crash_test.cpp.
#include "tuner/store/checkpoint_store.h"

#include <cerrno>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/core/error.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;
using std::filesystem::path;
using Names = std::vector<std::string>;

const path trial = "/e/trial_00003";
const path first = "/e/trial_00003/checkpoint_000001";
const ManifestHeader header{"trial_00003",  1, 2, 30, R"({"loss":"NaN","acc":0.5})",
                            R"({"lr":0.1})"};

struct Fixture {
  MemoryFileSystem files;
  CheckpointStore store{files};
  path aside;

  Fixture() {
    files.put(trial / "stdout.log", "");
    aside = store.begin(trial, 1, 2);
  }
  void save(const path& name, std::string_view content) {
    files.make_directories((aside / name).parent_path());
    files.open_append(aside / name)->append(content);
  }
  CommittedCheckpoint commit() { return store.commit(aside, trial, header); }
};

TEST_CASE_METHOD(Fixture, "CheckpointStore makes what was written aside a checkpoint",
                 "[checkpoint_store][unit]") {
  CHECK(aside == trial / ".checkpoint_000001.tmp-2");
  save("weights.bin", "0123456789");
  save("empty", "");
  save("layers/2/bias", "abc");
  const CommittedCheckpoint committed = commit();
  CHECK(committed.bytes == 13);
  CHECK(committed.files == 3);
  CHECK(files.names(trial) ==
        Names{"checkpoint_000001/", "checkpoint_000001/empty", "checkpoint_000001/layers/",
              "checkpoint_000001/layers/2/", "checkpoint_000001/layers/2/bias",
              "checkpoint_000001/manifest.json", "checkpoint_000001/weights.bin", "stdout.log"});
  CHECK(!store.verify(first));
  const Json manifest = store.read_manifest(first);
  CHECK(manifest["manifest"] == 1);
  CHECK(manifest["trial_id"] == "trial_00003");
  CHECK(manifest["index"] == 1);
  CHECK(manifest["attempt"] == 2);
  CHECK(manifest["iteration"] == 30);
  CHECK(manifest["metrics"] == Json{{"loss", "NaN"}, {"acc", 0.5}});
  CHECK(manifest["config"] == Json{{"lr", 0.1}});
  CHECK(manifest["bytes"] == 13);
  REQUIRE(manifest["files"].size() == 3);
  CHECK(manifest["files"][0]["path"] == "empty");
  CHECK(manifest["files"][1]["path"] == "layers/2/bias");
  CHECK(manifest["files"][2]["path"] == "weights.bin");
}

TEST_CASE_METHOD(Fixture, "CheckpointStore checks a file the same in pieces of any size",
                 "[checkpoint_store][unit]") {
  std::string content;
  for (int i = 0; i < 5000; ++i) content += std::to_string(i);
  save("weights.bin", content);
  commit();
  for (const std::size_t piece : {1, 63, 64, 65, 1024, 100000}) {
    files.set_piece_bytes(piece);
    CHECK(!store.verify(first));
  }
}

TEST_CASE_METHOD(Fixture, "CheckpointStore writes an empty object where there are no metrics",
                 "[checkpoint_store][unit]") {
  save("a", "");
  store.commit(aside, trial, {"trial_00003", 1, 1, 0, "", ""});
  CHECK(store.read_manifest(first)["metrics"] == Json::object());
  CHECK(store.read_manifest(first)["config"] == Json::object());
}

TEST_CASE_METHOD(Fixture, "CheckpointStore begins with an empty directory",
                 "[checkpoint_store][unit]") {
  save("left/over", "x");
  CHECK(store.begin(trial, 1, 2) == aside);
  CHECK(files.list(aside).empty());
}

std::string commit_error(Fixture& fixture) {
  try {
    fixture.commit();
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::machine);
    return error.what();
  }
  return "";
}

TEST_CASE_METHOD(Fixture, "CheckpointStore refuses to commit what is no checkpoint",
                 "[checkpoint_store][unit]") {
  SECTION("an empty directory") {
    CHECK_THAT(commit_error(*this), Contains("nothing was saved in " + aside.native()));
  }
  SECTION("a directory of empty directories") {
    files.make_directories(aside / "a/b");
    CHECK_THAT(commit_error(*this), Contains("nothing was saved in"));
  }
  SECTION("a link, at any depth") {
    save("a/file", "x");
    files.put_link(aside / "a/link");
    CHECK_THAT(commit_error(*this),
               Contains((aside / "a/link").native() + " is neither a file nor a directory"));
  }
  SECTION("a manifest.json of the trainable's own") {
    save("manifest.json", "{}");
    CHECK_THAT(commit_error(*this), Contains("that name is taken"));
  }
  SECTION("a name that is not UTF-8") {
    save("a/\xff", "x");
    CHECK_THAT(commit_error(*this), Contains((aside / "a").native() + " is not UTF-8"));
  }
  SECTION("a link in place of the directory") {
    files.remove_tree(aside);
    files.put_link(aside);
    CHECK_THAT(commit_error(*this), Contains("is not a directory"));
  }
  SECTION("nothing in place of the directory") {
    files.remove_tree(aside);
    CHECK_THAT(commit_error(*this), Contains("is not a directory"));
  }
  SECTION("one whose name is taken") {
    files.put(first / "other", "");
    save("a", "x");
    CHECK_THAT(commit_error(*this), Contains("cannot rename"));
    CHECK(files.exists(first / "other"));
    store.remove(trial, 1);
  }
  CHECK(files.names(trial) == Names{"stdout.log"});
}

TEST_CASE_METHOD(Fixture, "CheckpointStore allows manifest.json in a subdirectory",
                 "[checkpoint_store][unit]") {
  save("model/manifest.json", "{}");
  commit();
  CHECK(!store.verify(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore tells damage by file and kind",
                 "[checkpoint_store][unit]") {
  save("a/weights", "0123456789");
  save("empty", "");
  commit();
  std::string expected;
  SECTION("a file is gone") {
    files.remove_file(first / "empty");
    expected = "the file empty is missing";
  }
  SECTION("a file is shorter") {
    files.truncate(first / "a/weights", 4);
    expected = "the file a/weights has 4 bytes, not 10";
  }
  SECTION("a file is longer") {
    files.open_append(first / "empty")->append("x");
    expected = "the file empty has 1 bytes, not 0";
  }
  SECTION("a file has changed") {
    files.put(first / "a/weights", "0123456780");
    expected = "the file a/weights has changed: its checksum is another";
  }
  SECTION("a directory stands in place of a file") {
    files.remove_file(first / "empty");
    files.make_directories(first / "empty");
    expected = "empty: Is a directory";
  }
  SECTION("it names a file of somebody else's") {
    files.put("/elsewhere", "0123456789");
    std::string manifest = files.read(first / "manifest.json");
    manifest.replace(manifest.find("a/weights"), 9, "/elsewhere");
    files.put(first / "manifest.json", manifest);
    expected = "its manifest names /elsewhere, which is not in it";
  }
  SECTION("it gives a size that is no number of bytes") {
    std::string manifest = files.read(first / "manifest.json");
    manifest.replace(manifest.find("\"bytes\":10,\"xxh3\"") + 8, 2, "1e99");
    files.put(first / "manifest.json", manifest);
    expected = "its manifest gives no number of bytes for a/weights";
  }
  SECTION("a file cannot be read") {
    files.fail_reading(first / "a/weights");
    expected = "a/weights: Input/output error";
  }
  SECTION("the manifest is gone") {
    files.remove_file(first / "manifest.json");
    expected = "manifest.json: No such file";
  }
  SECTION("the manifest is cut") {
    files.truncate(first / "manifest.json", 50);
    expected = "manifest.json is not a manifest";
  }
  SECTION("the manifest is another JSON") {
    files.put(first / "manifest.json", "[1]");
    expected = "manifest.json is not a manifest";
  }
  SECTION("the manifest lacks its files") {
    files.put(first / "manifest.json", R"({"manifest":1})");
    expected = "manifest.json does not say what it must";
  }
  SECTION("the manifest has files of another kind") {
    files.put(first / "manifest.json", R"({"manifest":1,"files":[{"path":7}]})");
    expected = "manifest.json does not say what it must";
  }
  SECTION("all of it is gone") {
    files.remove_tree(first);
    expected = "No such file";
  }
  const auto damage = store.verify(first);
  REQUIRE(damage);
  CHECK_THAT(*damage, Contains(expected));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore finds every changed bit of a file",
                 "[checkpoint_store][unit]") {
  const std::string content = "weights of a small model";
  save("w", content);
  commit();
  int flips = 0;
  for (std::size_t i = 0; i < content.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit, ++flips) {
      std::string changed = content;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      files.put(first / "w", changed);
      REQUIRE(store.verify(first));
    }
  }
  CHECK(flips == 192);
  files.put(first / "w", content);
  CHECK(!store.verify(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore reads a large file again only if it was written to",
                 "[checkpoint_store][unit]") {
  const std::string content(2 << 20, 'w');
  save("large", content);
  save("small", "x");
  commit();
  CheckpointStore fresh(files);  // of the next driver
  CHECK(!fresh.verify(first));
  files.fail_reading(first / "large");
  CHECK(!store.verify(first));  // read for the commit
  CHECK(!fresh.verify(first));  // read for the verification before
  files.put(first / "large", content);
  CHECK(store.verify(first));  // that it is the same as before, only reading can tell
  CHECK(CheckpointStore(files).verify(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore finds a changed bit of a large file that it has read",
                 "[checkpoint_store][unit]") {
  std::string content(2 << 20, 'w');
  save("large", content);
  commit();
  CHECK(!store.verify(first));
  SECTION("in the file") {
    content.back() ^= 1;
    files.put(first / "large", content);
  }
  SECTION("in its checksum") {
    std::string manifest = files.read(first / "manifest.json");
    char& digit = manifest[manifest.find("xxh3\":\"") + 7];
    digit = digit == '0' ? '1' : '0';
    files.put(first / "manifest.json", manifest);
  }
  SECTION("and its size") { files.truncate(first / "large", content.size() - 1); }
  CHECK(store.verify(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore does not mind files that no manifest names",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  files.put(first / "notes.txt", "looks good");
  CHECK(!store.verify(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore does not call a newer program's checkpoint damaged",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  files.put(first / "manifest.json", R"({"manifest":2})");
  CHECK_THROWS_WITH(store.verify(first), Contains("version 2") && Contains("up to 1"));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore adopts a directory by moving it",
                 "[checkpoint_store][unit]") {
  const path written = trial / ".reported_checkpoint_1";
  files.make_directories(written / "sub");
  files.open_append(written / "sub/a")->append("12345");
  const CommittedCheckpoint committed = store.adopt(written, trial, header);
  CHECK(committed.bytes == 5);
  CHECK(!store.verify(first));
  CHECK(!files.exists(written));
  CHECK(!files.exists(aside));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore adopts from another file system by copying",
                 "[checkpoint_store][unit]") {
  files.mount("/scratch");
  files.put("/scratch/out/sub/a", "12345");
  files.put("/scratch/out/b", "");
  SECTION("and removes the original once it is committed") {
    const CommittedCheckpoint committed = store.adopt("/scratch/out", trial, header);
    CHECK(committed.files == 2);
    CHECK(files.read(first / "sub/a") == "12345");
    CHECK(!store.verify(first));
    CHECK(files.names("/scratch").empty());
  }
  SECTION("and leaves the original if that fails") {
    files.limit_capacity(7);
    CHECK_THROWS_WITH(store.adopt("/scratch/out", trial, header), Contains("No space left"));
    CHECK(files.names("/scratch") == Names{"out/", "out/b", "out/sub/", "out/sub/a"});
    CHECK(files.names(trial) == Names{"stdout.log"});
  }
  SECTION("and refuses links in it") {
    files.put_link("/scratch/out/link");
    CHECK_THROWS_WITH(store.adopt("/scratch/out", trial, header),
                      Contains("/scratch/out/link is neither"));
  }
}

TEST_CASE_METHOD(Fixture, "CheckpointStore refuses to adopt what is no directory",
                 "[checkpoint_store][unit]") {
  SECTION("nothing") {
    CHECK_THROWS_WITH(store.adopt("/nowhere", trial, header), Contains("/nowhere"));
  }
  SECTION("a file") {
    files.put("/out", "x");
    CHECK_THROWS_WITH(store.adopt("/out", trial, header), Contains("is not a directory"));
  }
  SECTION("a link") {
    files.put_link("/out");
    CHECK_THROWS_WITH(store.adopt("/out", trial, header), Contains("is not a directory"));
  }
  CHECK(!files.exists(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore sets a damaged checkpoint aside under another name",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  store.set_aside(trial, 1);
  store.set_aside(trial, 1);
  CHECK(files.names(trial) == Names{"checkpoint_000001.corrupt/", "checkpoint_000001.corrupt/a",
                                    "checkpoint_000001.corrupt/manifest.json", "stdout.log"});
  files.crash();
  CHECK(!files.exists(first));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore sweeps what no record names and nothing else",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  store.begin(trial, 2, 2);
  files.put(trial / "checkpoint_000002/a", "");
  files.put(trial / "checkpoint_000003/a", "");
  files.put(trial / "checkpoint_000004.corrupt/a", "");
  files.put(trial / ".reported_checkpoint_7/a", "");
  files.put(trial / "checkpoint_best/a", "of the user");
  files.put(trial / "checkpoint_000005", "a file of the user");
  CHECK(store.sweep(trial, {1, 3}) ==
        Names{".checkpoint_000002.tmp-2", ".reported_checkpoint_7", "checkpoint_000002"});
  CHECK(files.names(trial) == Names{"checkpoint_000001/", "checkpoint_000001/a",
                                    "checkpoint_000001/manifest.json", "checkpoint_000003/",
                                    "checkpoint_000003/a", "checkpoint_000004.corrupt/",
                                    "checkpoint_000004.corrupt/a", "checkpoint_000005",
                                    "checkpoint_best/", "checkpoint_best/a", "stdout.log"});
  CHECK(store.sweep(trial, {1, 3}).empty());
  CHECK(store.sweep("/e/trial_00099", {}).empty());
}

TEST_CASE_METHOD(Fixture, "CheckpointStore discards what was written aside",
                 "[checkpoint_store][unit]") {
  save("a/b", "x");
  store.discard(aside);
  store.discard(aside);
  CHECK(files.names(trial) == Names{"stdout.log"});
}

TEST_CASE_METHOD(Fixture, "CheckpointStore removes a checkpoint, also one that is gone",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  store.remove(trial, 1);
  store.remove(trial, 1);
  CHECK(files.names(trial) == Names{"stdout.log"});
}

}  // namespace
}  // namespace tune
