// Removing what programs leave, on the real disk.
#include "tuner/disk/remove_tree.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tuner/base/error.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using fs::path;

/// A directory of its own. Permissions mean nothing to root, so the test is nobody meanwhile.
class Place {
 public:
  Place() {
    std::string name = (fs::temp_directory_path() / "tune-remove-XXXXXX").native();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    top_ = name;
    constexpr uid_t nobody = 65534;
    if (::geteuid() != 0) return;
    REQUIRE(::chown(name.c_str(), nobody, nobody) == 0);
    REQUIRE(::seteuid(nobody) == 0);
  }
  ~Place() {
    if (::getuid() == 0) (void)!::seteuid(0);
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  path operator/(const path& name) const { return top_ / name; }
  void put(const path& name) const {
    fs::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name) << "x";
  }

 private:
  path top_;
};

TEST_CASE("remove_tree removes files, links and directories, and nothing behind a link",
          "[remove_tree]") {
  const Place place;
  place.put("tree/a/b/file");
  place.put("tree/c/file");
  place.put("beside/file");
  fs::create_symlink(place / "beside", place / "tree/a/link");
  fs::create_symlink("nowhere", place / "tree/dangling");
  REQUIRE(::mkfifo((place / "tree/fifo").c_str(), 0600) == 0);
  remove_tree(place / "tree/");
  CHECK(!fs::exists(place / "tree"));
  CHECK(fs::exists(place / "beside/file"));
  remove_tree(place / "tree");
  remove_tree(place / "none/at/all");
  remove_tree(place / "beside/file");
  CHECK(!fs::exists(place / "beside/file"));
  fs::create_directory_symlink(place / "beside", place / "link");
  remove_tree(place / "link");
  CHECK(fs::exists(place / "beside"));
  CHECK(!fs::is_symlink(place / "link"));
}

TEST_CASE("remove_tree removes directories that may be neither read, entered nor written to",
          "[remove_tree]") {
  const Place place;
  for (const mode_t mode : {0555U, 0000U, 0300U, 0600U}) {
    CAPTURE(mode);
    place.put("tree/cache/deep/w");
    place.put("tree/cache/v");
    REQUIRE(::chmod((place / "tree/cache/deep").c_str(), mode) == 0);
    REQUIRE(::chmod((place / "tree/cache").c_str(), mode) == 0);
    REQUIRE(::chmod((place / "tree").c_str(), mode) == 0);
    remove_tree(place / "tree");
    CHECK(!fs::exists(place / "tree"));
  }
}

TEST_CASE("remove_tree names what it cannot remove", "[remove_tree]") {
  const Place place;
  place.put("locked/tree/file");
  REQUIRE(::chmod((place / "locked").c_str(), 0555) == 0);
  CHECK_THROWS_WITH(remove_tree(place / "locked/tree"),
                    Contains((place / "locked/tree").native() + ": Permission denied"));
  REQUIRE(::chmod((place / "locked").c_str(), 0755) == 0);
}

TEST_CASE("remove_tree goes deeper than a path may be long or descriptors reach", "[remove_tree]") {
  const Place place;
  constexpr int depth = 5'000;
  const path top = place / "deep";
  fs::create_directory(top);
  int fd = ::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(fd != -1);
  int made = 0;
  for (; made < depth; ++made) {
    if (::mkdirat(fd, "d", 0755) == -1) break;
    const int next = ::openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(fd);
    fd = next;
  }
  ::close(fd);
  CHECK(made == depth);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 64;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  remove_tree(top);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(!fs::exists(top));
}

}  // namespace
}  // namespace tune
