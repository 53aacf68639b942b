// Checkpoints that leave the disk and come back, with disasters at every step.
#include <cerrno>
#include <utility>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/model/paths.h"

using namespace tune;
using Catch::Matchers::Contains;
using std::filesystem::path;

namespace {

const CheckpointRef ref{TrialId{3}, 1};
const path trial = "/e/trial_00003";
const path place = trial / "checkpoint_000001";
const path arrived = trial / ".checkpoint_000001.tmp-0";
const RemotePlace there{"s3:bucket/e", "trial_00003/checkpoint_000001.3f9c0a71b2c4d5e6"};

/// A committed checkpoint, all of it on disk.
void make(MemoryFileSystem& files) {
  CheckpointStore store(files, "/e");
  const path aside = store.begin(ref, 1);
  files.put(aside / "weights", "0123456789");
  files.put(aside / "layers/bias", "abc");
  files.make_link("weights", aside / "last");
  store.commit({.checkpoint = ref, .attempt = 1, .iteration = 5});
}

/// What a remote gives back of it: no links.
void download(MemoryFileSystem& files) {
  files.put(arrived / "weights", "0123456789");
  files.put(arrived / "layers/bias", "abc");
  files.put(arrived / "manifest.json", find_evicted(files, place)->manifest);
}

bool is_whole(MemoryFileSystem& files) {
  return files.exists(place) && !CheckpointStore(files, "/e").verify(ref);
}

bool is_evicted(MemoryFileSystem& files) {
  const auto evicted = find_evicted(files, place);
  return evicted && evicted->place.directory == there.directory && !evicted->manifest.empty();
}

}  // namespace

TEST_CASE("A checkpoint that was evicted and has come back is the same", "[eviction]") {
  MemoryFileSystem files;
  make(files);
  const std::string manifest = files.read(place / "manifest.json");
  CheckpointStore store(files, "/e");
  CHECK_FALSE(store.is_evicted(ref));
  store.evict(ref, there);
  CHECK(store.is_evicted(ref));
  CHECK(files.names(trial) == std::vector<std::string>{"checkpoint_000001.remote.json"});
  CHECK_THAT(*store.verify_foreign(place), Contains("is only on s3:bucket/e: tune fetch"));
  download(files);
  REQUIRE_FALSE(store.accept(ref));
  CHECK(is_whole(files));
  CHECK(files.read(place / "manifest.json") == manifest);
  CHECK(files.read_link(place / "last") == "weights");
  CHECK_FALSE(store.is_evicted(ref));
  CHECK_FALSE(files.exists(paths::evicted(place)));
}

TEST_CASE("What comes otherwise than it was is not taken", "[eviction]") {
  MemoryFileSystem files;
  make(files);
  CheckpointStore store(files, "/e");
  store.evict(ref, there);
  download(files);
  SECTION("a file has changed") { files.put(arrived / "weights", "012345678x"); }
  SECTION("a file is missing") { files.remove_file(arrived / "layers/bias"); }
  SECTION("the manifest is another") { files.put(arrived / "manifest.json", "{}"); }
  SECTION("nothing has come") { files.remove_tree(arrived); }
  SECTION("a file lies where a link belongs") { files.put(arrived / "last", "weights"); }
  CHECK_THAT(store.accept(ref).value_or(""), Contains(there.directory));
  CHECK(is_evicted(files));
  CHECK_FALSE(files.exists(arrived));
}

TEST_CASE("What a manifest from elsewhere says is judged before any of it is made", "[eviction]") {
  MemoryFileSystem files;
  make(files);
  CheckpointStore store(files, "/e");
  store.evict(ref, there);
  download(files);
  Json manifest = Json::parse(files.read(arrived / "manifest.json"));
  std::string expected;
  SECTION("a link that is made through another one") {
    manifest["links"] = {{{"path", "a/b/c/d/f"}, {"target", "../../../../e"}},
                         {{"path", "a/b/c/d/f/out"}, {"target", "../../../../../"}}};
    expected = "lies below 'a/b/c/d/f', which is no directory";
  }
  SECTION("a link that leads out by way of another one") {
    manifest["links"] = {{{"path", "in"}, {"target", "layers"}},
                         {{"path", "out"}, {"target", "in/../../note"}}};
    expected = "the link 'out' leads out of it";
  }
  SECTION("a link that has no name in it") {
    manifest["links"] = {{{"path", "../up"}, {"target", "weights"}}};
    expected = "the name '../up' leads elsewhere";
  }
  SECTION("another checkpoint's manifest") {
    manifest["index"] = 2;
    expected = "its manifest is that of another one";
  }
  SECTION("what is no list") {
    manifest["links"] = {{"path", 7}};
    expected = "its manifest does not say what it must";
  }
  const path elsewhere = "/elsewhere";
  files.make_directories(elsewhere);
  for (const auto& [name, text] : {std::pair{"weights", "0123456789"}, {"layers/bias", "abc"}}) {
    files.put(elsewhere / name, text);
  }
  files.put(elsewhere / "manifest.json", manifest.dump());
  const auto before = files.names(elsewhere);
  CHECK_THAT(store.damage_of_arrived(elsewhere, manifest.dump(), place).value_or("nothing"),
             Contains(expected));
  CHECK(files.names(elsewhere) == before);
}

TEST_CASE("What says where a checkpoint is may say no other place", "[eviction]") {
  MemoryFileSystem files;
  make(files);
  CheckpointStore store(files, "/e");
  store.evict(ref, there);
  REQUIRE(is_evicted(files));
  Evicted evicted = *find_evicted(files, place);
  SECTION("another checkpoint's") { evicted.place.directory.replace(27, 2, "02"); }
  SECTION("another trial's") { evicted.place.directory.replace(10, 1, "4"); }
  SECTION("above it") { evicted.place.directory = "../" + evicted.place.directory; }
  SECTION("below it") { evicted.place.directory += "/../x"; }
  SECTION("none") { evicted.place.directory = ""; }
  SECTION("a remote whose options run a program") {
    evicted.place.remote = ":sftp,ssh=\"sh -c reboot\":x";
  }
  SECTION("no remote") { evicted.place.remote = "here"; }
  SECTION("a manifest nested too deeply") {
    evicted.manifest =
        R"({"manifest":1,"x":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  }
  SECTION("a manifest that is none") { evicted.manifest = "7"; }
  write_evicted(files, place, evicted);
  CHECK_FALSE(find_evicted(files, place));
}

TEST_CASE("A checkpoint on its way out or back is whole or evicted, whatever happens when",
          "[eviction][crash]") {
  const bool power_fails = GENERATE(false, true);
  const bool comes_back = GENERATE(false, true);
  int tried = 0;
  for (std::uint64_t k = 1;; ++k, ++tried) {
    CAPTURE(k, power_fails, comes_back);
    MemoryFileSystem files;
    make(files);
    CheckpointStore store(files, "/e");
    if (comes_back) {
      store.evict(ref, there);
      download(files);
    }
    const auto before = files.operations();
    files.die_at_operation(k);
    try {
      comes_back ? void(store.accept(ref)) : store.evict(ref, there);
    } catch (const Error&) {
    }
    const bool has_ended = files.operations() - before < k;
    power_fails ? files.crash() : files.restart();
    REQUIRE((is_whole(files) || is_evicted(files)));
    // What is known stays, and nothing else does.
    CheckpointStore(files, "/e").sweep(ref.trial, {ref.index});
    REQUIRE((is_whole(files) || is_evicted(files)));
    REQUIRE_FALSE(files.exists(arrived));
    if (has_ended) break;
  }
  CHECK(tried > 5);
}

TEST_CASE("Of an evicted checkpoint that nobody knows any more, nothing stays", "[eviction]") {
  MemoryFileSystem files;
  make(files);
  CheckpointStore store(files, "/e");
  store.evict(ref, there);
  SECTION("removed") { store.remove(ref); }
  SECTION("swept") { store.sweep(ref.trial, {}); }
  SECTION("found to be lost") { CHECK(store.set_aside(ref).empty()); }
  CHECK(files.names(trial).empty());
}
