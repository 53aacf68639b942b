#include "tuner/plain/shared_outputs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tuner/model/paths.h"

namespace tune {
namespace {

constexpr TrialId first{0};
constexpr TrialId second{1};

FileVersion file(std::uint64_t inode, std::uint64_t bytes, std::int64_t changed_ns) {
  return {"model.pt", inode, bytes, changed_ns};
}

TEST_CASE("A file that two trials write one after the other is overwritten", "[unit][plain]") {
  const bool is_renamed = GENERATE(false, true);
  SharedOutputs outputs;
  CHECK_FALSE(outputs.add(first, 100, {file(1, 10, 150)}));
  const auto found = outputs.add(second, 120, {file(is_renamed ? 2 : 1, 10, 250)});
  REQUIRE(found);
  CHECK(found->name == "model.pt");
  CHECK(found->before == first);
  CHECK(found->after == second);
}

TEST_CASE("What is appended to, or was written by one trial, or before it, is not overwritten",
          "[unit][plain]") {
  SharedOutputs outputs;
  SECTION("a log grows") {
    CHECK_FALSE(outputs.add(first, 100, {file(1, 10, 150)}));
    CHECK_FALSE(outputs.add(second, 120, {file(1, 20, 250)}));
    CHECK_FALSE(outputs.add(first, 300, {file(1, 30, 350)}));
  }
  SECTION("only the first one wrote it") {
    CHECK_FALSE(outputs.add(first, 100, {file(1, 10, 150)}));
    CHECK_FALSE(outputs.add(second, 120, {file(1, 10, 150)}));
  }
  SECTION("it is older than both") {
    CHECK_FALSE(outputs.add(first, 100, {file(1, 10, 50)}));
    CHECK_FALSE(outputs.add(second, 120, {file(1, 10, 50)}));
  }
  SECTION("one trial writes it in two attempts") {
    CHECK_FALSE(outputs.add(first, 100, {file(1, 10, 150)}));
    CHECK_FALSE(outputs.add(first, 200, {file(1, 10, 250)}));
  }
}

TEST_CASE("Outputs are looked for some levels below, but not in what is no program's output",
          "[unit][plain]") {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "tune-outputs-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const fs::path root(name);
  for (const char* file : {"a", "output/b", "1/2/3/c", "1/2/3/4/d", ".git/e", "results/f", "venv/g",
                           "storage/exp/h", "output/.i", "other/trial_00000/j"}) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "model";
  }
  std::ofstream(paths::spec(root / "other")) << "{}";  // another search
  std::vector<std::string> names;
  for (const FileVersion& each : look_at_outputs(root, root / "storage/exp")) {
    names.push_back(each.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"1/2/3/c", "a", "output/b"});
  SECTION("a large data set hides nothing that lies above it") {
    fs::create_directories(root / "0/data");
    for (int i = 0; i < 1'100; ++i) std::ofstream(root / "0/data" / std::to_string(i)) << i;
    const auto files = look_at_outputs(root, root / "storage/exp");
    CHECK(std::any_of(files.begin(), files.end(),
                      [](const FileVersion& each) { return each.name == "output/b"; }));
  }
  fs::remove_all(root);
}

}  // namespace
}  // namespace tune
