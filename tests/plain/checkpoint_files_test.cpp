// Which files of a program that saves by itself are a checkpoint each, and whether they change.
#include "tuner/plain/checkpoint_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/support/catch.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<fs::path>;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "tune-checkpoints-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    root = name;
  }
  ~Folder() { fs::remove_all(root); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const fs::path& name, const std::string& content) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << content;
  }

  fs::path root;
};

TEST_CASE("A pattern means names part by part, and no links or hidden files", "[plain][unit]") {
  const Folder folder;
  folder.write("checkpoint-10/model.bin", "a");
  folder.write("checkpoint-2/model.bin", "a");
  folder.write("checkpoint.txt", "a");
  folder.write("run/a/last.pt", "a");
  folder.write("run/b/last.pt", "a");
  folder.write(".checkpoint-3/model.bin", "a");
  fs::create_symlink("checkpoint-2", folder.root / "checkpoint-9");
  CHECK(names_of_checkpoints(folder.root, "checkpoint-*") ==
        Names{"checkpoint-10", "checkpoint-2"});
  CHECK(names_of_checkpoints(folder.root, "run/*/last.pt") ==
        Names{"run/a/last.pt", "run/b/last.pt"});
  CHECK(names_of_checkpoints(folder.root, "*.h5").empty());
  CHECK(names_of_checkpoints(folder.root / "none", "*").empty());
}

TEST_CASE("Without a pattern all that is there is one checkpoint, once there is a file",
          "[plain][unit]") {
  const Folder folder;
  CHECK(names_of_checkpoints(folder.root, "") == Names{""});
  fs::create_directories(folder.root / "empty");
  CHECK(look_at_checkpoints(folder.root, "").empty());
  folder.write("deep/er/model.bin", "abc");
  const auto found = look_at_checkpoints(folder.root, "");
  REQUIRE(found.size() == 1);
  CHECK(found[0].place() == folder.root);
  CHECK_FALSE(found[0].is_file);
  REQUIRE(found[0].files.size() == 1);
  CHECK(found[0].files[0].name == "deep/er/model.bin");
  CHECK(found[0].files[0].bytes == 3);
  CHECK(found[0].changed_ns() == found[0].files[0].changed_ns);
}

TEST_CASE("A file that is written again, or replaced, is another version of it", "[plain][unit]") {
  const Folder folder;
  folder.write("last.pt", "abc");
  const auto before = look_at_checkpoint(folder.root, "last.pt");
  REQUIRE(before);
  CHECK(before->is_file);
  CHECK(look_at_checkpoint(folder.root, "last.pt")->files == before->files);
  ::usleep(20'000);  // for a file system's clock
  SECTION("in its place") { folder.write("last.pt", "xyz"); }
  SECTION("by another of its size") {
    folder.write("other", "xyz");
    fs::rename(folder.root / "other", folder.root / "last.pt");
  }
  CHECK(look_at_checkpoint(folder.root, "last.pt")->files != before->files);
}

TEST_CASE("Every name below a checkpoint is of it", "[plain][unit]") {
  CHECK(checkpoint_of("checkpoint-*", "checkpoint-2/a/b") == fs::path("checkpoint-2"));
  CHECK(checkpoint_of("checkpoint-*", "checkpoint-2") == fs::path("checkpoint-2"));
  CHECK_FALSE(checkpoint_of("checkpoint-*", "other/a"));
  CHECK_FALSE(checkpoint_of("run/*", "run"));
  CHECK(checkpoint_of("", "a/b") == fs::path());
  CHECK(may_hold_checkpoints("run/*/x", "run"));
  CHECK(may_hold_checkpoints("run/*", "run/a/b"));
  CHECK_FALSE(may_hold_checkpoints("run/*", "data"));
}

TEST_CASE("A pattern stays below its directory", "[plain][unit]") {
  CHECK(complaint_about_checkpoints("").empty());
  CHECK(complaint_about_checkpoints("a/b-[0-9]*").empty());
  CHECK_FALSE(complaint_about_checkpoints("/a").empty());
  CHECK_FALSE(complaint_about_checkpoints("a/../../b").empty());
  CHECK_FALSE(complaint_about_checkpoints("./a").empty());
  CHECK_FALSE(complaint_about_checkpoints("a/").empty());
  CHECK_FALSE(complaint_about_checkpoints("**/a").empty());
}

TEST_CASE("A directory that is nested very deeply is no checkpoint, and is not gone through",
          "[unit][plain]") {
  const Folder folder;
  for (const std::ptrdiff_t levels : {most_levels - 1, most_levels + 50}) {
    fs::path deep = "ck-" + std::to_string(levels);
    for (std::ptrdiff_t i = 1; i < levels; ++i) deep /= "d";
    fs::create_directories(folder.root / deep);
    std::ofstream(folder.root / deep / "weights") << "x";
    const auto found = look_at_checkpoint(folder.root, "ck-" + std::to_string(levels));
    CHECK(found.has_value() == (levels < most_levels));
  }
}

TEST_CASE("A file that was cut down never has the time of what it held before", "[unit][plain]") {
  const Folder folder;
  const std::string content(20'000, 'x');
  folder.write("c-1/weights", content);
  std::atomic<bool> is_over = false;
  // What is synced beside it makes the file system's journal busy.
  std::thread other([&] {
    const int file = ::open((folder.root / "busy").c_str(), O_WRONLY | O_CREAT, 0600);
    while (!is_over) {
      (void)!::pwrite(file, content.data(), content.size(), 0);
      ::fsync(file);
    }
    ::close(file);
  });
  std::thread program([&] {
    while (!is_over) {
      folder.write("c-1/weights", content);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  std::int64_t whole_ns = 0;
  int mixed = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) {
    const auto found = look_at_checkpoint(folder.root, "c-1");
    if (!found) continue;
    const FileVersion& weights = found->files.at(0);
    if (weights.bytes == content.size()) whole_ns = weights.changed_ns;
    if (weights.bytes == 0 && weights.changed_ns == whole_ns) ++mixed;
  }
  is_over = true;
  other.join();
  program.join();
  CHECK(mixed == 0);
}

}  // namespace
}  // namespace tune
