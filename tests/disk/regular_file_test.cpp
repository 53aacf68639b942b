// What is opened, what is refused, and that nobody waits.
#include "tuner/disk/regular_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/disk/place.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;
using namespace tune::test;

namespace {

void make_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(fd);
}

}  // namespace

TEST_CASE("A regular file is opened as open does it, and closes on exec", "[files][unit]") {
  const Place place;
  const std::string file = place / "result.json";
  const int made = open_regular(file, O_WRONLY | O_CREAT | O_APPEND);
  REQUIRE(made >= 0);
  REQUIRE(::write(made, "one", 3) == 3);
  CHECK((::fcntl(made, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(made, F_GETFL) & O_NONBLOCK) == 0);
  CHECK((::fcntl(made, F_GETFL) & O_APPEND) != 0);
  ::close(made);
  const int read = open_regular(file, O_RDONLY);
  char text[8] = {};
  CHECK(::read(read, text, sizeof text) == 3);
  CHECK(std::string(text) == "one");
  ::close(read);
  ::close(open_regular(file, O_WRONLY | O_TRUNC));
  CHECK(std::filesystem::file_size(file) == 0);
}

TEST_CASE("A file that is not there is an answer, not an error", "[files][unit]") {
  const Place place;
  for (const char* const name : {"nothing", "no/directory"}) {
    CHECK(open_regular(place / name, O_RDONLY) == -1);
    CHECK(errno == ENOENT);
  }
  CHECK(open_regular(place / "no/directory", O_WRONLY | O_CREAT) == -1);
  CHECK(errno == ENOENT);
}

TEST_CASE("Whatever else has the name is refused at once, and left as it is", "[files][unit]") {
  const Place place;
  const std::string file = place / "stdout.log";
  const std::string target = place / "target";
  std::ofstream(target) << "kept";
  std::string what;
  SECTION("a FIFO") {
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    what = "a FIFO";
  }
  SECTION("a link to a file") {
    std::filesystem::create_symlink(target, file);
    what = "a link";
  }
  SECTION("a link to nowhere") {
    std::filesystem::create_symlink(place / "nowhere", file);
    what = "a link";
  }
  SECTION("a link to a device") {
    std::filesystem::create_symlink("/dev/tty", file);
    what = "a link";
  }
  SECTION("a directory") {
    std::filesystem::create_directory(file);
    what = "a directory";
  }
  SECTION("a socket") {
    make_socket(file);
    what = "a socket";
  }
  const std::string sentence =
      "cannot use " + file + ": it is " + what + " where a file of the driver's belongs";
  for (const int flags :
       {O_RDONLY, O_WRONLY | O_CREAT | O_APPEND, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_TRUNC}) {
    CHECK_THROWS_WITH(open_regular(file, flags), sentence);
  }
  CHECK(std::filesystem::file_size(target) == 4);
  CHECK_FALSE(std::filesystem::exists(place / "nowhere"));
  CHECK(std::filesystem::symlink_status(file).type() != std::filesystem::file_type::regular);
}

TEST_CASE("A device is refused", "[files][unit]") {
  CHECK_THROWS_WITH(open_regular("/dev/null", O_RDWR),
                    "cannot use /dev/null: it is a device where a file of the driver's belongs");
}
