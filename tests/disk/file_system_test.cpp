// The one contract of the real disk and of the one in memory, and what only the real one has.
// Works in a directory of its own.
#include "tuner/disk/file_system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"

namespace {

/// How this program's hard links are made.
enum class Links { as_always, answer_lost, unsupported };
Links links = Links::as_always;

/// How many more times a signal interrupts this thread's syncs, and the names of what it synced.
thread_local int interruptions = 0;
thread_local std::vector<std::filesystem::path> synced;

int sync_by(long call, int fd) {
  if (interruptions > 0) {
    --interruptions;
    errno = EINTR;
    return -1;
  }
  synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
  return static_cast<int>(::syscall(call, fd));
}

}  // namespace

// In place of the C library's.
extern "C" int fsync(int fd) { return sync_by(SYS_fsync, fd); }
extern "C" int fdatasync(int fd) { return sync_by(SYS_fdatasync, fd); }
extern "C" int link(const char* from, const char* to) noexcept {
  if (links == Links::unsupported) {
    errno = EPERM;
    return -1;
  }
  const int result = ::linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
  if (result == -1 || links == Links::as_always) return result;
  errno = EEXIST;  // as NFS says when the client asks again
  return -1;
}

namespace tune {
namespace {

using Catch::Matchers::Contains;
using std::filesystem::path;

/// A directory that is gone afterwards.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tune-store-XXXXXX").native();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    name_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(name_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const path& name() const { return name_; }

 private:
  path name_;
};

std::vector<std::string> names_in(FileSystem& files, const path& directory) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : files.list(directory)) names.push_back(entry.name);
  return names;
}
using Names = std::vector<std::string>;

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST_CASE("A directory that was opened is the same wherever its name leads by now",
          "[file_system]") {
  const TemporaryDirectory temporary;
  const path top = temporary.name();
  const auto files = make_posix_file_system();
  files->make_directories(top / "mine/sub");
  files->make_directories(top / "others/sub");
  const auto own = files->open_directory(top / "mine");
  files->rename(top / "mine", top / "moved");
  files->make_link("others", top / "mine");
  own->make_link("x", "sub/link");
  CHECK(files->exists(top / "moved/sub/link"));
  CHECK(names_in(*files, top / "others/sub").empty());
  CHECK_THROWS_AS(files->open_directory(top / "none"), Error);
}

TEST_CASE("A file whose times this machine's clock does not keep has no stamp", "[file_system]") {
  // As on a server's or a camera's disk, a second write may leave the times as they are.
  CHECK_FALSE(make_posix_file_system()->stamp("/proc/version").has_value());
}

TEST_CASE("A file system, real or in memory, keeps its contract", "[file_system][contract]") {
  const TemporaryDirectory temporary;
  const bool real = GENERATE(true, false);
  CAPTURE(real);
  const std::unique_ptr<FileSystem> files =
      real ? make_posix_file_system() : std::make_unique<MemoryFileSystem>();
  const path top = temporary.name();
  files->make_directories(top / "a/b");
  const path file = top / "a/file";

  SECTION("a stamp stays until somebody writes, and tells every write") {
    files->open_append(file)->append("content");
    for (int i = 0; i < 20; ++i) {
      const auto stamp = files->stamp(file);
      REQUIRE(stamp);
      CHECK(stamp->bytes == 7);
      files->rename(top / "a", top / "c");
      CHECK(files->stamp(top / "c/file") == stamp);
      files->rename(top / "c", top / "a");
      files->open_append(file)->append("!");
      files->truncate(file, 7);
      REQUIRE(files->stamp(file) != stamp);
    }
    CHECK_THROWS_AS(files->stamp(top / "none"), Error);
  }
  SECTION("what is put below a directory that was opened") {
    const auto own = files->open_directory(top);
    own->make_link("../file", "new/deep/link");
    CHECK(files->read_link(top / "new/deep/link") == "../file");
    CHECK_THROWS_AS(own->make_link("x", "new/deep/link"), PlaceTaken);
    files->open_append(file)->append("content");
    CHECK_THROWS_AS(own->make_link("x", "a/file/in"), PlaceTaken);  // below a file
    own->take(file, "b/c");
    CHECK(files->read(top / "b/c") == "content");
    CHECK_FALSE(files->exists(file));
    files->open_append(file)->append("newer");
    own->take(file, "b/c");  // in the place of a file
    CHECK(files->read(top / "b/c") == "newer");
    files->open_append(file)->append("newest");
    own->take(file, "new/deep/link");  // or of a link, which is not followed
    CHECK(files->read(top / "new/deep/link") == "newest");
    files->open_append(file)->append("x");
    CHECK_THROWS_AS(own->take(file, "new"), PlaceTaken);         // of no directory
    CHECK_THROWS_AS(own->take(top / "new", "b/c"), PlaceTaken);  // nor a directory of a file
    own->take(top / "new", "b/new");
    CHECK(files->read(top / "b/new/deep/link") == "newest");
    own->give("b/new", top / "gone");
    CHECK(files->exists(top / "gone/deep/link"));
    CHECK_FALSE(files->exists(top / "b/new"));
    CHECK_NOTHROW(own->give("b/new", top / "gone"));
  }
  SECTION("nothing is put by way of a link below a directory that was opened") {
    files->make_directories(top / "elsewhere/in");
    files->make_link("elsewhere", top / "door");
    files->make_link(top / "elsewhere", top / "a/door");
    files->open_append(file)->append("content");
    const auto own = files->open_directory(top);
    CHECK_THROWS_AS(own->make_link("x", "door/link"), PlaceTaken);
    CHECK_THROWS_AS(own->make_link("x", "door/in/link"), PlaceTaken);
    CHECK_THROWS_AS(own->take(file, "a/door/file"), PlaceTaken);
    CHECK_THROWS_AS(own->give("a/door/in", top / "gone"), PlaceTaken);
    CHECK_THAT(error_of([&] { own->make_link("x", "door/new/link"); }),
               Contains("something else is in the place of " + (top / "door").native()));
    CHECK(names_in(*files, top / "elsewhere") == Names{"in"});
    CHECK(names_in(*files, top / "elsewhere/in").empty());
  }
  SECTION("appending") {
    {
      const auto out = files->open_append(file);
      out->append("one ");
      out->append("");
      out->sync();
    }
    const auto out = files->open_append(file);
    out->append("two");
    CHECK(files->read(file) == "one two");
    files->truncate(file, 3);
    files->sync_file(file);
    out->append("!");
    CHECK(files->read(file) == "one!");
  }
  SECTION("reading in pieces of at most a MiB") {
    const std::string content(2'500'000, 'x');
    files->replace(file, content);
    std::uint64_t bytes = 0;
    std::size_t largest = 0;
    files->read_pieces(file, [&](std::string_view piece) {
      bytes += piece.size();
      largest = std::max(largest, piece.size());
    });
    CHECK(bytes == content.size());
    CHECK(largest <= 1 << 20);
  }
  SECTION("replacing") {
    files->replace(file, "old");
    files->replace(file, "new");
    CHECK(files->read(file) == "new");
    CHECK(names_in(*files, top / "a") == Names{"b", "file"});
  }
  SECTION("creating once") {
    CHECK(files->create_exclusive(file, "mine"));
    CHECK(!files->create_exclusive(file, "yours"));
    CHECK(files->read(file) == "mine");
    CHECK(names_in(*files, top / "a") == Names{"b", "file"});
  }
  SECTION("listing, sorted and with sizes") {
    files->replace(top / "a/z", "12345");
    files->replace(top / "a/.hidden", "");
    const auto entries = files->list(top / "a");
    REQUIRE(entries.size() == 3);
    CHECK(entries[0].name == ".hidden");
    CHECK((entries[1].name == "b" && entries[1].is_directory && !entries[1].is_regular));
    CHECK((entries[2].name == "z" && entries[2].is_regular && !entries[2].is_directory));
    CHECK(entries[2].bytes == 5);
  }
  SECTION("renaming files and directories") {
    files->replace(top / "a/b/inner", "x");
    files->rename(top / "a/b", top / "c");
    CHECK(files->read(top / "c/inner") == "x");
    CHECK(!files->exists(top / "a/b"));
    files->make_directories(top / "full");
    files->replace(top / "full/file", "");
    CHECK_THROWS_AS(files->rename(top / "c", top / "full"), Error);
    CHECK_THROWS_WITH(files->rename(top / "absent", top / "d"),
                      Contains("absent") && Contains("No such file"));
  }
  SECTION("removing, also what is not there") {
    files->replace(top / "a/b/inner", "x");
    files->remove_file(top / "a/b/inner");
    files->remove_file(top / "a/b/inner");
    CHECK(!files->exists(top / "a/b/inner"));
    files->replace(top / "a/b/inner", "x");
    files->remove_tree(top / "a");
    files->remove_tree(top / "a");
    CHECK(names_in(*files, top).empty());
  }
  SECTION("making directories that are there, or cannot be") {
    files->make_directories(top / "a/b");
    files->replace(file, "");
    CHECK_THROWS_WITH(files->make_directories(file / "x"), Contains("cannot create directory"));
    CHECK(!files->exists(file / "x"));
  }
  SECTION("complaining by path and reason") {
    CHECK_THROWS_WITH(files->read(top / "absent"), Contains("absent: No such file"));
    CHECK_THROWS_WITH(files->list(top / "absent"), Contains("absent: No such file"));
    CHECK_THROWS_WITH(files->open_append(top / "no/file"), Contains("No such file"));
    CHECK_THROWS_WITH(files->replace(top / "no/file", ""), Contains("No such file"));
    CHECK_THROWS_WITH(files->sync_file(top / "absent"), Contains("No such file"));
    CHECK_THROWS_WITH(files->sync_directory(top / "absent"), Contains("No such file"));
    CHECK_THROWS_WITH(files->truncate(top / "absent", 0), Contains("No such file"));
    CHECK_THROWS_AS(files->open_append(top / "a"), Error);
    CHECK_THROWS_AS(files->read(top / "a"), Error);
  }
  CHECK(files->free_bytes(top) > 0);
}

TEST_CASE("The real disk: links are neither followed nor files", "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path top = temporary.name();
  files->make_directories(top / "kept");
  files->replace(top / "kept/file", "precious");
  files->make_directories(top / "tree");
  std::filesystem::create_symlink(top / "kept", top / "tree/link");
  std::filesystem::create_symlink("nowhere", top / "dangling");
  CHECK(files->exists(top / "dangling"));
  for (const DirectoryEntry& entry : files->list(top / "tree")) {
    CHECK((!entry.is_directory && !entry.is_regular));
  }
  files->remove_tree(top / "tree");
  CHECK(files->read(top / "kept/file") == "precious");
}

TEST_CASE("The real disk: sockets and pipes are neither files nor directories",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  REQUIRE(::mkfifo((temporary.name() / "pipe").c_str(), 0600) == 0);
  const auto entries = files->list(temporary.name());
  REQUIRE(entries.size() == 1);
  CHECK((!entries[0].is_directory && !entries[0].is_regular));
  // Nobody writes to it, and nobody waits for that.
  const path pipe = temporary.name() / "pipe";
  CHECK_THROWS_AS(files->read(pipe), Error);
  CHECK_THROWS_AS(files->open_append(pipe), Error);
  CHECK_THROWS_AS(files->sync_file(pipe), Error);
  CHECK_NOTHROW(files->modified_ns(pipe));
}

TEST_CASE("The real disk: what may hold secrets is readable by its owner alone, however it is made",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const path top = temporary.name();
  const mode_t umask_before = ::umask(0);
  const auto make = [&](Access access, const std::string& prefix) {
    const auto files = make_posix_file_system(access);
    files->replace(top / (prefix + "replaced"), "secret");
    REQUIRE(files->create_exclusive(top / (prefix + "created"), "secret"));
    files->open_append(top / (prefix + "appended"))->append("secret");
  };
  make(Access::owner, "own-");
  make(Access::everybody, "open-");
  ::umask(umask_before);
  for (const std::string name : {"replaced", "created", "appended"}) {
    INFO(name);
    struct stat status {};
    REQUIRE(::stat((top / ("own-" + name)).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    REQUIRE(::stat((top / ("open-" + name)).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0666);
  }
}

TEST_CASE("The real disk: a full one is an error, and what was there before stays",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  files->replace(file, "before");
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = before;
  limit.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::string replaced, created, appended;
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string too_much(5000, 'x');
  replaced = message_of([&] { files->replace(file, too_much); });
  created = message_of([&] { files->create_exclusive(temporary.name() / "new", too_much); });
  appended = message_of([&] { files->open_append(file)->append(too_much); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_action);
  CHECK_THAT(replaced, Contains("cannot write") && Contains("File too large"));
  CHECK_THAT(created, Contains("cannot write"));
  CHECK_THAT(appended, Contains("cannot write " + file.native()));
  CHECK(names_in(*files, temporary.name()) == Names{"file"});
  CHECK_THAT(files->read(file), Catch::Matchers::StartsWith("before"));
}

TEST_CASE("The real disk: free space and times of change are what the system says",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path top = temporary.name();
  const auto free = static_cast<double>(std::filesystem::space(top).available);
  CHECK(static_cast<double>(files->free_bytes(top)) == Approx(free).epsilon(0.5));
  CHECK_THROWS_AS(files->free_bytes(top / "none"), Error);
  files->replace(top / "file", "");
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 500'000'000}};
  REQUIRE(::utimensat(AT_FDCWD, (top / "file").c_str(), times, 0) == 0);
  CHECK(files->modified_ns(top / "file") == 1'000'000'000'500'000'000);
  CHECK_FALSE(files->modified_ns(top / "none"));
  CHECK_FALSE(files->modified_ns(top / "file/none"));
  files->make_link("loop", top / "loop");
  CHECK_THROWS_AS(files->modified_ns(top / "loop"), Error);
}

TEST_CASE("The real disk: a stamp has the time of the last change, and not that of the content",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  files->replace(file, "x");
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  const auto stamp = files->stamp(file);
  REQUIRE(stamp);
  CHECK(stamp->changed_ns == status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec);
}

TEST_CASE("The real disk: what a signal interrupts is done again, and what was done is not",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const auto out = files->open_append(temporary.name() / "file");
  out->append("x");
  interruptions = 2;
  synced.clear();
  CHECK_NOTHROW(out->sync());
  CHECK(interruptions == 0);
  CHECK(synced == std::vector<path>{temporary.name() / "file"});
}

TEST_CASE("The real disk: a file that is made or replaced is synced, and then its directory",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  links = GENERATE(Links::as_always, Links::unsupported);
  synced.clear();
  SECTION("replaced") { files->replace(file, "x"); }
  SECTION("made") { CHECK(files->create_exclusive(file, "x")); }
  links = Links::as_always;
  REQUIRE(synced.size() >= 2);
  CHECK(synced.front().parent_path() == temporary.name());
  CHECK(synced.back() == temporary.name());
}

TEST_CASE("The real disk: what another has written aside stays, and is not what a file becomes",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  synced.clear();
  files->replace(file, "x");
  // Written aside as .file.tmp-<pid>-<n>, the next time as n + 1.
  const std::string aside = synced.front().native();
  const std::size_t number = aside.rfind('-') + 1;
  const path next = aside.substr(0, number) + std::to_string(std::stoi(aside.substr(number)) + 1);
  std::ofstream(next) << "another's";
  files->replace(file, "y");
  CHECK(files->read(file) == "y");
  CHECK(files->read(next) == "another's");
}

TEST_CASE("The real disk: what loses its name while it is written to is said not to be kept",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  const bool is_replaced = GENERATE(false, true);
  const auto out = files->open_append(file);
  out->append("x");
  CHECK_NOTHROW(out->sync());
  files->rename(file, temporary.name() / "elsewhere");
  if (is_replaced) files->replace(file, "x");
  CHECK_THROWS_WITH(out->sync(), Contains("removed, moved or replaced"));
}

TEST_CASE(
    "The real disk: what is emptied or cut down while it is written to is said not to be kept",
    "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  files->replace(file, "before ");
  const auto out = files->open_append(file);
  out->append("0123");
  CHECK_NOTHROW(out->sync());
  files->truncate(file, GENERATE(0, 5, 10));
  CHECK_THROWS_WITH(out->sync(), Contains("of 11 bytes are left; restore it from a backup"));
}

TEST_CASE("The real disk: a file is made by one alone, whatever becomes of its links",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  links = GENERATE(Links::answer_lost, Links::unsupported);
  const bool first = files->create_exclusive(file, "mine");
  const bool second = files->create_exclusive(file, "yours");
  links = Links::as_always;
  CHECK(first);
  CHECK_FALSE(second);
  CHECK(files->read(file) == "mine");
  CHECK(names_in(*files, temporary.name()) == Names{"file"});
}

TEST_CASE("The real disk: no descriptor outlives its use or reaches a child",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "file";
  const auto open_now = [&] { return files->list("/proc/self/fd").size(); };
  files->replace(file, "x");
  const std::size_t before = open_now();
  files->read(file);
  files->replace(file, "y");
  files->create_exclusive(file, "z");
  files->list(temporary.name());
  files->sync_file(file);
  files->sync_directory(temporary.name());
  CHECK_THROWS(files->read(temporary.name()));
  CHECK(open_now() == before);
  const auto out = files->open_append(file);
  int inherited = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    std::error_code ignored;
    const auto target =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
    if (target == file && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) ++inherited;
  }
  CHECK(open_now() == before + 1);
  CHECK(inherited == 0);
}

TEST_CASE("The real disk: a directory that forbids it is made accessible to its owner",
          "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path directory = temporary.name() / "saved";
  files->make_directories(directory);
  namespace fs = std::filesystem;
  fs::permissions(directory, fs::perms::owner_read | fs::perms::group_read);
  files->make_accessible(directory);
  CHECK(fs::status(directory).permissions() == (fs::perms::owner_all | fs::perms::group_read));
  files->make_accessible(temporary.name() / "gone");
}

TEST_CASE("The real disk: of many that create one file exactly one does", "[file_system][posix]") {
  const TemporaryDirectory temporary;
  const auto files = make_posix_file_system();
  const path file = temporary.name() / "LOCK";
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> winners = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { winners += files->create_exclusive(file, std::to_string(i)); });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(winners == 1);
    REQUIRE(names_in(*files, temporary.name()) == Names{"LOCK"});
    files->remove_file(file);
  }
}

TEST_CASE("The disk in memory forgets what was not synced and nothing else",
          "[file_system][fake]") {
  MemoryFileSystem files;
  files.make_directories("/d");
  files.sync_directory("/");
  const auto out = files.open_append("/d/a");
  out->append("one");
  SECTION("a new name counts only after its directory is synced") {
    out->sync();
    files.crash();
    CHECK(!files.exists("/d/a"));
  }
  SECTION("content counts only after its file is synced") {
    files.sync_directory("/d");
    files.crash();
    CHECK(files.read("/d/a").empty());
  }
  SECTION("both synced, it stays; what came after does not") {
    out->sync();
    files.sync_directory("/d");
    out->append("two");
    files.rename("/d/a", "/d/b");
    files.crash();
    CHECK(files.read("/d/a") == "one");
    CHECK(!files.exists("/d/b"));
  }
  SECTION("the death of the process loses nothing") {
    files.die_at_operation(2, 1);
    out->append("two");
    CHECK_THROWS_AS(out->append("three"), Error);
    CHECK_THROWS_AS(files.read("/d/a"), Error);
    files.restart();
    CHECK(files.read("/d/a") == "onetwot");
  }
}

}  // namespace
}  // namespace tune
