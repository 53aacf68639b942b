// Checkpoints: committed, verified, adopted, set aside, swept; and what is refused.
// The disk is in memory; the crashes are in checkpoint_crash_test.cpp.
#include "tuner/checkpoints/checkpoint_store.h"

#include <cerrno>

#include "tests/checkpoints/checkpoint_fixture.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;

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
  CHECK(!store.verify(ref));
  const Json manifest = store.read_manifest(ref);
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
    CHECK(!store.verify(ref));
  }
}

TEST_CASE_METHOD(Fixture, "CheckpointStore keeps results that its trial has not come to",
                 "[checkpoint_store][unit]") {
  save("a", "");
  ManifestHeader ahead = header;
  ahead.results = {{29, R"({"loss":"NaN"})"}, {30, R"({"loss":0.25,"acc":0.5})"}};
  ahead.counts = {"step 20", "Schritt \xff 40"};
  store.commit(ahead);
  CHECK(!store.verify(ref));
  CHECK(store.results(ref).counts == std::vector<std::string>{"step 20", "Schritt \ufffd 40"});
  const auto results = store.results(ref).ahead;
  REQUIRE(results.size() == 2);
  CHECK(results[0].iteration == 29);
  CHECK(Json::parse(results[0].metrics) == Json{{"loss", "NaN"}});
  CHECK(results[1].iteration == 30);
  CHECK(Json::parse(results[1].metrics) == Json{{"loss", 0.25}, {"acc", 0.5}});

  Json manifest = store.read_manifest(ref);
  const auto refuses = [&](const Json& written) {
    manifest["results"] = written;
    files.put(first / "manifest.json", manifest.dump());
    CHECK_THROWS_AS(store.results(ref), Error);
  };
  refuses("many");
  refuses({{{"training_iteration", 30}}});
  refuses({{{"training_iteration", 30}, {"metrics", 3}}});
  refuses({{{"training_iteration", 29}, {"metrics", Json::object()}}});
  refuses({{{"training_iteration", 30}, {"metrics", Json::object()}},
           {{"training_iteration", 30}, {"metrics", Json::object()}}});
  manifest.erase("results");
  manifest["counts"] = {"step 20", 40};
  files.put(first / "manifest.json", manifest.dump());
  CHECK_THROWS_AS(store.results(ref), Error);
  manifest.erase("counts");
  files.put(first / "manifest.json", manifest.dump());
  CHECK(store.results(ref).ahead.empty());
  CHECK_FALSE(store.results(ref).is_guess);
  manifest["saved"] = "unknown";
  files.put(first / "manifest.json", manifest.dump());
  CHECK(store.results(ref).is_guess);
}

TEST_CASE_METHOD(Fixture, "CheckpointStore writes an empty object where there are no metrics",
                 "[checkpoint_store][unit]") {
  save("a", "");
  store.commit({ref, 2, 0, "", ""});
  CHECK(store.read_manifest(ref)["metrics"] == Json::object());
  CHECK(store.read_manifest(ref)["config"] == Json::object());
}

TEST_CASE_METHOD(Fixture, "CheckpointStore begins with an empty directory",
                 "[checkpoint_store][unit]") {
  save("left/over", "x");
  CHECK(store.begin(ref, 2) == aside);
  CHECK(files.list(aside).empty());
}

TEST_CASE_METHOD(Fixture, "CheckpointStore copies what a program has saved, and puts it back",
                 "[checkpoint_store][unit]") {
  const path root = trial / "work/checkpoints";
  files.put(root / "c-1/model/weights", "0123");
  files.put(root / "c-2/model/weights", "45");
  files.put(root / "last.pt", "6");
  SECTION("a directory") {
    store.copy(ref, 2, root, "c-1");
    CHECK(files.read(aside / "c-1/model/weights") == "0123");
    CHECK(files.list(aside).size() == 1);
  }
  SECTION("a file") {
    store.copy(ref, 2, root, "last.pt");
    CHECK(files.read(aside / "last.pt") == "6");
    CHECK(files.list(aside).size() == 1);
  }
  SECTION("all that is there") {
    store.copy(ref, 2, root, "");
    CHECK(files.list(aside).size() == 3);
  }
  const std::size_t count = files.list(aside).size();
  commit();
  CHECK(files.read(root / "c-1/model/weights") == "0123");
  store.clear(ref.trial, "checkpoints", {""});
  CHECK(files.list(root).empty());
  store.put_back(first, root);
  CHECK(files.list(root).size() == count);
  CHECK_FALSE(files.exists(root / "manifest.json"));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore writes a trial's config beside its working directory",
                 "[checkpoint_store][unit]") {
  CHECK(store.write_config(ref.trial, R"({"lr":1})") == trial / "args.json");
  CHECK(store.write_config(ref.trial, R"({"lr":2})") == trial / "args.json");
  CHECK(files.read(trial / "args.json") == "{\"lr\":2}\n");
}

TEST_CASE_METHOD(Fixture, "CheckpointStore clears what it is given, and makes what is missing",
                 "[checkpoint_store][unit]") {
  const path root = trial / "work";
  files.make_directories(root);
  store.clear(ref.trial, "checkpoints", {});
  CHECK(files.exists(root / "checkpoints"));
  files.put(root / "last.pt", "6");
  files.put(root / "c-1/weights", "6");
  files.put(root / "data.csv", "6");
  store.clear(ref.trial, "", {"last.pt", "c-1", "gone"});
  CHECK_FALSE(files.exists(root / "last.pt"));
  CHECK_FALSE(files.exists(root / "c-1"));
  CHECK(files.exists(root / "data.csv"));
}

TEST_CASE_METHOD(Fixture,
                 "CheckpointStore removes nothing behind a link, of a mount, or in a file's place",
                 "[checkpoint_store][unit]") {
  files.put("/home/mine", "6");
  files.make_directories(trial / "work");
  SECTION("the directory of its checkpoints") {
    files.make_link("/home", trial / "work/checkpoints");
    CHECK_THROWS_WITH(store.clear(ref.trial, "checkpoints", {""}), Contains("is a link where"));
    CHECK_THROWS_WITH(store.copy(ref, 2, trial / "work/checkpoints", "mine"),
                      Contains("is a link where"));
  }
  SECTION("its working directory") {
    files.remove_tree(trial / "work");
    files.make_link("/home", trial / "work");
    CHECK_THROWS_WITH(store.clear(ref.trial, "", {"mine"}), Contains("is a link where"));
    CHECK_THROWS_WITH(store.copy(ref, 2, trial / "work", "mine"), Contains("is a link where"));
  }
  SECTION("a file") {
    files.put(trial / "work/checkpoints", "");
    CHECK_THROWS_WITH(store.clear(ref.trial, "checkpoints", {""}), Contains("is a file where"));
  }
  CHECK(files.read("/home/mine") == "6");
}

TEST_CASE_METHOD(Fixture, "CheckpointStore leaves nothing of what it cannot copy",
                 "[checkpoint_store][unit]") {
  const path root = trial / "work";
  files.put(root / "c-1/weights", "6");
  files.put(root / "c-1/manifest.json", "6");
  CHECK_THROWS_WITH(store.copy(ref, 2, root, "gone"), Contains("is not there any more"));
  CHECK_FALSE(files.exists(aside));
  CHECK_THROWS_WITH(store.copy(ref, 2, root, "c-1"), Contains("that name is taken"));
  CHECK_FALSE(files.exists(aside));
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
  SECTION("a link out of it, at any depth") {
    save("a/file", "x");
    files.make_link("../../other", aside / "a/link");
    CHECK_THAT(commit_error(*this), Contains("the link " + (aside / "a/link").native() +
                                             " leads to ../../other, out of the directory"));
  }
  SECTION("a socket, at any depth") {
    save("a/file", "x");
    files.put_socket(aside / "a/socket");
    CHECK_THAT(commit_error(*this), Contains((aside / "a/socket").native() +
                                             " is neither a file, a directory nor a link"));
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
    files.make_link("/elsewhere", aside);
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
    store.remove(ref);
  }
  CHECK(files.names(trial) == Names{"stdout.log"});
}

TEST_CASE_METHOD(Fixture, "CheckpointStore allows manifest.json in a subdirectory",
                 "[checkpoint_store][unit]") {
  save("model/manifest.json", "{}");
  commit();
  CHECK(!store.verify(ref));
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
    expected = "it is not there";
  }
  const auto damage = store.verify(ref);
  REQUIRE(damage);
  CHECK_THAT(*damage, Contains(expected));
}

TEST_CASE_METHOD(Fixture, "Only where there is a remote does a lacking checkpoint mention it",
                 "[checkpoint_store][unit]") {
  CHECK(store.verify(ref) == "it is not there");
  CHECK(CheckpointStore(files, "/e", true).verify(ref) ==
        "it is not there; a copy from a remote lacks what was not up yet");
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
      REQUIRE(store.verify(ref));
    }
  }
  CHECK(flips == 192);
  files.put(first / "w", content);
  CHECK(!store.verify(ref));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore reads a large file again only if it was written to",
                 "[checkpoint_store][unit]") {
  const std::string content(2 << 20, 'w');
  save("large", content);
  save("small", "x");
  commit();
  CheckpointStore fresh(files, "/e");  // of the next driver
  CHECK(!fresh.verify(ref));
  files.fail_reading(first / "large");
  CHECK(!store.verify(ref));  // read for the commit
  CHECK(!fresh.verify(ref));  // read for the verification before
  files.put(first / "large", content);
  CHECK(store.verify(ref));  // that it is the same as before, only reading can tell
  CHECK(CheckpointStore(files, "/e").verify(ref));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore finds a changed bit of a large file that it has read",
                 "[checkpoint_store][unit]") {
  std::string content(2 << 20, 'w');
  save("large", content);
  commit();
  CHECK(!store.verify(ref));
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
  CHECK(store.verify(ref));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore does not mind files that no manifest names",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  files.put(first / "notes.txt", "looks good");
  CHECK(!store.verify(ref));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore does not call a newer program's checkpoint damaged",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  files.put(first / "manifest.json", R"({"manifest":2})");
  CHECK_THROWS_WITH(store.verify(ref), Contains("version 2") && Contains("up to 1"));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore keeps links that stay in the checkpoint",
                 "[checkpoint_store][unit]") {
  save("epochs/1.pt", "12345");
  files.make_link("epochs/1.pt", aside / "last.pt");
  files.make_link((aside / "epochs/1.pt").native(), aside / "epochs/best.pt");
  CHECK(commit().files == 1);
  CHECK(files.read_link(first / "last.pt") == "epochs/1.pt");
  CHECK(files.read_link(first / "epochs/best.pt") == "1.pt");
  CHECK(store.read_manifest(ref)["links"] ==
        Json::parse(R"([{"path":"epochs/best.pt","target":"1.pt"},
                        {"path":"last.pt","target":"epochs/1.pt"}])"));
  CHECK(!store.verify(ref));
  SECTION("and notices one that is gone") {
    files.remove_file(first / "last.pt");
    CHECK(store.verify(ref) == "the link last.pt is missing");
  }
  SECTION("and notices one that was replaced by a file") {
    files.put(first / "last.pt", "12345");
    CHECK(store.verify(ref) == "the link last.pt is missing");
  }
  SECTION("and notices one that leads elsewhere") {
    files.remove_file(first / "last.pt");
    files.make_link("/etc/passwd", first / "last.pt");
    CHECK(store.verify(ref) == "the link last.pt leads to /etc/passwd, not to epochs/1.pt");
  }
}

TEST_CASE_METHOD(Fixture, "CheckpointStore reads a manifest without links",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  CHECK(!store.read_manifest(ref).contains("links"));
  CHECK(!store.verify(ref));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore sets a damaged checkpoint aside under another name",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  store.set_aside(ref);
  store.set_aside(ref);
  CHECK(files.names(trial) == Names{"checkpoint_000001.corrupt/", "checkpoint_000001.corrupt/a",
                                    "checkpoint_000001.corrupt/manifest.json", "stdout.log"});
  files.crash();
  CHECK(!files.exists(first));
}

TEST_CASE_METHOD(Fixture, "What a trial writes that goes on in its processes is not swept",
                 "[checkpoint_store][unit]") {
  store.begin({ref.trial, 2}, 2);
  files.put(trial / "checkpoint_000003/a", "");
  files.put(trial / "work/.reported_checkpoint_8/a", "");
  CHECK(store.sweep(ref.trial, {}, true).removed == Names{"checkpoint_000003"});
}

TEST_CASE_METHOD(Fixture, "CheckpointStore sweeps what no record names and nothing else",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  store.begin({ref.trial, 2}, 2);
  files.put(trial / "checkpoint_000002/a", "");
  files.put(trial / "checkpoint_000003/a", "");
  files.put(trial / "checkpoint_000004.corrupt/a", "");
  files.put(trial / ".reported_checkpoint_7/a", "");
  files.put(trial / "checkpoint_best/a", "of the user");
  files.put(trial / "checkpoint_000005", "a file of the user");
  files.put(trial / ".checkpoint_of_mine/a", "of the user");
  files.put(trial / "work/.reported_checkpoint_8/a", "");
  files.put(trial / "work/checkpoint_000002/a", "of the user");
  CHECK(store.sweep(ref.trial, {1, 3}).removed ==
        Names{".checkpoint_000002.tmp-2", "checkpoint_000002", ".reported_checkpoint_7",
              ".reported_checkpoint_8"});
  CHECK(files.names(trial) ==
        Names{".checkpoint_of_mine/", ".checkpoint_of_mine/a", "checkpoint_000001/",
              "checkpoint_000001/a", "checkpoint_000001/manifest.json", "checkpoint_000003/",
              "checkpoint_000003/a", "checkpoint_000004.corrupt/", "checkpoint_000004.corrupt/a",
              "checkpoint_000005", "checkpoint_best/", "checkpoint_best/a", "stdout.log", "work/",
              "work/checkpoint_000002/", "work/checkpoint_000002/a"});
  CHECK(store.sweep(ref.trial, {1, 3}).removed.empty());
  CHECK(store.sweep(TrialId{99}, {}).problems.empty());
}

TEST_CASE_METHOD(Fixture, "CheckpointStore says what it cannot sweep, and sweeps the rest",
                 "[checkpoint_store][unit]") {
  files.put(trial / "checkpoint_000002/a", "");
  files.put(trial / "checkpoint_000003/a", "");
  files.fail_operation(1, EACCES);
  const auto swept = store.sweep(ref.trial, {});
  CHECK(swept.removed == Names{"checkpoint_000002", "checkpoint_000003"});
  REQUIRE(swept.problems.size() == 1);
  CHECK_THAT(swept.problems[0], Contains(aside.native() + ": Permission denied"));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore says where it cannot look for what to sweep",
                 "[checkpoint_store][unit]") {
  files.put(trial / "checkpoint_000002/a", "");
  files.put(trial / "work/.reported_checkpoint_8/a", "");
  files.fail_reading(trial / "work");
  const auto swept = store.sweep(ref.trial, {});
  CHECK(swept.removed == Names{aside.filename().native(), "checkpoint_000002"});
  REQUIRE(swept.problems.size() == 1);
  CHECK_THAT(swept.problems[0], Contains((trial / "work").native() + ": Input/output error"));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore sets aside what no record knows, trial by trial",
                 "[checkpoint_store][unit]") {
  files.put(trial / "checkpoint_000002/a", "");
  files.put(trial / "checkpoint_000003/a", "");
  std::vector<std::string> problems;
  CHECK(store.set_aside_unknown(ref.trial, {3}, problems) == 1);
  CHECK(store.set_aside_unknown(TrialId{99}, {}, problems) == 0);
  CHECK(files.exists(trial / "checkpoint_000002.corrupt/a"));
  CHECK(files.exists(trial / "checkpoint_000003/a"));
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0], Contains("/e/trial_00099"));
}

TEST_CASE_METHOD(Fixture, "CheckpointStore discards what was written aside",
                 "[checkpoint_store][unit]") {
  save("a/b", "x");
  store.discard(ref, 2);
  store.discard(ref, 2);
  CHECK(files.names(trial) == Names{"stdout.log"});
}

TEST_CASE_METHOD(Fixture, "CheckpointStore removes a checkpoint, also one that is gone",
                 "[checkpoint_store][unit]") {
  save("a", "x");
  commit();
  store.remove(ref);
  store.remove(ref);
  CHECK(files.names(trial) == Names{"stdout.log"});
}

}  // namespace
}  // namespace tune
